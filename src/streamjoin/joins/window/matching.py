"""Who meets whom: an index over rows of one side, past which rows of the other are streamed.

Which rows are indexed, and by what, is the *method* of a direction: see `joins.window.methods`.

The as-of join: each left row with the nearest right row of its key. A left row is answered once,
when no nearer right row can come any more. Ties go to the earlier time and, among right rows of the
same time, to the one that came last.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin._typing import LEFT, Positions, Side, Times, both
from streamjoin.core.batch import Batch
from streamjoin.core.index import (
    Buckets,
    HashIndex,
    ListIndex,
    PairPositions,
    Values,
    band_keys,
    band_values,
)
from streamjoin.core.keys import equal_keys
from streamjoin.core.predicate import Band, SetCondition, mask
from streamjoin.core.sets import InvertedIndex, Sets, Vocabulary
from streamjoin.joins.base import MAX_BYTES, MAX_PAIRS, Alone, Emitted, Pairs
from streamjoin.joins.window.settings import WindowJoin
from streamjoin.shedding.recall import Shares

Candidates = Iterator[PairPositions]
"""Positions of an indexed row and of another, of pairs that look like matches."""
Bounds = tuple[int, int]
"""Inclusive bounds of a difference of coordinates."""
Moved = Callable[[Batch], NDArray[np.bool_]]
"""Which rows of a batch meet each other in another shard."""
_NONE = -1


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


class Matcher:
    """Finds the matches of indexed rows; made once a batch.

    Parameters
    ----------
    join
        Settings.
    side
        Whose rows are indexed.
    rows, at
        Those rows, and their coordinates.
    moved
        Where given: pairs of two such rows are left out.
    index
        Over their keys and coordinates; made here if there is none yet.

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
        at: Times,
        moved: Moved | None = None,
        index: HashIndex | ListIndex | None = None,
    ) -> None:
        self._join, self._side, self._rows, self._moved = join, side, rows, moved
        self._index: Any = index or self._build(at)  # each kind of matcher has its own
        self._mine_moved = None if moved is None else moved(rows)
        self.work = self.walked = 0

    def candidates(
        self, other: Batch, at: Times, between: Bounds, rows: Bounds | None = None
    ) -> Iterator[Pairs]:
        """All pairs with rows of the other side that look like matches, in pieces.

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

    def _here(self, other: Batch, pairs: Candidates) -> Candidates:
        """Leave out pairs that another shard finds."""
        if self._moved is None or self._mine_moved is None:
            yield from pairs
            return
        theirs_moved = self._moved(other)
        for mine, theirs in pairs:
            here = ~(self._mine_moved[mine] & theirs_moved[theirs])
            yield mine[here], theirs[here]

    def _build(self, at: Times) -> HashIndex | InvertedIndex:
        return HashIndex.build(self._rows.keys, at)

    def _candidates(self, other: Batch, at: Times, between: Bounds, most: int) -> Candidates:
        pairs: Candidates = self._index.probe_chunks(other.keys, at, *between, most)
        return pairs

    def verified(self, pairs: Pairs) -> Pairs:
        """Leave out pairs that only look alike: equal hashes or buckets, or no predicate held."""
        if not self._join.has_exact_keys:
            pairs = pairs.where(_have_equal_keys(self._join, pairs))
        elif self._join.left.key and self._join.band is not None:
            keys = [b.keys[p] for b, p in zip(pairs.batches, pairs.positions, strict=True)]
            pairs = pairs.where(keys[0] == keys[1])
        if self._join.predicate is not None:
            pairs = pairs.where(mask(self._join.predicate, pairs.fetch))
        return pairs


class BandMatcher(Matcher):
    """Finds matches within a band: indexed rows are in buckets, others look in two or three."""

    def _build(self, at: Times) -> HashIndex:
        values = self._band_values(self._side, self._rows)
        self._buckets = Buckets.over(values, float(self._band.width))
        return HashIndex.build(band_keys(self._rows.keys, self._buckets.of(values)), at)

    def _candidates(self, other: Batch, at: Times, between: Bounds, most: int) -> Candidates:
        values = self._band_values(1 - self._side, other)
        for rows, buckets in self._buckets.touched(values, self._band.beyond_finite):
            keys = band_keys(other.keys[rows], buckets)
            for mine, theirs in self._index.probe_chunks(keys, at[rows], *between, most):
                yield mine, rows[theirs].astype(np.int32)

    @property
    def _band(self) -> Band:
        assert self._join.band is not None
        return self._join.band

    def _band_values(self, side: int, batch: Batch) -> Values:
        position = self._band.left if side == LEFT else self._band.right
        return band_values(batch.rows.column(position))


class SetMatcher(Matcher):
    """Finds rows that fulfil a condition on sets, by an inverted index of their items (GED-A14).

    The index counts and adds up exactly, so only the rest of the predicate is still to be checked.
    """

    def _build(self, at: Times) -> InvertedIndex:
        columns = self._columns(self._side, self._rows)
        self._words = Vocabulary.over(columns)
        return InvertedIndex.build(self._rows.keys, Sets.of(columns, self._words), at)

    def _candidates(self, other: Batch, at: Times, between: Bounds, most: int) -> Candidates:
        least = -inf if self._sets.least is None else self._sets.least
        before = self._index.walked
        yield from self._index.probe_chunks(
            other.keys, self._of(other), at, *between, most, self._sets.fewest, least
        )
        walked = self._index.walked - before
        self.walked += walked
        self.work += walked

    def touching(self, other: Batch, at: Times, between: Bounds) -> Iterator[Pairs]:
        """Pairs with any item in common: each took a step to find those with enough."""
        most = piece_rows(self._rows, other)
        found = self._index.probe_chunks(other.keys, self._of(other), at, *between, most, fewest=1)
        for mine, theirs in found:
            yield self._pairs(other, mine, theirs)

    @property
    def _sets(self) -> SetCondition:
        assert self._join.sets is not None
        return self._join.sets

    def _of(self, other: Batch) -> Sets:
        return Sets.of(self._columns(1 - self._side, other), self._words)

    def _columns(self, side: int, batch: Batch) -> list[pa.Array]:
        positions = self._sets.left if side == LEFT else self._sets.right
        return [batch.rows.column(position) for position in positions]


def over_rows(
    join: WindowJoin, side: Side, rows: Batch, at: Times, moved: Moved | None = None
) -> Matcher:
    """A matcher over an index of rows that have these coordinates, made here."""
    kind = Matcher if join.band is None else BandMatcher
    if join.sets is not None:
        kind, join = SetMatcher, replace(join, predicate=join.sets.rest_of(join.predicate))
    matcher = kind(join, side, rows, at, moved)
    matcher.work += len(rows)
    return matcher


def nearest(join: WindowJoin, left: Batch, parts: Sequence[Batch]) -> Iterator[Emitted]:
    """Answer left rows from the right rows of all parts, which come in order of arrival."""
    best_part = np.full(len(left), _NONE, np.int32)
    best_row = np.zeros(len(left), np.int32)
    best_score = np.full(len(left), np.iinfo(np.int64).max)
    for number, right in enumerate(parts):
        for found in _candidates(join, left, right):
            time = right.times[np.maximum(found, 0)]
            # Twice the distance, and one more for a later row: of equal ones the earlier is better.
            score = 2 * np.abs(time - left.times) + (time > left.times)
            better = (found >= 0) & (score <= best_score)
            best_part[better], best_row[better] = number, found[better]
            best_score[better] = score[better]
    for number in np.unique(best_part).tolist():
        rows = np.flatnonzero(best_part == number).astype(np.int32)
        step = piece_rows(left) if number == _NONE else piece_rows(left, parts[number])
        for at in range(0, len(rows), step):
            mine = rows[at : at + step]
            if number == _NONE:
                yield Alone(LEFT, left.take(mine).rows)
            else:
                yield Pairs((left, parts[number]), (mine, best_row[mine]))


def _candidates(join: WindowJoin, left: Batch, right: Batch) -> Iterator[Positions]:
    """The nearest earlier right row of each left row, then the nearest later one; -1 for none."""
    if not len(right):
        return
    lookup = _Lookup(join, left, right)
    yield lookup.find(left.times, -join.right.window_us, 0, last=True)
    if join.direction == "nearest" and join.left.window_us > 0:
        rows = lookup.find(left.times, 1, join.left.window_us, last=False)
        found = rows >= 0
        # Of those that share the time, the last.
        times = np.where(found, right.times[np.maximum(rows, 0)], left.times)
        yield np.where(found, lookup.find(times, 0, 0, last=True), _NONE)


class _Lookup:
    """One part's rows, indexed."""

    def __init__(self, join: WindowJoin, left: Batch, right: Batch) -> None:
        self._join, self._left, self._right = join, left, right
        self._index = HashIndex.build(right.keys, right.times)

    def find(self, times: Times, low: int, high: int, *, last: bool) -> Positions:
        """The first or last match of each left row, as if it had the given time."""
        rows = self._index.edge(self._left.keys, times, low, high, last=last)
        if self._join.has_exact_keys:
            return rows
        found = np.flatnonzero(rows >= 0).astype(np.int32)
        wrong = found[~self._same(found, rows[found])]
        if len(wrong):  # another key has the same hash: look at all rows with this hash
            rows[wrong] = _NONE
            theirs, probes = self._index.probe(self._left.keys[wrong], times[wrong], low, high)
            same = self._same(wrong[probes], theirs)
            probes, theirs = probes[same], theirs[same]
            edge = np.diff(probes, append=-1) if last else np.diff(probes, prepend=-1)
            rows[wrong[probes[edge != 0]]] = theirs[edge != 0]
        return rows

    def _same(self, mine: Positions, theirs: Positions) -> NDArray[np.bool_]:
        return _have_equal_keys(self._join, Pairs((self._left, self._right), (mine, theirs)))


def _have_equal_keys(join: WindowJoin, pairs: Pairs) -> NDArray[np.bool_]:
    """Which pairs have equal keys, and not only equal hashes."""
    left, right = both(lambda side: [pairs.fetch(side, i) for i in join.streams[side].key])
    return equal_keys(left, right)
