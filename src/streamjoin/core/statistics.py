"""Rates of two streams, learned while they run."""

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

    Examples
    --------
    >>> rates = Rates()
    >>> rates.see((100, 10), seconds=1.0)
    >>> rates.see((200, 10), seconds=1.0)
    >>> rates.per_second
    [150.0, 10.0]
    """

    per_second: list[float] = field(default_factory=list)
    waiting: list[int] = field(default_factory=lambda: [0, 0])

    def see(self, counts: tuple[int, int], seconds: float) -> None:
        """Take in what came in some seconds of the streams' time."""
        self.waiting = [self.waiting[side] + counts[side] for side in SIDES]
        if seconds <= 0:
            return
        now = [n / seconds for n in self.waiting]
        before = self.per_second or now
        self.per_second = [(1 - WEIGHT) * before[s] + WEIGHT * now[s] for s in SIDES]
        self.waiting = [0, 0]
