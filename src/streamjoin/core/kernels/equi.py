"""Kernels that group rows by key: into shards, and into the groups of a hash index.

Keys may be anything from 0, 1, 2, ... to hashes, so every kernel mixes them first. `mix` maps keys
one to one, so equal mixed keys are equal keys and the keys themselves need not be kept. Shards are
told by the low half of the mixed key and slots of the hash table by its high bits: the keys of one
shard still spread over all slots.

Loops run over blocks of rows, one short loop per memory access: the processor then has many cache
misses under way at once, and a branch that goes wrong never waits for memory.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from streamjoin._typing import Keys, Positions, Times
from streamjoin.core.kernels._jit import njit

BLOCK: Final = 1024
"""Rows per block: its buffers stay in the first-level cache."""

LOW32: Final = 0xFFFFFFFF
"""Lower half of a word. ``i & LOW32`` also shows the compiler that an index is not negative, which
saves it the test whether to count from the end."""

_M1 = np.uint64(0xFF51AFD7ED558CCD)
_M2 = np.uint64(0xC4CEB9FE1A85EC53)
_33 = np.uint64(33)


@njit
def mix(key: np.int64) -> np.int64:
    """Murmur3's 64-bit finaliser: one to one, and every bit depends on every bit."""
    h = np.uint64(key)  # unsigned, where overflow is defined
    h = (h ^ (h >> _33)) * _M1
    h = (h ^ (h >> _33)) * _M2
    return np.int64(h ^ (h >> _33))


@njit
def split_by_shard(keys: Keys, n_shards: int) -> tuple[Positions, NDArray[np.int64]]:
    """Rows grouped by the shard of their key, in the order of rows within a shard.

    Returns ``order`` (int32, n) and ``begin`` (int64, n_shards + 1): the rows of shard s are
    ``order[begin[s]:begin[s + 1]]``. Needs fewer than 2^31 rows. O(n).
    """
    begin = np.zeros(n_shards + 1, np.int64)
    for key in keys:
        begin[(((mix(key) & LOW32) * n_shards >> 32) & LOW32) + 1] += 1
    for s in range(n_shards):
        begin[s + 1] += begin[s]
    at = begin[:-1].copy()
    order = np.empty(len(keys), np.int32)
    for i in range(len(keys)):
        shard = ((mix(keys[i]) & LOW32) * n_shards >> 32) & LOW32
        order[at[shard]] = i
        at[shard] += 1
    return order, begin


@njit
def group_rows(
    keys: Keys,
    bits: int,
    slots: NDArray[np.int32],
    groups: NDArray[np.int64],
    group_of: Positions,
    place_of: Positions,
) -> int:
    """Number the distinct keys from 1, count their rows, and note each row's group and place in it.

    Fills the hash table ``slots`` (int32, 2^bits zeros; the number of a group, 0 if free; more
    slots than rows), ``groups`` (int64, 2 (n + 1); mixed key and number of rows, none first),
    ``group_of`` and ``place_of`` (int32, n). Returns the number of groups + 1. O(n).
    """
    shift, mask = 64 - bits, (1 << bits) - 1
    mixed, missed = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    groups[0], groups[1] = 0, 0
    n_groups = 1
    for start in range(0, len(keys), BLOCK):
        n = min(len(keys) - start, BLOCK)
        for k in range(n):
            mixed[k] = mix(keys[start + k])
        for k in range(n):
            group_of[start + k] = slots[(mixed[k] >> shift) & mask & LOW32]
        n_missed = 0
        for k in range(n):
            g = 2 * (np.int64(group_of[start + k]) & LOW32)
            hit = (g != 0) & (groups[g] == mixed[k])
            count = groups[g + 1]
            place_of[start + k] = count
            groups[g + 1] = count + hit
            missed[n_missed & LOW32] = k
            n_missed += not hit
        for m in range(n_missed):  # new keys, and those that found another key in their slot
            k = missed[m] & LOW32
            slot = (mixed[k] >> shift) & mask & LOW32
            number = np.int64(slots[slot])
            while number != 0 and groups[2 * number & LOW32] != mixed[k]:
                slot = (slot + 1) & mask & LOW32
                number = np.int64(slots[slot])
            if number == 0:
                number = np.int64(n_groups)
                n_groups += 1
                slots[slot] = number
                groups[2 * number], groups[2 * number + 1] = mixed[k], 0
            group_of[start + k] = number
            place_of[start + k] = groups[2 * number + 1]
            groups[2 * number + 1] += 1
    return n_groups


@njit
def order_rows(
    n_groups: int,
    groups: NDArray[np.int64],
    group_of: Positions,
    place_of: Positions,
    times: Times,
    rows: Positions,
    row_times: Times,
) -> None:
    """Put the rows of each group next to each other, in the order of rows within a group.

    Fills ``rows`` and ``row_times`` (n each) and turns the numbers of rows in ``groups`` into spans
    of them: ``begin << 32 | count``. O(n).
    """
    begins = np.empty(n_groups, np.int32)  # again, by themselves: they fit a nearer cache
    begin = np.int64(0)
    for number in range(1, n_groups):
        count = groups[2 * number + 1]
        begins[number] = begin
        groups[2 * number + 1] = (begin << 32) | count
        begin += count
    for i in range(len(group_of)):
        begin = np.int64(begins[np.int64(group_of[i]) & LOW32])
        rows[(begin + np.int64(place_of[i])) & LOW32] = i
    for j in range(len(group_of)):
        row_times[j] = times[np.int64(rows[j]) & LOW32]


@njit
def mark_known(n_groups: int, groups: NDArray[np.int64], known: NDArray[np.int64]) -> None:
    """Set two bits of one word for each key: a small table that tells most absent keys apart.

    ``known`` is a power of two of int64 zeros, best a quarter of the number of keys: then about one
    absent key in a hundred is taken for a present one. O(groups).
    """
    mask = len(known) - 1
    for g in range(1, n_groups):
        h = groups[2 * g]
        one = np.int64(1)
        known[(h >> 32) & mask & LOW32] |= (one << (h & 63)) | (one << ((h >> 6) & 63))
