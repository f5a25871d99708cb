"""What a join with a table will do: its report."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from streamjoin.durations import format_duration
from streamjoin.explanations.asked import Asked
from streamjoin.explanations.explainer import (
    BUDGET_PARTS,
    Basis,
    Expected,
    Explainer,
    Fact,
    Meaning,
    Meanings,
    warn,
)
from streamjoin.explanations.wording import about, counted, percent, with_rate
from streamjoin.joins.plans import TablePlan
from streamjoin.joins.report import Advice, Card, Lane
from streamjoin.joins.table.front_stage import BESIDES
from streamjoin.joins.table.measuring import Measured
from streamjoin.joins.table.settings import FRONT_SHARE, LOOK_UP_SHARE, STREAM, TABLE
from streamjoin.metrics.words import size as format_bytes
from streamjoin.planning.table import ideal_hit_share
from streamjoin.tables.base import OpenTable
from streamjoin.tables.parquet import ParquetTable
from streamjoin.tables.sql import SqlTable

MANY_ROWS: Final = 50_000
"""Row groups of more rows are slow to look up in."""
TINY_SHARE: Final = 0.001
"""With less than this part of the table's bytes a cache is of little use."""
BACK_ENDS: Final = {
    "inlj": "index nested loops: each row is looked up at once",
    "meshjoin": "MESHJOIN: the table is read around and around, and each row meets all of it",
    "hybridjoin": "HYBRIDJOIN: rows wait for the partition that has their key",
    "auto": "auto: keys are looked up or their partition is loaded, whichever costs less as "
    "measured while it runs",
}


@dataclass(frozen=True)
class Sizes:
    """How large a table is; in a database about so large."""

    rows: int
    partitions: int
    bytes_per_row: float  # in memory, of all columns
    has_index: bool  # whether keys are found without reading all of it

    @classmethod
    def measure(cls, table: OpenTable) -> "Sizes":
        """Ask the table."""
        rows = table.partition_rows
        n_rows, n = int(rows.sum()), int((rows > 0).sum())
        return cls(n_rows, n, table.bytes_per_row, table.has_index)

    @property
    def bytes(self) -> float:
        """Of the whole table."""
        return self.rows * self.bytes_per_row

    @property
    def rows_per_partition(self) -> float:
        """On average."""
        return self.rows / max(1, self.partitions)

    @property
    def text(self) -> str:
        """In words."""
        how = "keys are looked up by an index" if self.has_index else "no index on the key"
        return (
            f"{self.rows:,} rows of about {self.bytes_per_row:.0f} B ({format_bytes(self.bytes)}) "
            f"in {counted(self.partitions, 'partition')} of about {self.rows_per_partition:,.0f} "
            f"rows; {how}"
        )


