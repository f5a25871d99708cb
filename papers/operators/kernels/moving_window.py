"""The moving window join of two streams, one tuple at a time, as Kang et al. (2003) describe it.

An arriving tuple probes the other stream's window, is inserted into its own and lets tuples of its
own that are too old go (KAN-A1). A window is a list (a circular buffer whose keys lie side by
side) or a hash table (buckets of chained tuples, the newest first, so that a probe and the removal
of the oldest both walk the whole bucket). Functions return how many tuples they touched.

A window is one array of words, because Numba counts references to each array that is handed on:
with an array for each part this took ten times as long as inserting a tuple.

```
list   settings and state | keys of all slots | times of all slots
hash   settings and state | key, time, slot of the next in the bucket, spare: for each slot | heads
```
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamjoin._typing import Keys, Times
from streamjoin.core.kernels._jit import njit
from streamjoin.core.kernels.equi import LOW32, mix

Window = NDArray[np.int64]
"""A window in one array, made by `new_window`."""

_HASHED: Final = 0
_LAZY: Final = 1
_DENSE: Final = 2
_LENGTH: Final = 3  # in microseconds
_MASK: Final = 4  # tuple number n of the stream is in slot n & mask
_BUCKETS: Final = 5
_HEAD: Final = 6  # number of the oldest tuple held
_TAIL: Final = 7  # number that the next tuple gets
_FRESH: Final = 8  # insertions since the last probe
_HELD: Final = 9
PEAK: Final = 10
"""Where a window has the most tuples that it ever held."""

_DATA: Final = 16  # where slots begin
_NODE: Final = 4  # words of a slot in a hash table

PROBE: Final = 0
"""First counter of accesses: the left window's, and next to it the right window's."""
INSERT: Final = 2
INVALIDATE: Final = 4
TUPLES: Final = 6
"""Arrivals counted, left and right."""
OUTPUTS: Final = 8
SERVED: Final = 9
"""Arrivals served, counted or not."""
N_COUNTS: Final = 10

_HALF: Final = (1 << 62) - 1  # tells the compiler that an index is not negative


class Run(NamedTuple):
    """What is to be done: which directions, how long an access takes, and what is counted.

    ``left_us`` and ``right_us`` are microseconds per access of a window, 0 for no service time.
    Counted are tuples whose service ends in ``since <= end < until``.
    """

    both: bool
    left_us: float
    right_us: float
    since: int
    until: int


def new_window(
    hashed: bool, lazy: bool, dense: bool, length: int, n_slots: int, n_buckets: int
) -> Window:
    """An empty window; needs as many slots as tuples may live at once, a power of two.

    `dense` says that all keys stored are in ``0..n_buckets-1``, so that each has its own bucket.
    """
    data = _NODE * n_slots + n_buckets if hashed else 2 * n_slots
    window = np.empty(_DATA + data, np.int64)
    window[:_DATA] = 0
    window[:_HEAD] = hashed, lazy, dense, length, n_slots - 1, n_buckets
    if hashed:
        window[_DATA + _NODE * n_slots :] = -1
    return window


@njit
def most_held(times: Times, length: int) -> int:
    """Most tuples that a window with active invalidation holds, the newest included. O(n)."""
    oldest, most = 0, 0
    for i in range(len(times)):
        most = max(most, i + 1 - oldest)
        while times[oldest] < times[i] - length:
            oldest += 1
    return most


@njit
def _slot(w: Window, number: int) -> int:
    """Where the slot of a tuple begins: in a list its key, in a hash table its node."""
    slot = number & w[_MASK] & _HALF
    return int(_DATA + (_NODE * slot if w[_HASHED] else slot))


@njit
def _time(w: Window, number: int) -> int:
    at = _slot(w, number)
    return int(w[at + 1 if w[_HASHED] else at + w[_MASK] + 1])


@njit
def _bucket(w: Window, key: int) -> int:
    """Where the head of a key's bucket is."""
    n, bucket = w[_BUCKETS], np.int64(key)
    if not (w[_DENSE] and 0 <= key < n):  # any bucket will do for a key that cannot be stored
        bucket = ((mix(bucket) & LOW32) * n) >> 32
    return int((_DATA + _NODE * (w[_MASK] + 1) + bucket) & _HALF)


