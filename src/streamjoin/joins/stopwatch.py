"""CPU time of finding results and of what is done with them, apart."""

from collections.abc import Iterator
from time import thread_time_ns
from typing import TypeVar

T = TypeVar("T")


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
