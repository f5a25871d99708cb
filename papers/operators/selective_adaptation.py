"""How a selective window join adapts: how much it probes, of which window, and where in it.

An `Adaptation` holds what is known and what is planned; decisions are the pure functions of
`shedding.fractions`. There are two steps, each in its period (Gedik et al. 2005):

1. `adapt_correlation` (every T_c): how productive each basic window is, and so in which order they
   are probed (GED-A11). Productivity is matches per comparison (GED-I4).
2. `adapt_rate` (every T_r): the part r of the windows that there is time for (GED-A5).

After either, r is shared out between the two windows (GED-A13).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from papers.operators.kernels import selective_window as kernel
from papers.operators.selective_settings import SelectiveJoin
from streamjoin.shedding.fractions import direction_adapt, rate_adapt

FloatArray = NDArray[np.float64]


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
    phases
        How many plans there are for the time between two new basic windows.

    Attributes
    ----------
    fraction, fractions
        r; r_1 and r_2.
    parts
        r_1 and r_2 by [side, phase].
    order
        Basic windows in the order in which they are probed, by [side, phase, rank].
    older
        Whether of a basic window that is probed in part it is the older one, by [side, cell]. The
        cell of basic window j is ``j * phases + phase``.
    productivity
        o[i, j], matches per comparison with a tuple of a basic window.
    sample, keep
        Probabilities that a tuple is processed fully, and that it is not dropped.
    """

    sample, keep = 1.0, 1.0

    def __init__(self, n: int, phases: int = 1) -> None:
        self.fraction, self.fractions = 1.0, np.ones(2)
        self.parts = np.ones((2, phases))
        self.order = np.tile(np.arange(n), (2, phases, 1))
        self.older = np.zeros((2, n * phases), np.bool_)
        self.productivity = np.zeros((2, n))

    def adapt_rate(self, observed: Observed) -> None:
        """Change r by what was observed."""

    def adapt_correlation(self, samples: FloatArray, sizes: FloatArray) -> None:
        """Learn where matches are.

        Parameters
        ----------
        samples
            What was seen since the last step, by [full or selective, side, what, cell].
        sizes
            Tuples of each basic window, by [side, cell], added up over all probes of this time.
        """
        _divide(samples[kernel.FULL], self.productivity)


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

    def __init__(self, n: int, settings: SelectiveJoin, phases: int = 1) -> None:
        super().__init__(n, phases)
        self.settings = settings
        self._known = np.zeros((2, 3, n * phases))
        self._whole = np.zeros(2)  # o_1 and o_2
        self.set_fraction(1.0)

    def adapt_rate(self, observed: Observed) -> None:
        """RateAdapt (GED-A5)."""
        beta = observed.fetched / observed.arrived if observed.arrived else 1.0
        self.set_fraction(rate_adapt(self.fraction, beta, self.settings.boost))

    def adapt_correlation(self, samples: FloatArray, sizes: FloatArray) -> None:
        """TimeCorrelationAdapt (GED-A11)."""
        self._known = self.settings.memory * self._known + samples[kernel.FULL]
        _divide(self._known, self.productivity)
        _divide(self._known.sum(axis=2), self._whole)
        if "tc" in self.settings.policy:
            self.order = np.argsort(-self.productivity, axis=1, kind="stable")[:, None]
        self.set_fraction(self.fraction)

    def set_fraction(self, fraction: float) -> None:
        """Share out r between the windows (GED-A13); nothing is sampled if nothing is learned."""
        policy = self.settings.policy
        self.fraction, self.fractions = fraction, np.full(2, fraction)
        self.sample = 0.0 if policy == "ra" else fraction * self.settings.gamma
        if "jd" in policy:
            o_1, o_2 = self._whole.tolist()
            windows = self.settings.windows_us
            self.fractions = np.array(direction_adapt(fraction, windows, (o_1, o_2)))
        self.parts = self.fractions[:, None]


def _divide(known: FloatArray, productivity: FloatArray) -> None:
    """Matches per comparison, where anything was compared."""
    matches, covered = known[:, kernel.MATCHES], known[:, kernel.COVERED]
    np.divide(matches, covered, out=productivity, where=covered > 0)
