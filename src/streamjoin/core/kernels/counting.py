"""Kernels that count: results by age, pairs by difference of cells, rows that matched, keys.

Keys are counted in a count-min sketch: how often they were seen, in little memory and never too
few.
"""

import numpy as np
from numpy.typing import NDArray

from streamjoin._typing import Keys, Positions, Times
from streamjoin.core.kernels._jit import njit
from streamjoin.core.kernels.equi import mix

Longs = NDArray[np.int64]
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MOST = np.uint8(255)
Counters = NDArray[np.uint8]
"""Lines of one length, a power of two."""


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


@njit
def pairs_by_difference(
    left: NDArray[np.int64],
    left_rows: NDArray[np.int64],
    right: NDArray[np.int64],
    right_rows: NDArray[np.int64],
    lowest: int,
    out: NDArray[np.float64],
) -> None:
    """Add to ``out[d - lowest]`` the pairs of a left and a right row whose cells differ by d.

    Cells are in ascending order; a cell may come several times. O(left cells * len(out)).

    Examples
    --------
    >>> out, cells = np.zeros(3), np.array([5, 6])
    >>> pairs_by_difference(cells, np.array([2, 1]), cells, np.array([10, 1]), -1, out)
    >>> out.tolist()
    [2.0, 21.0, 10.0]
    """
    first, n = 0, len(right)
    highest = lowest + len(out) - 1
    for i in range(len(left)):
        while first < n and right[first] < left[i] - highest:
            first += 1
        at = first
        while at < n and right[at] <= left[i] - lowest:
            out[left[i] - right[at] - lowest] += float(left_rows[i]) * float(right_rows[at])
            at += 1


@njit
def mark_new(marks: NDArray[np.bool_], positions: Positions) -> Positions:
    """Set the flags at positions (int32); returns those that were not set before, each once.

    O(positions), in their order.

    Examples
    --------
    >>> marks = np.array([False, True, False])
    >>> mark_new(marks, np.array([2, 1, 2], np.int32)).tolist(), marks.tolist()
    ([2], [False, True, True])
    """
    fresh = np.empty(len(positions), np.int32)
    n = 0
    for position in positions:
        if not marks[position]:
            marks[position] = True
            fresh[n] = position
            n += 1
    return fresh[:n]


@njit
def _place(mixed: np.uint64, line: int, mask: np.uint64) -> np.int64:
    return np.int64((mixed * (_GOLDEN + np.uint64(2 * line)) >> np.uint64(20)) & mask)


@njit
def count_keys(keys: Keys, counters: Counters) -> None:
    """See keys once more: of the counters of each the smallest are raised (O(n))."""
    lines, width = counters.shape
    mask = np.uint64(width - 1)
    for key in keys:
        mixed = np.uint64(mix(key))
        least = _MOST
        for line in range(lines):
            least = min(least, counters[line, _place(mixed, line, mask)])
        if least == _MOST:
            continue
        for line in range(lines):
            at = _place(mixed, line, mask)
            if counters[line, at] == least:
                counters[line, at] = least + np.uint8(1)


@njit
def estimate_keys(keys: Keys, counters: Counters, found: NDArray[np.uint8]) -> None:
    """How often keys were seen, at most (O(n))."""
    lines, width = counters.shape
    mask = np.uint64(width - 1)
    for i in range(len(keys)):
        mixed = np.uint64(mix(keys[i]))
        least = _MOST
        for line in range(lines):
            least = min(least, counters[line, _place(mixed, line, mask)])
        found[i] = least
