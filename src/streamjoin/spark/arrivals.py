"""Packed rows of one shard back to what each side brings."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import pandas as pd
import pyarrow as pa

from streamjoin._typing import SIDES, Side
from streamjoin.core.batch import Batch
from streamjoin.core.order import Order
from streamjoin.joins.base import Arrival
from streamjoin.joins.window_join import WindowJoin
from streamjoin.spark.pack import NEVER

_COLUMNS = ("side", "part", "chunk", "latest", "nulls", "clock", "blob", "loose", "order")


class PackedRow(NamedTuple):
    """What one map task sent one shard in one chunk."""

    side: Side
    part: int
    chunk: int
    latest: int
    nulls: int
    clock: int
    blob: bytes
    loose: bytes | None
    order: bytes | None


def from_frames(frames: Iterable[pd.DataFrame]) -> list[PackedRow]:
    """Packed rows as the state API hands them over."""
    rows = (frame[list(_COLUMNS)].itertuples(index=False, name=None) for frame in frames)
    return [PackedRow(*row) for part in rows for row in part]


def from_batches(batches: Iterable[pa.RecordBatch]) -> list[PackedRow]:
    """Packed rows as Arrow hands them over."""
    columns = ([batch.column(name).to_pylist() for name in _COLUMNS] for batch in batches)
    return [PackedRow(*row) for part in columns for row in zip(*part, strict=True)]


def unpack(join: WindowJoin, packed: list[PackedRow]) -> tuple[tuple[Arrival, Arrival], int]:
    """What both sides bring, and the clock.

    Blobs come in any order; they are put in that of map partition and chunk, so that a batch which
    is run again gives the same rows.
    """
    in_order = sorted(packed, key=lambda row: row[:3])
    arrivals = [_arrival(join, side, [r for r in in_order if r.side == side]) for side in SIDES]
    return (arrivals[0], arrivals[1]), max(row.clock for row in packed)


def _arrival(join: WindowJoin, side: Side, rows: list[PackedRow]) -> Arrival:
    stream = join.streams[side]
    latest = max((row.latest for row in rows), default=NEVER)
    loose = list(_read((row.loose for row in rows), stream.stored))
    orders = [Order.from_bytes(row.order) for row in rows if row.order is not None]
    return Arrival(
        batch=Batch.gather(list(_read((row.blob for row in rows), stream.stored)), stream),
        loose=pa.concat_batches(loose) if loose else None,
        latest=None if latest == NEVER else int(latest),
        nulls=sum(int(row.nulls) for row in rows),
        order=Order.joined(orders) if stream.window_rows is not None else None,
    )


def _read(blobs: Iterable[bytes | None], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for blob in blobs:
        if blob is not None:
            rows = pa.ipc.read_record_batch(pa.py_buffer(blob), schema)
            if rows.num_rows:
                yield rows
