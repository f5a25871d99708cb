"""Packing for joins with a table: rows go to the shard that loads the partition of their key.

So each partition is loaded by one shard. Where a key is, the map task looks up in the index of the
table; what shards do does not depend on it: a row that comes to another shard, because the table
has changed meanwhile or because its key is frequent, is answered there.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from pyspark import TaskContext

from streamjoin.core.kernels.equi import split_by_shard
from streamjoin.joins.routing import Split
from streamjoin.joins.table.arrivals import NOWHERE, keyed, row_keys
from streamjoin.joins.table.parts import Parts
from streamjoin.joins.table.settings import PART, STREAM, TableJoin
from streamjoin.spark.pack import Batches, gathered, serialized
from streamjoin.spark.worker import running, settle
from streamjoin.tables.access import TableAccess

PACKED_ROWS_DDL: Final = (
    "shard long, part int, chunk int, clock long, total long, nulls long, version string, "
    "blob binary, loose binary, tick long"
)
FIRST_TICK: Final = 4_102_444_800_000
"""Of batch 0; later than any clock, by which ticks went in older checkpoints."""

FEWEST: Final = 1000
SAMPLE: Final = 8192
"""Of fewer rows nothing is frequent; of more about so many are looked at."""
SPREAD: Final = 4
"""Frequent is what would be this part of a shard's work, all shards having the same."""


class PackedRows(NamedTuple):
    """What one map task sent one shard in one chunk."""

    part: int
    chunk: int
    clock: int
    total: int
    nulls: int
    version: str
    blob: bytes
    loose: bytes | None


def from_frames(frames: Iterator[pd.DataFrame]) -> list[PackedRows]:
    """Packed rows as the state API hands them over, in the order of map partition and chunk."""
    fields = list(PackedRows._fields)
    rows = (frame[fields].itertuples(index=False, name=None) for frame in frames)
    return _ordered(row for part in rows for row in part)


def from_batches(batches: Iterator[pa.RecordBatch]) -> list[PackedRows]:
    """Packed rows as ``applyInArrow`` hands them over."""
    fields = list(PackedRows._fields)
    rows = (batch.select(fields).to_pylist() for batch in batches)
    return _ordered(tuple(row.values()) for part in rows for row in part)


def _ordered(rows: Iterator[tuple[Any, ...]]) -> list[PackedRows]:
    return sorted((PackedRows(*row) for row in rows), key=lambda row: row[:2])


@dataclass(frozen=True)
class TablePacker:
    """Packs rows of the stream; given to ``mapInArrow``."""

    join: TableJoin
    labels: tuple[int, ...]
    access: TableAccess

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Blobs of one map task; called by Spark."""
        context = TaskContext.get()
        yield from self.pack(batches, context.partitionId() if context else 0)
        settle()

    def pack(self, batches: Batches, part: int) -> Iterator[pa.RecordBatch]:
        """Blobs of one partition, in the order of its rows."""
        for chunk, rows in enumerate(gathered(batches)):
            yield self._pack(rows, part, chunk)

    def _pack(self, rows: pa.RecordBatch, part: int, chunk: int) -> pa.RecordBatch:
        found, loose = keyed(rows, self.join.stream, self.join.keys[STREAM])
        places, version = self._places(found)
        n = len(self.labels)
        split = self._split(found, places)
        found = found.append_column(PART, pa.array(places, pa.int32()))
        first = [0] * (n - 1)
        loose_blob = loose.serialize().to_pybytes() if loose.num_rows else None
        columns = [
            pa.array(self.labels, pa.int64()),
            pa.array([part] * n, pa.int32()),
            pa.array([chunk] * n, pa.int32()),
            pa.array([time.time_ns() // 1000] * n, pa.int64()),
            pa.array([rows.num_rows, *first], pa.int64()),
            pa.array([loose.num_rows, *first], pa.int64()),
            pa.array([version] * n, pa.string()),
            serialized(found, split),
            pa.array([loose_blob] + [None] * (n - 1), pa.binary()),
            pa.array([FIRST_TICK + (running().batch or 0)] * n, pa.int64()),
        ]
        names = ["shard", *PackedRows._fields, "tick"]
        return pa.RecordBatch.from_arrays(columns, names)

    def _places(self, rows: pa.RecordBatch) -> tuple[NDArray[np.int32], str]:
        """The partition of each row, by the table as it is now."""
        if not self.join.is_routed:
            return np.full(len(rows), NOWHERE, np.int32), ""
        table = self.access.current().table
        return Parts(self.join, table).locate(rows), table.version

    def _split(self, rows: pa.RecordBatch, places: NDArray[np.int32]) -> Split:
        n = len(self.labels)
        keys = row_keys(rows)
        order, begin = split_by_shard(keys, n)
        if n == 1:
            return Split(order, begin)
        shards = np.empty(len(rows), np.int64)
        shards[order] = np.repeat(np.arange(n), np.diff(begin))
        if self.join.is_routed:
            known = (places >= 0) & ~np.isin(places, frequent(places, n))
            shards[known] = places[known] % n
        often = np.flatnonzero(np.isin(keys, frequent(keys, n)))
        shards[often] = np.arange(len(often)) % n
        counts = np.bincount(shards, minlength=n)
        by_shard = np.argsort(shards, kind="stable").astype(np.int32)
        return Split(by_shard, np.concatenate([[0], np.cumsum(counts)]))


def frequent(values: NDArray[Any], n_shards: int) -> NDArray[Any]:
    """Values that so many rows have that their shard would have clearly more work than others.

    Any shard can answer any row, so rows of such a key or partition go to all of them.

    Examples
    --------
    >>> keys = np.concatenate([np.zeros(500, np.int64), np.arange(1500)])
    >>> frequent(keys, n_shards=2)
    array([0])
    >>> len(frequent(np.arange(2000), n_shards=2))
    0
    """
    if len(values) < FEWEST:
        return values[:0]
    sample = values[:: max(1, len(values) // SAMPLE)]
    found, often = np.unique(sample, return_counts=True)
    return found[often * SPREAD * n_shards > len(sample)]
