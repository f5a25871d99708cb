"""Kernels that stream rows past a hash index: first runs of matches, then pairs of positions.

A run is one probing row and the span ``begin << 32 | count`` of index rows that it matches. Since
each key's index rows lie next to each other in order of time, a row has at most one run, however
many pairs that is, and the pairs can be written in pieces of any size.

Nested loops compare every probing row with every row of a list. What is compared first are
fingerprints, half of each mixed key: eight fit a vector of 256 bits, and two different keys share
one only once in four thousand million times. A block of them is compared without branches; only a
block with a hit is looked at again, row by row.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamjoin._typing import Keys, Positions, Times
from streamjoin.core.kernels._jit import njit
from streamjoin.core.kernels.equi import BLOCK, LOW32, mix

WIDTH: Final = 8
"""Index rows that are compared or copied at once; arrays that are read so have as many more."""

_MIN: Final = -(1 << 63)
_MAX: Final = (1 << 63) - 1
_HALF: Final = (1 << 62) - 1  # masks an index as LOW32 does, where it may need more than 32 bits
STRIDE: Final = 128
"""Rows per block; arrays of fingerprints are filled up to a multiple of it."""


class Bounds(NamedTuple):
    """What a probe needs to know of time; made by `Bounds.of`, which leaves nothing to overflow.

    A row of time t matches index rows from ``max(t, floor) + low`` to ``min(t, ceiling) + high`` if
    ``first <= t <= last``, else none.
    """

    low: int
    high: int
    first: int
    last: int
    floor: int
    ceiling: int
    earliest: int
    latest: int

    @classmethod
    def of(cls, low: int, high: int, earliest: int, latest: int) -> "Bounds | None":
        """Bounds ``low <= t_index - t_probe <= high`` for an index with times earliest to latest.

        None if nothing can match.

        Examples
        --------
        >>> Bounds.of(-5, 0, earliest=100, latest=200)[:4]
        (-5, 0, 100, 205)
        >>> Bounds.of(1, 0, earliest=100, latest=200) is None
        True
        """
        first, last = max(earliest - high, _MIN), min(latest - low, _MAX)
        if low > high or first > last:
            return None
        floor, ceiling = max(_MIN, _MIN - low), min(_MAX, _MAX - high)
        return cls(low, high, first, last, floor, ceiling, earliest, latest)


@njit
def _keep_between(
    n: int,
    first: int,
    last: int,
    times: Times,
    mixed: NDArray[np.int64],
    probing: NDArray[np.int64],
) -> int:
    """Move the rows with ``first <= time <= last`` to the front; returns how many there are."""
    kept = 0
    for k in range(n):
        row, h = probing[k], mixed[k]
        probing[kept & LOW32] = row
        mixed[kept & LOW32] = h
        time = times[row & LOW32]
        kept += (first <= time) & (time <= last)
    return kept


@njit
def _keep_known(
    n: int, known: NDArray[np.int64], mixed: NDArray[np.int64], probing: NDArray[np.int64]
) -> int:
    """Move the rows whose key may be in the index to the front; returns how many there are."""
    mask = len(known) - 1
    kept = 0
    for k in range(n):
        row, h = probing[k], mixed[k]
        probing[kept & LOW32] = row
        mixed[kept & LOW32] = h
        word = known[(h >> 32) & mask & LOW32]
        kept += (word >> (h & 63)) & (word >> ((h >> 6) & 63)) & 1
    return kept


@njit
def _find_groups(
    n: int,
    mixed: NDArray[np.int64],
    bits: int,
    slots: NDArray[np.int32],
    groups: NDArray[np.int64],
    spans: NDArray[np.int64],
    work: NDArray[np.int64],
) -> int:
    """Spans of n mixed keys' groups, 0 where there is none; returns how many keys have one."""
    shift, mask = 64 - bits, (1 << bits) - 1
    for k in range(n):
        spans[k] = slots[(mixed[k] >> shift) & mask & LOW32]
    n_missed = 0
    for k in range(n):
        g = 2 * (spans[k] & LOW32)
        spans[k] = groups[g + 1]
        work[n_missed & LOW32] = k
        n_missed += (g != 0) & (groups[g] != mixed[k])
    for m in range(n_missed):  # another key is in the slot: look in the next ones
        k = work[m] & LOW32
        slot = ((mixed[k] >> shift) + 1) & mask & LOW32
        number = np.int64(slots[slot])
        while number != 0 and groups[2 * number & LOW32] != mixed[k]:
            slot = (slot + 1) & mask & LOW32
            number = np.int64(slots[slot])
        spans[k] = groups[2 * number + 1]
    n_hits = 0
    for k in range(n):
        n_hits += spans[k] != 0
    return n_hits


