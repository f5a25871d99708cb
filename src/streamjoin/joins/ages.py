"""Look at some results as they come out: how old they are, and where their rows lay."""

from typing import Final

import numpy as np

from streamjoin._typing import LEFT, RIGHT, SIDES, Times
from streamjoin.core.kernels.counting import see_oldest, see_pairs
from streamjoin.core.window import CELLS, Axis
from streamjoin.joins.base import Pairs
from streamjoin.joins.columns import SIDE_NAMES
from streamjoin.joins.window.settings import WindowJoin
from streamjoin.metrics import Ages, BasicWindows
from streamjoin.metrics.details import N_BUCKETS

MAX_SAMPLED_RESULTS: Final = 1024
"""Results that are looked at when more come out together; each then stands for several."""


class AgesSeen:
    """Ages of the results of one batch.

    Examples
    --------
    >>> seen = AgesSeen()
    >>> seen.see_oldest(np.array([1_000_000, 3_000_000]), newest=4_000_000, n=20)
    >>> seen.ages.n, seen.ages.most
    (20, 3.0)
    """

    def __init__(self) -> None:
        self._buckets = np.zeros(N_BUCKETS, np.int64)
        self._most = 0

    def see_oldest(self, oldest: Times, newest: int, n: int) -> None:
        """Take in the oldest times of some results, which stand for `n`."""
        if len(oldest):
            found = see_oldest(oldest, newest, max(1, n // len(oldest)), self._buckets)
            self._most = max(self._most, found)

    @property
    def ages(self) -> Ages | None:
        """What was seen; None if nothing was."""
        filled = np.flatnonzero(self._buckets)
        if not len(filled):
            return None
        return Ages({int(b): int(self._buckets[b]) for b in filled}, self._most / 1e6)


class PairsSeen(AgesSeen):
    """Pairs of one batch of a window join, also by the basic window that their older row is in."""

    def __init__(self, join: WindowJoin) -> None:
        super().__init__()
        self._axis = None if join.is_ordered else Axis(join.windows_us)
        left, right = (0 if self._axis is None else self._axis.n_basic(side) for side in SIDES)
        self._found = np.zeros(left, np.int64), np.zeros(right, np.int64)

    def see(self, pairs: Pairs, newest: int) -> None:
        """Take in pairs that come out."""
        times = [batch.times for batch in pairs.batches]
        at, step = pairs.positions, max(1, len(pairs) // MAX_SAMPLED_RESULTS)
        basic_us = self._axis.cell_us * CELLS if self._axis else 1
        most = see_pairs(
            times[LEFT], at[LEFT], times[RIGHT], at[RIGHT],
            newest, basic_us, step, self._buckets, *self._found,
        )  # fmt: skip
        self._most = max(self._most, most)

    @property
    def windows(self) -> dict[str, BasicWindows]:
        """Pairs by basic window, of each input that has a window in time."""
        if self._axis is None:
            return {}
        seconds = self._axis.cell_us * CELLS / 1e6
        return {
            SIDE_NAMES[side]: BasicWindows(seconds, found=tuple(self._found[side].tolist()))
            for side in SIDES
            if len(self._found[side])
        }
