"""Kernels of a count-min sketch: how often keys were seen, in little memory and never too few."""

import numpy as np
from numpy.typing import NDArray

from streamjoin._typing import Keys
from streamjoin.core.kernels._jit import njit
from streamjoin.core.kernels.equi import mix

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MOST = np.uint8(255)

Counters = NDArray[np.uint8]
"""Lines of one length, a power of two."""


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
