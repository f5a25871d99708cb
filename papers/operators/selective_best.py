"""The policy "best" of a selective window join: beyond the paper.

It probes the most productive basic windows of both streams, whichever they are (`knapsack`), and
differs from the paper's policies in how it learns:

- It learns from selective processing too, and remembers. So what it probes is known well, and
  tuples need to be processed fully only to see the rest: it samples less once that has brought
  enough matches. What samples cost is part of r; the paper's policies exceed r by it (GED-U4).
- What basic window j holds depends on how long the newest one has been filled. It plans for each of
  `PHASES` parts of that time.
- What it has seen too little of it takes to be like what is next to it in age.
- A basic window that is probed in part is probed from the side of its better neighbour.
"""

from typing import Final

import numpy as np

from papers.operators.kernels import selective_window as kernel
from papers.operators.selective_adaptation import FloatArray, Selective
from papers.operators.selective_settings import SelectiveJoin
from streamjoin.shedding.fractions import BasicWindows, knapsack

PHASES: Final = 4
MEMORY: Final = 0.95
"""Part of what is known of a cell (a basic window in a phase) that counts in the next period."""
ENOUGH: Final = 200.0
"""Matches of a cell that are remembered at most: what is probed is seen anew in each period."""
ENOUGH_SAMPLED: Final = 100.0
"""Matches of fully processed tuples from which on fewer are."""
LEAST_SAMPLING: Final = 0.125
"""Part of gamma that is always kept: what is not probed may become productive."""
_AROUND: Final = np.array([1.0, 2.0, 3.0, 4.0, 3.0, 2.0, 1.0])  # weights of cells near in age
_LIKE_NEIGHBOURS: Final = 16.0  # matches; with fewer a cell is more like its neighbours


class Best(Selective):
    """Fills the budget with the best of both windows.

    Parameters
    ----------
    n
        Basic windows of a window, the more of the two.
    settings
        Of the join.
    """

    def __init__(self, n: int, settings: SelectiveJoin) -> None:
        phases = 1 if settings.basic_us is None else PHASES
        self._sampled = 0.0
        self._sizes = np.ones((2, n * phases))
        super().__init__(n, settings, phases)

    def adapt_correlation(self, samples: FloatArray, sizes: FloatArray) -> None:
        """Learn from all that was seen, and remember."""
        known = self._known[:, kernel.MATCHES, None]
        fading = np.minimum(MEMORY, ENOUGH / np.maximum(known, 1.0))
        self._known = fading * self._known + samples.sum(axis=0)
        self._sampled *= MEMORY
        self._sampled += float(samples[kernel.FULL, :, kernel.MATCHES].sum())
        if sizes.any():
            self._sizes = sizes
        self.set_fraction(self.fraction)

    def set_fraction(self, fraction: float) -> None:
        """Fill r, less what samples cost, in the order of productivity."""
        self.fraction = fraction
        scarce = ENOUGH_SAMPLED / max(self._sampled, 1.0)
        self.sample = fraction * self.settings.gamma * min(1.0, max(LEAST_SAMPLING, scarce))
        rest = (fraction - self.sample) / (1 - self.sample) if fraction < 1 else 1.0
        density, cost = self._matches_per_tuple(), self._cost_per_tuple()
        values, costs = self._sizes * density, self._sizes * cost
        left, right = (BasicWindows(*side) for side in zip(values, costs, strict=True))
        probed = np.array(knapsack((left, right), rest * float(costs.sum()))) * self._sizes
        self.fractions = _ratio(probed.sum(axis=1), self._sizes.sum(axis=1), np.full(2, rest))
        self._set_parts(self._by_phase(probed), self._by_phase(self._sizes))
        self._set_order(self._by_phase(density), self._by_phase(cost))
        matches, tuples = (self._by_phase(cells).sum(axis=2) for cells in (values, self._sizes))
        self.productivity = _ratio(matches, tuples, np.zeros_like(tuples))

    def _set_parts(self, probed: FloatArray, sizes: FloatArray) -> None:
        """In a phase without a probe in the last period, as in the others."""
        others = np.repeat(self.fractions[:, None], self.parts.shape[1], axis=1)
        self.parts = _ratio(probed.sum(axis=1), sizes.sum(axis=1), others)

    def _set_order(self, density: FloatArray, cost: FloatArray) -> None:
        per_cost = _ratio(density, cost, density)
        order = np.argsort(-per_cost, axis=1, kind="stable")
        self.order = np.ascontiguousarray(order.transpose(0, 2, 1))
        neighbours = np.pad(density, ((0, 0), (1, 1), (0, 0)), mode="edge")
        self.older = (neighbours[:, 2:] > neighbours[:, :-2]).reshape(self.older.shape)

    def _matches_per_tuple(self) -> FloatArray:
        """Of each cell; with few matches nearer to its neighbours, and these to the average."""
        matches, covered = self._known[:, kernel.MATCHES], self._known[:, kernel.COVERED]
        average = np.full_like(covered, matches.sum() / max(covered.sum(), 1.0))
        around = _shrunk(_blurred(matches), _blurred(covered), average, 1.0)
        return _shrunk(matches, covered, around, _LIKE_NEIGHBOURS)

    def _cost_per_tuple(self) -> FloatArray:
        charged, covered = self._known[:, kernel.CHARGED], self._known[:, kernel.COVERED]
        average = charged.sum() / max(covered.sum(), 1.0) if covered.any() else 1.0
        return _ratio(charged, covered, np.full_like(covered, average))

    def _by_phase(self, cells: FloatArray) -> FloatArray:
        return cells.reshape(2, -1, self.parts.shape[1])


def _shrunk(
    matches: FloatArray, covered: FloatArray, expected: FloatArray, weight: float
) -> FloatArray:
    """Matches per tuple, as if `weight` matches had been seen at the expected density before."""
    return expected * (matches + weight) / (expected * covered + weight)


def _blurred(cells: FloatArray) -> FloatArray:
    """Sums over neighbours: cells come in the order of age. May be a single one, hence the cut."""
    return np.array([np.convolve(side, _AROUND, mode="same")[: len(side)] for side in cells])


def _ratio(some: FloatArray, whole: FloatArray, otherwise: FloatArray) -> FloatArray:
    return np.divide(some, whole, out=otherwise.copy(), where=whole > 0)
