"""Cost of a moving window join per unit of time (Kang 2003, Sections 3 and 4.1; KAN-A2 to A16).

Costs count tuple accesses, weighted by what one access costs in a list and in a hash table.
A *direction* A to B is all that touches window B: arrivals of A probe it, arrivals of B are
inserted into it and later invalidated (Eq. 1). The cost of a join is the sum of its directions, so
each direction is free to use the structure that is cheaper for it.

Every argument is a number or an array; arrays broadcast, so a figure is one call:

- `rate_a`, `rate_b`: arrivals a second (lambda);
- `window_a`, `window_b`: seconds (T);
- `keys_a`, `keys_b`: distinct keys, which are also the hash buckets (``|A|``, ``|B|``);
- `costs`: an `AccessCosts`.

References
----------
J. Kang, J. F. Naughton, S. D. Viglas. Evaluating Window Joins over Unbounded Streams. ICDE 2003.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from papers.operators.moving_window import AccessCosts
from streamjoin.errors import ConfigError

Values = float | NDArray[Any]
"""A number, or an array of numbers."""


PAPER: Final = AccessCosts(nested=0.5, hashed=0.65)
"""Of the authors' system (KAN-A13); 60,000 of these units were a second of their machine."""


def nested_one_way(rate_a: Values, rate_b: Values, window_b: Values, costs: AccessCosts) -> Values:
    """Nested loops, A to B (Eq. 2): a probe scans the window, a tuple is put in and taken out.

    Examples
    --------
    >>> nested_one_way(10, 100, 60, PAPER)
    30100.0
    """
    return (rate_a * window_b * rate_b + 2 * rate_b) * costs.nested


def nested_one_way_lazy(
    rate_a: Values, rate_b: Values, window_b: Values, costs: AccessCosts
) -> Values:
    """Nested loops, A to B, expired tuples removed by the next probe (Section 3.1, KAN-A7).

    Between two arrivals of A, rate_b / rate_a tuples expire; a binary search finds where they end.
    Needs ``rate_a > 0``.

    Examples
    --------
    >>> float(nested_one_way_lazy(10, 100, 60, PAPER))
    30070.0
    """
    piled_up = np.maximum(np.ceil(rate_b / rate_a), 1)
    search: Values = np.floor(np.log2(piled_up) + 1)
    return rate_a * (window_b * rate_b + search) * costs.nested + rate_b * costs.nested


def hash_one_way(
    rate_a: Values, rate_b: Values, window_b: Values, keys_b: Values, costs: AccessCosts
) -> Values:
    """Hash join, A to B (Eq. 3): a probe and an invalidation each walk one bucket.

    Examples
    --------
    >>> round(hash_one_way(10, 120, 60, 10, PAPER), 3)
    60918.0
    """
    bucket = window_b * rate_b / keys_b
    return (rate_a * bucket + rate_b * (bucket + 1)) * costs.hashed


def hash_one_way_lazy(
    rate_a: Values, rate_b: Values, window_b: Values, keys_b: Values, costs: AccessCosts
) -> Values:
    """Hash join, A to B, expired tuples removed by the next probe of their bucket.

    The paper describes this (Section 3.2) and prints no formula. There is no invalidation of its
    own: a probe walks the live tuples of its bucket, B / |B|, and those that expired since the
    bucket's last probe. A bucket is probed rate_a / |B| times and loses rate_b / |B| tuples a
    second, so a probe meets rate_b / rate_a expired ones: each tuple is met once after its end.
    With the insertion that is ``rate_a * B / |B| + 2 * rate_b`` accesses. Needs ``rate_a > 0``.

    Examples
    --------
    >>> round(hash_one_way_lazy(10, 120, 60, 10, PAPER), 3)
    4836.0
    """
    bucket = window_b * rate_b / keys_b
    return (rate_a * bucket + 2 * rate_b) * costs.hashed


def hhj(
    rate_a: Values, rate_b: Values, window_a: Values, window_b: Values,
    keys_a: Values, keys_b: Values, costs: AccessCosts,
) -> Values:  # fmt: skip
    """Both windows hashed (Eq. 4).

    Examples
    --------
    >>> round(hhj(10, 70, 60, 60, 10, 10, PAPER), 3)
    25012.0
    """
    a_to_b = hash_one_way(rate_a, rate_b, window_b, keys_b, costs)
    return a_to_b + hash_one_way(rate_b, rate_a, window_a, keys_a, costs)


def nnj(
    rate_a: Values, rate_b: Values, window_a: Values, window_b: Values,
    keys_a: Values, keys_b: Values, costs: AccessCosts,
) -> Values:  # fmt: skip
    """Both windows lists (Eq. 5); the numbers of keys do not matter.

    Examples
    --------
    >>> nnj(10, 70, 60, 60, 10, 10, PAPER)
    42080.0
    """
    a_to_b = nested_one_way(rate_a, rate_b, window_b, costs)
    return a_to_b + nested_one_way(rate_b, rate_a, window_a, costs)


