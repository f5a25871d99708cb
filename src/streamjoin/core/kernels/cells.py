"""How many pairs lie at which difference, of rows that are counted in cells."""

import numpy as np
from numpy.typing import NDArray

from streamjoin.core.kernels._jit import njit


@njit
def pairs_by_difference(
    left: NDArray[np.int64],
    left_rows: NDArray[np.int64],
    right: NDArray[np.int64],
    right_rows: NDArray[np.int64],
    lowest: int,
    out: NDArray[np.float64],
) -> None:
    """Add to ``out[d - lowest]`` the pairs of a left and a right row whose cells differ by d.

    Cells are in ascending order; a cell may come several times. O(left cells * len(out)).

    Examples
    --------
    >>> out, cells = np.zeros(3), np.array([5, 6])
    >>> pairs_by_difference(cells, np.array([2, 1]), cells, np.array([10, 1]), -1, out)
    >>> out.tolist()
    [2.0, 21.0, 10.0]
    """
    first, n = 0, len(right)
    highest = lowest + len(out) - 1
    for i in range(len(left)):
        while first < n and right[first] < left[i] - highest:
            first += 1
        at = first
        while at < n and right[at] <= left[i] - lowest:
            out[left[i] - right[at] - lowest] += float(left_rows[i]) * float(right_rows[at])
            at += 1
