"""What a join with a table will do, in words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from streamjoin.joins.table.measuring import Measured
from streamjoin.joins.table.settings import STREAM, TABLE
from streamjoin.spark import explain_table_words as words
from streamjoin.spark.explain_table_warnings import advice
from streamjoin.spark.explain_table_words import Sizes
from streamjoin.spark.explain_warnings import Advice
from streamjoin.spark.plans import TablePlan


@dataclass(frozen=True)
class TableExplanation:
    """A join of a stream with a table.

    Parameters
    ----------
    name
        Name of its counters.
    how
        Which rows come out.
    table
        What it is called and where it is, without a password.
    sizes
        How large it is.
    key
        Columns of the stream with those of the table.
    columns
        Columns of the result.
    memory
        What it is divided into, as sentences.
    algorithm
        What answers rows, and why.
    measured
        What reading the table costs.
    waits
        How long rows wait, and what becomes of those for which there is no time.
    refresh
        When changes of the table are noticed, and what happens when it cannot be reached.
    shards
        How the work is split.
    warnings
        What may go wrong.
    """

    name: str
    how: str
    table: str
    sizes: Sizes
    key: tuple[tuple[str, str], ...]
    columns: tuple[str, ...]
    memory: tuple[str, ...]
    algorithm: tuple[str, ...]
    measured: Measured
    waits: tuple[str, ...]
    refresh: tuple[str, ...]
    shards: str
    warnings: tuple[Advice, ...]

    @property
    def title(self) -> str:
        """The first line."""
        return f"{self.name}: {self.how} join of a stream with a table"

    def sections(self) -> Iterator[tuple[str, Sequence[str | None]]]:
        """Titles with their lines."""
        yield "table", [self.table, self.sizes.text]
        yield "key", [f"stream.{mine} = table.{theirs}" for mine, theirs in self.key]
        yield "memory", self.memory
        yield "algorithm", self.algorithm
        yield "waiting", self.waits
        yield "freshness", self.refresh
        yield "shards", [self.shards]
        yield "columns", [", ".join(self.columns)]


def explain_table(plan: TablePlan) -> TableExplanation:
    """Explain a join with a table, which has been opened and read here and there by the join.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> import streamjoin as sj
    >>> spark, folder = getfixture("spark"), tempfile.mkdtemp()
    >>> names = pa.table({"id": range(1000), "name": [str(i) for i in range(1000)]})
    >>> pq.write_table(names, f"{folder}/1.parquet")
    >>> stream = spark.readStream.format("rate").load()
    >>> table = sj.parquet_table(folder, key="id", unique=True)
    >>> out = sj.table_join(stream, table, on="value", index_folder=tempfile.mkdtemp())
    >>> print(sj.explain(out).tables[0].sizes.text)
    1,000 rows of about ... B (... KB) in 1 partition of about 1,000 rows; keys are looked up by an
    index
    """
    join, access = plan.join, plan.access
    sizes = Sizes.of(access.current().table)
    mine = [join.stream.names[i] for i in join.keys[STREAM]]
    theirs = [join.table.names[i] for i in join.keys[TABLE]]
    look_up = join.costs.look_up if sizes.has_index else None
    measured = Measured(join.costs.scan / 1000, look_up, 0)
    return TableExplanation(
        name=plan.name,
        how=join.how,
        table=words.place(access.table),
        sizes=sizes,
        key=tuple(zip(mine, theirs, strict=True)),
        columns=tuple(column.name for column in join.output),
        memory=words.memory(plan, sizes),
        algorithm=words.algorithm(plan, sizes, measured),
        measured=measured,
        waits=words.waits(join),
        refresh=words.refresh(access),
        shards=words.shards(plan),
        warnings=tuple(advice(plan, sizes)),
    )
