"""What joins of a stream with a table on disk keep in memory (Naeem et al. 2017, NAE-A3).

```
chains   of each key: oldest waiting tuple, newest, how many        the multi-hash-map H_S
slots    a waiting tuple: its number, next younger of its key, neighbours in the queue Q
cached   of each key: its place in the cache H_R, from which iteration on it may be used
```

Keys are whole numbers from 0 on, so that a look into a hash table is one into an array; what it
costs in virtual time is charged by `semi_stream_joins`. Counts and clocks are arrays, so that a run
can be cut into many calls.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamjoin.core.kernels._jit import njit

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Floats = NDArray[np.float64]
Bytes = NDArray[np.uint8]

OLDEST: Final = 0
"""First of the columns of a chain: slot of its oldest tuple, -1 if none waits."""
NEWEST: Final = 1
COUNT: Final = 2
N_CHAIN: Final = 3

TUPLE: Final = 0
"""First of the columns of a slot: number of the stream tuple."""
AFTER: Final = 1
NEWER: Final = 2
OLDER: Final = 3
N_SLOT: Final = 4

PLACE: Final = 0
"""First of the columns of `cached`: place in the cache, -1 if the key is not cached."""
READY: Final = 1
N_CACHED: Final = 2

RECORDER: Final = 0
"""First of the policies: the least frequent when admitted goes (NAE-A9)."""
AGEING: Final = 1
SKETCH: Final = 2

Q_NEW: Final = 0
"""First of the pointers: newest slot of Q, -1 if it is empty."""
Q_OLD: Final = 1
Q_LENGTH: Final = 2
MARK: Final = 3
"""Slot that the look-up position is at or near, and how many slots of Q are newer."""
RANK: Final = 4
N_FREE: Final = 5
NUMBER: Final = 6
"""Number of the next tuple to enter Q: tells which of two is newer."""
ARRIVED: Final = 7
"""Stream tuples that have come, and that were taken from the buffer SB_1."""
TAKEN: Final = 8
SPILLED: Final = 9
"""Ends of the spilled tuples, of those that are back in SB_1, and of those taken from there."""
BACK: Final = 10
BACK_TAKEN: Final = 11
N_TABLE: Final = 12
PARTITION: Final = 13
"""Next partition of a scan, and the ring of chunks that wait for the end of it."""
CHUNK_FIRST: Final = 14
CHUNK_END: Final = 15
N_CACHE: Final = 16
THRESHOLD: Final = 17
HAND: Final = 18
"""Where the next eviction looks, and what was counted since frequencies were halved."""
SINCE_AGED: Final = 19
SPAN: Final = 20
"""Number of the span of recent keys (NAE-A15), when it or a turn of H_S began, evictions before."""
TURN_BEGAN: Final = 21
EVICTED_BEFORE: Final = 22
OVERLOADED: Final = 23
"""Whether tuples were shed, and the buffer has not been low since."""
N_POINTERS: Final = 24

_SAMPLED: Final = 8  # cached tuples that are looked at for an eviction
_ROWS: Final = 4  # of the sketch
_ODD: Final = (0x5851F42D, 0x4C957F2D, 0x2545F491, 0x369DEA0F)  # a product fits into 64 bits


class Waiting(NamedTuple):
    """H_S and Q: chains [key, `N_CHAIN`], slots [h_S, `N_SLOT`], and of each slot its number in the
    order of arrival, when it came, and the stack of free ones.
    """  # noqa: D205

    chains: Int32s
    slots: Int32s
    numbers: Int64s
    since: Floats
    free: Int32s


class Cache(NamedTuple):
    """H_R and what is known of frequencies: entries [h_R] of key and frequency, by key what is
    cached, the sketch [4, width] and the recent keys of an index join [key, 2].
    """  # noqa: D205

    cached: Int32s
    keys: Int32s
    frequencies: Int32s
    sketch: Bytes
    recent: Int32s


@njit
def enter(tuple_: int, key: int, now: float, marked: bool, waiting: Waiting, at: Int64s) -> None:
    """Put a stream tuple into H_S and at the start of Q. O(1)."""
    chains, slots, numbers, since, free = waiting
    at[N_FREE] -= 1
    slot = free[at[N_FREE]]
    slots[slot, TUPLE], slots[slot, AFTER] = tuple_, -1
    if chains[key, OLDEST] < 0:
        chains[key, OLDEST] = slot
    else:
        slots[chains[key, NEWEST], AFTER] = slot
    chains[key, NEWEST] = slot
    chains[key, COUNT] += 1
    since[slot], numbers[slot] = now, at[NUMBER]
    at[NUMBER] += 1
    first = at[Q_NEW]
    slots[slot, NEWER], slots[slot, OLDER] = -1, first
    if first < 0:
        at[Q_OLD] = slot
    else:
        slots[first, NEWER] = slot
    at[Q_NEW] = slot
    at[Q_LENGTH] += 1
    if marked:
        if at[MARK] < 0:
            at[MARK], at[RANK] = slot, 0
        else:
            at[RANK] += 1


@njit
def leave(slot: int, marked: bool, waiting: Waiting, at: Int64s) -> None:
    """Take a slot out of Q, wherever it is, and free it. O(1)."""
    slots, numbers = waiting.slots, waiting.numbers
    newer, older = slots[slot, NEWER], slots[slot, OLDER]
    if newer < 0:
        at[Q_NEW] = older
    else:
        slots[newer, OLDER] = older
    if older < 0:
        at[Q_OLD] = newer
    else:
        slots[older, NEWER] = newer
    at[Q_LENGTH] -= 1
    if marked:
        mark = at[MARK]
        if slot == mark:
            at[MARK] = older if older >= 0 else newer
            at[RANK] -= older < 0
        elif numbers[slot] > numbers[mark]:
            at[RANK] -= 1
    waiting.free[at[N_FREE]] = slot
    at[N_FREE] += 1


@njit
def leave_first(key: int, marked: bool, waiting: Waiting, at: Int64s) -> None:
    """Take the oldest tuple of a key out of H_S and Q. O(1)."""
    chains = waiting.chains
    slot = chains[key, OLDEST]
    chains[key, OLDEST] = waiting.slots[slot, AFTER]
    chains[key, COUNT] -= 1
    leave(slot, marked, waiting, at)


@njit
def look_up_slot(position: float, waiting: Waiting, at: Int64s) -> int:
    """Slot at a position of Q: a share of its length from the start, the newest side (NAE-A14).

    The mark moves by as much as Q has changed since the last look: O(1) for each tuple of Q, all
    looks taken together.
    """
    if position >= 1:
        return int(at[Q_OLD])
    target = min(int(position * at[Q_LENGTH]), at[Q_LENGTH] - 1)
    slots = waiting.slots
    while at[RANK] < target:
        at[MARK] = slots[at[MARK], OLDER]
        at[RANK] += 1
    while at[RANK] > target:
        at[MARK] = slots[at[MARK], NEWER]
        at[RANK] -= 1
    return int(at[MARK])


@njit
def admit(key: int, f: int, policy: int, ready: int, cache: Cache, at: Int64s) -> int:
    """Offer a loaded tuple of the table that f stream tuples matched to the cache (NAE-A9).

    Returns 0 if it is refused, 1 if it took a free place, 2 if it took that of another. The
    recorder keeps a heap: O(log h_R); the others look at a few entries.
    """
    cached, keys, frequencies = cache.cached, cache.keys, cache.frequencies
    n = at[N_CACHE]
    if cached[key, PLACE] >= 0 or (policy == RECORDER and f < at[THRESHOLD]):
        return 0
    if n < len(keys):
        at[N_CACHE] += 1
        place, taken = n, 1
    elif policy == RECORDER:
        place, taken = 0, 2
    else:
        place, taken = _victim(policy, cache, at), 2
        if policy == AGEING and f <= frequencies[place]:
            return 0
        if policy == SKETCH and estimate(key, cache.sketch) <= estimate(keys[place], cache.sketch):
            return 0
    if taken == 2:
        cached[keys[place], PLACE] = -1
    cached[key, PLACE], cached[key, READY] = place, ready
    keys[place], frequencies[place] = key, f
    if policy == RECORDER:
        if taken == 1:
            _up(place, keys, frequencies)
        else:
            _down(n, keys, frequencies)
    return taken


@njit
def _victim(policy: int, cache: Cache, at: Int64s) -> int:
    """The least frequent of the next few entries."""
    n, best, least = len(cache.keys), -1, np.int64(0)
    for _ in range(min(_SAMPLED, n)):
        place = at[HAND]
        at[HAND] = place + 1 if place + 1 < n else 0
        if policy == AGEING:
            f = np.int64(cache.frequencies[place])
        else:
            f = np.int64(estimate(cache.keys[place], cache.sketch))
        if best < 0 or f < least:
            best, least = place, f
    return int(best)


@njit
def _up(place: int, keys: Int32s, frequencies: Int32s) -> None:
    """Restore the heap from a new last entry on; only the recorder moves entries."""
    key, f = keys[place], frequencies[place]
    while place > 0:
        parent = (place - 1) >> 1
        if frequencies[parent] <= f:
            break
        keys[place], frequencies[place] = keys[parent], frequencies[parent]
        place = parent
    keys[place], frequencies[place] = key, f


@njit
def _down(n: int, keys: Int32s, frequencies: Int32s) -> None:
    """Restore the heap from a new first entry on."""
    key, f, place = keys[0], frequencies[0], 0
    while 2 * place + 1 < n:
        child = 2 * place + 1
        if child + 1 < n and frequencies[child + 1] < frequencies[child]:
            child += 1
        if frequencies[child] >= f:
            break
        keys[place], frequencies[place] = keys[child], frequencies[child]
        place = child
    keys[place], frequencies[place] = key, f


@njit
def estimate(key: int, sketch: Bytes) -> int:
    """How often a key was seen of late: the least of its counters."""
    mask = sketch.shape[1] - 1
    least = 255
    for row in range(_ROWS):
        least = min(least, sketch[row, _cell(key, row) & mask])
    return least


@njit
def count_seen(key: int, sketch: Bytes) -> None:
    """Count a key; only the least of its counters grow, so that others disturb it less."""
    mask = sketch.shape[1] - 1
    least = estimate(key, sketch)
    if least == 255:
        return
    for row in range(_ROWS):
        cell = _cell(key, row) & mask
        if sketch[row, cell] == least:
            sketch[row, cell] = least + 1


@njit
def _cell(key: int, row: int) -> int:
    return int((np.int64(key) + 1) * _ODD[row] >> 16)


@njit
def age(policy: int, cache: Cache) -> None:
    """Halve all frequencies."""
    if policy == AGEING:
        for i in range(len(cache.frequencies)):
            cache.frequencies[i] >>= 1
    else:
        for row in range(cache.sketch.shape[0]):
            for i in range(cache.sketch.shape[1]):
                cache.sketch[row, i] >>= 1
