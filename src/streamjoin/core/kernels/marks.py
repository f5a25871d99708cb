"""Which rows have matched: one flag per row, set by the positions of pairs."""

import numpy as np
from numpy.typing import NDArray

from streamjoin._typing import Positions
from streamjoin.core.kernels._jit import njit


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