@njit
def _count(times: Times, begin: int, count: int, bound: int, ties: bool) -> int:
    """How many of ``times[begin:begin + count]`` are below a bound, or equal to it if so asked.

    The times are in order and there is at least one. O(log count), without branches on the times.
    """
    at = begin
    while count > 1:
        half = count >> 1
        time = times[(at + half - 1) & LOW32]
        at += half * int((time < bound) | (ties & (time == bound)))
        count -= half
    time = times[at & LOW32]
    last = (time < bound) | (ties & (time == bound))
    return at - begin + int(last)


@njit
def _trim(span: int, times: Times, earliest: int, latest: int, width: int) -> int:
    """The part of a span whose times lie between two bounds; its count may be 0."""
    begin, count = (span >> 32) & LOW32, span & LOW32
    before, upto = 0, 0
    if count <= width:
        # A fixed number of turns, known only at run time, becomes vector code without branches.
        for j in range(width):
            time = times[begin + j]
            before += (time < earliest) & (j < count)
            upto += (time <= latest) & (j < count)
    else:
        before = _count(times, begin, count, earliest, False)
        upto = _count(times, begin, count, latest, True)
    return ((begin + before) << 32) | (upto - before)


@njit
def find_runs(
    keys: Keys,
    times: Times,
    start: int,
    bounds: Bounds,
    known: NDArray[np.int64],
    bits: int,
    slots: NDArray[np.int32],
    groups: NDArray[np.int64],
    row_times: Times,
    width: int,
    run_rows: Positions,
    run_spans: NDArray[np.int64],
) -> tuple[int, int]:
    """Runs of matches of the rows from ``start`` on, in their order, until the arrays are full.

    ``known``, ``slots``, ``groups`` and ``row_times`` (with `WIDTH` more items) are those of the
    index; ``width`` is `WIDTH`. Fills ``run_rows`` (int32) and ``run_spans`` (int64), which have
    room for a block or for all rows. Returns the row to go on with and the number of pairs.
    O(n log rows of a key).
    """
    low, high, first, last, floor, ceiling, earliest, latest = bounds
    mixed, probing = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    spans, work = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    n_runs, n_pairs, few_hits = 0, 0, True
    for at in range(start, len(keys), BLOCK):
        n = min(len(keys) - at, BLOCK)
        if n_runs + n > len(run_rows):
            return at, n_pairs
        oldest, newest = times[at], times[at]
        for k in range(n):
            oldest, newest = min(oldest, times[at + k]), max(newest, times[at + k])
        if newest < first or oldest > last:
            continue
        for k in range(n):
            mixed[k] = mix(keys[at + k])
        for k in range(n):
            probing[k] = at + k
        if oldest < first or newest > last:
            n = _keep_between(n, first, last, times, mixed, probing)
        n_before = n
        if few_hits:
            n = _keep_known(n, known, mixed, probing)
        n_hits = _find_groups(n, mixed, bits, slots, groups, spans, work)
        few_hits = 2 * n_hits < n_before
        oldest, newest = max(oldest, first), min(newest, last)
        if max(newest, floor) + low > earliest or min(oldest, ceiling) + high < latest:
            for k in range(n):
                time = times[probing[k] & LOW32]
                since, until = max(time, floor) + low, min(time, ceiling) + high
                spans[k] = _trim(spans[k], row_times, since, until, width)
        for k in range(n):
            count = spans[k] & LOW32
            run_rows[n_runs & LOW32] = probing[k]
            run_spans[n_runs & LOW32] = spans[k]
            n_runs += count != 0
            n_pairs += count
    return len(keys), n_pairs


