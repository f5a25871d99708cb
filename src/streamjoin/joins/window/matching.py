"""Who meets whom: an index over rows of one side, past which rows of the other are streamed.

Which rows are indexed, and by what, is the *method* of a direction: see `joins.window.methods`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from streamjoin._typing import LEFT, Keys, Positions, Side, Times
from streamjoin.core.band import Buckets, Values, band_keys, band_values
from streamjoin.core.batch import Batch
from streamjoin.core.index import HashIndex, PairPositions
from streamjoin.core.keys import equal_keys
from streamjoin.core.predicate import mask
from streamjoin.joins.base import MAX_BYTES, MAX_PAIRS, Pairs
from streamjoin.joins.window.settings import WindowJoin
from streamjoin.shedding.recall import Shares


class Index(Protocol):
    """Rows by key and coordinate: `HashIndex` or `ListIndex`."""

    def probe_chunks(
        self, keys: Keys, times: Times, low: int, high: int, max_pairs: int
    ) -> Iterator[PairPositions]:
        """Pairs of an index row and a row given here, in pieces."""


Bounds = tuple[int, int]
"""Inclusive bounds of a difference of coordinates."""
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
    share
        Which part of the tuples that came these are, where some are left out; or of each.
    seen
        Which part of them an estimate of what is missed sees, where some are seen besides.
    groups
        Random groups of the rows, where what was missed is estimated.
    """

    batch: Batch
    marks: NDArray[np.bool_] | None = None
    places: Times | None = None
    changed: bool = False
    share: Shares = 1.0
    seen: float | None = None
    groups: NDArray[np.int64] | None = None

    @property
    def chance(self) -> Shares:
        """With which probability a tuple that came is seen."""
        return self.share if self.seen is None else self.seen


def bounds(join: WindowJoin, side: Side) -> Bounds:
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
    """Finds the matches of indexed rows; made once a batch.

    Parameters
    ----------
    join
        Settings.
    side
        Whose rows are indexed.
    rows
        Those rows.
    index
        Over their keys and coordinates.
    moved
        Where given: pairs of two such rows are left out.

    Attributes
    ----------
    work
        Rows that were met and candidates that were found for them, so far.
    walked
        Of that, steps that an index took before it had a candidate.
    """

    def __init__(
        self,
        join: WindowJoin,
        side: Side,
        rows: Batch,
        index: Index,
        moved: Moved | None = None,
    ) -> None:
        self._join = join
        self._side = side
        self._rows = rows
        self._index = index
        self._moved = moved
        self._mine_moved = None if moved is None else moved(rows)
        self.work = self.walked = 0

    def meet(
        self, other: Batch, at: Times, between: Bounds, rows: Bounds | None = None
    ) -> Iterator[Pairs]:
        """All matches with rows of the other side, in pieces.

        Parameters
        ----------
        other
            Those rows.
        at
            Their coordinates.
        between
            Inclusive bounds of (coordinate of an indexed row) - (coordinate of a row given here).
        rows
            From which row to which; None for all.
        """
        for pairs in self.candidates(other, at, between, rows):
            yield self.verified(pairs)

    def candidates(
        self, other: Batch, at: Times, between: Bounds, rows: Bounds | None = None
    ) -> Iterator[Pairs]:
        """As `meet`, but what comes need only look like a match."""
        most = piece_rows(self._rows, other)
        start, stop = rows or (0, len(other))
        if stop - start < len(other):
            found = self._candidates(other.slice(start, stop), at[start:stop], between, most)
            found = ((mine, theirs + np.int32(start)) for mine, theirs in found)
        else:
            found = self._candidates(other, at, between, most)
        self.work += stop - start
        for mine, theirs in self._here(other, found):
            self.work += len(mine)
            yield self._pairs(other, mine, theirs)

    def touching(self, other: Batch, at: Times, between: Bounds) -> Iterator[Pairs]:
        """Pairs for which an index takes a step; none where it goes straight to the candidates."""
        return iter(())

    def _pairs(self, other: Batch, mine: Positions, theirs: Positions) -> Pairs:
        if self._side == LEFT:
            return Pairs((self._rows, other), (mine, theirs))
        return Pairs((other, self._rows), (theirs, mine))

    def _here(self, other: Batch, pairs: Iterator[PairPositions]) -> Iterator[PairPositions]:
        """Leave out pairs that another shard finds."""
        if self._moved is None or self._mine_moved is None:
            yield from pairs
            return
        theirs_moved = self._moved(other)
        for mine, theirs in pairs:
            here = ~(self._mine_moved[mine] & theirs_moved[theirs])
            yield mine[here], theirs[here]

    def _candidates(
        self, other: Batch, at: Times, between: Bounds, most: int
    ) -> Iterator[PairPositions]:
        return self._index.probe_chunks(other.keys, at, *between, most)

    def verified(self, pairs: Pairs) -> Pairs:
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


class BandMatcher(Matcher):
    """Finds matches within a band: indexed rows are in buckets, others look in two or three.

    Parameters
    ----------
    join, side, rows, moved
        As of a `Matcher`.
    at
        Coordinates of the rows.
    """

    def __init__(
        self,
        join: WindowJoin,
        side: Side,
        rows: Batch,
        at: Times,
        moved: Moved | None = None,
    ) -> None:
        assert join.band is not None
        self._band = join.band
        values = self._band_values(side, rows)
        self._buckets = Buckets.over(values, float(join.band.width))
        keys = band_keys(rows.keys, self._buckets.of(values))
        super().__init__(join, side, rows, HashIndex.build(keys, at), moved)

    def _candidates(
        self, other: Batch, at: Times, between: Bounds, most: int
    ) -> Iterator[PairPositions]:
        values = self._band_values(1 - self._side, other)
        for rows, buckets in self._buckets.touched(values, self._band.beyond_finite):
            keys = band_keys(other.keys[rows], buckets)
            found = self._index.probe_chunks(keys, at[rows], *between, most)
            for mine, theirs in found:
                yield mine, rows[theirs].astype(np.int32)

    def _band_values(self, side: int, batch: Batch) -> Values:
        position = self._band.left if side == LEFT else self._band.right
        return band_values(batch.rows.column(position))


def over_rows(
    join: WindowJoin, side: Side, rows: Batch, at: Times, moved: Moved | None = None
) -> Matcher:
    """A matcher over an index of rows that have these coordinates, made here."""
    matcher: Matcher
    if join.sets is not None:
        from streamjoin.joins.window.set_matching import SetMatcher  # which is a Matcher itself

        matcher = SetMatcher(join, join.sets, side, rows, at, moved)
    elif join.band is not None:
        matcher = BandMatcher(join, side, rows, at, moved)
    else:
        matcher = Matcher(join, side, rows, HashIndex.build(rows.keys, at), moved)
    matcher.work += len(rows)
    return matcher
