"""Streams for plans of many joins (Mukherji et al. 2011, JAQ-D1 and Table 3).

Arrivals are Poisson. Each join has an attribute of its own, which the stream on its left and the
stream on its right have: uniform over ``round(1 / sigma)`` values, independent of all others. So
two tuples match with probability sigma, and a selectivity changes when the domain is switched: at
once for what arrives, and for what is remembered as it is replaced.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from streamjoin._typing import Times
from streamjoin.errors import ConfigError

Numbers = NDArray[np.int64]
Selectivities = tuple[float, ...]
"""One for each two streams that stand side by side."""

SEL: Final[tuple[tuple[float, Selectivities], ...]] = (
    (0.0, (0.01, 0.01, 0.05)),
    (180.0, (0.03, 0.03, 0.05)),
    (420.0, (0.03, 0.03, 0.1)),
)
"""SEL1, SEL2 and SEL3 of the linear plan of Figure 6, with the second from which each holds."""


@dataclass(frozen=True, eq=False)
class PlanStream:
    """A recorded stream: times in microseconds, keys towards the left and the right stream."""

    times: Times
    left: Numbers
    right: Numbers

    def __len__(self) -> int:
        return len(self.times)


@dataclass(frozen=True)
class PlanStreams:
    """Seeded streams that stand side by side.

    Parameters
    ----------
    rates
        Tuples a second of each stream.
    selectivities
        Steps of (second, selectivity between each two neighbours from then on); the first is 0.
    seconds
        How long the streams are.
    seed
        Another seed, other streams.

    Examples
    --------
    >>> streams = PlanStreams((300.0, 500.0), ((0.0, (0.01,)),), seconds=2, seed=1).draw()
    >>> [len(stream) for stream in streams], sorted(set(streams[0].right.tolist())) < [100]
    ([601, 984], True)
    """

    rates: tuple[float, ...]
    selectivities: tuple[tuple[float, Selectivities], ...]
    seconds: float
    seed: int | tuple[int, ...] = 0

    def __post_init__(self) -> None:
        _require("rates", self.rates, len(self.rates) >= 2 and min(self.rates) >= 0,
                 "two or more numbers of 0 or more")  # fmt: skip
        starts = [at for at, _ in self.selectivities]
        _require("selectivities", starts, bool(starts) and starts[0] == 0 and _rising(starts),
                 "steps that begin at 0 and at rising seconds")  # fmt: skip
        for _, each in self.selectivities:
            right = len(each) == len(self.rates) - 1 and all(0 < sigma <= 1 for sigma in each)
            _require("selectivities", each, right, f"{len(self.rates) - 1} of more than 0 to 1")

    def draw(self) -> list[PlanStream]:
        """Make the streams."""
        return [self._stream(i) for i in range(len(self.rates))]

    def _stream(self, i: int) -> PlanStream:
        seed = self.seed if isinstance(self.seed, tuple) else (self.seed,)
        rng = np.random.default_rng((*seed, i))
        n = rng.poisson(self.rates[i] * self.seconds)
        times_s = np.sort(rng.random(n)) * self.seconds
        left, right = (self._keys(rng, times_s, join) for join in (i - 1, i))
        return PlanStream(np.floor(times_s * 1e6).astype(np.int64), left, right)

    def _keys(self, rng: np.random.Generator, times_s: NDArray[np.float64], join: int) -> Numbers:
        """Values of the attribute that a neighbour has too; 0 where there is no neighbour."""
        if not 0 <= join < len(self.rates) - 1:
            return np.zeros(len(times_s), np.int64)
        starts = [at for at, _ in self.selectivities]
        domains = np.array([round(1 / each[join]) for _, each in self.selectivities])
        step = np.searchsorted(starts, times_s, side="right") - 1
        keys: Numbers = np.floor(rng.random(len(times_s)) * domains[step]).astype(np.int64)
        return keys


@dataclass(frozen=True)
class Range:
    """Bounds of a parameter that is drawn."""

    low: float
    high: float

    def draw(self, rng: np.random.Generator, n: int) -> NDArray[np.float64]:
        """Draw uniformly."""
        return rng.uniform(self.low, self.high, n)


@dataclass(frozen=True)
class Parameters:
    """From where the numbers of a plan are drawn; by default as in Table 3 (JAQ-A32)."""

    rates: Range = Range(300, 1200)
    sizes: Range = Range(200, 5000)
    selectivities: Range = Range(0.01, 0.1)

    def draw(
        self, rng: np.random.Generator, n_streams: int
    ) -> tuple[list[float], list[int], list[float]]:
        """Rates of streams, sizes of states and selectivities of joins.

        Examples
        --------
        >>> rates, sizes, sigmas = Parameters().draw(np.random.default_rng(1), 4)
        >>> len(rates), len(sizes), len(sigmas)
        (4, 6, 3)
        """
        rates = self.rates.draw(rng, n_streams).tolist()
        sizes = np.rint(self.sizes.draw(rng, 2 * n_streams - 2)).astype(int).tolist()
        return rates, sizes, self.selectivities.draw(rng, n_streams - 1).tolist()


def _rising(values: Sequence[float]) -> bool:
    return all(one < two for one, two in pairwise(values))


def _require(name: str, value: object, holds: bool, allowed: str) -> None:
    if not holds:
        raise ConfigError(f"{name}: got {value}; allowed: {allowed}")
