"""What the policies would give with perfect statistics and no overhead (GED-U7).

Windows are cut into basic windows whose match probabilities are known; a policy of
`streamjoin.shedding.fractions` chooses among them.
"""

from typing import Final

import numpy as np

from papers.gedik.densities import Correlation, FloatArray
from streamjoin.shedding.fractions import BasicWindows, choose_fractions

_FINE: Final = 400
"""Cells of a window that stand for a continuum of ages."""
_PHASES: Final = 10
"""Moments between two steps of basic windows, which slide by their own length at a time."""


def ideal_gain(
    policy: str, matches: Correlation, fraction: float, window_s: float = 20, sides: int = 2
) -> float:
    """Results by a policy over those of random drop, at the same comparisons.

    Random drop that compares a fraction r of all pairs finds r of the results (GED-U7).

    Parameters
    ----------
    policy
        As in `streamjoin.shedding.fractions`.
    matches
        Match probability by age.
    fraction
        Comparisons as a share of those of the full join (r).
    window_s
        Length of both windows.
    sides
        1 if only the first stream is remembered (GED-I5).

    Examples
    --------
    >>> aligned = Correlation(skew=0.6, shift_s=0)
    >>> round(ideal_gain("ra", aligned, 0.1, sides=1), 1)
    2.6
    """
    windows = [BasicWindows(values, np.ones(_FINE)) for values in matches.at(_ages(window_s))]
    if sides == 1:
        windows[1] = BasicWindows(np.zeros(0), np.zeros(0))
    chosen = choose_fractions(policy, (windows[0], windows[1]), fraction * _FINE * sides)
    found = sum(float(part @ side.values) for part, side in zip(chosen, windows, strict=True))
    return found / (fraction * sum(float(side.values.sum()) for side in windows))


def informed_optimum(matches: Correlation, fraction: float, window_s: float = 20) -> float:
    """The largest share of the full join's results at a fraction of its comparisons.

    Whoever knows the densities can take, for every arriving tuple, the newest or the oldest part
    of basic windows such that the most productive ages of both windows are covered, and no others.

    Examples
    --------
    >>> round(informed_optimum(Correlation(skew=0.8), 0.1), 2)
    0.46
    """
    return fraction * ideal_gain("best", matches, fraction, window_s)


def basic_density(
    matches: Correlation, window_s: float = 20, basic_s: float = 1
) -> tuple[FloatArray, FloatArray]:
    """Match probability in each basic window of the first and of the second window, over time.

    Examples
    --------
    >>> first, second = basic_density(Correlation(skew=0.8))
    >>> len(first), int(second.argmax())
    (21, 15)
    """
    ages = _ages(window_s)
    filled = (np.arange(_PHASES)[:, None] + 0.5) / _PHASES * basic_s  # how long the newest one is
    number = np.ceil((ages - filled) / basic_s).clip(0).astype(np.int64).ravel()
    counts = np.bincount(number)
    first, second = (
        np.bincount(number, np.tile(density, _PHASES)) / counts for density in matches.at(ages)
    )
    return first, second


def _ages(window_s: float) -> FloatArray:
    ages: FloatArray = (np.arange(_FINE) + 0.5) / _FINE * window_s
    return ages