def hnj(
    rate_a: Values, rate_b: Values, window_a: Values, window_b: Values,
    keys_a: Values, keys_b: Values, costs: AccessCosts,
) -> Values:  # fmt: skip
    """Window A hashed, window B a list: A scans B, B looks up A (Eq. 6).

    Examples
    --------
    >>> round(hnj(10, 70, 60, 60, 10, 10, PAPER), 3)
    24196.5
    """
    a_to_b = nested_one_way(rate_a, rate_b, window_b, costs)
    return a_to_b + hash_one_way(rate_b, rate_a, window_a, keys_a, costs)


def nhj(
    rate_a: Values, rate_b: Values, window_a: Values, window_b: Values,
    keys_a: Values, keys_b: Values, costs: AccessCosts,
) -> Values:  # fmt: skip
    """Window A a list, window B hashed: `hnj` with the streams exchanged (KAN-A12).

    Examples
    --------
    >>> round(nhj(10, 70, 60, 60, 10, 10, PAPER), 3)
    42895.5
    """
    return hnj(rate_b, rate_a, window_b, window_a, keys_b, keys_a, costs)


def join_selectivity(keys_a: Values, keys_b: Values) -> Values:
    """Share of pairs that match: the smaller of 1/|A| and 1/|B| (KAN-A2; approximate, KAN-I4).

    Examples
    --------
    >>> float(join_selectivity(50, 12.5))
    0.02
    """
    return 1 / np.maximum(keys_a, keys_b)


def output_rate(
    rate_a: Values, rate_b: Values, window_a: Values, window_b: Values, selectivity: Values
) -> Values:
    """Results a second (Eq. 9).

    Examples
    --------
    >>> round(output_rate(10, 190, 60, 60, 0.1), 3)
    22800.0
    """
    return selectivity * rate_a * rate_b * (window_a + window_b)


def crossover_exact(rate_a: Values, window_b: Values, keys_b: Values, costs: AccessCosts) -> Values:
    """The rate of B above which nested loops are cheaper for A to B (Eq. 7, solved for rate_b).

    Eq. 7 has rate_b on both sides, as B is window_b * rate_b. Eqs. 2 and 3 are both multiples of
    rate_b, so it cancels, and what is left is linear in rate_b. A root that is not positive says
    that nested loops are cheaper at every rate.

    Examples
    --------
    >>> round(crossover_exact(10, 60, 10, PAPER), 2)
    67.01
    """
    scan = (rate_a * window_b + 2) / costs.ratio
    return (scan - 1) * keys_b / window_b - rate_a


def crossover_ratio(keys_b: Values, costs: AccessCosts) -> Values:
    """About the ratio rate_b / rate_a above which nested loops are cheaper (Eq. 7, last line).

    Examples
    --------
    >>> round(crossover_ratio(10, PAPER), 3)
    6.692
    """
    return (keys_b - costs.ratio) / costs.ratio


def prefers_nested(
    rate_a: Values, rate_b: Values, keys_b: Values, costs: AccessCosts
) -> bool | NDArray[np.bool_]:
    """The algorithm determinant (Eq. 8): whether A to B is cheaper with nested loops.

    Examples
    --------
    >>> prefers_nested(10, 100, 10, PAPER), prefers_nested(5, 45, 20, PAPER)
    (True, False)
    """
    return rate_b > crossover_ratio(keys_b, costs) * rate_a


def thrashing_rate(
    cost: Callable[[float], Values], capacity: float, low: float, high: float
) -> float:
    """The rate between `low` and `high` at which a cost that grows with it reaches `capacity`.

    Examples
    --------
    >>> round(thrashing_rate(lambda b: hash_one_way(10, b, 60, 10, PAPER), 60_000, 10, 300), 1)
    119.1
    """
    if not float(cost(low)) <= capacity <= float(cost(high)):
        raise ConfigError(
            f"capacity: got {capacity:g}; allowed: from {float(cost(low)):g} to"
            f" {float(cost(high)):g}, the costs at rates {low:g} and {high:g}"
        )
    while low < (middle := (low + high) / 2) < high:
        if float(cost(middle)) < capacity:
            low = middle
        else:
            high = middle
    return high


def ratio_from_crossover(keys_b: Values, rho: Values) -> Values:
    """C_h / C_n of a system whose costs cross at ``rate_b / rate_a = rho`` (KAN-A13).

    Examples
    --------
    >>> ratio_from_crossover(10, 7)
    1.25
    """
    return keys_b / (rho + 1)
