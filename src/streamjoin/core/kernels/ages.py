"""How old results are, and how far apart their rows: a pass over some of them."""

import numpy as np
from numpy.typing import NDArray

from streamjoin._typing import Positions, Times
from streamjoin.core.kernels._jit import njit

Longs = NDArray[np.int64]


@njit
def see_pairs(
    left: Times,
    at_left: Positions,
    right: Times,
    at_right: Positions,
    newest: int,
    basic_us: int,
    step: int,
    buckets: Longs,
    found_left: Longs,
    found_right: Longs,
) -> int:
    """Count pairs by the age of their older row, and by the basic window that this row is in.

    Every `step`-th pair is looked at and counts so many times.
    An age counts in the bucket of its binary exponent and the two digits after it; ages below one
    microsecond in the first. A pair whose right row is older (or as old) is one of the right
    window, at ``(t_left - t_right) // basic_us``. Returns the largest age seen in microseconds, 0
    or more. O(pairs / step).

    Examples
    --------
    >>> buckets, left, right = np.zeros(256, np.int64), np.zeros(2, np.int64), np.zeros(2, np.int64)
    >>> times, at = np.array([10, 14]), np.array([0, 1], np.int32)
    >>> see_pairs(times, at, times, at[::-1].copy(), 15, 4, 1, buckets, left, right)
    5
    >>> np.flatnonzero(buckets).tolist(), left.tolist(), right.tolist()  # 5 us: 4 x 1.25
    ([9], [0, 1], [0, 1])
    """
    most = 0
    for i in range(0, len(at_left), step):
        t_left, t_right = left[at_left[i]], right[at_right[i]]
        apart = t_left - t_right
        age = newest - (t_right if apart >= 0 else t_left)
        most = max(most, age)
        bits = np.float64(max(age, 1)).view(np.int64)
        bucket = int(bits >> 50) - 4092
        buckets[bucket if bucket < len(buckets) else -1] += step
        if apart >= 0:
            if len(found_right):
                found_right[min(apart // basic_us, len(found_right) - 1)] += step
        elif len(found_left):
            found_left[min(-apart // basic_us, len(found_left) - 1)] += step
    return most


@njit
def see_oldest(oldest: Times, newest: int, step: int, buckets: Longs) -> int:
    """Count results by age, given the time of the oldest row of each; as `see_pairs` does.

    Examples
    --------
    >>> buckets = np.zeros(256, np.int64)
    >>> see_oldest(np.array([10, 14]), 15, 3, buckets), np.flatnonzero(buckets).tolist()
    (5, [0, 9])
    """
    most = 0
    for time in oldest:
        age = newest - time
        most = max(most, age)
        bits = np.float64(max(age, 1)).view(np.int64)
        bucket = int(bits >> 50) - 4092
        buckets[bucket if bucket < len(buckets) else -1] += step
    return most
