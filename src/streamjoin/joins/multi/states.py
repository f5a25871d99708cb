"""What is remembered of every node of a plan, in pieces that are written once.

A piece of a stream holds rows; a piece of a join holds tuples, which name rows. A piece goes when
the last of its tuples has ended.
"""

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin._typing import Keys
from streamjoin.core.batch import Batch
from streamjoin.core.index import HashIndex
from streamjoin.core.keys import column_keys
from streamjoin.core.window import MOST_SLICES, N_BASIC_WINDOWS, BasicWindow
from streamjoin.joins.base import WindowStore
from streamjoin.joins.multi.settings import FAR, MultiJoin
from streamjoin.joins.multi.tuples import ROW_BITS, Longs, Tuples, of_rows
from streamjoin.joins.progress import Progress
from streamjoin.planning.many.nary import Sizes
from streamjoin.planning.many.nary_cost import SMALL
from streamjoin.planning.many.tree import Tree
from streamjoin.shedding.costs import WEIGHT
from streamjoin.shedding.plans import AllowanceState

PLACE: Final = "_place"
MAX_INT64: Final = 2**63 - 1
RowsOf = Callable[[int, Longs], pa.RecordBatch]
"""Rows of an input by their names."""


@dataclass(frozen=True)
class Piece(BasicWindow):
    """A basic window of a node.

    `slice` is its number, `first` the earliest start in it and `last` the latest end; `until` has
    the latest ends on all axes. `weighed` says whether its tuples have weights; `carried` are the
    numbers of the pieces with their rows, where these are their own.
    """

    until: tuple[int, ...] = ()
    weighed: bool = False
    carried: tuple[int, ...] = ()


@dataclass
class MultiJoinState(Progress):
    """The directory: everything remembered but rows and tuples.

    Parameters
    ----------
    sequence
        Batches so far.
    newest
        The largest event time of all streams.
    next_piece
        Number of the next piece.
    released, held
        Tuples of each stream that have their place in the total order, in all shards; rows of each
        that wait for theirs, in this shard.
    pieces, carried
        What is stored of each node; and rows of each stream that tuples have as their own.
    tree
        The plan that is running, or would.
    nary
        Whether one n-ary join runs instead.
    arrivals
        Rows of each stream that a batch brings, as an average that forgets.
    totals
        Rows of each stream so far.
    sizes
        Sizes of joins as they were measured.
    limits
        What is known for keeping limits; None where there are none.
    """

    sequence: int = 0
    newest: int | None = None
    next_piece: int = 0
    released: list[int] = field(default_factory=list)
    held: list[int] = field(default_factory=list)
    pieces: list[list[Piece]] = field(default_factory=list)
    carried: list[list[Piece]] = field(default_factory=list)
    tree: str = ""
    nary: bool = False
    arrivals: list[float] = field(default_factory=list)
    totals: list[int] = field(default_factory=list)
    sizes: Sizes | None = None
    limits: AllowanceState | None = None

    @classmethod
    def of(cls, join: MultiJoin) -> "MultiJoinState":
        """Before the first batch."""
        k = len(join.inputs)
        return cls(
            latest=[None] * k,
            seen=[None] * k,
            released=[0] * k,
            held=[0] * k,
            pieces=[[] for _ in range(join.tree.root)],
            carried=[[] for _ in range(k)],
            tree=str(join.tree),
            nary=join.strategy != "tree",
            arrivals=[0.0] * k,
            totals=[0] * k,
        )

    def brings(self, rows: list[int]) -> None:
        """See how many rows of each stream a batch brings."""
        known = self.arrivals if any(self.totals) else rows
        self.arrivals = [a + WEIGHT * (n - a) for a, n in zip(known, rows, strict=True)]
        self.totals = [total + n for total, n in zip(self.totals, rows, strict=True)]

    def to_dict(self) -> dict[str, Any]:
        """Values that JSON can hold."""
        pieces = {
            name: [[list(asdict(piece).values()) for piece in node] for node in getattr(self, name)]
            for name in ("pieces", "carried")
        }
        limits = None if self.limits is None else self.limits.to_dict()
        sizes = None if self.sizes is None else self.sizes.to_dict()
        return {**vars(self), **pieces, "limits": limits, "sizes": sizes}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "MultiJoinState":
        """Read `to_dict` back."""
        pieces = {
            name: [[_piece(piece) for piece in node] for node in values[name]]
            for name in ("pieces", "carried")
        }
        limits = values["limits"]
        known = None if limits is None else AllowanceState.from_dict(limits)
        if "totals" not in values:  # of a version that had no n-ary join
            k = len(values["released"])
            values = {**values, "arrivals": [0.0] * k, "totals": [0] * k}
        sizes = values.get("sizes")
        measured = None if sizes is None else Sizes.from_dict(sizes)
        return cls(**{**values, **pieces, "limits": known, "sizes": measured})


