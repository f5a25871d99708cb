"""How a selective window join adapts: how much it probes, of which window, and where in it.

An `Adaptation` holds what is known and what is planned; decisions are the pure functions of
`planning.selective`. There are two steps, each in its period (Gedik et al. 2005):

1. `adapt_correlation` (every T_c): how productive each basic window is, and so in which order they
   are probed (GED-A11). Productivity is matches per comparison (GED-I4).
2. `adapt_rate` (every T_r): the part r of the windows that there is time for (GED-A5).

After either, r is shared out between the two windows (GED-A13).
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from streamjoin.core.kernels import selective_window as kernel
from streamjoin.planning.selective import BasicWindows, direction_adapt, knapsack, rate_adapt

FloatArray = NDArray[np.float64]

MEMORY: Final = 0.9
"""Part of what "best" knows of a basic window that still counts in the next period."""
ENOUGH: Final = 200.0
"""Matches of a basic window that "best" remembers at most. What it probes most it sees anew in each
period, and need not remember."""
ENOUGH_SAMPLED: Final = 500.0
"""Matches of fully processed tuples from which on "best" takes fewer samples."""
LEAST_SAMPLING: Final = 0.125
"""Part of gamma that it always keeps: what is not probed may become productive."""


@dataclass(frozen=True)
class Observed:
    """What happened in a period: tuples of both streams, and what they cost."""

    arrived: float
    fetched: float
    cost: float
    capacity: float


class Adaptation:
    """Every tuple is processed fully; the others choose less.

    Parameters
    ----------
    n
        Basic windows of a window, the more of the two.

    Attributes
    ----------
    fraction
        r.
    parts
        r_1 and r_2.
    order
        Basic windows of each stream in the order in which they are probed.
    productivity
        o[i, j], matches per comparison with a tuple of a basic window.
    sample, keep
        Probabilities that a tuple is processed fully, and that it is not dropped.
    """

    sample, keep = 1.0, 1.0

    def __init__(self, n: int) -> None:
        self.fraction = 1.0
        self.parts = np.ones(2)
        self.order = np.tile(np.arange(n), (2, 1))
        self.productivity = np.zeros((2, n))

    def adapt_rate(self, observed: Observed) -> None:
        """Change r by what was observed."""

    def adapt_correlation(self, samples: FloatArray, sizes: FloatArray) -> None:
        """Learn where matches are.

        Parameters
        ----------
        samples
            What was seen since the last step, by [full or selective, side, what, basic window].
        sizes
            Tuples of each basic window [side, j], added up over all probes of this time.
        """
        matches, covered = samples[kernel.FULL, :, kernel.MATCHES], _covered(samples[kernel.FULL])
        np.divide(matches, covered, out=self.productivity, where=covered > 0)


class RandomDrop(Adaptation):
    """Tuples are dropped as they come and the others processed fully (GED-A15)."""

    def adapt_rate(self, observed: Observed) -> None:
        """Keep as many tuples as there is time for, at what one costs at present."""
        if observed.arrived and observed.cost:
            full = observed.cost / observed.fetched * observed.arrived
            self.set_fraction(min(1.0, observed.capacity / full) ** 2)

    def set_fraction(self, fraction: float) -> None:
        """Keep a share p of both streams with p * p = r (GED-U7)."""
        self.fraction, self.keep = fraction, float(np.sqrt(fraction))


class Selective(Adaptation):
    """Rate adaptation, and on request time correlation and join direction adaptation."""

    def __init__(
        self, n: int, policy: str, windows: tuple[int, int], gamma: float, boost: float
    ) -> None:
        super().__init__(n)
        self._policy, self._windows, self._gamma, self._boost = policy, windows, gamma, boost
        self._whole = np.zeros(2)  # o_1 and o_2
        self.set_fraction(1.0)

    def adapt_rate(self, observed: Observed) -> None:
        """RateAdapt (GED-A5)."""
        beta = observed.fetched / observed.arrived if observed.arrived else 1.0
        self.set_fraction(rate_adapt(self.fraction, beta, self._boost))

    def adapt_correlation(self, samples: FloatArray, sizes: FloatArray) -> None:
        """TimeCorrelationAdapt (GED-A11)."""
        super().adapt_correlation(samples, sizes)
        full = samples[kernel.FULL].sum(axis=2)
        covered = full[:, kernel.COVERED]
        np.divide(full[:, kernel.MATCHES], covered, out=self._whole, where=covered > 0)
        if "tc" in self._policy:
            self.order = np.argsort(-self.productivity, axis=1, kind="stable")
        self.set_fraction(self.fraction)

    def set_fraction(self, fraction: float) -> None:
        """Share out r between the windows (GED-A13); nothing is sampled if nothing is learned."""
        self.fraction, self.parts = fraction, np.full(2, fraction)
        self.sample = 0.0 if self._policy == "ra" else fraction * self._gamma
        if "jd" in self._policy:
            o_1, o_2 = self._whole.tolist()
            self.parts = np.array(direction_adapt(fraction, self._windows, (o_1, o_2)))


class Best(Selective):
    """The most productive basic windows of both streams, whichever they are: beyond the paper.

    It learns from selective processing too and remembers for longer than a period. So it needs
    fewer samples, and takes fewer once they have brought enough. What they cost is part of r, which
    the paper's policies exceed by it (GED-U4).
    """

    def __init__(
        self, n: int, policy: str, windows: tuple[int, int], gamma: float, boost: float
    ) -> None:
        self._known = np.zeros((2, 3, n))  # matches, tuples covered and cost
        self._sampled = 0.0
        self._sizes = np.ones((2, n))
        super().__init__(n, policy, windows, gamma, boost)

    def adapt_correlation(self, samples: FloatArray, sizes: FloatArray) -> None:
        """Learn from all that was seen, and remember."""
        known = self._known[:, kernel.MATCHES, None]
        fading = np.minimum(MEMORY, ENOUGH / np.maximum(known, 1.0))
        self._known = fading * self._known + samples.sum(axis=0)
        self._sampled *= MEMORY
        self._sampled += float(samples[kernel.FULL, :, kernel.MATCHES].sum())
        self._sizes = sizes
        self.set_fraction(self.fraction)

    def set_fraction(self, fraction: float) -> None:
        """Fill the budget r, less what samples cost, in the order of productivity."""
        self.fraction = fraction
        scarce = ENOUGH_SAMPLED / max(self._sampled, 1.0)
        self.sample = fraction * self._gamma * min(1.0, max(LEAST_SAMPLING, scarce))
        rest = (fraction - self.sample) / (1 - self.sample) if fraction < 1 else 1.0
        self.productivity = self._per_tuple(kernel.MATCHES)
        costs = self._sizes * self._per_tuple(kernel.CHARGED)
        values = self._sizes * self.productivity
        left, right = (BasicWindows(*side) for side in zip(values, costs, strict=True))
        fractions = np.array(knapsack((left, right), rest * float(costs.sum())))
        whole = self._sizes.sum(axis=1)
        probed = (fractions * self._sizes).sum(axis=1)
        self.parts = np.divide(probed, whole, out=np.ones(2), where=whole > 0)
        density = np.divide(values, costs, out=np.zeros_like(costs), where=costs > 0)
        self.order = np.argsort(-density, axis=1, kind="stable")

    def _per_tuple(self, what: int) -> FloatArray:
        """Matches or cost per tuple covered; where little was seen, nearer to the average."""
        total, covered = self._known[:, what], _covered(self._known)
        average = total.sum() / max(covered.sum(), 1.0)
        one_match = covered.sum() / max(self._known[:, kernel.MATCHES].sum(), 1.0)
        return np.asarray((total + one_match * average) / (covered + max(one_match, 1.0)))


def _covered(known: FloatArray) -> FloatArray:
    return known[:, kernel.COVERED]