@njit
def fill_pairs(
    run_rows: Positions,
    run_spans: NDArray[np.int64],
    run: int,
    done: int,
    size: int,
    rows: Positions,
    index_positions: Positions,
    probe_positions: Positions,
) -> tuple[int, int]:
    """Write ``size`` pairs of the runs, going on after ``done`` pairs of run number ``run``.

    ``rows``, ``index_positions`` and ``probe_positions`` have at least `WIDTH` items more than are
    wanted, since `WIDTH` are copied at a time. Returns where to go on. O(size).
    """
    filled = 0
    while filled < size:
        span, row = run_spans[run & _HALF], run_rows[run & _HALF]
        begin, left = (span >> 32) + done, (span & LOW32) - done
        count = min(left, size - filled)
        for j in range(0, count, WIDTH):
            i, o = (begin + j) & _HALF, (filled + j) & _HALF
            # All reads before the first write: so they become one wide read and one wide write.
            a, b, c, d = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
            e, f, g, h = rows[i + 4], rows[i + 5], rows[i + 6], rows[i + 7]
            index_positions[o], index_positions[o + 1] = a, b
            index_positions[o + 2], index_positions[o + 3] = c, d
            index_positions[o + 4], index_positions[o + 5] = e, f
            index_positions[o + 6], index_positions[o + 7] = g, h
            for k in range(WIDTH):
                probe_positions[o + k] = row
        filled += count
        done = 0 if count == left else done + count
        run += count == left
    return run, done


@njit
def fingerprints(keys: Keys, prints: NDArray[np.int32]) -> None:
    """Fill the fingerprints (int32, n or more) of n keys. O(n)."""
    for i in range(len(keys)):
        prints[i] = np.int32(mix(keys[i]) >> 32)


@njit
def _hits(prints: NDArray[np.int32], start: int, wanted: np.int32) -> int:
    """How many of a block's fingerprints are the wanted one."""
    hits = np.int32(0)
    begin = np.uint64(start)  # unsigned: no index counts from the end
    for i in range(begin, begin + np.uint64(STRIDE)):
        # 32 bits throughout: a wider sum would halve the width of the comparison.
        hits = np.int32(hits + np.int32(prints[i] == wanted))
    return int(hits)


@njit
def scan_pairs(
    keys: Keys,
    times: Times,
    row: int,
    at: int,
    bounds: Bounds,
    prints: NDArray[np.int32],
    list_keys: Keys,
    list_times: Times,
    rows: Positions,
    index_positions: Positions,
    probe_positions: Positions,
) -> tuple[int, int, int]:
    """Pairs from probing row ``row`` and list row ``at`` on, until the arrays are full.

    ``list_keys``, ``list_times`` and ``rows`` (their positions, int32) have n items in the total
    order; ``prints`` (int32) has the next multiple of `STRIDE`. Returns where to go on, row and
    list row, and the number of pairs. O(probing rows x list rows).
    """
    n, filled, size = len(list_keys), 0, len(index_positions)
    for r in range(row, len(keys)):
        key, time = keys[r], times[r]
        if time < bounds.first or time > bounds.last:
            continue
        since = max(time, bounds.floor) + bounds.low
        until = min(time, bounds.ceiling) + bounds.high
        wanted = np.int32(mix(key) >> 32)
        first = at if r == row else 0
        for start in range(first // STRIDE * STRIDE, n, STRIDE):
            if _hits(prints, start, wanted) == 0:
                continue
            for i in range(max(start, first), min(start + STRIDE, n)):
                if prints[i] == wanted and list_keys[i] == key and since <= list_times[i] <= until:
                    if filled == size:
                        return r, i, filled
                    index_positions[filled], probe_positions[filled] = rows[i], r
                    filled += 1
    return len(keys), 0, filled
