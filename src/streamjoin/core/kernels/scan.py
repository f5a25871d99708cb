"""Nested loops: every probing row compared with every row of a list, as fast as a scan can be.

What is compared first are fingerprints, half of each mixed key: eight fit a vector of 256 bits, and
two different keys share one only once in four thousand million times. A block of them is compared
without branches; only a block with a hit is looked at again, row by row.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from streamjoin._typing import Keys, Positions, Times
from streamjoin.core.kernels._jit import njit
from streamjoin.core.kernels.equi import mix
from streamjoin.core.kernels.equi_probe import Bounds

STRIDE: Final = 128
"""Rows per block; arrays of fingerprints are filled up to a multiple of it."""


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
