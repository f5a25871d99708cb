"""Rows of a map task into packed rows: shaped by the join, divided by its routing, sent as blobs.

A `Shaper` knows what its join needs of the rows and to which shards they go: `StreamShaper` of rows
of streams, `table.shard.TableShaper` of those that are joined with a table.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamjoin._typing import LEFT, RIGHT, Side
from streamjoin.core.batch import Arranged, Batch, arrange
from streamjoin.joins.base import Operator, Tasks
from streamjoin.joins.packed import NEVER, PACKED, PackedRow
from streamjoin.joins.routing import HotKey, HotKeys, Routing, Split, describe_hot, split_hot
from streamjoin.shedding.rows import is_let_in

if TYPE_CHECKING:
    from streamjoin.joins.multi.settings import MultiJoin
    from streamjoin.joins.window.settings import WindowJoin

CHUNK_BYTES: Final = 4 << 20
"""A map task sends what it has gathered once it holds so much.

Larger blobs are no faster and become what Java's collector calls humongous objects; smaller ones
cost more calls.
"""

SENT_BYTES: Final = 64 << 20
"""Copies for several shards that are held at once; Arrow's column can hold 2 GB."""

_BLOB: Final = PACKED.get_field_index("blob")
_FIELDS: Final = [(field.name, field.type) for field in PACKED.remove(_BLOB)]

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
    fields: dict[str, Any]  # of `PackedRow`: a value for all shards, or a list with one for each
    spread: Split | None = None


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
        yield from _packed(shaper, shaped, (part, chunk, began))


def _packed(shaper: Shaper, shaped: Shaped, task: tuple[int, int, int]) -> Iterator[pa.RecordBatch]:
    part, chunk, began = task
    n = len(shaper.labels)
    values = {
        **PackedRow._field_defaults,
        **shaped.fields,
        "shard": shaper.labels,
        "side": shaper.side,
        "part": part,
        "chunk": chunk,
        "clock": time.time_ns() // 1000,
        "began": began,
        "joinable": shaped.rows.num_rows,
    }
    if shaped.spread is not None:
        cells = serialized(shaped.rows, shaped.spread)
        values |= {"spread": cells.slice(0, n), "copies": cells.slice(n, n)}
    columns = [_column(values[name], n, kind) for name, kind in _FIELDS]
    first = 0
    for blobs in _sent(serialized(shaped.rows, shaped.split), shaped.fragments):
        mine = [column.slice(first, len(blobs)) for column in columns]
        mine.insert(_BLOB, blobs)
        yield pa.RecordBatch.from_arrays(mine, schema=PACKED)
        first += len(blobs)


def _sent(blobs: pa.Array, fragments: Sequence[int]) -> Iterator[pa.Array]:
    """The fragment of each shard; where several get the same one, a bounded part at a time.

    Examples
    --------
    >>> [part.to_pylist() for part in _sent(pa.array([b"a", b"bc"], pa.binary()), [1, 1, 0])]
    [[b'bc', b'bc', b'a']]
    """
    if list(fragments) == list(range(len(blobs))):
        yield blobs
        return
    chosen = np.asarray(fragments)
    sizes = np.asarray(pc.binary_length(blobs)).astype(np.int64)[chosen]
    turns = np.diff((np.cumsum(sizes) - sizes) // SENT_BYTES)
    for some in np.split(chosen, np.flatnonzero(turns) + 1):
        yield blobs.take(pa.array(some))


def _column(values: Any, n: int, kind: pa.DataType) -> pa.Array:
    if isinstance(values, pa.Array):
        return values
    each = isinstance(values, Sequence | np.ndarray) and not isinstance(values, str | bytes)
    return pa.array(values if each else [values] * n, kind)


def in_first(value: int, n_shards: int) -> list[int]:
    """A number that the first shard counts for all."""
    return [value] + [0] * (n_shards - 1)


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


@dataclass(frozen=True)
class StreamShaper:
    """Shapes the rows of a stream, or what another join of the same plan has formed."""

    join: "WindowJoin | MultiJoin"
    side: int
    labels: tuple[int, ...]
    routing: Routing
    # Numbers of the shards of each Spark task, where hot keys are looked for.
    tasks: Tasks = ()
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
        n = len(self.labels)
        fragments = [self.routing.fragment(i, self.side) for i in range(n)]
        latest, newest = reached or (arranged.latest, None)
        fields = {
            "loose": self._loose(arranged, part),
            "total": rows.num_rows,
            "nulls": in_first(arranged.nulls, n),
            "ahead": in_first(arranged.ahead, n),
            "latest": NEVER if latest is None else latest,
            "newest": NEVER if newest is None else newest,
            "dropped": came - arranged.rows.num_rows,
            "let_in": let_in,
        }
        if stream.window_rows is not None:
            fields["order"] = self._orders(arranged, split, fragments)
        if self.tasks and decided.hot is not None:
            fields |= self._known_and_sent(decided.hot, split, spread)
        return Shaped(arranged.rows, split, fragments, fields, spread)

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

    def _known_and_sent(self, known: Known, split: Split, spread: Split | None) -> dict[str, Any]:
        """What is known of hot keys, and rows sent: to shards that share a task, and to all."""
        sent = np.diff(split.begin)
        if spread is not None:
            sent = sent + np.diff(spread.begin).reshape(2, len(self.labels)).sum(axis=0)
        task_rows = np.zeros(len(self.labels), np.int64)
        for shards in map(list, self.tasks):
            task_rows[shards] = sent[shards].sum()
        texts = [describe_hot(known[label]) for label in self.labels]
        return {"known": texts, "task_rows": task_rows, "all_rows": int(sent.sum())}

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


@dataclass(frozen=True)
class StreamOperator(Operator):
    """A join of streams, whose rows go where the routing sends them."""

    join: "WindowJoin | MultiJoin"

    def shaper(
        self, side: int, labels: tuple[int, ...], routing: Routing, tasks: Tasks, has_ahead: bool
    ) -> StreamShaper:
        """What shapes the rows of an input."""
        return StreamShaper(self.join, side, labels, routing, tasks, has_ahead)
