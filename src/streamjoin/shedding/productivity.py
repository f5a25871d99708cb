"""How productive each basic window is, learned while joining (GED-A10, A11).

A sample of what is remembered is compared with everything that arrives. What is found there stands
for what a full join would find, so the productivity of a basic window is known whether it is probed
or not: one that yields nothing now is seen to recover (GED-I4).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from streamjoin._typing import SIDES, Side
from streamjoin.core.cells import Axis, FloatArray

MEMORY: Final = 0.25
"""After this part of the longer window, in time of the streams, what was seen counts half: the
period of the paper's adaptation (5 s for windows of 20 s, GED-A19)."""


@dataclass
class Productivity:
    """Sums by basic window of each side, the newest first; older batches weigh less.

    Parameters
    ----------
    compared
        Pairs of rows that a full join would compare.
    looked_at
        Of them, those that an index would hand over for a closer look.
    found, value
        Those that match, and their utility.
    sampled
        Matches that were really seen; the others are what they stand for.
    prior
        Looks for each pair of rows, as long as none were compared.

    Examples
    --------
    >>> axis = Axis((20_000_000, 20_000_000))
    >>> known = Productivity()
    >>> counts = axis.empty() + 1000.0
    >>> known.see(axis, [counts, counts / 10, counts / 100, counts / 100], 60.0, seconds=1.0)
    >>> known.per_comparison("found", 0)[:2].round(4).tolist()
    [0.01, 0.01]
    """

    compared: list[list[float]] = field(default_factory=list)
    looked_at: list[list[float]] = field(default_factory=list)
    found: list[list[float]] = field(default_factory=list)
    value: list[list[float]] = field(default_factory=list)
    sampled: float = 0.0
    prior: float = 0.0

    @property
    def is_known(self) -> bool:
        """Whether anything was compared."""
        return any(any(side) for side in self.compared)

    def see(self, axis: Axis, seen: Sequence[FloatArray], sampled: float, seconds: float) -> None:
        """Take in what a batch showed, by difference of cells; in the order of the fields."""
        scale = MEMORY * max(axis.windows_us) / 1e6
        kept = 0.5 ** (seconds / scale) if scale else 0.0
        self.sampled = kept * self.sampled + sampled
        for name, new in zip(("compared", "looked_at", "found", "value"), seen, strict=True):
            sums = [axis.in_basic(new, side) for side in SIDES]
            before = getattr(self, name)
            if before:
                sums = [kept * np.array(b) + n for b, n in zip(before, sums, strict=True)]
            setattr(self, name, [side.tolist() for side in sums])

    def per_comparison(self, name: str, side: Side) -> FloatArray:
        """Matches (or value, or looks) per pair of rows, of each basic window of a side.

        Where little was compared, as much as on average: the average counts like the comparisons
        that show one match.
        """
        compared = max(sum(map(sum, self.compared)), 1.0)
        average = sum(map(sum, getattr(self, name))) / compared
        prior = compared / max(self.sampled, 1.0)
        mine = np.array(getattr(self, name)[side])
        rates: FloatArray = (mine + average * prior) / (np.array(self.compared[side]) + prior)
        return rates
