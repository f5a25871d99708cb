"""CPU time of operations: learned, measured, or counted instead; and the rates of two streams."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from time import thread_time_ns
from typing import Final, TypeVar

from streamjoin._typing import SIDES

MAX_RISE: Final = 4.0
"""A cost may rise by so much in one batch: a worker's first one loads its code."""
MIN_COST: Final = 0.01
"""Part of a guess that a cost never falls below."""
T = TypeVar("T")
WEIGHT: Final = 0.5
"""Of the newest batch: after a jump of the rates the third batch is within an eighth of it."""


@dataclass
class Cost:
    """CPU time of one operation in microseconds: a ratio of two averages that forget.

    Examples
    --------
    >>> cost = Cost(guess=1.0)
    >>> cost.see(us=3000.0, n=1000.0)
    >>> cost.each
    3.0
    """

    guess: float
    us: float = 0.0
    n: float = 0.0

    def see(self, us: float, n: float) -> None:
        """Take in a batch; of one without operations nothing is learned."""
        if n > 0:
            us = min(us, MAX_RISE * self.each * n)
            self.us += WEIGHT * (us - self.us)
            self.n += WEIGHT * (n - self.n)

    @property
    def each(self) -> float:
        """Of one operation."""
        # Never nothing, as a coarse clock has it: that could not rise again.
        return max(self.us / self.n, MIN_COST * self.guess) if self.n else self.guess


@dataclass
class Costs:
    """CPU time by operation in microseconds: counted, not measured, it is alike everywhere."""

    received: float = 1.0  # to receive and store a row
    looked_at: float = 0.05  # to look at a row or a candidate
    handed_out: float = 0.2  # to hand out a result


def thread_us() -> float:
    """CPU time of this thread in microseconds."""
    return thread_time_ns() / 1000


@dataclass(frozen=True)
class Cpu:
    """How the CPU time of operations is known: by a clock; or counted by their costs."""

    clock_us: Callable[[], float] = thread_us
    costs: Costs | None = None


MEASURED: Final = Cpu()


class Stopwatch:
    """Watches an iterator: what it takes to get a result, and until the next one is asked for.

    Attributes
    ----------
    found_us, used_us
        CPU time in microseconds.

    Examples
    --------
    >>> watch = Stopwatch(thread_us)
    >>> list(watch.over(iter([1, 2]))), watch.found_us >= 0
    ([1, 2], True)
    """

    def __init__(self, clock_us: Callable[[], float]) -> None:
        self._clock_us, self.found_us, self.used_us = clock_us, 0.0, 0.0

    def over(self, results: Iterator[T]) -> Iterator[T]:
        """The same results."""
        asked = self._clock_us()
        for result in results:
            found = self._clock_us()
            self.found_us += found - asked
            yield result
            asked = self._clock_us()
            self.used_us += asked - found
        self.found_us += self._clock_us() - asked

    def count(self, costs: Costs, looked_at: int, handed_out: int) -> None:
        """Put in place of what was measured what the operations cost.

        Examples
        --------
        >>> watch = Stopwatch(thread_us)
        >>> watch.count(Costs(looked_at=0.5, handed_out=2.0), looked_at=10, handed_out=3)
        >>> watch.found_us, watch.used_us
        (5.0, 6.0)
        """
        self.found_us = costs.looked_at * looked_at
        self.used_us = costs.handed_out * handed_out


@dataclass
class Rates:
    """Tuples per second of each side: an average that forgets.

    Parameters
    ----------
    per_second
        The average; empty before the first one.
    waiting
        Tuples seen since time last moved.
    rows
        Tuples of a batch, as the same average.

    Examples
    --------
    >>> rates = Rates()
    >>> rates.see((100, 10), seconds=1.0)
    >>> rates.see((200, 10), seconds=1.0)
    >>> rates.per_second
    [150.0, 10.0]
    """

    per_second: list[float] = field(default_factory=list)
    waiting: list[float] = field(default_factory=lambda: [0.0, 0.0])
    rows: list[float] = field(default_factory=list)

    def see(self, counts: tuple[float, float], seconds: float) -> None:
        """Take in what came in some seconds of the streams' time."""
        self.waiting = [self.waiting[side] + counts[side] for side in SIDES]
        if seconds <= 0:
            return
        self.per_second = _average(self.per_second, [n / seconds for n in self.waiting])
        self.rows = _average(self.rows, self.waiting)
        self.waiting = [0.0, 0.0]

    @property
    def noise(self) -> float:
        """How far chance alone moves the ratio of the two rates: one standard deviation.

        Arrivals are taken as independent, and the average as one over three batches.
        """
        return float(sum(1 / max(3 * n, 1.0) for n in self.rows) ** 0.5)


def _average(before: list[float], now: Sequence[float]) -> list[float]:
    if not before:
        return [float(n) for n in now]
    return [(1 - WEIGHT) * b + WEIGHT * n for b, n in zip(before, now, strict=True)]
