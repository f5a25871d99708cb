"""What a join knows of one input before its first row: schema, key, time, window; and its order.

The total order of tuples: by event time, then side (left first), then arrival. Arrival is the order
in which a batch lists its rows: map partition, chunk, position. So a stable sort by time puts one
side's arrivals in the total order, and batches that come sorted (as most do) cost one look.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin._typing import Times
from streamjoin.core.keys import is_exact

KEY_COLUMN = "_key"
RANK_COLUMN = "_rank"


@dataclass(frozen=True)
class Stream:
    """One input of a join.

    Parameters
    ----------
    schema
        The columns as the user knows them.
    key
        Positions of the key columns; none where all rows may meet.
    time
        Position of the event-time column, a timestamp in microseconds.
    window_us
        How long a tuple of this stream is remembered; 0 if it only probes.
    lateness_us
        How far a tuple may be behind the newest one of its stream.
    window_rows
        How many tuples are remembered, where the window is a number of them and not a time.
    """

    schema: pa.Schema
    key: tuple[int, ...]
    time: int
    window_us: int
    lateness_us: int = 0
    window_rows: int | None = None

    @cached_property
    def has_exact_key(self) -> bool:
        """Whether 64 bits hold the key itself, so that no hash and no check is needed."""
        if not self.key:
            return True
        return len(self.key) == 1 and is_exact(self.schema.types[self.key[0]])

    @property
    def has_instants(self) -> bool:
        """Whether its times are instants; without a zone they cannot be compared with a clock."""
        return getattr(self.schema.types[self.time], "tz", None) is not None

    @cached_property
    def stored(self) -> pa.Schema:
        """Schema of shipped rows: the user's columns, then the hash where one is needed.

        Columns are named by position, so no name of the user's can be in the way.
        """
        fields = [pa.field(f"c{i}", t) for i, t in enumerate(self.schema.types)]
        if not self.has_exact_key:
            fields.append(pa.field(KEY_COLUMN, pa.int64()))
        return pa.schema(fields)

    @cached_property
    def kept(self) -> pa.Schema:
        """Schema of the rows of a basic window: with their ranks where the window is a number."""
        if self.window_rows is None:
            return self.stored
        return self.stored.append(pa.field(RANK_COLUMN, pa.int64()))

    def __getstate__(self) -> dict[str, object]:
        """Leave derived values behind when pickled."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


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
