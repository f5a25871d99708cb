"""Rows to blobs before the shuffle, and blobs to rows after it.

Spark's state API loops over its input rows in Python, so it gets few and large ones: a map task
splits its rows by shard and sends one Arrow blob per shard. Each of these rows is also a *tick*: it
carries the largest event time that the task saw, so that every shard knows the time of the whole
batch, whichever keys fell to it.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark import TaskContext

from streamjoin._typing import Side
from streamjoin.core.batch import Arranged, Batch, arrange
from streamjoin.joins.window_join import WindowJoin
from streamjoin.spark.routing import Routing, Split
from streamjoin.spark.worker import settle

CHUNK_BYTES: Final = 4 << 20
"""A map task sends what it has gathered once it holds so much.

Larger blobs are no faster and become what Java's collector calls humongous objects; smaller ones
cost more calls.
"""

NEVER: Final = -(2**63)
"""Stands for no time: with a null among them pandas would turn the times into floats."""

PACKED_DDL: Final = (
    "shard long, side int, part int, chunk int, latest long, nulls long, clock long, "
    "blob binary, loose binary, order binary"
)
_PACKED: Final = pa.schema(
    [
        ("shard", pa.int64()),
        ("side", pa.int32()),
        ("part", pa.int32()),
        ("chunk", pa.int32()),
        ("latest", pa.int64()),
        ("nulls", pa.int64()),
        ("clock", pa.int64()),
        ("blob", pa.binary()),
        ("loose", pa.binary()),
        ("order", pa.binary()),
    ]
)
Batches = Iterable[pa.RecordBatch]


@dataclass(frozen=True)
class Packer:
    """Packs one side's rows; given to ``mapInArrow``.

    Each packed row holds what one map task has for one shard in one chunk: `blob` the rows,
    `loose` those that can match nothing but are answered, `order` the times of all rows and which
    of them are the shard's. `clock` is the task's, `latest` the largest event time of the chunk;
    `nulls` are counted by the first shard.
    """

    join: WindowJoin
    side: Side
    labels: tuple[int, ...]
    routing: Routing

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Blobs of one map task, in the order of its rows."""
        context = TaskContext.get()
        part = context.partitionId() if context else 0
        for chunk, rows in enumerate(_gather(batches)):
            yield self._pack(rows, part, chunk)
        settle()

    def _pack(self, rows: pa.RecordBatch, part: int, chunk: int) -> pa.RecordBatch:
        stream = self.join.streams[self.side]
        arranged = arrange(rows, stream)
        latest = NEVER if arranged.latest is None else arranged.latest
        n = len(self.labels)
        split = self.routing.split(Batch(arranged.rows, stream), self.side)
        blobs = _serialize(arranged.rows.take(pa.array(split.positions)), split.begin)
        fragments = [self.routing.fragment(shard, self.side) for shard in range(n)]
        columns = [
            pa.array(self.labels, pa.int64()),
            pa.array([self.side] * n, pa.int32()),
            pa.array([part] * n, pa.int32()),
            pa.array([chunk] * n, pa.int32()),
            pa.array([latest] * n, pa.int64()),
            pa.array([arranged.loose.num_rows] + [0] * (n - 1), pa.int64()),
            pa.array([time.time_ns() // 1000] * n, pa.int64()),
            blobs if fragments == list(range(n)) else blobs.take(pa.array(fragments)),
            self._loose(arranged, chunk),
            self._orders(arranged, split, fragments),
        ]
        return pa.RecordBatch.from_arrays(columns, schema=_PACKED)

    def _loose(self, arranged: Arranged, chunk: int) -> pa.Array:
        blobs: list[bytes | None] = [None] * len(self.labels)
        if self.join.keeps(self.side) and arranged.loose.num_rows:
            blobs[chunk % len(blobs)] = arranged.loose.serialize().to_pybytes()
        return pa.array(blobs, pa.binary())

    def _orders(self, arranged: Arranged, split: Split, fragments: list[int]) -> pa.Array:
        if self.join.streams[self.side].window_rows is None:
            return pa.nulls(len(fragments), pa.binary())
        blobs = []
        for fragment in fragments:
            mine = np.zeros(arranged.rows.num_rows, np.bool_)
            mine[split.positions[split.begin[fragment] : split.begin[fragment + 1]]] = True
            blobs.append(arranged.order(mine).to_bytes())
        return pa.array(blobs, pa.binary())


def _gather(batches: Batches) -> Iterator[pa.RecordBatch]:
    """Join Spark's small Arrow batches into large ones."""
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        if batch.num_rows:
            held.append(batch)
            size += batch.nbytes
        if size >= CHUNK_BYTES:
            yield pa.concat_batches(held)
            held, size = [], 0
    if held:
        yield pa.concat_batches(held)


def _serialize(rows: pa.RecordBatch, begin: NDArray[np.int64]) -> pa.Array:
    """Arrow IPC bytes of consecutive parts, as one binary column written once."""
    sink = pa.BufferOutputStream()
    offsets = [0]
    for start, stop in zip(begin[:-1].tolist(), begin[1:].tolist(), strict=True):
        sink.write(rows.slice(start, stop - start).serialize())
        offsets.append(sink.tell())
    ends = pa.py_buffer(np.array(offsets, np.int32))
    return pa.BinaryArray.from_buffers(pa.binary(), len(offsets) - 1, [None, ends, sink.getvalue()])


def unpacker(schema: pa.Schema) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """A function for ``mapInArrow`` that turns result blobs into rows."""

    def unpack(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for blob in batch.column("blob"):
                yield pa.ipc.read_record_batch(blob.as_buffer(), schema)

    return unpack
