"""CPU time of finding results and of what is done with them, apart."""

from collections.abc import Iterator
from dataclasses import dataclass
from time import thread_time_ns
from typing import TypeVar

T = TypeVar("T")


@dataclass
class Costs:
    """CPU time by operation in microseconds: counted instead of measured, it is alike everywhere.

    Parameters
    ----------
    received
        To receive and store a row.
    looked_at
        To look at a row or a candidate.
    handed_out
        To hand out a result.
    """

    received: float = 1.0
    looked_at: float = 0.05
    handed_out: float = 0.2


class Stopwatch:
    """Watches an iterator: what it takes to get a result, and until the next one is asked for.

    Attributes
    ----------
    found_us, used_us
        CPU time of this thread in microseconds.

    Examples
    --------
    >>> watch = Stopwatch()
    >>> list(watch.over(iter([1, 2]))), watch.found_us >= 0
    ([1, 2], True)
    """

    def __init__(self) -> None:
        self.found_us = self.used_us = 0.0

    def over(self, results: Iterator[T]) -> Iterator[T]:
        """The same results."""
        asked = thread_time_ns()
        for result in results:
            found = thread_time_ns()
            self.found_us += (found - asked) / 1000
            yield result
            asked = thread_time_ns()
            self.used_us += (asked - found) / 1000
        self.found_us += (thread_time_ns() - asked) / 1000

    def count(self, costs: Costs, looked_at: int, handed_out: int) -> None:
        """Put in place of what was measured what the operations cost.

        Examples
        --------
        >>> watch = Stopwatch()
        >>> watch.count(Costs(looked_at=0.5, handed_out=2.0), looked_at=10, handed_out=3)
        >>> watch.found_us, watch.used_us
        (5.0, 6.0)
        """
        self.found_us = costs.looked_at * looked_at
        self.used_us = costs.handed_out * handed_out
