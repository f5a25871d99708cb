"""The part of the windows that a batch probes, as bounds for the indexes.

What is chosen depends on the difference of two rows' cells (`core.cells`). An index compares
differences of coordinates with fixed bounds; with the start of its cell as the coordinate of an
arrival, and the time itself as that of a row it meets, the same bounds are right for every arrival.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamjoin._typing import Side, Times
from streamjoin.core.cells import Axis
from streamjoin.joins.base import Pairs
from streamjoin.joins.matching import Bounds, Part, bounds, coordinates
from streamjoin.joins.window_join import WindowJoin


@dataclass(frozen=True, eq=False)
class Selection:
    """What a batch probes.

    Parameters
    ----------
    join
        Settings.
    axis
        Where the windows lie; None if all is probed.
    chosen
        By the difference of cells.
    """

    join: WindowJoin
    axis: Axis | None = None
    chosen: NDArray[np.bool_] | None = None

    @property
    def is_part(self) -> bool:
        """Whether something is left out."""
        return self.axis is not None

    def coordinates(self, part: Part) -> Times:
        """Where arrivals stand on the axis of the rows they meet."""
        return coordinates(part) if self.axis is None else self.axis.starts(part.batch.times)

    def between(self, side: Side) -> list[Bounds]:
        """Bounds of (coordinate of an arrival of a side) - (coordinate of the other's row)."""
        if self.axis is None or self.chosen is None:
            low, high = bounds(self.join, side)
            return [(low, high)] if low <= high else []
        return self.axis.between(side, self.chosen)

    def within(self, pairs: Pairs) -> Pairs:
        """Leave out pairs whose cells are in reach but whose times are not (GED-I6)."""
        if self.axis is None:
            return pairs
        left, right = (
            batch.times[at] for batch, at in zip(pairs.batches, pairs.positions, strict=True)
        )
        difference = left - right
        windows = self.join.windows_us
        return pairs.where((difference >= -windows[0]) & (difference <= windows[1]))


def reachable(at: Times, indexed: Times, between: Bounds) -> Bounds | None:
    """Of rows at some coordinates, those that may meet indexed ones: from, to; None if none.

    Both are in order; `between` bounds (coordinate of an indexed row) - (coordinate of a row).

    Examples
    --------
    >>> reachable(np.array([0, 5, 9]), np.array([4, 6]), between=(0, 1))
    (1, 2)
    """
    low, high = between
    first = np.searchsorted(at, _fit(int(indexed[0]) - high), side="left")
    last = np.searchsorted(at, _fit(int(indexed[-1]) - low), side="right")
    return (int(first), int(last)) if first < last else None


def _fit(time: int) -> int:
    return min(max(time, -(2**63)), 2**63 - 1)
