"""The sentences about a join with a table."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from streamjoin.durations import format_duration
from streamjoin.explanations.plans import TablePlan
from streamjoin.explanations.wording import counted
from streamjoin.joins.table.front_stage import BESIDES
from streamjoin.joins.table.measuring import Measured
from streamjoin.joins.table.settings import FRONT_SHARE, LOOK_UP_SHARE
from streamjoin.metrics.words import size as format_bytes
from streamjoin.tables.access import TableAccess
from streamjoin.tables.base import OpenTable, Table
from streamjoin.tables.parquet import ParquetTable
from streamjoin.tables.sql import SqlTable

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


def place(table: Table) -> str:
    """Where a table is."""
    once = "each key once" if table.is_unique else "keys may be there several times"
    if isinstance(table, SqlTable):
        return f"{table.name} in {table.address.safe}; {once}"
    if isinstance(table, ParquetTable):
        copied = "; rows are copied beside the index" if table.copy else ""
        return f"Parquet in {table.path}; {once}{copied}"
    return f"{type(table).__name__}; {once}"


def memory(plan: TablePlan, sizes: Sizes) -> tuple[str, ...]:
    """What the memory is divided into."""
    join, n = plan.join, plan.n_shards
    each = f", {format_bytes(join.memory)} for each of {n} shards" if n > 1 else ""
    whole = f"{format_bytes(n * join.memory)}{each}"
    if not join.is_cached:
        return whole, f"no cache; {_rest(plan, 0.0)}"
    if join.front_share is not None:
        return whole, f"{_cache(plan, sizes, join.front_share)}; {_rest(plan, join.front_share)}"
    looking = f"where no row waits: {_cache(plan, sizes, LOOK_UP_SHARE)}"
    waiting = f"{_cache(plan, sizes, FRONT_SHARE)}; {_rest(plan, FRONT_SHARE)}"
    waiting = f"where rows wait: at first {waiting}; then by the hits of the cache"
    if not join.longest_wait:
        return whole, looking
    return whole, *((looking, waiting) if join.algorithm == "auto" else (waiting,))


def cached_rows(plan: TablePlan, sizes: Sizes, share: float) -> int:
    """Rows of the table that the cache of all shards has room for."""
    return int(plan.n_shards * plan.join.room(share).cache / (sizes.bytes_per_row + BESIDES))


def _cache(plan: TablePlan, sizes: Sizes, share: float) -> str:
    room = plan.n_shards * plan.join.room(share).cache
    rows = cached_rows(plan, sizes, share)
    if rows >= sizes.rows:
        return f"a cache of {format_bytes(room)}, enough for the whole table"
    part = f"{100 * rows / sizes.rows:.3g} %"
    return f"a cache of {format_bytes(room)}, about {rows:,} table rows ({part} of all)"


def _rest(plan: TablePlan, share: float) -> str:
    room = plan.join.room(share)
    held, read = (format_bytes(plan.n_shards * n) for n in (room.waiting, room.buffer))
    return f"{held} for rows that wait, {read} for partitions being read"


def back_end(plan: TablePlan) -> str:
    """What answers rows that the cache does not, and why it was chosen before the query starts."""
    join = plan.join
    why = ""
    if plan.asked == "auto" and join.algorithm == "meshjoin":
        why = "; chosen because there is no index on the key"
    elif plan.asked == "auto" and join.algorithm != "auto":
        why = "; chosen because the cache has room for the whole table"
        if not join.knows_places:
            why = "; chosen because the database finds a row as quickly as its place"
    return f"{BACK_ENDS[join.algorithm]}{why}"


def costs(plan: TablePlan, sizes: Sizes, measured: Measured) -> Iterator[str]:
    """What reading the table costs, and what follows."""
    join = plan.join
    scan = f"measured now: a partition takes {measured.scan_ms:.3g} ms"
    if measured.look_up_us is None or measured.per_scan is None:
        yield f"{scan}, the whole table {measured.scan_ms * sizes.partitions / 1000:.3g} s"
        return
    yield (
        f"{scan}, a look-up {measured.look_up_us:.3g} us a key: loading a partition costs "
        f"as much as {measured.per_scan:,.3g} look-ups"
    )
    if join.algorithm != "auto":
        return
    if not join.longest_wait:
        yield "so a partition is loaded where a batch has more keys of it than that"
        return
    rate = measured.waits_from(join.longest_wait / 1e6, sizes.partitions)
    if rate is None:
        yield "so no row waits, whatever the rate"
    else:
        yield (
            f"so rows wait for others of their partition where the cache leaves more than about "
            f"{rate * plan.n_shards:,.0f} a second to be answered"
        )


def waits(plan: TablePlan) -> list[str]:
    """How long rows wait, and what becomes of those for which there is no time."""
    join = plan.join
    if not plan.streaming:
        return ["none waits: all rows are answered at once"]
    lines = ["none waits: each row is answered in the batch that brings it"]
    if join.longest_wait:
        lines = [
            f"a row waits for at most {format_duration(join.longest_wait)}, and no longer than the "
            "stream brings rows: when it pauses, all that wait are answered"
        ]
    if join.has_work_limit:
        when = "as they come, by chance" if join.shed == "upfront" else "after others of most worth"
        lines.append(
            f"rows for which there is no time are spilled into the state, {when}, and come again "
            "when the load falls; none is lost"
        )
    return lines


def limited(plan: TablePlan) -> str | None:
    """The budget of CPU, if there is one."""
    share, us = plan.join.work_share, plan.join.work_us
    if us is not None:
        return f"at most {format_duration(us * plan.n_shards)} a batch, the table's time included"
    if share is None:
        return None
    return f"at most {share:.3g} of the time of each shard, the table's time included"


def refresh(plan: TablePlan) -> list[str]:
    """When changes of the table are noticed."""
    access: TableAccess = plan.access
    if not plan.streaming:
        return ["the table is taken as it is when the rows are joined"]
    if access.refresh_us is None:
        return ["the table is taken to stay as it is when the query starts"]
    every = format_duration(access.refresh_us) if access.refresh_us else "batch"
    seen = f"the table is looked at every {every}; cached rows that may have changed are dropped"
    if access.on_failure == "fail":
        return [seen, "if it cannot be reached the query fails, and can be started again"]
    late = format_duration(access.stale_us)
    return [seen, f"if it cannot be reached what is known is used for at most {late}"]


def shards(plan: TablePlan) -> str:
    """How the work is split."""
    by = "the partition that has their key" if plan.join.is_routed else "key"
    spread = counted(plan.n_partitions, "partition")
    return f"{counted(plan.n_shards, 'shard')}, rows by {by}, over {spread} of Spark"
