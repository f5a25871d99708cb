"""Rates of two streams, learned while they run."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from streamjoin._typing import SIDES

WEIGHT: Final = 0.5
"""Of the newest batch: after a jump of the rates the third batch is within an eighth of it."""


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