def _piece(values: Sequence[Any]) -> Piece:
    fields: list[Any] = [tuple(v) if isinstance(v, list) else v for v in values]
    return Piece(*fields)


class States:
    """The states of all nodes, during one batch: settings, directory and the place of the bytes."""

    def __init__(self, join: MultiJoin, state: MultiJoinState, store: WindowStore) -> None:
        self.join, self.state, self.store = join, state, store
        self.tree = Tree.parse(state.tree, join.names)
        self._tuples: dict[int, Tuples] = {}
        self._together: dict[int, tuple[tuple[int, ...], Tuples]] = {}
        self._batches: dict[tuple[int, int], Batch] = {}
        self._keys: dict[tuple[int, int], Keys] = {}
        self._indexes: dict[tuple[int, int], HashIndex] = {}
        self._rows = {
            (number, piece.slice): piece
            for of in (state.pieces, state.carried)
            for number, pieces in enumerate(of[: len(join.inputs)])
            for piece in pieces
        }

    def rows(self, node: int) -> int:
        """How many tuples are stored of a node."""
        return sum(piece.rows for piece in self.state.pieces[node])

    @property
    def tables(self) -> tuple[float, ...]:
        """How many rows are stored of each stream."""
        return tuple(float(self.rows(i)) for i in range(self.tree.n_streams))

    def span_us(self, node: int) -> int:
        """How long a tuple of a node lives at most, on the axis of time."""
        if node < self.tree.n_streams:
            stream = self.join.streams[node]
            return FAR if stream.window_rows is not None else stream.window_us
        if self.join.limit_of(node) is not None:
            return FAR
        # It begins when the last of its rows came: from there each window reaches less far.
        return min(map(self.span_us, self.tree.children(node)))

    def _carries(self, node: int) -> bool:
        """Whether tuples of a node have rows of their own, as they may outlive those of streams."""
        if node < self.tree.n_streams:
            return False
        return self.join.limit_of(node) is not None or any(
            map(self._carries, self.tree.children(node))
        )

    def joined(self, node: int, parts: list[Tuples]) -> Tuples:
        """Tuples of a node, one part after the other."""
        return Tuples.joined(parts, self.join.n_axes, len(self.tree.streams(node)))

    def stored(self, node: int, low: int, high: int) -> Iterator[tuple[Piece | None, Tuples]]:
        """Tuples of a node whose interval may overlap one of time: those of each large piece.

        Those of small pieces come together, for each visit has its price, whatever it finds; with
        None, as they have no index.
        """
        near = [piece for piece in self.state.pieces[node] if piece.may_meet(low, high)]
        small = [piece for piece in near if piece.rows < SMALL]
        if small:
            # they are mostly the same ones again
            names, known = tuple(piece.slice for piece in small), self._together.get(node)
            if known is None or known[0] != names:
                parts = [self.tuples(node, piece) for piece in small]
                known = self._together[node] = names, self.joined(node, parts)
            yield None, known[1]
        for piece in near:
            if piece.rows >= SMALL:
                yield piece, self.tuples(node, piece)

    def tuples(self, node: int, piece: Piece) -> Tuples:
        """What a piece holds, read once a batch."""
        found = self._tuples.get(piece.slice)
        if found is None:
            if node < self.tree.n_streams:
                found = of_rows(self.join, node, self.batch(node, piece.slice), piece.slice)
            else:
                blob, n_streams = self.store.get(node, piece), len(self.tree.streams(node))
                found = Tuples.from_blob(blob, self.join.n_axes, n_streams, piece.weighed)
            self._tuples[piece.slice] = found
        return found

    def batch(self, number: int, piece: int) -> Batch:
        """The rows of a piece of a stream, stored or new."""
        found = self._batches.get((number, piece))
        if found is None:
            blob = self.store.get(number, self._rows[number, piece])
            rows = pa.ipc.read_record_batch(blob, kept(self.join, number))
            found = self._batches[number, piece] = Batch(rows, self.join.streams[number])
        return found

    def bytes_per_row(self, number: int, piece: int) -> int:
        """Average size of a row of a piece of a stream, at least one."""
        stored = self._rows.get((number, piece))
        if stored is None:
            return self.batch(number, piece).bytes_per_row
        return 1 + stored.size // stored.rows

    def index(self, node: int, piece: Piece, attribute: int = 0) -> HashIndex:
        """The hash index of a piece by an attribute; it is made once."""
        index = self._indexes.get((piece.slice, attribute))
        if index is not None:
            return index
        index = self.store.get_index(node, piece, attribute)
        if index is None:
            tuples = self.tuples(node, piece)
            keys = tuples.keys
            if self.join.attributes:
                keys = self.attribute_keys(node, piece.slice, attribute)
            index = HashIndex.build(keys, tuples.starts[0])
            self.store.put_index(node, piece, index, attribute)
        self._indexes[piece.slice, attribute] = index
        return index

    def attribute_keys(self, number: int, piece: int, attribute: int) -> Keys:
        """What the rows of a piece have in an attribute."""
        found = self._keys.get((piece, attribute))
        if found is None:
            column = self.batch(number, piece).rows.column(self.join.attributes[attribute][number])
            found = self._keys[piece, attribute] = column_keys(column)
        return found

    def arrive(self, number: int, batch: Batch) -> Tuples:
        """Cut new rows of a stream into pieces, which have names from now on; their tuples."""
        stream, parts = self.join.streams[number], []
        span = stream.window_rows or stream.window_us + stream.lateness_us
        for start, stop in _runs(_slice_numbers(self._axis(number, batch), span)):
            piece = self._number()
            self._batches[number, piece] = batch.slice(start, stop)
            parts.append(of_rows(self.join, number, self._batches[number, piece], piece))
        return self.joined(number, parts)

    def keep_rows(self, number: int, tuples: Tuples) -> None:
        """Store the pieces of rows that arrived, where something may still meet them."""
        numbers = tuples.ids[0] >> ROW_BITS
        for start, stop in _runs(numbers):
            name = int(numbers[start])
            rows = self._batches[number, name].rows
            self._keep(number, tuples.take(slice(start, stop)), rows, name)

    def keep_tuples(self, node: int, tuples: Tuples, rows: RowsOf) -> None:
        """Store tuples that a join has formed; `rows` looks up their rows."""
        limit = self.join.limit_of(node)
        if limit is not None:
            # in an order that does not depend on how they were formed: a batch may be run again
            tuples = tuples.take(np.lexsort((*tuples.ids[::-1], tuples.starts[0]))[-limit:])
            numbers = np.zeros(len(tuples), np.int64)
        else:
            numbers = _slice_numbers(tuples.ends[0], self.span_us(node))
            # slices are few: as short numbers they are sorted in one pass
            short = (numbers - numbers.min(initial=MAX_INT64)).astype(np.int16)
            order = np.argsort(short, kind="stable")
            tuples, numbers = tuples.take(order), numbers[order]
        for start, stop in _runs(numbers):
            part, carried = tuples.take(slice(start, stop)), tuple[int, ...]()
            if self._carries(node):
                part, carried = self._with_own_rows(node, part, rows)
            self._keep(node, part, part.to_batch(), self._number(), carried)
        if limit is not None:
            self._trim(node, limit)

    def _with_own_rows(
        self, node: int, tuples: Tuples, rows: RowsOf
    ) -> tuple[Tuples, tuple[int, ...]]:
        """Give tuples copies of their rows, which live as long as they do."""
        carried, ids = [], []
        for number, names in zip(self.tree.streams(node), tuples.ids, strict=True):
            name, blob = self._number(), rows(number, names).serialize()
            about = self.state.sequence, len(tuples), 0, FAR, blob.size, zlib.crc32(blob)
            piece = self._rows[number, name] = Piece(name, *about)
            self.store.put(number, piece, blob)
            self.state.carried[number].append(piece)
            carried.append(name)
            ids.append((name << ROW_BITS) + np.arange(len(tuples), dtype=np.int64))
        return replace(tuples, ids=np.stack(ids)), tuple(carried)

    def _number(self) -> int:
        self.state.next_piece += 1
        return self.state.next_piece - 1

    def _keep(
        self,
        node: int,
        tuples: Tuples,
        rows: pa.RecordBatch,
        number: int,
        carried: tuple[int, ...] = (),
    ) -> None:
        until = tuple(int(ends.max()) for ends in tuples.ends)
        if self._is_over(until):
            self._forget_carried(node, carried)
            return
        blob, first = rows.serialize(), int(tuples.starts[0].min())
        about = self.state.sequence, len(tuples), first, until[0], blob.size, zlib.crc32(blob)
        weighed = tuples.weights is not None
        piece = Piece(number, *about, until=until, weighed=weighed, carried=carried)
        self.store.put(node, piece, blob)
        self.state.pieces[node].append(piece)

    def _trim(self, node: int, limit: int) -> None:
        """Forget the oldest tuples beyond a number (JAQ-A1)."""
        pieces = self.state.pieces[node]
        excess = self.rows(node) - limit
        while excess > 0 and excess >= pieces[0].rows:
            excess -= pieces[0].rows
            self._remove(node, pieces.pop(0))
        if excess > 0:
            old = pieces.pop(0)
            rest = self.tuples(node, old).take(slice(excess, None))
            self.store.remove(node, old)
            self._keep(node, rest, rest.to_batch(), self._number(), old.carried)
            pieces.insert(0, pieces.pop())

    def _remove(self, node: int, piece: Piece) -> None:
        self.store.remove(node, piece)
        self._forget_carried(node, piece.carried)

    def _forget_carried(self, node: int, carried: tuple[int, ...]) -> None:
        for number, name in zip(self.tree.streams(node), carried, strict=False):
            rows = self._rows[number, name]
            self.store.remove(number, rows)
            self.state.carried[number].remove(rows)

    def expire(self) -> None:
        """Remove the pieces that nothing can meet any more."""
        for node, pieces in enumerate(self.state.pieces):
            for piece in [piece for piece in pieces if self._is_over(piece.until)]:
                self._remove(node, piece)
                pieces.remove(piece)

    def drop_joins(self) -> None:
        """Forget all tuples that joins have formed."""
        for node in self.tree.susceptible:
            for piece in self.state.pieces[node]:
                self._remove(node, piece)
            self.state.pieces[node] = []

    def _is_over(self, until: tuple[int, ...]) -> bool:
        watermark = self.state.watermark
        if watermark is not None and until[0] < watermark:
            return True
        ranks = (self.state.released[i] for i in self.join.counted)
        return any(end < rank for end, rank in zip(until[1:], ranks, strict=True))

    def _axis(self, number: int, batch: Batch) -> Longs:
        """What the slices of a stream's state are cut by."""
        if number not in self.join.counted:
            return batch.times
        column = batch.rows.num_columns - len(self.join.counted) + self.join.counted.index(number)
        return np.asarray(batch.rows.column(column))


def kept(join: MultiJoin, number: int) -> pa.Schema:
    """Schema of the rows of a stream's pieces: with their places on the axes that count."""
    schema = join.inputs[number].stream.stored
    for i in range(len(join.counted)):
        schema = schema.append(pa.field(f"{PLACE}{i}", pa.int64()))
    return schema


def _runs(numbers: NDArray[np.integer]) -> Iterator[tuple[int, int]]:
    """Where equal numbers that are next to each other begin and end."""
    edges = np.flatnonzero(np.diff(numbers)) + 1
    return pairwise([0, *edges.tolist(), len(numbers)] if len(numbers) else [])


def _slice_numbers(values: Longs, span: int) -> Longs:
    """In which slice each value is; slices go one after the other."""
    if not len(values) or span >= FAR:
        return np.zeros(len(values), np.int64)
    extent = int(values.max()) - int(values.min())
    return values // max(1, -(-span // N_BASIC_WINDOWS), -(-extent // MOST_SLICES))
