"""The row that carries a shard's part of a chunk from a map task to the shard: declared once.

Spark's state API loops over its input rows in Python, so it gets few and large ones: a map task
splits its rows by shard and sends one Arrow blob per shard. Each of these rows is also a *tick*: it
carries the largest event time that the task saw, so that every shard knows the time of the whole
batch, whichever keys fell to it.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, get_type_hints

import pyarrow as pa
import pyarrow.compute as pc

from streamjoin.core.batch import Batch
from streamjoin.core.sealed import read_rows
from streamjoin.core.stream import Order, Stream
from streamjoin.joins.base import Arrival

NEVER: Final = -(2**63)
"""Stands for no time: with a null among them pandas would turn the times into floats."""


class PackedRow(NamedTuple):
    """What one map task sent one shard in one chunk."""

    # Which input, map task and chunk of the task.
    side: int
    part: int
    chunk: int
    # Largest event time of the chunk, or how far a join before has come; newest that one has seen.
    latest: int = NEVER
    newest: int = NEVER
    # In the first shard: rows that can match nothing, and those whose time cannot be true.
    nulls: int = 0
    ahead: int = 0
    # The task's clock now, and when it began.
    clock: int = 0
    began: int = 0
    # Rows of the chunk; those that can match something; those turned away; the share let in.
    total: int = 0
    joinable: int = 0
    dropped: int = 0
    let_in: float = 1.0
    # Rows sent to the shards that share this one's Spark task, and to all.
    task_rows: int = 0
    all_rows: int = 0
    # What the task knew when it split: the shard's hot keys, or the version of a table.
    known: str = ""
    # The shard's rows; those that can match nothing but are answered; times of all rows and which
    # are the shard's, where windows count.
    blob: bytes = b""
    loose: bytes | None = None
    order: bytes | None = None
    # Of hot keys: rows that the shard counts, and those that another one does.
    spread: bytes | None = None
    copies: bytes | None = None


_KINDS: Final = {
    int: ("long", pa.int64()),
    float: ("double", pa.float64()),
    str: ("string", pa.string()),
    bytes: ("binary", pa.binary()),
    bytes | None: ("binary", pa.binary()),
}
_TYPES: Final = {"shard": int, **get_type_hints(PackedRow)}
PACKED_DDL: Final = ", ".join(f"{name} {_KINDS[kind][0]}" for name, kind in _TYPES.items())
PACKED: Final = pa.schema([(name, _KINDS[kind][1]) for name, kind in _TYPES.items()])


def read_packed(batches: Iterable[pa.RecordBatch]) -> list[PackedRow]:
    """Packed rows as Arrow hands them over."""
    columns = ([batch.column(n).to_pylist() for n in PackedRow._fields] for batch in batches)
    return [PackedRow(*row) for part in columns for row in zip(*part, strict=True)]


def clock_of(packed: Sequence[PackedRow]) -> int:
    """The clock of a batch."""
    return max((row.clock for row in packed), default=0)


def rows_of(side: int, packed: Iterable[PackedRow]) -> list[PackedRow]:
    """What an input sent, in the order of map task and chunk: so it is when it is sent again."""
    return sorted((row for row in packed if row.side == side), key=lambda row: row[:3])


def unpack(streams: Sequence[Stream], packed: Sequence[PackedRow]) -> list[Arrival]:
    """What each input brings."""
    return [_arrival(stream, rows_of(side, packed)) for side, stream in enumerate(streams)]


def unpack_spread(
    streams: Sequence[Stream], packed: Sequence[PackedRow], watermark: int | None
) -> list[Arrival]:
    """What each input brings of hot keys that are spread to the shard.

    A late row is left to the shard that counts it.
    """
    return [
        _spread_arrival(stream, rows_of(side, packed), watermark)
        for side, stream in enumerate(streams)
    ]


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
