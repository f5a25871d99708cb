"""Which parts of which window to probe when there is no time for all (Gedik et al. 2005).

Every tuple is kept, but a new one is compared with a part of the other window only (GED-A4). A
window is cut into basic windows by age, the newest first (GED-A8). These functions say which
fraction of each one is probed:

| policy     | how much of each window       | which basic windows of it                 |
|------------|-------------------------------|-------------------------------------------|
| "ra"       | the same part r of both       | the newest                                |
| "ra+tc"    | the same part r of both       | the most productive                       |
| "ra+jd"    | the more productive one first | the newest                                |
| "ra+tc+jd" | the more productive one first | the most productive                       |
| "best"     | as it comes out               | the most productive of both, in one order |

"best" goes beyond the paper. It is the optimum of the fractional knapsack, so it also covers two
windows that each have a productive part, where to prefer one whole window is wrong.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from streamjoin._typing import both
from streamjoin.core.window import FloatArray
from streamjoin.errors import ConfigError, DataError

POLICIES: Final = ("best", "ra", "ra+tc", "ra+jd", "ra+tc+jd")


@dataclass(frozen=True, eq=False)
class BasicWindows:
    """The basic windows of one stream, the newest first."""

    values: FloatArray  # expected results, or their weight, of probing each one whole
    costs: FloatArray  # what that costs, in any unit; 0 or more

    def __post_init__(self) -> None:
        if self.values.shape != self.costs.shape or self.values.ndim != 1:
            got = f"{self.values.shape} for {self.costs.shape} costs"
            raise DataError.at("values", got, "one for each basic window")
        if not bool(np.all(np.isfinite(self.values) & (self.costs >= 0) & (self.costs < np.inf))):
            raise DataError.at(
                "values, costs", "numbers out of range", "finite ones, no negative cost"
            )


Sides = tuple[BasicWindows, BasicWindows]


def rate_adapt(fraction: float, beta: float, boost: float = 1.2) -> float:
    """The next fraction r of the windows to probe (GED-A5).

    Parameters
    ----------
    fraction
        r until now.
    beta
        Tuples fetched per tuple arrived since the last step: below 1 the join does not keep up.
    boost
        delta_r, by which r grows as long as it does.

    Examples
    --------
    >>> rate_adapt(1.0, beta=0.4), rate_adapt(0.4, beta=1.0), rate_adapt(0.9, beta=1.0)
    (0.4, 0.48, 1.0)
    """
    return beta * fraction if beta < 1 else min(1.0, boost * fraction)


def direction_adapt(
    fraction: float, windows: tuple[float, float], productivity: tuple[float, float]
) -> tuple[float, float]:
    """Fractions (r_1, r_2) of the two windows that cost as much as `fraction` of both (GED-A13).

    The more productive window is probed first; the other one gets what is left.

    Parameters
    ----------
    fraction
        r, in 0..1.
    windows
        What it costs to probe each window whole: w_1 and w_2 in the paper.
    productivity
        Expected results per cost, o_1 and o_2; the first window is preferred if they are equal.

    Examples
    --------
    >>> direction_adapt(0.25, windows=(20, 20), productivity=(0.1, 0.2))
    (0.0, 0.5)
    >>> direction_adapt(0.5, windows=(20, 10), productivity=(0.2, 0.1))
    (0.75, 0.0)
    """
    if productivity[0] < productivity[1]:
        second, first = direction_adapt(fraction, windows[::-1], productivity[::-1])
        return first, second
    budget = fraction * (windows[0] + windows[1])
    spent = min(windows[0], budget)
    return _part(spent, windows[0]), _part(budget - spent, windows[1])


def newest_first(windows: BasicWindows, budget: float) -> FloatArray:
    """Fraction of each basic window if they are probed from the newest on (GED-A4).

    Examples
    --------
    >>> newest_first(BasicWindows(np.ones(3), np.full(3, 10.0)), budget=15).tolist()
    [1.0, 0.5, 0.0]
    """
    return _fill(np.arange(len(windows.costs)), windows.costs, budget)


def by_priority(windows: BasicWindows, budget: float) -> FloatArray:
    """Fraction of each basic window if the most productive go first (GED-A12, lines 7 to 14).

    The last one is probed in part. Of two that are as productive the newer one goes first. One that
    costs nothing, an empty one, is skipped: its fraction is 1.

    Examples
    --------
    >>> by_priority(BasicWindows(np.array([1.0, 5.0, 3.0]), np.full(3, 10.0)), 15).tolist()
    [0.0, 1.0, 0.5]
    """
    return _fill(np.argsort(-_density(windows), kind="stable"), windows.costs, budget)


def knapsack(sides: Sides, budget: float) -> tuple[FloatArray, FloatArray]:
    """Fractions of the basic windows of both streams that bring the most for `budget`.

    Fills the budget in the order of value per cost over all basic windows, which is optimal as
    fractions of them can be taken. Equal ones: the newer first, then the left one.

    Examples
    --------
    >>> costs = np.full(2, 10.0)
    >>> left, right = BasicWindows(np.array([9.0, 1.0]), costs), BasicWindows(np.arange(2.0), costs)
    >>> [fractions.tolist() for fractions in knapsack((left, right), 15)]
    [[1.0, 0.5], [0.0, 0.0]]
    """
    n = len(sides[0].costs)
    ages = np.concatenate([np.arange(len(side.costs)) for side in sides])
    density = np.concatenate([_density(side) for side in sides])
    costs = np.concatenate([side.costs for side in sides])
    fractions = _fill(np.lexsort((ages, -density)), costs, budget)
    return fractions[:n], fractions[n:]


def choose_fractions(policy: str, sides: Sides, budget: float) -> tuple[FloatArray, FloatArray]:
    """Fractions of the basic windows of both streams, by a policy of `POLICIES`.

    They cost `budget`, or all that there is if that is less.

    Examples
    --------
    >>> costs = np.full(2, 10.0)
    >>> sides = BasicWindows(np.array([1.0, 2.0]), costs), BasicWindows(np.array([0.0, 5.0]), costs)
    >>> for policy in POLICIES:
    ...     left, right = choose_fractions(policy, sides, budget=20)
    ...     print(f"{policy:9}", left, right, left @ sides[0].values + right @ sides[1].values)
    best      [0. 1.] [0. 1.] 7.0
    ra        [1. 0.] [1. 0.] 1.0
    ra+tc     [0. 1.] [0. 1.] 7.0
    ra+jd     [0. 0.] [1. 1.] 5.0
    ra+tc+jd  [0. 0.] [1. 1.] 5.0
    """
    if policy not in POLICIES:
        raise ConfigError.at("policy", repr(policy), ", ".join(map(repr, POLICIES)))
    if not budget >= 0:
        raise ConfigError.at("budget", budget, "0 or more")
    if policy == "best":
        return knapsack(sides, budget)
    totals = float(sides[0].costs.sum()), float(sides[1].costs.sum())
    fraction = _part(budget, sum(totals))
    parts = fraction, fraction
    if policy.endswith("+jd"):
        productivity = _whole_density(sides[0]), _whole_density(sides[1])
        parts = direction_adapt(fraction, totals, productivity)
    choose = by_priority if "+tc" in policy else newest_first
    return both(lambda side: choose(sides[side], parts[side] * totals[side]))


def _fill(order: NDArray[np.intp], costs: FloatArray, budget: float) -> FloatArray:
    """Fractions if `budget` is spent in this order, as far as it goes."""
    ordered = costs[order]
    after = np.cumsum(ordered)
    last = np.searchsorted(after, budget, side="right")  # the first one that does not fit whole
    parts = np.where(ordered > 0, 0.0, 1.0)
    parts[:last] = 1.0
    if last < len(costs):
        parts[last] = (budget - (after[last - 1] if last else 0.0)) / ordered[last]
    fractions = np.empty(len(costs))
    fractions[order] = parts
    return fractions


def _density(windows: BasicWindows) -> FloatArray:
    """Value per cost; what costs nothing is in nobody's way and comes first."""
    density = np.full(len(windows.costs), np.inf)
    with np.errstate(over="ignore"):  # next to nothing is as good as nothing
        np.divide(windows.values, windows.costs, out=density, where=windows.costs > 0)
    return density


def _whole_density(windows: BasicWindows) -> float:
    total = float(windows.costs.sum())
    return float(windows.values.sum()) / total if total > 0 else 0.0


def _part(spent: float, whole: float) -> float:
    """`spent` as a part of the whole, 1 at most; of nothing, all."""
    return min(1.0, spent / whole) if whole > 0 else 1.0
