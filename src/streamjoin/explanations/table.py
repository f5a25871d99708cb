"""What a join with a table will do, in words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from streamjoin.explanations import table_words as words
from streamjoin.explanations.expected import Expected, sentences
from streamjoin.explanations.meanings import Meanings
from streamjoin.explanations.plans import TablePlan
from streamjoin.explanations.samples import Sources
from streamjoin.explanations.table_expected import (
    asked,
    expected_of_table,
    front_share,
    meanings_of_table,
)
from streamjoin.explanations.table_warnings import advice
from streamjoin.explanations.table_words import Sizes
from streamjoin.explanations.warnings import Advice
from streamjoin.joins.table.measuring import Measured
from streamjoin.joins.table.settings import STREAM, TABLE


@dataclass(frozen=True)
class TableExplanation:
    """A join of a stream with a table.

    Parameters
    ----------
    name
        Name of its counters.
    stream, streaming
        What the stream is called; whether it is one, or a table that is joined at once.
    how
        Which rows come out.
    rate
        Rows per second of the stream; None if not known.
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
    limited
        The budget of CPU in words; None without one.
    shards
        How the work is split.
    hits
        Share of the rows that the cache is expected to answer.
    expected
        What comes out and what that takes; None if the rate is not known.
    meanings
        What memory would mean.
    warnings
        What may go wrong.
    """

    name: str
    stream: str
    streaming: bool
    how: str
    rate: float | None
    table: str
    sizes: Sizes
    key: tuple[tuple[str, str], ...]
    columns: tuple[str, ...]
    memory: tuple[str, ...]
    algorithm: tuple[str, ...]
    measured: Measured
    waits: tuple[str, ...]
    refresh: tuple[str, ...]
    limited: str | None
    shards: str
    hits: float
    expected: Expected | None
    meanings: Meanings
    warnings: tuple[Advice, ...]

    @property
    def title(self) -> str:
        """The first line."""
        kind = "a stream" if self.streaming else "a batch of rows"
        return f"{self.name}: {self.how} join of {kind} with a table"

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
        yield from sentences(self.expected)
        yield "budgets", list(self.meanings.table())


def explain_table(
    plan: TablePlan, sources: Sources, streaming: bool, cores: int
) -> TableExplanation:
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
    name = sources.names[0] if sources.names else "stream"
    keys = asked(plan, sizes, sources.samples.get(name))
    found = expected_of_table(plan, sizes, measured, keys, cores) if streaming else None
    return TableExplanation(
        name=plan.name,
        stream=name,
        streaming=streaming,
        how=join.how,
        rate=keys.rate,
        table=words.place(access.table),
        sizes=sizes,
        key=tuple(zip(mine, theirs, strict=True)),
        columns=tuple(column.name for column in join.output),
        memory=words.memory(plan, sizes),
        algorithm=words.algorithm(plan, sizes, measured),
        measured=measured,
        waits=words.waits(join) if streaming else (words.AT_ONCE,),
        refresh=words.refresh(access) if streaming else (words.AS_IT_IS,),
        limited=words.limited(plan),
        shards=words.shards(plan),
        hits=keys.hits(words.cached_rows(plan, sizes, front_share(join))),
        expected=found,
        meanings=meanings_of_table(plan, sizes, measured, keys),
        warnings=tuple(advice(plan, sizes)),
    )
