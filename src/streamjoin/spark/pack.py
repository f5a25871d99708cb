"""Rows to blobs before the shuffle, and blobs to rows after it.

Spark's state API loops over its input rows in Python, so it gets few and large ones: a map task
splits its rows by shard and sends one Arrow blob per shard. Each of these rows is also a *tick*: it
carries the largest event time that the task saw, so that every shard knows the time of the whole
batch, whichever keys fell to it.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, Protocol

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from streamjoin._typing import LEFT, RIGHT, Side
from streamjoin.core.batch import Arranged, Batch, arrange
from streamjoin.core.stream import Stream
from streamjoin.joins.hot_keys import HotKey, HotKeys
from streamjoin.joins.routing import Routing, Split, split_hot
from streamjoin.shedding.rows import is_let_in
from streamjoin.spark.gate import GateFolder
from streamjoin.spark.hot_keys import HotFolder, describe
from streamjoin.spark.worker import Run, running, settle

CHUNK_BYTES: Final = 4 << 20
"""A map task sends what it has gathered once it holds so much.

Larger blobs are no faster and become what Java's collector calls humongous objects; smaller ones
cost more calls.
"""

NEVER: Final = -(2**63)
"""Stands for no time: with a null among them pandas would turn the times into floats."""

PACKED_DDL: Final = (
    "shard long, side int, part int, chunk int, latest long, newest long, nulls long, ahead long, "
    "clock long, began long, total long, joinable long, dropped long, let_in double, "
    "task_rows long, all_rows long, known string, "
    "blob binary, loose binary, order binary, spread binary, copies binary"
)
_PACKED: Final = pa.schema(
    [
        ("shard", pa.int64()),
        ("side", pa.int32()),
        ("part", pa.int32()),
        ("chunk", pa.int32()),
        ("latest", pa.int64()),
        ("newest", pa.int64()),
        ("nulls", pa.int64()),
        ("ahead", pa.int64()),
        ("clock", pa.int64()),
        ("began", pa.int64()),
        ("total", pa.int64()),
        ("joinable", pa.int64()),
        ("dropped", pa.int64()),
        ("let_in", pa.float64()),
        ("task_rows", pa.int64()),
        ("all_rows", pa.int64()),
        ("known", pa.string()),
        ("blob", pa.binary()),
        ("loose", pa.binary()),
        ("order", pa.binary()),
        ("spread", pa.binary()),
        ("copies", pa.binary()),
    ]
)
Batches = Iterable[pa.RecordBatch]
Marks = tuple[int | None, int | None]
"""How far a join before has come, and the newest time that it has seen."""
Known = dict[int, list[HotKey]]
"""The hot keys that a map task knows of, by the label of their home."""


class Packed(Protocol):
    """What packing needs to know of a join."""

    @property
    def streams(self) -> tuple[Stream, ...]:
        """Its inputs."""

    def keeps(self, side: Any) -> bool:
        """Whether rows of an input come out even if they match nothing."""


@dataclass(frozen=True)
class Packer:
    """Packs one side's rows; given to ``mapInArrow``.

    Each packed row holds what one map task has for one shard in one chunk: `blob` the rows,
    `loose` those that can match nothing but are answered, `order` the times of all rows and which
    of them are the shard's. `clock` is the task's, which `began` when it says, `latest` the largest
    event time of the chunk, or how far a join before has come, and `newest` the newest that this
    one has seen; `total` counts its rows, `dropped` those that were turned away as only
    the share `let_in` is wanted, `joinable` the others that can match something and, in the first
    shard, `nulls` those that cannot and `ahead` those whose time cannot be true. Of hot keys,
    `spread` are rows that the shard counts, `copies` those that another one does, `known` says
    which of the shard's keys the task took for hot, `task_rows` and `all_rows` how many rows were
    sent to the shards that share its task and to all. With `has_ahead` the last column of the
    user's rows says whose time is too far ahead of the clock.
    """

    join: Packed
    side: int
    labels: tuple[int, ...]
    routing: Routing
    hot: HotFolder | None = None
    gate: GateFolder | None = None
    has_ahead: bool = False

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Blobs of one map task; called by Spark."""
        context = TaskContext.get()
        yield from self.pack(batches, context.partitionId() if context else 0, running())
        settle()

    def pack(self, batches: Batches, part: int, run: Run) -> Iterator[pa.RecordBatch]:
        """Blobs of one partition, in the order of its rows."""
        began = time.time_ns() // 1000
        known = None if self.hot is None else self.hot.read(run)
        share = 1.0 if self.gate is None else self.gate.read(run)[self.side]
        for chunk, rows in enumerate(gathered(batches)):
            yield self._pack(rows, part, chunk, known, began, share)

    def _pack(
        self,
        rows: pa.RecordBatch,
        part: int,
        chunk: int,
        known: Known | None = None,
        began: int = 0,
        share: float = 1.0,
    ) -> pa.RecordBatch:
        stream = self.join.streams[self.side]
        rows, ahead = self._without_ahead(rows)
        rows, reached = self._without_marks(rows)
        arranged = arrange(rows, stream, ahead)
        dropped = arranged.rows.num_rows
        if share < 1:
            batch = Batch(arranged.rows, stream)
            chosen = pa.array(is_let_in(batch, self._left_or_right, share))
            arranged = arranged._replace(rows=arranged.rows.filter(chosen))
        dropped -= arranged.rows.num_rows
        latest, newest = reached or (arranged.latest, None)
        n = len(self.labels)
        split, spread = self._split(Batch(arranged.rows, stream), known)
        blobs = serialized(arranged.rows, split)
        cells = serialized(arranged.rows, spread) if spread else pa.nulls(2 * n, pa.binary())
        fragments = [self.routing.fragment(shard, self.side) for shard in range(n)]
        columns = [
            pa.array(self.labels, pa.int64()),
            pa.array([self.side] * n, pa.int32()),
            pa.array([part] * n, pa.int32()),
            pa.array([chunk] * n, pa.int32()),
            pa.array([NEVER if latest is None else latest] * n, pa.int64()),
            pa.array([NEVER if newest is None else newest] * n, pa.int64()),
            pa.array([arranged.nulls] + [0] * (n - 1), pa.int64()),
            pa.array([arranged.ahead] + [0] * (n - 1), pa.int64()),
            pa.array([time.time_ns() // 1000] * n, pa.int64()),
            pa.array([began] * n, pa.int64()),
            pa.array([rows.num_rows] * n, pa.int64()),
            pa.array([arranged.rows.num_rows] * n, pa.int64()),
            pa.array([dropped] * n, pa.int64()),
            pa.array([share] * n, pa.float64()),
            *self._told(split, spread, known),
            blobs if fragments == list(range(n)) else blobs.take(pa.array(fragments)),
            self._loose(arranged, part),
            self._orders(arranged, split, fragments),
            cells.slice(0, n),
            cells.slice(n, n),
        ]
        return pa.RecordBatch.from_arrays(columns, schema=_PACKED)

    @property
    def _left_or_right(self) -> Side:
        """The side, where there are two."""
        return LEFT if self.side == LEFT else RIGHT

    def _without_ahead(self, rows: pa.RecordBatch) -> tuple[pa.RecordBatch, pa.Array | None]:
        """The rows as they came, and which of them are too far ahead of the clock."""
        if not self.has_ahead:
            return rows, None
        last = rows.num_columns - 1
        return rows.remove_column(last), rows.column(last)

    def _without_marks(self, rows: pa.RecordBatch) -> tuple[pa.RecordBatch, Marks | None]:
        """The rows of a stream: all of them are."""
        return rows, None

    def _split(self, batch: Batch, known: Known | None) -> tuple[Split, Split | None]:
        """Positions by fragment, and those of rows that are spread."""
        if known is not None and any(known.values()):
            hot = HotKeys([key for keys in known.values() for key in keys])
            reach = self.join.streams[1 - self.side].window_us
            found = split_hot(hot, batch, self._left_or_right, len(self.labels), reach)
            if found is not None:
                return found
        return self.routing.split(batch, self.side), None

    def _told(self, split: Split, spread: Split | None, known: Known | None) -> list[pa.Array]:
        """What shards are told to find hot keys."""
        n = len(self.labels)
        if self.hot is None or known is None:
            return [pa.array([0] * n), pa.array([0] * n), pa.array([""] * n)]
        sent = np.diff(split.begin)
        if spread is not None:
            sent = sent + np.diff(spread.begin).reshape(2, n).sum(axis=0)
        task_rows = np.zeros(n, np.int64)
        for shards in map(list, self.hot.tasks):
            task_rows[shards] = sent[shards].sum()
        all_rows = np.full(n, sent.sum())
        texts = [describe(known[label]) for label in self.labels]
        return [pa.array(task_rows), pa.array(all_rows), pa.array(texts, pa.string())]

    def _loose(self, arranged: Arranged, part: int) -> pa.Array:
        """Rows that can match nothing: to one shard, the same one if the task is run again."""
        blobs: list[bytes | None] = [None] * len(self.labels)
        if self.join.keeps(self.side) and arranged.loose.num_rows:
            blobs[part % len(blobs)] = arranged.loose.serialize().to_pybytes()
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


def gathered(batches: Batches) -> Iterator[pa.RecordBatch]:
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


def serialized(rows: pa.RecordBatch, split: Split) -> pa.Array:
    """Arrow IPC bytes of each part, as one binary column written once."""
    taken = rows.take(pa.array(split.positions))
    sink = pa.BufferOutputStream()
    offsets = [0]
    for start, stop in pairwise(split.begin.tolist()):
        sink.write(taken.slice(start, stop - start).serialize())
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
