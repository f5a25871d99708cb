"""The moving window join of two streams, one tuple at a time, as Kang et al. (2003) describe it.

An arriving tuple probes the other stream's window, is inserted into its own and lets tuples of its
own that are too old go (KAN-A1). A window is a list (a circular buffer whose keys lie side by
side) or a hash table (buckets of chained tuples, the newest first, so that a probe and the removal
of the oldest both walk the whole bucket). Every function returns how many tuples it touched.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamjoin._typing import Keys, Times
from streamjoin.core.kernels._jit import njit
from streamjoin.core.kernels.equi import LOW32, mix

HEAD: Final = 0  # the number of the oldest tuple held, by arrival in its stream
TAIL: Final = 1  # the number that the next tuple gets
HELD: Final = 2  # tuples held
PEAK: Final = 3  # most tuples ever held
FRESH: Final = 4  # insertions since the last probe
N_STATE: Final = 5

NODE: Final = 4
"""Words of a hashed tuple: key, time, slot of the next one in its bucket (-1: none), spare."""

PROBE: Final = 0  # counters: the left window's, and next to it the right window's
INSERT: Final = 2
INVALIDATE: Final = 4
TUPLES: Final = 6  # arrivals counted
OUTPUTS: Final = 8
SERVED: Final = 9  # arrivals served, counted or not
N_COUNTS: Final = 10

_HALF: Final = (1 << 62) - 1  # tells the compiler that an index is not negative


class Store(NamedTuple):
    """One window: how it works, its arrays, and its state.

    A list uses ``keys`` and ``times`` (int64, mask + 1 slots), a hash table ``nodes`` (int64,
    `NODE` words a slot) and ``heads`` (int64, slot of each bucket's newest tuple or -1). Tuple
    number n is in slot ``n & mask``; there are more slots than tuples that live at once.
    """

    hashed: bool
    lazy: bool
    dense: bool
    window: int
    mask: int
    keys: Keys
    times: Times
    nodes: NDArray[np.int64]
    heads: NDArray[np.int64]
    state: NDArray[np.int64]


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


@njit
def most_held(times: Times, window: int) -> int:
    """Most tuples that a window with active invalidation holds, the newest included. O(n)."""
    oldest, most = 0, 0
    for i in range(len(times)):
        most = max(most, i + 1 - oldest)
        while times[oldest] < times[i] - window:
            oldest += 1
    return most


@njit
def _bucket(store: Store, key: int) -> int:
    n = len(store.heads)
    if not store.dense:
        return ((mix(np.int64(key)) & LOW32) * n >> 32) & LOW32
    return (key if 0 <= key < n else key % n) & LOW32


@njit
def _oldest(store: Store) -> int:
    """Time of the oldest tuple; there must be one."""
    slot = store.state[HEAD] & store.mask & _HALF
    return store.nodes[NODE * slot + 1] if store.hashed else store.times[slot]


@njit
def _insert(store: Store, key: int, time: int) -> int:
    state = store.state
    slot = state[TAIL] & store.mask & _HALF
    if store.hashed:
        nodes, bucket = store.nodes, _bucket(store, key)
        nodes[NODE * slot], nodes[NODE * slot + 1] = key, time
        nodes[NODE * slot + 2] = store.heads[bucket]
        store.heads[bucket] = slot
    else:
        store.keys[slot], store.times[slot] = key, time
    state[TAIL] += 1
    state[FRESH] += 1
    state[HELD] += 1
    state[PEAK] = max(state[PEAK], state[HELD])
    return 1


@njit
def _unlink_oldest(store: Store) -> int:
    """Walk the bucket of the oldest tuple to its end, which is that tuple, and take it off."""
    nodes, oldest = store.nodes, store.state[HEAD] & store.mask & _HALF
    bucket = _bucket(store, nodes[NODE * oldest])
    at, before, touched = store.heads[bucket], np.int64(-1), 1
    while at != oldest:
        before = at
        at = nodes[(NODE * at + 2) & _HALF]
        touched += 1
    if before < 0:
        store.heads[bucket] = -1
    else:
        nodes[NODE * before + 2] = -1
    return touched


@njit
def _invalidate(store: Store, floor: int) -> int:
    """Remove the tuples that are older than the floor, after an insertion (active invalidation).

    A list touches each of them; a hash table walks the bucket of each.
    """
    touched = 0
    while _oldest(store) < floor:
        touched += _unlink_oldest(store) if store.hashed else 1
        store.state[HEAD] += 1
        store.state[HELD] -= 1
    return touched


@njit
def _search_expired(store: Store, floor: int) -> int:
    """Remove the tuples of a list that are older than the floor, before a probe (lazy).

    As many tuples as came since the last probe are likely to have expired since (KAN-A7): binary
    search among these and one more, which must live for the search to be over. Returns the looks:
    about log2 of the insertions since the last probe, plus 1.
    """
    state, times, mask = store.state, store.times, store.mask
    touched, width = 0, state[FRESH] + 1
    state[FRESH] = 0
    while True:
        low, high = state[HEAD], min(state[HEAD] + width, state[TAIL])
        end = high
        while low < high:
            middle = (low + high) >> 1
            touched += 1
            if times[middle & mask & _HALF] < floor:
                low = middle + 1
            else:
                high = middle
        state[HELD] -= low - state[HEAD]
        state[HEAD] = low
        if low < end or end == state[TAIL]:
            return touched
        width *= 2


@njit
def _equal(keys: Keys, key: int) -> int:
    """How many keys are equal to one: a loop without branches, which becomes vector code."""
    hits = 0
    for k in keys:
        hits += k == key
    return hits


@njit
def _scan(store: Store, key: int, floor: int, found: NDArray[np.int64], n: int) -> tuple[int, int]:
    """Compare a key with every tuple of a list; returns tuples touched and matches.

    Writes the numbers of the matches to ``found[n:]`` as far as it has room.
    """
    keys, times, mask = store.keys, store.times, store.mask
    head, tail = store.state[HEAD], store.state[TAIL]
    if head == tail:
        return 0, 0
    first, last = head & mask, (tail - 1) & mask
    if first <= last:
        hits = _equal(keys[first : last + 1], key)
    else:
        hits = _equal(keys[first:], key) + _equal(keys[: last + 1], key)
    at = head  # those that have expired since the last insertion do not match
    while at < tail and times[at & mask & _HALF] < floor:
        hits -= keys[at & mask & _HALF] == key
        at += 1
    if n < len(found) and hits > 0:
        for number in range(at, tail):
            if keys[number & mask & _HALF] == key and n < len(found):
                found[n] = number
                n += 1
    return tail - head, hits


@njit
def _walk(store: Store, key: int, floor: int, found: NDArray[np.int64], n: int) -> tuple[int, int]:
    """As `_scan`, for the bucket of a hash table."""
    nodes, newest = store.nodes, store.state[TAIL] - 1
    at = store.heads[_bucket(store, key)]
    touched, hits = 0, 0
    while at >= 0:
        node = (NODE * at) & _HALF
        hit = (nodes[node] == key) & (nodes[node + 1] >= floor)
        if hit and n < len(found):
            found[n] = newest - ((newest - at) & store.mask)
            n += 1
        hits += hit
        touched += 1
        at = nodes[node + 2]
    return touched, hits


@njit
def _cut_bucket(store: Store, key: int, floor: int) -> int:
    """Remove the expired tuples of a key's bucket before a probe (lazy): the end of its chain.

    Returns how many they are. The living are touched by the probe, which counts them.
    """
    nodes, bucket = store.nodes, _bucket(store, key)
    at, before = store.heads[bucket], np.int64(-1)
    while at >= 0 and nodes[NODE * at + 1] >= floor:
        before = at
        at = nodes[(NODE * at + 2) & _HALF]
    if before < 0:
        store.heads[bucket] = -1
    else:
        nodes[NODE * before + 2] = -1
    removed = 0
    while at >= 0:
        removed += 1
        at = nodes[(NODE * at + 2) & _HALF]
    store.state[HELD] -= removed
    return removed


@njit
def _probe(
    store: Store, key: int, time: int, found: NDArray[np.int64], n: int
) -> tuple[int, int, int]:
    """Tuples touched by the probe, by lazy invalidation before it, and matches."""
    floor, expired = time - store.window, 0
    if store.lazy:
        expired = _cut_bucket(store, key, floor) if store.hashed else _search_expired(store, floor)
    if store.hashed:
        touched, hits = _walk(store, key, floor, found, n)
    else:
        touched, hits = _scan(store, key, floor, found, n)
    return touched, expired, hits


@njit
def run_join(
    left_times: Times,
    left_keys: Keys,
    right_times: Times,
    right_keys: Keys,
    left: Store,
    right: Store,
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
        own, other, side = (left, right, 0) if is_left else (right, left, 1)
        time = left_times[i] if is_left else right_times[j]
        key = left_keys[i] if is_left else right_keys[j]
        if time >= run.until:
            return
        touched, expired, hits, inserted, invalidated = 0, 0, 0, 0, 0
        if is_left or run.both:
            found = found_right if is_left else found_left
            touched, expired, hits = _probe(other, key, time, found, n)
        if not is_left or run.both:
            inserted = _insert(own, key, time)
            if not own.lazy:
                invalidated = _invalidate(own, time - own.window)
        own_us, other_us = (run.left_us, run.right_us) if is_left else (run.right_us, run.left_us)
        service = (touched + expired) * other_us + (inserted + invalidated) * own_us
        lag = max(0.0, lag - (time - before)) + service
        before = time
        if lag >= run.until - time:
            return
        counts[SERVED] += 1
        if time + lag >= run.since:
            counts[PROBE + 1 - side] += touched
            counts[INVALIDATE + 1 - side] += expired
            counts[INSERT + side] += inserted
            counts[INVALIDATE + side] += invalidated
            counts[TUPLES + side] += 1
            counts[OUTPUTS] += hits
            mine = found_left if is_left else found_right
            for k in range(n, min(n + hits, len(mine))):
                mine[k] = i if is_left else j
            n += hits
        i += is_left
        j += not is_left
