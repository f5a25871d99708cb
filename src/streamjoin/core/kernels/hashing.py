"""Hash kernels: fold values into one 64-bit hash per row, in place."""

import numpy as np
from numpy.typing import NDArray

from streamjoin._typing import Keys
from streamjoin.core.kernels._jit import njit

_M1 = np.uint64(0xFF51AFD7ED558CCD)
_M2 = np.uint64(0xC4CEB9FE1A85EC53)
_STEP = np.uint64(0x9E3779B97F4A7C15)
_33 = np.uint64(33)
_8 = np.uint64(8)


@njit
def _mix(h: np.uint64, value: np.uint64) -> np.uint64:
    """Murmur3's finaliser over the running hash and one more word."""
    h = (h ^ value) * _M1 + _STEP
    h = (h ^ (h >> _33)) * _M2
    return h ^ (h >> _33)


@njit
def fold_words(hashes: Keys, words: Keys) -> None:
    """Fold ``words[i]`` into ``hashes[i]``; both of length n. O(n)."""
    for i in range(len(hashes)):
        hashes[i] = np.int64(_mix(np.uint64(hashes[i]), np.uint64(words[i])))


@njit
def fold_where(hashes: Keys, chosen: NDArray[np.bool_], word: np.int64) -> None:
    """Fold one word into the chosen hashes. O(n)."""
    for i in range(len(hashes)):
        if chosen[i]:
            hashes[i] = np.int64(_mix(np.uint64(hashes[i]), np.uint64(word)))


@njit
def fold_bytes(hashes: Keys, offsets: NDArray[np.int64], data: NDArray[np.uint8]) -> None:
    """Fold ``data[offsets[i]:offsets[i + 1]]`` into ``hashes[i]``, in words of 8. O(bytes)."""
    for i in range(len(hashes)):
        start, stop = offsets[i], offsets[i + 1]
        h = _mix(np.uint64(hashes[i]), np.uint64(stop - start))
        at = start
        while at < stop:
            word = np.uint64(0)
            for b in range(at, min(at + 8, stop)):
                word = (word << _8) | np.uint64(data[b])
            h = _mix(h, word)
            at += 8
        hashes[i] = np.int64(h)


@njit
def fold_runs(hashes: Keys, offsets: NDArray[np.int64], items: Keys) -> None:
    """Fold the hashes ``items[offsets[i]:offsets[i + 1]]`` of a list's items into ``hashes[i]``."""
    for i in range(len(hashes)):
        h = _mix(np.uint64(hashes[i]), np.uint64(offsets[i + 1] - offsets[i]))
        for j in range(offsets[i], offsets[i + 1]):
            h = _mix(h, np.uint64(items[j]))
        hashes[i] = np.int64(h)
