"""What the policies would give with perfect statistics and no overhead (GED-U7).

Windows are cut into basic windows whose match probabilities are known; a policy of
`streamjoin.planning.selective` chooses among them.
"""

from typing import Final

import numpy as np

from streamjoin.planning.selective import BasicWindows, choose_fractions, n_basic_windows
from streamjoin.repro.gedik.densities import Correlation, FloatArray

_FINE: Final = 400
"""Cells of a window that stand for a continuum of ages."""
_PHASES: Final = 10


def ideal_gain(
    policy: str, matches: Correlation, fraction: float, window_s: float = 20, sides: int = 2
) -> float:
    """Results by a policy over those of random drop, at the same comparisons.

    Random drop that compares a fraction r of all pairs finds r of the results (GED-U7).

    Parameters
    ----------
    policy
        As in `streamjoin.planning.selective`.
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
    ages = (np.arange(_FINE) + 0.5) / _FINE * window_s
    windows = [BasicWindows(values, np.ones(_FINE)) for values in matches.at(ages)]
    if sides == 1:
        windows[1] = BasicWindows(np.zeros(0), np.zeros(0))
    chosen = choose_fractions(policy, (windows[0], windows[1]), fraction * _FINE * sides)
    found = sum(float(part @ side.values) for part, side in zip(chosen, windows, strict=True))
    return found / (fraction * sum(float(side.values.sum()) for side in windows))


def informed_optimum(
    matches: Correlation, fraction: float, window_s: float = 20, basic_s: float = 1
) -> float:
    """The largest share of the full join's results at a fraction of its comparisons.

    The choice is among fractions of basic windows of both streams, anew for every arriving tuple:
    basic windows slide by their own length at a time, so what they hold depends on the moment.
    Comparisons may be saved at one moment and spent at another.

    Examples
    --------
    >>> informed_optimum(Correlation(skew=0.0), 0.25).__round__(2)
    0.25
    """
    moments = [_basic_windows(matches, window_s, basic_s, at) for at in _moments(basic_s)]
    values = np.concatenate([side.values for windows in moments for side in windows])
    costs = np.concatenate([side.costs for windows in moments for side in windows])
    pooled = BasicWindows(values, costs), BasicWindows(np.zeros(0), np.zeros(0))
    chosen, _ = choose_fractions("best", pooled, fraction * float(costs.sum()))
    return float(chosen @ values) / float(values.sum())


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
    moments = [_basic_windows(matches, window_s, basic_s, at) for at in _moments(basic_s)]
    values, costs = (
        np.sum([[getattr(side, name) for side in each] for each in moments], axis=0)
        for name in ("values", "costs")
    )
    first, second = values / costs
    return first, second


def _moments(basic_s: float) -> FloatArray:
    return (np.arange(_PHASES) + 0.5) / _PHASES * basic_s


def _basic_windows(
    matches: Correlation, window_s: float, basic_s: float, filled_s: float
) -> list[BasicWindows]:
    """Both windows when their newest basic windows have been filled for so long."""
    cells = (np.arange(_FINE) + 0.5) / _FINE * window_s
    number = np.ceil((cells - filled_s) / basic_s).astype(np.int64).clip(0)
    n = n_basic_windows(window_s, basic_s)
    costs = np.bincount(number, minlength=n).astype(np.float64)
    return [
        BasicWindows(np.bincount(number, each, n).astype(np.float64), costs)
        for each in matches.at(cells)
    ]
