"""Who meets whom: an index over one side's arrivals, past which rows of the other are streamed."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from streamjoin._typing import LEFT, Keys, Side, Times
from streamjoin.core.band import Buckets, Values, band_keys, band_values
from streamjoin.core.batch import Batch
from streamjoin.core.index import HashIndex, PairPositions
from streamjoin.core.keys import equal_keys
from streamjoin.core.predicate import mask
from streamjoin.joins.base import Pairs
from streamjoin.joins.window_join import WindowJoin

MAX_PAIRS: Final = 1 << 18
MAX_BYTES: Final = 64 << 20
"""Results handed out at once, by number and by average width, where one batch yields very many."""

Moved = Callable[[Batch], NDArray[np.bool_]]
"""Which rows of a batch meet each other in another shard."""


@dataclass
class Part:
    """Rows of one side that take part in a batch: its arrivals, or one basic window.

    Parameters
    ----------
    batch
        The rows.
    marks
        Which of them have matched, where that matters.
    places
        For arrivals: how many tuples of the other side come before each, where that side's window
        counts them.
    changed
        Whether a mark was set in this batch.
    """

    batch: Batch
    marks: NDArray[np.bool_] | None = None
    places: Times | None = None
    changed: bool = False


def bounds(join: WindowJoin, side: Side) -> tuple[int, int]:
    """Inclusive bounds of (coordinate of an arrival of a side) - (coordinate of the other's row).

    Coordinates are times; or, where the other's window counts tuples, the arrival's place among
    them and the row's rank. In the total order the other's row is the earlier one; else either is.
    """
    mine, other = join.streams[side], join.streams[1 - side]
    if not join.is_ordered:
        return -mine.window_us, other.window_us
    if other.window_rows is not None:
        return 1, other.window_rows
    return (1 if side == LEFT else 0), other.window_us  # of equal times the left is the earlier


def piece_rows(*batches: Batch) -> int:
    """How many results of these batches' rows are handed out at once."""
    width = sum(batch.bytes_per_row for batch in batches)
    return max(1, min(MAX_PAIRS, MAX_BYTES // width))


def coordinates(part: Part) -> Times:
    """Where arrivals stand on the other side's axis."""
    return part.batch.times if part.places is None else part.places


class Matcher:
    """Finds the matches of one side's arrivals; made once a batch.

    Parameters
    ----------
    join
        Settings.
    side
        Whose arrivals these are.
    arrivals
        At least one row.
    moved
        Where given: pairs of two such rows are left out.
    """

    def __init__(
        self, join: WindowJoin, side: Side, arrivals: Part, moved: Moved | None = None
    ) -> None:
        self._join = join
        self._side = side
        self._arrivals = arrivals.batch
        self._moved = moved
        self._mine_moved = None if moved is None else moved(arrivals.batch)
        self._low, self._high = bounds(join, side)
        keys = arrivals.batch.keys
        if join.band is not None:
            values = self._band_values(side, arrivals.batch)
            self._buckets = Buckets.over(values, float(join.band.width))
            keys = band_keys(keys, self._buckets.of(values))
        self._index = HashIndex.build(keys, coordinates(arrivals))

    def meet(self, other: Batch) -> Iterator[Pairs]:
        """All matches with rows of the other side, in pieces."""
        most = piece_rows(self._arrivals, other)
        for mine, theirs in self._here(other, self._candidates(other, most)):
            if self._side == LEFT:
                pairs = Pairs((self._arrivals, other), (mine, theirs))
            else:
                pairs = Pairs((other, self._arrivals), (theirs, mine))
            yield self._verified(pairs)

    def _here(self, other: Batch, pairs: Iterator[PairPositions]) -> Iterator[PairPositions]:
        """Leave out pairs that another shard finds."""
        if self._moved is None or self._mine_moved is None:
            yield from pairs
            return
        theirs_moved = self._moved(other)
        for mine, theirs in pairs:
            here = ~(self._mine_moved[mine] & theirs_moved[theirs])
            yield mine[here], theirs[here]

    def _candidates(self, other: Batch, most: int) -> Iterator[PairPositions]:
        if self._join.band is None:
            yield from self._probe(other.keys, other.axis, most)
            return
        values = self._band_values(1 - self._side, other)
        for rows, buckets in self._buckets.touched(values, self._join.band.beyond_finite):
            keys = band_keys(other.keys[rows], buckets)
            for mine, theirs in self._probe(keys, other.axis[rows], most):
                yield mine, rows[theirs].astype(np.int32)

    def _probe(self, keys: Keys, axis: Times, most: int) -> Iterator[PairPositions]:
        return self._index.probe_chunks(keys, axis, self._low, self._high, most)

    def _band_values(self, side: int, batch: Batch) -> Values:
        assert self._join.band is not None
        position = self._join.band.left if side == LEFT else self._join.band.right
        return band_values(batch.rows.column(position))

    def _verified(self, pairs: Pairs) -> Pairs:
        """Leave out pairs that only look alike: equal hashes or buckets, or no predicate held."""
        left, right = self._join.streams
        if not (left.has_exact_key and right.has_exact_key):
            mine = [pairs.fetch(0, i) for i in left.key]
            theirs = [pairs.fetch(1, i) for i in right.key]
            pairs = pairs.where(equal_keys(mine, theirs))
        elif left.key and self._join.band is not None:
            keys = [b.keys[p] for b, p in zip(pairs.batches, pairs.positions, strict=True)]
            pairs = pairs.where(keys[0] == keys[1])
        if self._join.predicate is not None:
            pairs = pairs.where(mask(self._join.predicate, pairs.fetch))
        return pairs