class TableExplainer(Explainer):
    """What is known of a join with a table, which has been opened and read here and there.

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

    kind = "tables"

    def __init__(self, plan: TablePlan, asked: Asked) -> None:
        super().__init__(plan, asked)
        self.plan, join = plan, plan.join
        self.join, self.sizes = join, Sizes.measure(plan.access.current().table)
        look_up = join.costs.look_up if self.sizes.has_index else None
        self.measured = Measured(join.costs.scan / 1000, look_up, 0)
        self.title = f"{join.how} join of {'a stream' if self.streaming else 'a batch of rows'}"
        self.title += " with a table"
        self.stream_name = asked.sources.names[0] if asked.sources.names else "stream"
        self.names = self.stream_name, "a table"
        mine = [join.stream.names[i] for i in join.keys[STREAM]]
        theirs = [join.table.names[i] for i in join.keys[TABLE]]
        self.key = list(zip(mine, theirs, strict=True))
        self.columns = [column.name for column in join.output]
        self.memory, self.limited = self._memory(), self._limited()
        by = "the partition that has their key" if join.is_routed else "key"
        spread = counted(plan.n_partitions, "partition")
        self.shards = f"{counted(plan.n_shards, 'shard')}, rows by {by}, over {spread} of Spark"
        self._look_at_keys(mine)
        # Part of the memory that the cache has, to begin with.
        share = FRONT_SHARE if join.longest_wait else LOOK_UP_SHARE
        self.front_share = share if join.front_share is None else join.front_share
        self.hits = self._hits(self._cached_rows(self.front_share)) if join.is_cached else 0.0
        self.expected = self._expect() if plan.streaming else None
        self.meanings = self._meanings()
        self.warnings = tuple(self._warnings())

    def _look_at_keys(self, key: list[str]) -> None:
        """How the stream asks for keys: of a generated one its law, else that all are alike."""
        self.rate: float | None = None
        self.n_keys, self.skew = max(1, self.sizes.rows), 0.0
        self.basis: Basis = "assumed"
        self.use = "if all keys of the table are as frequent; more where some are much more so"
        sample = self.asked.sources.samples.get(self.stream_name)
        if sample is None:
            return
        self.rate = sample.rate
        if key == [sample.stream.settings.key]:
            self.n_keys, self.skew, self.basis = sample.stream.keys, sample.stream.skew, "sample"
            law = f"Zipf's law with exponent {self.skew:g}" if self.skew else "all alike"
            self.use = f"of {self.n_keys:,} keys by {law}, as generated"

    def facts(self) -> list[Fact]:
        """The details."""
        plan, join = self.plan, self.join
        first = "the cache first; then " if join.is_cached else ""
        algorithm = [f"{first}{self._back_end()}", *self._costs()]
        return [
            Fact("name", plan.name),
            Fact("stream", self.stream_name),
            Fact("streaming", plan.streaming),
            Fact("how", join.how),
            Fact("rate", self.rate),
            Fact("table", self._place(), "table", [self._place(), self.sizes.text]),
            Fact("sizes", self.sizes),
            Fact("key", self.key, "key", [f"stream.{a} = table.{b}" for a, b in self.key]),
            Fact("columns", self.columns),
            Fact("memory", self.memory, "memory"),
            Fact("algorithm", algorithm, "algorithm"),
            Fact("measured", self.measured),
            Fact("waits", self._waits(), "waiting"),
            Fact("refresh", self._refresh(), "freshness"),
            Fact("limited", self.limited),
            Fact("shards", self.shards, "shards"),
            Fact("hits", self.hits),
            Fact("expected", self.expected),
            Fact("meanings", self.meanings),
        ]

    def answer(self) -> Iterator[str]:
        """The whole in a few sentences."""
        mine = " and ".join(mine for mine, _ in self.key)
        alone = ", or alone if there is none" if self.join.how == "left" else ""
        many = f"{self.sizes.rows:,} rows, {format_bytes(self.sizes.bytes)}"
        stream = with_rate(self.stream_name, self.rate)
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
        rate = () if self.rate is None else (f"{about(self.rate)} rows/s",)
        lines = (*rate, self.shards)
        stream = Card("stream" if self.streaming else "table", self.stream_name, lines)
        place, *more = self._place().split("; ")
        table = Card("table", place, (self.sizes.text, *more))
        back = f"back end: {self._back_end()}"
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

    def _place(self) -> str:
        """Where the table is."""
        table = self.plan.access.table
        once = "each key once" if table.is_unique else "keys may be there several times"
        if isinstance(table, SqlTable):
            return f"{table.name} in {table.address.safe}; {once}"
        if isinstance(table, ParquetTable):
            copied = "; rows are copied beside the index" if table.copy else ""
            return f"Parquet in {table.path}; {once}{copied}"
        return f"{type(table).__name__}; {once}"

    def _memory(self) -> tuple[str, ...]:
        """What the memory is divided into."""
        join, n = self.join, self.plan.n_shards
        each = f", {format_bytes(join.memory)} for each of {n} shards" if n > 1 else ""
        whole = f"{format_bytes(n * join.memory)}{each}"
        if not join.is_cached:
            return whole, f"no cache; {self._rest(0.0)}"
        if join.front_share is not None:
            return whole, f"{self._cache(join.front_share)}; {self._rest(join.front_share)}"
        looking = f"where no row waits: {self._cache(LOOK_UP_SHARE)}"
        if not join.longest_wait:
            return whole, looking
        waiting = f"{self._cache(FRONT_SHARE)}; {self._rest(FRONT_SHARE)}"
        waiting = f"where rows wait: at first {waiting}; then by the hits of the cache"
        return whole, *((looking, waiting) if join.algorithm == "auto" else (waiting,))

    def _cached_rows(self, share: float) -> int:
        """Rows of the table that the cache of all shards has room for."""
        room = self.plan.n_shards * self.join.room(share).cache
        return int(room / (self.sizes.bytes_per_row + BESIDES))

    def _cache(self, share: float) -> str:
        room = format_bytes(self.plan.n_shards * self.join.room(share).cache)
        rows, every = self._cached_rows(share), self.sizes.rows
        if rows >= every:
            return f"a cache of {room}, enough for the whole table"
        return f"a cache of {room}, about {rows:,} table rows ({100 * rows / every:.3g} % of all)"

    def _rest(self, share: float) -> str:
        room = self.join.room(share)
        held, read = (format_bytes(self.plan.n_shards * n) for n in (room.waiting, room.buffer))
        return f"{held} for rows that wait, {read} for partitions being read"

    def _hits(self, cached: int) -> float:
        """Share of the rows that a cache answers, if the most frequent keys are in it."""
        return ideal_hit_share(cached, self.n_keys, self.skew)

    def _back_end(self) -> str:
        """What answers rows that the cache does not, and why it was chosen beforehand."""
        why, algorithm = "", self.join.algorithm
        if self.plan.asked == "auto" and algorithm != "auto":
            why = "; chosen because the cache has room for the whole table"
            if algorithm == "meshjoin":
                why = "; chosen because there is no index on the key"
            elif not self.join.knows_places:
                why = "; chosen because the database finds a row as quickly as its place"
        return f"{BACK_ENDS[algorithm]}{why}"

    def _costs(self) -> Iterator[str]:
        """What reading the table costs, and what follows."""
        join, measured, n = self.join, self.measured, self.sizes.partitions
        scan = f"measured now: a partition takes {measured.scan_ms:.3g} ms"
        if measured.look_up_us is None or measured.per_scan is None:
            yield f"{scan}, the whole table {measured.scan_ms * n / 1000:.3g} s"
            return
        yield (
            f"{scan}, a look-up {measured.look_up_us:.3g} us a key: loading a partition costs "
            f"as much as {measured.per_scan:,.3g} look-ups"
        )
        if join.algorithm != "auto":
            return
        rate = measured.waits_from(join.longest_wait / 1e6, n)
        if not join.longest_wait:
            yield "so a partition is loaded where a batch has more keys of it than that"
        elif rate is None:
            yield "so no row waits, whatever the rate"
        else:
            yield (
                f"so rows wait for others of their partition where the cache leaves more than "
                f"about {rate * self.plan.n_shards:,.0f} a second to be answered"
            )

    def _waits(self) -> list[str]:
        """How long rows wait, and what becomes of those for which there is no time."""
        join = self.join
        if not self.streaming:
            return ["none waits: all rows are answered at once"]
        lines = ["none waits: each row is answered in the batch that brings it"]
        if join.longest_wait:
            lines = [
                f"a row waits for at most {format_duration(join.longest_wait)}, and no longer than "
                "the stream brings rows: when it pauses, all that wait are answered"
            ]
        if join.has_work_limit:
            upfront = join.shed == "upfront"
            when = "as they come, by chance" if upfront else "after others of most worth"
            lines.append(
                f"rows for which there is no time are spilled into the state, {when}, and come "
                "again when the load falls; none is lost"
            )
        return lines

    def _limited(self) -> str | None:
        """The budget of CPU, if there is one."""
        share, us = self.join.work_share, self.join.work_us
        if us is not None:
            most = f"{format_duration(us * self.plan.n_shards)} a batch"
        elif share is not None:
            most = f"{share:.3g} of the time of each shard"
        else:
            return None
        return f"at most {most}, the table's time included"

    def _refresh(self) -> list[str]:
        """When changes of the table are noticed."""
        access = self.plan.access
        if not self.streaming:
            return ["the table is taken as it is when the rows are joined"]
        if access.refresh_us is None:
            return ["the table is taken to stay as it is when the query starts"]
        every = format_duration(access.refresh_us) if access.refresh_us else "batch"
        away = "the query fails, and can be started again"
        if access.on_failure != "fail":
            away = f"what is known is used for at most {format_duration(access.stale_us)}"
        return [
            f"the table is looked at every {every}; cached rows that may have changed are dropped",
            f"if it cannot be reached {away}",
        ]

    def _expect(self) -> Expected | None:
        """What comes out and takes; None if the rate, or the price of a look-up, is unknown."""
        rate, look_up_us, cores = self.rate, self.measured.look_up_us, self.asked.cores
        if rate is None or look_up_us is None:
            return None
        looked_up = rate * (1 - self.hits)
        whole = self.join.costs.row * rate / 1e6 + looked_up * look_up_us / 1e6
        most = (
            "" if self.join.how == "left" else " at most: rows whose key is not in the table do not"
        )
        unique = self.plan.access.table.is_unique
        times = "" if unique else ", or more where a key is there several times"
        return Expected(
            rows_per_second=rate,
            selectivity=None,
            basis=self.basis,
            cpu_s=whole,
            cores=cores,
            output=f"{about(rate)} rows/s come out{most}{times}",
            cpu=f"{whole:.2g} s for each second of the stream, {percent(whole / cores)} of {cores} "
            f"cores: the cache answers {percent(self.hits)} of the rows ({self.use}), "
            f"{about(looked_up)} rows/s are looked up",
        )

    def _meanings(self) -> Meanings:
        """What memory would mean; of CPU rows are spilled and come later."""
        look_up_us, sizes = self.measured.look_up_us, self.sizes
        if look_up_us is None:
            return Meanings((), "without an index memory decides how many rows wait for one scan")
        if not self.join.is_cached:
            return Meanings((), "without a cache (algorithm) memory hardly matters")
        share = max(self.front_share, 1e-9)
        whole, rows = sizes.rows * (sizes.bytes_per_row + BESIDES) / share, []
        for part in BUDGET_PARTS:
            hits = self._hits(int(part * sizes.rows))
            each = self.join.costs.row + (1 - hits) * look_up_us
            most = about(self.plan.n_shards * 1e6 / each)
            way = f"{percent(1 - hits)} are looked up; up to {most} rows/s"
            rows.append(Meaning("memory", part, f'memory="{format_bytes(part * whole)}"', way, 1.0))
        return Meanings(
            rows,
            f"hits {self.use}, once the cache is warm; rows/s by the prices measured now; "
            "with too little CPU rows come later, but none is lost",
        )

    def _warnings(self) -> Iterator[Advice]:
        """What may go wrong."""
        join, table, sizes = self.join, self.plan.access.table, self.sizes
        if not sizes.has_index:
            yield warn("no_index")
        each = sizes.rows_per_partition
        if isinstance(table, ParquetTable) and not table.copy and each > MANY_ROWS:
            yield warn("large_row_groups", rows=each)
        if not table.is_unique and join.algorithm != "inlj":
            costs = "keys of several partitions are looked up at once"
            if join.algorithm == "meshjoin" or not sizes.has_index:
                costs = "nothing is cached, as the other rows of a key are not known"
            yield warn("duplicate_keys", costs=costs)
        memory = join.memory * self.plan.n_shards
        if join.is_cached and memory < TINY_SHARE * sizes.bytes:
            part = f"is {100 * memory / sizes.bytes:.2g} % of the table"
            few = "the cache will answer few rows unless very few keys are frequent"
            yield warn("little_memory", does=f"{part}: {few}")
        if not join.longest_wait and join.algorithm == "meshjoin":
            yield warn("no_wait")
