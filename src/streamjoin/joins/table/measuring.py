"""What it takes to read a table, measured on a few of its partitions and keys; what suits it."""

from dataclasses import dataclass, replace
from time import perf_counter
from typing import Final

import numpy as np
import pyarrow as pa

from streamjoin.core.index import HashIndex
from streamjoin.joins.table.front_stage import BESIDES
from streamjoin.joins.table.rows import Parts, row_keys
from streamjoin.joins.table.settings import LOOK_UP_SHARE, TABLE, TableJoin
from streamjoin.planning.table import TableCosts, is_waiting_cheaper
from streamjoin.tables.base import OpenTable

PARTITIONS: Final = 32
KEYS: Final = 1024
SECONDS: Final = 0.5
"""As many are read at most, and for so long."""
FASTEST: Final = 1e9


@dataclass(frozen=True)
class Measured:
    """Costs of reading a table.

    Parameters
    ----------
    scan_ms
        Loading a partition and matching it.
    look_up_us
        Looking up a key; None if the table has no index, or no rows.
    keys
        So many were looked up together.
    """

    scan_ms: float
    look_up_us: float | None
    keys: int

    @property
    def per_scan(self) -> float | None:
        """How many keys can be looked up in the time that a partition takes."""
        return None if self.look_up_us is None else 1000 * self.scan_ms / self.look_up_us

    def waits_from(self, wait_s: float, n_partitions: int) -> float | None:
        """Rows per second, past the cache, from which on to wait costs less than to look up.

        None if that is never so.

        Examples
        --------
        >>> round(Measured(2.0, 20.0, 1024).waits_from(10.0, 1000))
        12500
        """
        if self.look_up_us is None or wait_s <= 0:
            return None
        costs = TableCosts(scan=1000 * self.scan_ms, look_up=self.look_up_us)
        low, high = 0.0, FASTEST
        if not is_waiting_cheaper(costs, high, wait_s, n_partitions, waits=False):
            return None
        for _ in range(60):
            middle = (low + high) / 2
            if is_waiting_cheaper(costs, middle, wait_s, n_partitions, waits=False):
                high = middle
            else:
                low = middle
        return high


def measure(join: TableJoin, table: OpenTable) -> Measured:
    """Load some partitions, match them, and look up some of their keys, for a second or so."""
    full, parts = np.flatnonzero(table.partition_rows), Parts(join, table)
    chosen = full[np.linspace(0, len(full) - 1, min(PARTITIONS, len(full)), dtype=np.int64)]
    each = max(1, KEYS // max(1, len(chosen)))
    read: list[pa.RecordBatch] = []
    began = perf_counter()
    for partition in chosen.tolist():
        rows = parts.scan([partition])
        some = rows.take(_spread(len(rows), each))
        mine, theirs = row_keys(some), row_keys(rows)
        HashIndex.build(mine, np.zeros_like(mine)).probe(theirs, np.zeros_like(theirs), 0, 0)
        read.append(some)
        if perf_counter() - began > SECONDS:
            break
    scan_ms = 1000 * (perf_counter() - began) / max(1, len(read))
    if not read or not table.has_index:
        return Measured(scan_ms, None, 0)
    some = pa.concat_batches(read)
    few = some.take(_spread(len(some), PARTITIONS))
    _look_up(join, parts, few)  # the first one opens files
    seconds = _look_up(join, parts, few)
    if len(few) and seconds * len(some) / len(few) < SECONDS:
        few, seconds = some, _look_up(join, parts, some)
    return Measured(scan_ms, 1e6 * seconds / max(1, len(few)), len(few))


def _spread(n: int, wanted: int) -> pa.Array:
    """So many positions, evenly over all."""
    return pa.array(np.unique(np.linspace(0, n - 1, min(n, wanted), dtype=np.int64)))


def _look_up(join: TableJoin, parts: Parts, some: pa.RecordBatch) -> float:
    began = perf_counter()
    parts.look_up([some.column(i) for i in join.keys[TABLE]])
    return perf_counter() - began


def fits(join: TableJoin, table: OpenTable) -> bool:
    """Whether the cache has room for the whole table."""
    needed = int(table.partition_rows.sum()) * (table.bytes_per_row + BESIDES)
    share = LOOK_UP_SHARE if join.front_share is None else join.front_share
    return needed <= share * join.memory


def suited(join: TableJoin, table: OpenTable) -> TableJoin:
    """The join with an algorithm for this table, and with what the table's rows cost.

    Without an index partitions must pass by (meshjoin). A table for which there is room is cached
    row by row, and each row is looked up once (inlj); the same where finding the partition of a key
    costs as much as looking it up. Otherwise the cheaper of looking up and waiting is found in each
    batch.
    """
    if join.algorithm == "auto" and not table.has_index:
        join = replace(join, algorithm="meshjoin")
    elif join.algorithm == "auto" and (fits(join, table) or not table.knows_places):
        join = replace(join, algorithm="inlj")
    measured = measure(join, table)
    costs = replace(join.costs, scan=1000 * measured.scan_ms)
    if measured.look_up_us is not None:
        costs = replace(costs, look_up=measured.look_up_us)
    return replace(join, costs=costs, knows_places=table.knows_places)
