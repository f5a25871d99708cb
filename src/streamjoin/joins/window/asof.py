"""The as-of join: each left row with the nearest right row of its key.

A left row is answered once, when no nearer right row can come any more. Ties go to the earlier time
and, among right rows of the same time, to the one that came last.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from streamjoin._typing import LEFT, Positions, Times
from streamjoin.core.batch import Batch
from streamjoin.core.index import HashIndex
from streamjoin.core.keys import equal_keys
from streamjoin.joins.base import Alone, Emitted, Pairs
from streamjoin.joins.window.matching import piece_rows
from streamjoin.joins.window.settings import WindowJoin

_NONE = -1


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
        if self._join.left.has_exact_key and self._join.right.has_exact_key:
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
        pairs = Pairs((self._left, self._right), (mine, theirs))
        left, right = self._join.streams
        return equal_keys(
            [pairs.fetch(0, i) for i in left.key], [pairs.fetch(1, i) for i in right.key]
        )
