"""The total order of tuples: by event time, then side (left first), then arrival.

Arrival is the order in which a batch lists its rows: map partition, chunk, position. So a stable
sort by time puts one side's arrivals in the total order, and batches that come sorted (as most do)
cost one look.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamjoin._typing import Times


class Order(NamedTuple):
    """Event times of all tuples of a stream in order of arrival, and which are this shard's."""

    times: Times
    mine: NDArray[np.bool_]

    def to_bytes(self) -> bytes:
        """As bytes."""
        return self.times.tobytes() + self.mine.tobytes()

    @classmethod
    def from_bytes(cls, blob: bytes) -> "Order":
        """Read `to_bytes` back.

        Examples
        --------
        >>> import numpy as np
        >>> order = Order(np.array([5, 3]), np.array([True, False]))
        >>> [array.tolist() for array in Order.from_bytes(order.to_bytes())]
        [[5, 3], [True, False]]
        """
        n = len(blob) // 9
        times = np.frombuffer(blob, np.int64, n)
        return cls(times, np.frombuffer(blob, np.bool_, n, offset=8 * n))

    @classmethod
    def joined(cls, parts: "Sequence[Order]") -> "Order":
        """One after the other."""
        if not parts:
            return cls(np.empty(0, np.int64), np.empty(0, np.bool_))
        return cls(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


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
