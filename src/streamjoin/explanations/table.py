"""What a join with a table will do: its report; `table_words` has the sentences."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from streamjoin.explanations import table_words as words
from streamjoin.explanations.asked import Asked, Sample
from streamjoin.explanations.expected import (
    BUDGET_PARTS,
    Basis,
    Expected,
    Meaning,
    Meanings,
    expected_sections,
    numbers_of,
)
from streamjoin.explanations.explainer import Explainer
from streamjoin.explanations.plans import TablePlan
from streamjoin.explanations.table_words import Sizes, cached_rows
from streamjoin.explanations.wording import about, percent, with_rate
from streamjoin.joins.report import Advice, Card, Lane, Report
from streamjoin.joins.table.front_stage import BESIDES
from streamjoin.joins.table.measuring import Measured
from streamjoin.joins.table.settings import FRONT_SHARE, LOOK_UP_SHARE, STREAM, TABLE, TableJoin
from streamjoin.metrics.words import size as format_bytes
from streamjoin.planning.table import ideal_hit_share
from streamjoin.tables.parquet import ParquetTable

MANY_ROWS: Final = 50_000
"""Row groups of more rows are slow to look up in."""
TINY_SHARE: Final = 0.001
"""With less than this part of the table's bytes a cache is of little use."""


@dataclass(frozen=True)
class KeyUse:
    """How the stream asks for keys."""

    keys: int
    skew: float  # the exponent of Zipf's law; 0 for all alike
    rate: float | None  # rows per second
    basis: Basis  # whether that is known of the stream, or assumed
    text: str

    def hits(self, cached: int) -> float:
        """Share of the rows that a cache answers, if the most frequent keys are in it."""
        return ideal_hit_share(cached, self.keys, self.skew)


