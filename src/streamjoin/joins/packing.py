"""Rows of a map task into packed rows: shaped by the join, divided by its routing, sent as blobs.

A `Shaper` knows what its join needs of the rows and to which shards they go: `StreamShaper` of rows
of streams, `table.shard.TableShaper` of those that are joined with a table.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin._typing import LEFT, RIGHT, Side
from streamjoin.core.batch import Arranged, Batch, arrange
from streamjoin.core.stream import Stream
from streamjoin.joins.hot_keys import HotKey, HotKeys, describe
from streamjoin.joins.packed import NEVER, PACKED
from streamjoin.joins.routing import Routing, Split, split_hot
from streamjoin.shedding.rows import is_let_in

CHUNK_BYTES: Final = 4 << 20
"""A map task sends what it has gathered once it holds so much.

Larger blobs are no faster and become what Java's collector calls humongous objects; smaller ones
cost more calls.
"""

Known = dict[int, list[HotKey]]
"""The hot keys that a map task knows of, by the label of their home."""


class Decided(NamedTuple):
    """What shards decided in earlier batches: hot keys, and which share of each side to let in."""

    hot: Known | None = None
    let_in: Sequence[float] = (1.0, 1.0)


class Shaped(NamedTuple):
    """A chunk of rows, ready to be sent."""

    rows: pa.RecordBatch  # in stored form
    split: Split  # by fragment
    fragments: Sequence[int]  # of each shard
    loose: Sequence[bytes | None]  # of each shard: rows that can match nothing but are answered
    total: int
    nulls: int
    known: Sequence[str]  # what each shard is to compare with what it knows
    latest: int | None = None
    newest: int | None = None
    ahead: int = 0
    dropped: int = 0
    let_in: float = 1.0
    orders: Sequence[bytes] | None = None
    spread: Split | None = None
    task_rows: Sequence[int] | NDArray[np.int64] | None = None


class Shaper(Protocol):
    """Shapes the rows of one input of a join."""

    @property
    def side(self) -> int:
        """Number of the input."""

    @property
    def labels(self) -> tuple[int, ...]:
        """The shards' names, in order."""

    def shape(self, rows: pa.RecordBatch, part: int, decided: Decided) -> Shaped:
        """What becomes of a chunk of rows of a map task."""


def pack(
    shaper: Shaper,
    batches: Iterable[pa.RecordBatch],
    part: int,
    decided: Decided,
    began: int,
) -> Iterator[pa.RecordBatch]:
    """Packed rows of one map task, a row for each shard and chunk, in the order of its rows."""
    for chunk, rows in enumerate(gathered(batches)):
        shaped = shaper.shape(rows, part, decided)
        yield _packed(shaper, shaped, (part, chunk, began))


