"""How likely two tuples match, by age (GED-A17, GED-D5).

Items rotate evenly, so a match depends only on how far apart the two rotations are: an offset of
0 to L/2 items. Between whole offsets the probability is the weighted mean of both neighbours,
exactly, since the rotation moves in whole items.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from streamjoin.workloads.drawing import draw_ranks

FloatArray = NDArray[np.float64]
Words = NDArray[np.uint64]

DOMAIN: Final = 100
_OFFSETS: Final = (0, 1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 32, 40, 50)
"""Where probabilities are found by chance; close together where they change fast."""
_SEED: Final = 2005
_BLOCK: Final = 256
SETS: Final = 64 * _BLOCK


@lru_cache(maxsize=64)
def overlap_probability(skew: float, sets: int = SETS) -> dict[int, FloatArray]:
    """Probability of an overlap of at least 3 and of at least 4 items at offsets 0 to 50.

    So many sets are drawn for each stream, and each is compared with a block of others, at each of
    a few offsets.

    Examples
    --------
    >>> overlap_probability(0.8)[3][[0, 10, 50]].round(4)
    array([0.0133, 0.0013, 0.0004])
    """
    one, other = (_sets(side, sets, skew) for side in (0, 1))
    turned = (_words(np.roll(other, offset, axis=1)) for offset in _OFFSETS)
    counts = np.array([_matches(_words(one), words) for words in turned])
    offsets = np.arange(_OFFSETS[-1] + 1)
    three, four = (np.interp(offsets, _OFFSETS, n / (sets * _BLOCK)) for n in counts.T)
    return {3: three, 4: four}


def _matches(one: Words, other: Words) -> NDArray[np.int64]:
    """Pairs with at least 3 and with at least 4 common items.

    Many small blocks tell more than a large one: pairs with a set in common are not independent.
    """
    counts = np.zeros(2, np.int64)
    for at in range(0, one.shape[1], _BLOCK):
        rows, columns = one[:, at : at + _BLOCK, None], other[:, None, at : at + _BLOCK]
        low, high = np.bitwise_count(rows & columns)
        common = low + high
        counts += [np.count_nonzero(common >= theta) for theta in (3, 4)]
    return counts


def _sets(side: int, n: int, skew: float) -> NDArray[np.bool_]:
    """Sets as rows of zeros and ones, one place for each item."""
    rng = np.random.default_rng([_SEED, side])
    sizes = np.clip(np.rint(rng.normal(5, 1, n)), 1, DOMAIN).astype(np.int64)
    ranks, offsets = draw_ranks(rng, sizes, DOMAIN, skew)
    rows = np.zeros((n, DOMAIN), np.bool_)
    rows[np.repeat(np.arange(n), np.diff(offsets)), ranks] = True
    return rows


def _words(sets: NDArray[np.bool_]) -> Words:
    """Sets as two words each, of shape (2, number of sets)."""
    bits = np.packbits(np.pad(sets, ((0, 0), (0, 128 - DOMAIN))), axis=1)
    return np.ascontiguousarray(bits.view(np.uint64).T)


@dataclass(frozen=True)
class Correlation:
    """Two streams of sets in which the second is late: match probability by age in each window.

    Parameters
    ----------
    skew
        Exponent of Zipf's law (kappa).
    theta
        Items that must be common, 3 or 4.
    cycle_s, shift_s
        Cycle of the rotation (phi), and how late the second stream is (tau).
    sets
        As for `overlap_probability`.

    Examples
    --------
    >>> first, second = Correlation(0.8, cycle_s=40, shift_s=25).at(np.array([0.0, 15.0]))
    >>> first.round(4), second.round(4)
    (array([0.0004, 0.0005]), array([0.0004, 0.0133]))
    """

    skew: float
    theta: int = 3
    cycle_s: float = 40.0
    shift_s: float = 25.0
    sets: int = SETS

    def at(self, ages_s: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Match probability with tuples of these ages in the first and in the second window."""
        return self._at_lag(ages_s - self.shift_s), self._at_lag(ages_s + self.shift_s)

    def _at_lag(self, lag_s: FloatArray) -> FloatArray:
        turns = lag_s / self.cycle_s
        offset = DOMAIN * np.abs(turns - np.rint(turns))
        table = overlap_probability(self.skew, self.sets)[self.theta]
        found: FloatArray = np.interp(offset, np.arange(len(table)), table)
        return found
