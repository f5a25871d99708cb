"""Which pairs are left where rows are dropped at random to make fewer comparisons."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.int64]
Numbers = NDArray[np.int64]

SEED: Final = 0
NONE: Final = np.empty(0, np.int64)


class RandomDrop:
    """A join that drops the same share of both sides of a batch, and compares all it keeps.

    Rows have numbers from 0 on, as they come.

    Parameters
    ----------
    windows
        How long left and right rows are remembered, in microseconds.

    Attributes
    ----------
    share
        Of the last batch, the part that was kept.
    kept
        Times of the rows of both sides that are kept and may still be met.
    found
        Pairs that are left of the exact result.

    Examples
    --------
    >>> drop = RandomDrop((10, 10))
    >>> drop.choose(np.arange(400), np.arange(400), compared=2000)
    >>> round(drop.share, 2)
    0.49
    >>> drop.see(np.arange(400), np.arange(400))
    >>> drop.found
    84
    """

    def __init__(self, windows: tuple[int, int]) -> None:
        self._windows = windows
        self._rng = np.random.default_rng(SEED)
        self.kept: list[Times] = [NONE, NONE]
        self._is_kept = [np.empty(0, np.bool_), np.empty(0, np.bool_)]
        self.share, self.found = 1.0, 0

    def choose(self, left: Times, right: Times, compared: int | None) -> None:
        """Choose among the rows of a batch, given their times.

        Parameters
        ----------
        left, right
            Times of the rows that come.
        compared
            How many comparisons may be made; None for all.
        """
        keep, reach = self._windows
        arrived = np.sort(left), np.sort(right)
        before = _within(arrived[0], self.kept[1], reach, keep)
        before += _within(arrived[1], self.kept[0], keep, reach)
        together = _within(arrived[0], arrived[1], reach, keep)
        self.share = 1.0 if compared is None else _share(before, together, compared)
        for side, times in enumerate((left, right)):
            chosen = self._rng.random(len(times)) < self.share
            self._is_kept[side] = np.concatenate((self._is_kept[side], chosen))
            kept = np.concatenate((self.kept[side], times[chosen]))
            newest = max((each[-1] for each in arrived if len(each)), default=0)
            # twice as long as a window: rows may come out of order
            self.kept[side] = np.sort(kept[kept >= newest - 2 * (keep + reach)])

    def see(self, left: Numbers, right: Numbers) -> None:
        """Count which pairs of the exact result are left, given the numbers of their rows."""
        self.found += int(np.sum(self._is_kept[0][left] & self._is_kept[1][right]))


def _within(times: Times, others: Times, before: int, after: int) -> int:
    """Pairs of a time and another that is at most so much earlier or later; others in order."""
    last = np.searchsorted(others, times + after, side="right")
    return int(np.sum(last - np.searchsorted(others, times - before, side="left")))


def _share(before: int, together: int, compared: int) -> float:
    """The share of new rows with which there are so many comparisons.

    Each new row meets the kept ones that came before; and those that come with it, of which as
    many are kept: compared = before * share + together * share ** 2.

    Examples
    --------
    >>> _share(before=100, together=0, compared=50), _share(100, 100, 75), _share(5, 5, 99)
    (0.5, 0.5, 1.0)
    """
    if compared >= before + together:
        return 1.0
    if not together:
        return compared / before
    return float(np.sqrt(before**2 + 4 * together * compared) - before) / (2 * together)