def _packed(shaper: Shaper, shaped: Shaped, task: tuple[int, int, int]) -> pa.RecordBatch:
    part, chunk, began = task
    n = len(shaper.labels)
    blobs = serialized(shaped.rows, shaped.split)
    if list(shaped.fragments) != list(range(n)):
        blobs = blobs.take(pa.array(shaped.fragments))
    cells = pa.nulls(2 * n, pa.binary())
    if shaped.spread is not None:
        cells = serialized(shaped.rows, shaped.spread)
    task_rows = [0] * n if shaped.task_rows is None else shaped.task_rows
    values = {
        "shard": shaper.labels,
        "side": [shaper.side] * n,
        "part": [part] * n,
        "chunk": [chunk] * n,
        "latest": [NEVER if shaped.latest is None else shaped.latest] * n,
        "newest": [NEVER if shaped.newest is None else shaped.newest] * n,
        "nulls": [shaped.nulls] + [0] * (n - 1),
        "ahead": [shaped.ahead] + [0] * (n - 1),
        "clock": [time.time_ns() // 1000] * n,
        "began": [began] * n,
        "total": [shaped.total] * n,
        "joinable": [shaped.rows.num_rows] * n,
        "dropped": [shaped.dropped] * n,
        "let_in": [shaped.let_in] * n,
        "task_rows": task_rows,
        "all_rows": [0 if shaped.task_rows is None else _sent(shaped)] * n,
        "known": shaped.known,
        "blob": blobs,
        "loose": shaped.loose,
        "order": [None] * n if shaped.orders is None else shaped.orders,
        "spread": cells.slice(0, n),
        "copies": cells.slice(n, n),
    }
    columns = [_column(values[field.name], field.type) for field in PACKED]
    return pa.RecordBatch.from_arrays(columns, schema=PACKED)


def _column(values: Any, kind: pa.DataType) -> pa.Array:
    return values if isinstance(values, pa.Array) else pa.array(values, kind)


def _sent(shaped: Shaped) -> int:
    """Rows sent to all shards, copies of spread ones included."""
    spread = 0 if shaped.spread is None else int(shaped.spread.begin[-1])
    return int(shaped.split.begin[-1]) + spread


def gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
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


class StreamJoin(Protocol):
    """What shaping needs to know of a join of streams."""

    @property
    def streams(self) -> tuple[Stream, ...]:
        """Its inputs."""

    def keeps(self, side: Any) -> bool:
        """Whether rows of an input come out even if they match nothing."""

    def marks_of(self, side: int) -> tuple[int, int] | None:
        """Columns that say how far the join before an input has come; None of a stream."""


@dataclass(frozen=True)
class StreamShaper:
    """Shapes the rows of a stream, or what another join of the same plan has formed."""

    join: StreamJoin
    side: int
    labels: tuple[int, ...]
    routing: Routing
    # Numbers of the shards of each Spark task, where hot keys are looked for.
    tasks: tuple[tuple[int, ...], ...] = ()
    # Whether the last column of the user's rows says whose time is too far ahead of the clock.
    has_ahead: bool = False

    def shape(self, rows: pa.RecordBatch, part: int, decided: Decided) -> Shaped:
        """Divide a chunk; turn away what is not let in."""
        stream = self.join.streams[self.side]
        rows, ahead = self._without_ahead(rows)
        rows, reached = self._without_marks(rows)
        arranged = arrange(rows, stream, ahead)
        came = arranged.rows.num_rows
        let_in = decided.let_in[self.side] if self.side < len(decided.let_in) else 1.0
        if let_in < 1:
            chosen = is_let_in(Batch(arranged.rows, stream), self._left_or_right, let_in)
            arranged = arranged._replace(rows=arranged.rows.filter(pa.array(chosen)))
        split, spread = self._split(Batch(arranged.rows, stream), decided.hot)
        fragments = [self.routing.fragment(i, self.side) for i in range(len(self.labels))]
        latest, newest = reached or (arranged.latest, None)
        seeks_hot_keys = bool(self.tasks) and decided.hot is not None
        counts = stream.window_rows is not None
        return Shaped(
            rows=arranged.rows,
            split=split,
            fragments=fragments,
            loose=self._loose(arranged, part),
            total=rows.num_rows,
            nulls=arranged.nulls,
            known=self._known(decided.hot) if seeks_hot_keys else [""] * len(self.labels),
            latest=latest,
            newest=newest,
            ahead=arranged.ahead,
            dropped=came - arranged.rows.num_rows,
            let_in=let_in,
            orders=self._orders(arranged, split, fragments) if counts else None,
            spread=spread,
            task_rows=self._task_rows(split, spread) if seeks_hot_keys else None,
        )

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

    def _without_marks(
        self, rows: pa.RecordBatch
    ) -> tuple[pa.RecordBatch, tuple[int | None, int | None] | None]:
        """The rows, and how far the join that formed them has come: its marks hold nothing else."""
        marks = self.join.marks_of(self.side)
        if marks is None:
            return rows, None
        reached, newest = (pa.compute.max(rows.column(position)).as_py() for position in marks)
        # A mark that says nothing yet has no time either.
        times = rows.column(self.join.streams[self.side].time)
        return rows.filter(times.is_valid()), (reached, newest)

    def _split(self, batch: Batch, known: Known | None) -> tuple[Split, Split | None]:
        """Positions by fragment, and those of rows that are spread."""
        if known is not None and any(known.values()):
            hot = HotKeys([key for keys in known.values() for key in keys])
            reach = self.join.streams[1 - self.side].window_us
            divided = split_hot(hot, batch, self._left_or_right, len(self.labels), reach)
            if divided is not None:
                return divided
        return self.routing.split(batch, self.side), None

    def _known(self, known: Known | None) -> list[str]:
        return [describe((known or {})[label]) for label in self.labels]

    def _task_rows(self, split: Split, spread: Split | None) -> NDArray[np.int64]:
        """Rows sent to the shards that share the task of each shard."""
        n = len(self.labels)
        sent = np.diff(split.begin)
        if spread is not None:
            sent = sent + np.diff(spread.begin).reshape(2, n).sum(axis=0)
        task_rows = np.zeros(n, np.int64)
        for shards in map(list, self.tasks):
            task_rows[shards] = sent[shards].sum()
        return task_rows

    def _loose(self, arranged: Arranged, part: int) -> list[bytes | None]:
        """Rows that can match nothing: to one shard, the same one if the task is run again."""
        blobs: list[bytes | None] = [None] * len(self.labels)
        if self.join.keeps(self.side) and arranged.loose.num_rows:
            blobs[part % len(blobs)] = arranged.loose.serialize().to_pybytes()
        return blobs

    def _orders(self, arranged: Arranged, split: Split, fragments: Sequence[int]) -> list[bytes]:
        blobs = []
        for fragment in fragments:
            mine = np.zeros(arranged.rows.num_rows, np.bool_)
            mine[split.positions[split.begin[fragment] : split.begin[fragment + 1]]] = True
            blobs.append(arranged.order(mine).to_bytes())
        return blobs
