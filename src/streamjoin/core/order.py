"""The total order of tuples: by event time, then side (left first), then arrival.

Arrival is the order in which a batch lists its rows: map partition, chunk, position. So a stable
sort by time puts one side's arrivals in the total order, and batches that come sorted (as most do)
cost one look.
"""

import numpy as np
from numpy.typing import NDArray

from streamjoin._typing import Times


def total_order(times: Times) -> NDArray[np.intp] | None:
    """Permutation that puts one side's arrivals in the total order; None if they are.

    Examples
    --------
    >>> import numpy as np
    >>> total_order(np.array([3, 1, 3, 2])).tolist()
    [1, 3, 0, 2]
    >>> total_order(np.array([1, 2, 2])) is None
    True
    """
    if bool(np.all(times[1:] >= times[:-1])):
        return None
    return np.argsort(times, kind="stable")
