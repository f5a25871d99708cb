"""From names of rows back to rows, a column at a time."""

from functools import cached_property
from itertools import pairwise
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin._typing import Keys, Times
from streamjoin.core.keys import equal_keys, is_exact
from streamjoin.joins.base import MAX_BYTES, MAX_PAIRS, WEIGHT
from streamjoin.joins.multi.settings import END, START
from streamjoin.joins.multi.states import States, kept
from streamjoin.joins.multi.tuples import ROW_BITS, Longs, Tuples

LARGEST: Final = 1 << 30
"""Bytes up to which arrays are put together: offsets of strings have 32 bits."""
Holds = NDArray[np.bool_]
Found = tuple[tuple[int, ...], pa.Array]
"""Pieces, and places among the rows of all of them."""


class Rows:
    """Looks up rows of all inputs, during one batch."""

    def __init__(self, states: States) -> None:
        self._join, self._states = states.join, states
        streams = states.tree.streams(states.tree.root)
        self._line = {number: i for i, number in enumerate(streams)}
        self._together: dict[tuple[int, int], tuple[tuple[int, ...], pa.Array]] = {}
        self._known: dict[int, tuple[frozenset[int], tuple[int, ...], Longs]] = {}
        self._keys: dict[tuple[int, int], tuple[tuple[int, ...], Keys]] = {}
        self._looked_up: tuple[Tuples | None, dict[int, Found]] = None, {}

    def at_once(self, results: Tuples) -> int:
        """How many results come out at once, by the width of the pieces that their rows are in."""
        width = 0
        for number in range(len(self._join.inputs)):
            pieces, _ = self._found(results, number)
            width += max((self._states.bytes_per_row(number, p) for p in pieces), default=1)
        return max(1, min(MAX_PAIRS, MAX_BYTES // width))

    def verified(self, results: Tuples) -> Tuples:
        """Leave out results whose keys only have equal hashes."""
        same = np.ones(len(results), np.bool_)
        for (first, columns), *others in self._hashed:
            mine = [self._column(results, first, i) for i in columns]
            for number, theirs in others:
                same &= equal_keys(mine, [self._column(results, number, i) for i in theirs])
        return results if same.all() else results.take(same)

    @cached_property
    def _hashed(self) -> list[list[tuple[int, tuple[int, ...]]]]:
        """Inputs with their columns that must be equal, where only hashes of these were."""
        streams = self._join.streams
        if not self._join.attributes:
            exact = all(stream.has_exact_key for stream in streams)
            return [] if exact else [[(i, one.key) for i, one in enumerate(streams)]]
        return [
            [(number, (position,)) for number, position in one.items()]
            for one in self._join.attributes
            if not all(is_exact(streams[i].schema.types[position]) for i, position in one.items())
        ]

    def fresh(self, results: Tuples, newest: int | None, counts: list[int]) -> Holds:
        """Which results have no tuple that is too old by now (JAQ-A9).

        `newest` is the newest time of all streams, `counts` the tuples of each that have come.
        """
        holds = np.ones(len(results), np.bool_)
        for one in self._join.freshness:
            position, now = one.time, newest
            if one.counted:
                first = len(self._join.inputs[one.input].stream.stored)
                position = first + self._join.counted.index(one.input)
                now = counts[one.input]
            if now is not None:
                holds &= self._times(results, one.input, position) >= now - one.age
        return holds

    def oldest(self, results: Tuples) -> Times:
        """The time of the oldest row of each result; of streams, not of partial results."""
        streams = enumerate(self._join.streams)
        times = [self._times(results, number, stream.time) for number, stream in streams]
        found: Times = np.minimum.reduce(times)
        return found

    def columns(self, results: Tuples) -> list[pa.Array]:
        """The result rows, as arrays by output column."""
        arrays = []
        for column in self._join.output:
            if column.position == WEIGHT:
                weights = results.weights
                array = pa.array(np.ones(len(results)) if weights is None else weights)
            elif column.position in (START, END):
                ends = results.starts[0] if column.position == START else results.ends[0]
                array = pa.array(ends)
            else:
                array = self._column(results, column.side, column.position)
            arrays.append(array if array.type == column.type else array.cast(column.type))
        return arrays

    def record_batch(self, number: int, ids: Longs) -> pa.RecordBatch:
        """The rows of an input that names speak of, as they are stored."""
        schema = kept(self._join, number)
        found = self._places(number, ids)
        columns = [self._named(number, found, position) for position in range(len(schema))]
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    def attribute_keys(self, number: int, ids: Longs, attribute: int) -> Keys:
        """What rows of an input have in an attribute, by their names."""
        pieces, places = self._places(number, ids)
        known = self._keys.get((number, attribute))
        if known is None or known[0] != pieces:
            parts = [self._states.attribute_keys(number, piece, attribute) for piece in pieces]
            known = pieces, np.concatenate([np.empty(0, np.int64), *parts])
            self._keys[number, attribute] = known
        return known[1].take(np.asarray(places))

    def _times(self, results: Tuples, number: int, position: int) -> Times:
        return np.asarray(self._column(results, number, position).view(pa.int64()))

    def _column(self, results: Tuples, number: int, position: int) -> pa.Array:
        return self._named(number, self._found(results, number), position)

    def _found(self, results: Tuples, number: int) -> Found:
        if self._looked_up[0] is not results:
            self._looked_up = results, {}
        places = self._looked_up[1]
        if number not in places:
            places[number] = self._places(number, results.ids[self._line[number]])
        return places[number]

    def _named(self, number: int, found: Found, position: int) -> pa.Array:
        pieces, places = found
        known = self._together.get((number, position))
        if known is None or known[0] != pieces:
            parts = [self._states.batch(number, p).rows.column(position) for p in pieces]
            if sum(part.nbytes for part in parts) > LARGEST:
                return _taken(parts, np.asarray(places))
            known = pieces, parts[0] if len(parts) == 1 else pa.concat_arrays(parts)
            self._together[number, position] = known
        return known[1].take(places)

    def _places(self, number: int, ids: Longs) -> Found:
        """The pieces that names speak of, and places among the rows of all of them."""
        names = ids >> ROW_BITS
        if not len(names):
            return (), pa.array(names)
        least = int(names.min())
        found = np.flatnonzero(np.bincount(names - least)) + least
        pieces, first, begins = self._begins(number, found.tolist())
        places = begins[names - first] + (ids & ((1 << ROW_BITS) - 1))
        return pieces, pa.array(places)

    def _begins(self, number: int, wanted: list[int]) -> tuple[tuple[int, ...], int, Longs]:
        """Pieces with these among them, and where the rows of each begin among those of all.

        Beginnings are listed by the numbers of pieces, from the first one's on. Results name now
        these pieces, now those: so that columns need not be put together each time, those that were
        asked for before stay.
        """
        known = self._known.get(number)
        if known is None or not known[0].issuperset(wanted):
            both = frozenset(wanted) | (known[0] if known else frozenset())
            pieces = tuple(sorted(both))
            lengths = [len(self._states.batch(number, piece)) for piece in pieces]
            begins = np.zeros(pieces[-1] - pieces[0] + 1, np.int64)
            begins[np.array(pieces) - pieces[0]] = np.concatenate([[0], np.cumsum(lengths)[:-1]])
            known = self._known[number] = both, pieces, begins
        return known[1], known[1][0], known[2]


def _taken(parts: list[pa.Array], places: Longs) -> pa.Array:
    """Values at places among those of all parts, which are too large to be put together."""
    ends = np.cumsum([len(part) for part in parts])
    order = np.argsort(places, kind="stable")
    cuts = np.searchsorted(places[order], ends).tolist()
    taken = [
        part.take(pa.array(places[order[start:stop]] - (end - len(part))))
        for part, end, (start, stop) in zip(parts, ends.tolist(), pairwise([0, *cuts]), strict=True)
    ]
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    return pa.concat_arrays(taken).take(pa.array(back))