@njit
def _next(w: Window, slot: int) -> int:
    """The slot after one in its bucket, or -1."""
    return int(w[(_DATA + _NODE * slot + 2) & _HALF])


@njit
def _insert(w: Window, key: int, time: int) -> int:
    at = _slot(w, w[_TAIL])
    w[at] = key
    if w[_HASHED]:
        bucket = _bucket(w, key)
        w[at + 1], w[at + 2] = time, w[bucket]
        w[bucket] = w[_TAIL] & w[_MASK]
    else:
        w[at + w[_MASK] + 1] = time
    w[_TAIL] += 1
    w[_FRESH] += 1
    w[_HELD] += 1
    w[PEAK] = max(w[PEAK], w[_HELD])
    return 1


@njit
def _end_after(w: Window, bucket: int, last: int) -> None:
    """Let a slot be the last of its bucket; -1 leaves the bucket empty."""
    if last < 0:
        w[bucket] = -1
    else:
        w[(_DATA + _NODE * last + 2) & _HALF] = -1


@njit
def _unlink_oldest(w: Window) -> int:
    """Walk the bucket of the oldest tuple to its end, which is that tuple, and take it off."""
    oldest = w[_HEAD] & w[_MASK]
    bucket = _bucket(w, w[_slot(w, w[_HEAD])])
    at, last, touched = int(w[bucket]), -1, 1
    while at != oldest:
        last, at = at, _next(w, at)
        touched += 1
    _end_after(w, bucket, last)
    return touched


@njit
def _invalidate(w: Window, floor: int) -> int:
    """Remove the tuples that are older than the floor, after an insertion (active invalidation).

    A list touches each of them; a hash table walks the bucket of each.
    """
    touched = 0
    while _time(w, w[_HEAD]) < floor:
        touched += _unlink_oldest(w) if w[_HASHED] else 1
        w[_HEAD] += 1
        w[_HELD] -= 1
    return touched


@njit
def _search_expired(w: Window, floor: int) -> int:
    """Remove the tuples of a list that are older than the floor, before a probe (lazy).

    As many tuples as came since the last probe are likely to have expired since (KAN-A7): binary
    search among these and one more, which must live for the search to be over. Returns the looks:
    about log2 of the insertions since the last probe, plus 1.
    """
    touched, width = 0, w[_FRESH] + 1
    w[_FRESH] = 0
    while True:
        low, end = w[_HEAD], min(w[_HEAD] + width, w[_TAIL])
        high = end
        while low < high:
            middle = (low + high) >> 1
            touched += 1
            if _time(w, middle) < floor:
                low = middle + 1
            else:
                high = middle
        w[_HELD] -= low - w[_HEAD]
        w[_HEAD] = low
        if low < end or end == w[_TAIL]:
            return touched
        width *= 2


@njit
def _equal(words: Window, begin: int, end: int, key: int) -> int:
    """How many of ``words[begin:end]`` are a key: no branches, so it becomes vector code."""
    hits = np.int64(0)
    for i in range(np.uint64(begin), np.uint64(end)):  # unsigned: no index counts from the end
        hits += np.int64(words[i] == key)
    return int(hits)


@njit
def _scan(w: Window, key: int, floor: int, found: NDArray[np.int64], n: int) -> tuple[int, int]:
    """Compare a key with every tuple of a list; returns tuples touched and matches.

    Writes the numbers of the matches to ``found[n:]`` as far as it has room.
    """
    head, tail = w[_HEAD], w[_TAIL]
    if head == tail:
        return 0, 0
    first, last = _slot(w, head), _slot(w, tail - 1)
    if first <= last:
        hits = _equal(w, first, last + 1, key)
    else:
        hits = _equal(w, first, _DATA + w[_MASK] + 1, key) + _equal(w, _DATA, last + 1, key)
    at = head  # what has expired since the last insertion does not match
    while at < tail and _time(w, at) < floor:
        hits -= int(w[_slot(w, at)] == key)
        at += 1
    if hits > 0 and n < len(found):
        for number in range(at, tail):
            if w[_slot(w, number)] == key and n < len(found):
                found[n] = number
                n += 1
    return tail - head, hits