def explain_table(plan: TablePlan, asked: Asked) -> Report:
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
    >>> print(sj.explain(out).reports[0].sections["table"][1])
    1,000 rows of about ... B (... KB) in 1 partition of about 1,000 rows; keys are looked up by an
    index
    """
    return _Explainer(plan, asked).report()


class _Explainer(Explainer):
    """What is known of a join with a table, and how that is said."""

    kind = "tables"

    def __init__(self, plan: TablePlan, asked: Asked) -> None:
        super().__init__(plan, asked)
        join = plan.join
        self.plan, self.join, self.sizes = plan, join, Sizes.measure(plan.access.current().table)
        look_up = join.costs.look_up if self.sizes.has_index else None
        self.measured = Measured(join.costs.scan / 1000, look_up, 0)
        self.stream_name = asked.sources.names[0] if asked.sources.names else "stream"
        self.names = self.stream_name, "a table"
        mine = [join.stream.names[i] for i in join.keys[STREAM]]
        theirs = [join.table.names[i] for i in join.keys[TABLE]]
        self.key = list(zip(mine, theirs, strict=True))
        self.use = _key_use(mine, self.sizes, asked.sources.samples.get(self.stream_name))
        self.hits = self.use.hits(cached_rows(plan, self.sizes, _front_share(join)))
        self.expected = self._expect(asked.cores) if plan.streaming else None
        self.meanings = self._meanings()
        self.memory = words.memory(plan, self.sizes)
        self.limited = words.limited(plan)
        self.columns = [column.name for column in join.output]
        self.warnings = tuple(self._warnings())

    def title(self) -> str:
        """What kind of join it is."""
        kind = "a stream" if self.streaming else "a batch of rows"
        return f"{self.join.how} join of {kind} with a table"

    def numbers(self) -> dict[str, Any]:
        """What programs get."""
        plan = self.plan
        first = "the cache first; then " if self.join.is_cached else ""
        return {
            "name": plan.name,
            "stream": self.stream_name,
            "streaming": plan.streaming,
            "how": self.join.how,
            "rate": self.use.rate,
            "table": words.place(plan.access.table),
            "sizes": asdict(self.sizes),
            "key": self.key,
            "columns": self.columns,
            "memory": self.memory,
            "algorithm": [
                f"{first}{words.back_end(plan)}",
                *words.costs(plan, self.sizes, self.measured),
            ],
            "measured": asdict(self.measured),
            "waits": words.waits(plan),
            "refresh": words.refresh(plan),
            "limited": self.limited,
            "shards": words.shards(plan),
            "hits": self.hits,
            "expected": numbers_of(self.expected),
            "meanings": numbers_of(self.meanings),
        }

    def sections(self, numbers: Mapping[str, Any]) -> dict[str, list[str | None]]:
        """The details in words."""
        return {
            "table": [numbers["table"], self.sizes.text],
            "key": [f"stream.{mine} = table.{theirs}" for mine, theirs in self.key],
            "memory": [*self.memory],
            "algorithm": numbers["algorithm"],
            "waiting": numbers["waits"],
            "freshness": numbers["refresh"],
            "shards": [numbers["shards"]],
            "columns": [", ".join(self.columns)],
            **expected_sections(self.expected),
            "budgets": [*self.meanings.table()],
        }

    def answer(self) -> Iterator[str]:
        """The whole in a few sentences."""
        mine = " and ".join(mine for mine, _ in self.key)
        alone = ", or alone if there is none" if self.join.how == "left" else ""
        many = f"{self.sizes.rows:,} rows, {format_bytes(self.sizes.bytes)}"
        stream = with_rate(self.stream_name, self.use.rate)
        yield f"Gives each row of {stream} with the table's row of its {mine} ({many}){alone}."
        hits = f"; the cache is expected to answer {percent(self.hits)} of the rows"
        memory = f"{self.memory[0]}{hits if self.hits else ''}"
        yield f"The memory is {memory}; the others are looked up."
        if self.expected is not None:
            yield self.expected.takes(limited=self.limited is not None)
        if self.limited is not None:
            yield (
                f"The budget of CPU is {self.limited}: rows for which there is no time come later."
            )
        yield from self.look_out()

    def operator(self) -> Card:
        """The front stage, then the back end."""
        rate = () if self.use.rate is None else (f"{about(self.use.rate)} rows/s",)
        lines = (*rate, words.shards(self.plan))
        stream = Card("stream" if self.streaming else "table", self.stream_name, lines)
        place, *more = words.place(self.plan.access.table).split("; ")
        table = Card("table", place, (self.sizes.text, *more))
        back = f"back end: {words.back_end(self.plan)}"
        lane = Lane((self.stream_name, "back end"), back)
        if self.join.is_cached:
            front = f"front stage: a cache, to answer about {100 * self.hits:.0f} %"
            lane = Lane((self.stream_name, "front stage", "back end"), f"{front}; {back}")
        return Card(
            "join",
            f"{self.join.how} join with a table",
            tuple(f"{self.stream_name}.{mine} = table.{theirs}" for mine, theirs in self.key),
            lanes=(lane,),
            limits=(f"memory {self.memory[0]}", *([f"CPU {self.limited}"] if self.limited else [])),
            children=(stream, table),
        )

    def _expect(self, cores: int) -> Expected | None:
        """What comes out and takes; None if the rate, or the price of a look-up, is unknown."""
        rate, look_up_us = self.use.rate, self.measured.look_up_us
        if rate is None or look_up_us is None:
            return None
        looked_up = rate * (1 - self.hits)
        whole = self.join.costs.row * rate / 1e6 + looked_up * look_up_us / 1e6
        most = " at most: rows whose key is not in the table do not"
        unique = self.plan.access.table.is_unique
        times = "" if unique else ", or more where a key is there several times"
        return Expected(
            rows_per_second=rate,
            selectivity=None,
            basis=self.use.basis,
            cpu_s=whole,
            cores=cores,
            output=f"{about(rate)} rows/s come out{'' if self.join.how == 'left' else most}{times}",
            cpu=f"{whole:.2g} s for each second of the stream, {percent(whole / cores)} of {cores} "
            f"cores: the cache answers {percent(self.hits)} of the rows ({self.use.text}), "
            f"{about(looked_up)} rows/s are looked up",
        )

    def _meanings(self) -> Meanings:
        """What memory would mean; of CPU rows are spilled and come later."""
        look_up_us, sizes = self.measured.look_up_us, self.sizes
        if look_up_us is None:
            return Meanings((), "without an index memory decides how many rows wait for one scan")
        if not self.join.is_cached:
            return Meanings((), "without a cache (algorithm) memory hardly matters")
        share = max(_front_share(self.join), 1e-9)
        whole, rows = sizes.rows * (sizes.bytes_per_row + BESIDES) / share, []
        for part in BUDGET_PARTS:
            hits = self.use.hits(int(part * sizes.rows))
            each = self.join.costs.row + (1 - hits) * look_up_us
            most = about(self.plan.n_shards * 1e6 / each)
            way = f"{percent(1 - hits)} are looked up; up to {most} rows/s"
            rows.append(Meaning("memory", part, f'memory="{format_bytes(part * whole)}"', way, 1.0))
        return Meanings(
            tuple(rows),
            f"hits {self.use.text}, once the cache is warm; rows/s by the prices measured now; "
            "with too little CPU rows come later, but none is lost",
        )

    def _warnings(self) -> Iterator[Advice]:
        """What may go wrong."""
        join, table, sizes = self.join, self.plan.access.table, self.sizes
        if not sizes.has_index:
            yield Advice(
                "no_index",
                "no index on the key: every row waits until the whole table has been read; make an "
                "index in the database",
            )
        large = sizes.rows_per_partition > MANY_ROWS
        if isinstance(table, ParquetTable) and not table.copy and large:
            yield Advice(
                "large_row_groups",
                f"row groups have {sizes.rows_per_partition:,.0f} rows and a look-up decodes a "
                "whole one; give copy=True, or write the files with row groups of about 10,000 "
                "rows",
            )
        if not table.is_unique and join.algorithm != "inlj":
            costs = "keys of several partitions are looked up at once"
            if join.algorithm == "meshjoin" or not sizes.has_index:
                costs = "nothing is cached, as the other rows of a key are not known"
            yield Advice(
                "duplicate_keys",
                f"keys may be in the table several times: {costs}; give unique=True if each is "
                "there once",
            )
        memory = join.memory * self.plan.n_shards
        if join.is_cached and memory < TINY_SHARE * sizes.bytes:
            yield Advice(
                "little_memory",
                f"the memory is {100 * memory / sizes.bytes:.2g} % of the table: the cache will "
                "answer few rows unless very few keys are frequent; give more of it",
            )
        if not join.longest_wait and join.algorithm == "meshjoin":
            yield Advice(
                "no_wait", "max_wait is zero: the whole table is read in every batch; let rows wait"
            )


def _key_use(key: list[str], sizes: Sizes, sample: Sample | None) -> KeyUse:
    """What is known of the stream's keys: of a generated one its law, else that all are alike."""
    if sample is not None and key == [sample.stream.settings.key]:
        keys, skew = sample.stream.keys, sample.stream.skew
        law = f"Zipf's law with exponent {skew:g}" if skew else "all alike"
        return KeyUse(keys, skew, sample.rate, "sample", f"of {keys:,} keys by {law}, as generated")
    rate = None if sample is None else sample.rate
    text = "if all keys of the table are as frequent; more where some are much more so"
    return KeyUse(max(1, sizes.rows), 0.0, rate, "assumed", text)


def _front_share(join: TableJoin) -> float:
    """Part of the memory that the cache has, to begin with."""
    if not join.is_cached:
        return 0.0
    if join.front_share is not None:
        return join.front_share
    return FRONT_SHARE if join.longest_wait else LOOK_UP_SHARE
