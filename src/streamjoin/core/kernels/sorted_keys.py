"""Search in sorted keys that lie in blocks, such as a file's."""

import numpy as np
from numpy.typing import NDArray

from streamjoin._typing import Keys
from streamjoin.core.kernels._jit import njit


@njit
def find_runs(
    wanted: Keys,
    blocks: NDArray[np.int64],
    keys: Keys,
    block: int,
    starts: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> int:
    """Where the run of equal keys begins for each wanted key, and how long it is; their sum.

    ``keys`` (of length n) ascends. ``blocks[i]`` is the first block whose first key is not below
    ``wanted[i]``: the run begins in the block before it, or with it, so that one block is read for
    each wanted key. O(m log block + matches) for m wanted keys.
    """
    n = len(keys)
    total = 0
    for i in range(len(wanted)):
        key = wanted[i]
        low, high = max(0, (blocks[i] - 1) * block), min(n, blocks[i] * block)
        while low < high:
            middle = (low + high) >> 1
            if keys[middle] < key:
                low = middle + 1
            else:
                high = middle
        stop = low
        while stop < n and keys[stop] == key:
            stop += 1
        starts[i], counts[i] = low, stop - low
        total += stop - low
    return total


@njit
def fill_runs(
    starts: NDArray[np.int64],
    counts: NDArray[np.int64],
    values: NDArray[np.int32],
    rows: NDArray[np.int64],
    found: NDArray[np.int32],
) -> None:
    """Write ``(i, value)`` for each value of run i; O(matches)."""
    at = 0
    for i in range(len(starts)):
        for j in range(starts[i], starts[i] + counts[i]):
            rows[at], found[at] = i, values[j]
            at += 1