@njit
def _walk(w: Window, key: int, floor: int, found: NDArray[np.int64], n: int) -> tuple[int, int]:
    """As `_scan`, for the bucket of a hash table."""
    newest, at = w[_TAIL] - 1, w[_bucket(w, key)]
    touched, hits = 0, 0
    while at >= 0:
        node = (_DATA + _NODE * at) & _HALF
        hit = (w[node] == key) & (w[node + 1] >= floor)
        if hit and n < len(found):
            found[n] = newest - ((newest - at) & w[_MASK])
            n += 1
        hits += int(hit)
        touched += 1
        at = w[node + 2]
    return touched, hits


@njit
def _cut_bucket(w: Window, key: int, floor: int) -> int:
    """Remove the expired tuples of a key's bucket before a probe (lazy): the end of its chain.

    Returns how many they are. The living are touched by the probe, which counts them.
    """
    bucket, last, removed = _bucket(w, key), -1, 0
    at = int(w[bucket])
    while at >= 0 and w[(_DATA + _NODE * at + 1) & _HALF] >= floor:
        last, at = at, _next(w, at)
    _end_after(w, bucket, last)
    while at >= 0:
        removed += 1
        at = _next(w, at)
    w[_HELD] -= removed
    return removed


@njit
def _arrive(
    own: Window,
    other: Window,
    inserts: bool,
    probes: bool,
    key: int,
    time: int,
    found: NDArray[np.int64],
    n: int,
) -> tuple[int, int, int, int, int]:
    """Matches, and tuples touched by the probe, lazy removal, insertion and active removal."""
    hits, touched, expired, inserted, invalidated = 0, 0, 0, 0, 0
    if probes:
        floor = time - other[_LENGTH]
        if other[_HASHED]:
            expired = _cut_bucket(other, key, floor) if other[_LAZY] else 0
            touched, hits = _walk(other, key, floor, found, n)
        else:
            expired = _search_expired(other, floor) if other[_LAZY] else 0
            touched, hits = _scan(other, key, floor, found, n)
    if inserts:
        inserted = _insert(own, key, time)
        invalidated = 0 if own[_LAZY] else _invalidate(own, time - own[_LENGTH])
    return hits, touched, expired, inserted, invalidated


@njit
def run_join(
    left_times: Times,
    left_keys: Keys,
    right_times: Times,
    right_keys: Keys,
    left: Window,
    right: Window,
    run: Run,
    counts: NDArray[np.int64],
    found_left: NDArray[np.int64],
    found_right: NDArray[np.int64],
) -> None:
    """Join two recorded streams in the order of time, left before right.

    Times are sorted and less than 2^62 from zero, as windows are. Fills ``counts`` (int64,
    `N_COUNTS` zeros) and, as far as they have room, the positions of result pairs (int64). Costs
    what the counters say.
    """
    i, j, n = 0, 0, 0
    before, lag = np.int64(0), 0.0  # service ends this long after the arrival that it is for
    while i < len(left_times) or j < len(right_times):
        is_left = j >= len(right_times) or (i < len(left_times) and left_times[i] <= right_times[j])
        time = left_times[i] if is_left else right_times[j]
        if time >= run.until:
            return
        # Two calls: to choose a window first would count references to it.
        if is_left:
            work = _arrive(left, right, run.both, True, left_keys[i], time, found_right, n)
        else:
            work = _arrive(right, left, True, run.both, right_keys[j], time, found_left, n)
        hits, touched, expired, inserted, invalidated = work
        own_us, other_us = (run.left_us, run.right_us) if is_left else (run.right_us, run.left_us)
        service = (touched + expired) * other_us + (inserted + invalidated) * own_us
        lag = max(0.0, lag - (time - before)) + service
        before = time
        if lag >= run.until - time:
            return
        counts[SERVED] += 1
        if time + lag >= run.since:
            side = 0 if is_left else 1
            counts[PROBE + 1 - side] += touched
            counts[INVALIDATE + 1 - side] += expired
            counts[INSERT + side] += inserted
            counts[INVALIDATE + side] += invalidated
            counts[TUPLES + side] += 1
            counts[OUTPUTS] += hits
            for k in range(n, min(n + hits, len(found_left))):
                if is_left:
                    found_left[k] = i
                else:
                    found_right[k] = j
            n += hits
        i += int(is_left)
        j += int(not is_left)
