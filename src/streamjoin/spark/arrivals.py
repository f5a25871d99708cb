"""Packed rows of one shard back to what each side brings."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from streamjoin._typing import SIDES
from streamjoin.core.batch import Batch
from streamjoin.core.order import Order
from streamjoin.core.stream import Stream
from streamjoin.joins.base import Arrival
from streamjoin.joins.window_join import WindowJoin
from streamjoin.spark.blobs import read_rows
from streamjoin.spark.pack import NEVER

Arrivals = tuple[Arrival, Arrival]


class PackedRow(NamedTuple):
    """What one map task sent one shard in one chunk."""

    side: int
    part: int
    chunk: int
    latest: int
    newest: int
    nulls: int
    ahead: int
    clock: int
    began: int
    total: int
    joinable: int
    dropped: int
    let_in: float
    task_rows: int
    all_rows: int
    known: str
    blob: bytes
    loose: bytes | None
    order: bytes | None
    spread: bytes | None
    copies: bytes | None


_COLUMNS = PackedRow._fields


def from_frames(frames: Iterable[pd.DataFrame]) -> list[PackedRow]:
    """Packed rows as the state API hands them over."""
    rows = (frame[list(_COLUMNS)].itertuples(index=False, name=None) for frame in frames)
    return [PackedRow(*row) for part in rows for row in part]


def from_batches(batches: Iterable[pa.RecordBatch]) -> list[PackedRow]:
    """Packed rows as Arrow hands them over."""
    columns = ([batch.column(name).to_pylist() for name in _COLUMNS] for batch in batches)
    return [PackedRow(*row) for part in columns for row in zip(*part, strict=True)]


def unpack(join: WindowJoin, packed: list[PackedRow]) -> tuple[Arrivals, int]:
    """What both sides bring, and the clock.

    Blobs come in any order; they are put in that of map partition and chunk, so that a batch which
    is run again gives the same rows.
    """
    left, right = unpack_inputs(join.streams, packed)
    return (left, right), clock_of(packed)


def unpack_inputs(streams: Sequence[Stream], packed: list[PackedRow]) -> list[Arrival]:
    """What each input brings, in the order of map partition and chunk."""
    return [_arrival(stream, _of(number, packed)) for number, stream in enumerate(streams)]


def clock_of(packed: list[PackedRow]) -> int:
    """The clock of a batch."""
    return max(row.clock for row in packed)


def unpack_spread(join: WindowJoin, packed: list[PackedRow], watermark: int | None) -> Arrivals:
    """What both sides bring of hot keys that are spread to the shard.

    A late row is left to the shard that counts it.
    """
    left, right = (
        _spread_arrival(join.streams[side], _of(side, packed), watermark) for side in SIDES
    )
    return left, right


def _of(side: int, packed: list[PackedRow]) -> list[PackedRow]:
    return sorted((row for row in packed if row.side == side), key=lambda row: row[:3])


def _largest(times: Iterable[int]) -> int | None:
    latest = max(times, default=NEVER)
    return None if latest == NEVER else int(latest)


def _arrival(stream: Stream, rows: list[PackedRow]) -> Arrival:
    loose = list(_read((row.loose for row in rows), stream.stored))
    orders = [Order.from_bytes(row.order) for row in rows if row.order is not None]
    return Arrival(
        batch=Batch.gather(list(_read((row.blob for row in rows), stream.stored)), stream),
        loose=pa.concat_batches(loose) if loose else None,
        latest=_largest(row.latest for row in rows),
        nulls=sum(int(row.nulls) for row in rows),
        ahead=sum(int(row.ahead) for row in rows),
        order=Order.joined(orders) if stream.window_rows is not None else None,
        total=sum(int(row.joinable) for row in rows),
        share=min((float(row.let_in) for row in rows), default=1.0),
        newest=_largest(row.newest for row in rows),
    )


def _spread_arrival(stream: Stream, rows: list[PackedRow], watermark: int | None) -> Arrival:
    chunks = list(_read((row.spread for row in rows), stream.stored))
    for copies in _read((row.copies for row in rows), stream.stored):
        times = copies.column(stream.time).view(pa.int64())
        on_time = copies if watermark is None else copies.filter(pc.greater_equal(times, watermark))
        chunks += [on_time] if on_time.num_rows else []
    return Arrival(Batch.gather(chunks, stream), latest=_largest(row.latest for row in rows))


def _read(blobs: Iterable[bytes | None], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for blob in blobs:
        if blob is not None:
            rows = read_rows(blob, schema)
            if rows.num_rows:
                yield rows
