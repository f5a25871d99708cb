"""How often keys come, with ageing, in a fixed amount of memory."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from streamjoin._typing import Keys
from streamjoin.core.kernels.sketch import Counters, count_keys, estimate_keys

LINES: Final = 4
SAMPLE: Final = 10
"""After so many keys for each that is of interest all counts are halved: what was frequent long ago
must not stay so."""


@dataclass
class FrequencySketch:
    """A count-min sketch whose counts fade (the one of TinyLFU).

    Parameters
    ----------
    counters
        Lines of counters.
    interest
        How many keys there are to choose: the cache's.
    seen
        Keys counted since the last time that all was halved.

    Examples
    --------
    >>> sketch = FrequencySketch.of(interest=100)
    >>> sketch.see(np.array([7, 7, 8]))
    >>> sketch.estimate(np.array([7, 8, 9])).tolist()
    [2, 1, 0]
    """

    counters: Counters
    interest: int
    seen: int = 0

    @classmethod
    def of(cls, interest: int) -> "FrequencySketch":
        """An empty one, about four counters a line for each key of interest."""
        width = 1 << max(6, (4 * max(1, interest) - 1).bit_length())
        return cls(np.zeros((LINES, width), np.uint8), interest)

    def see(self, keys: Keys) -> None:
        """Count keys."""
        count_keys(keys, self.counters)
        self.seen += len(keys)
        while self.seen >= SAMPLE * max(1, self.interest):
            self.counters >>= 1
            self.seen //= 2

    def estimate(self, keys: Keys) -> NDArray[np.uint8]:
        """How often keys came lately."""
        found = np.empty(len(keys), np.uint8)
        estimate_keys(keys, self.counters, found)
        return found

    def to_bytes(self) -> bytes:
        """As bytes; `from_bytes` reads them."""
        head = np.array([self.interest, self.seen, self.counters.shape[1]], np.int64)
        return head.tobytes() + self.counters.tobytes()

    @classmethod
    def from_bytes(cls, blob: bytes) -> "FrequencySketch":
        """Read `to_bytes` back.

        Examples
        --------
        >>> sketch = FrequencySketch.of(10)
        >>> sketch.see(np.array([5]))
        >>> FrequencySketch.from_bytes(sketch.to_bytes()).estimate(np.array([5])).tolist()
        [1]
        """
        interest, seen, width = np.frombuffer(blob, np.int64, 3).tolist()
        counters = np.frombuffer(blob, np.uint8, offset=24).reshape(LINES, width).copy()
        return cls(counters, interest, seen)
