"""Streams of item sets whose popular items rotate (Gedik et al. 2005, GED-D1 to D4).

Items are drawn by Zipf's law over ranks, without repetition within a set; the item of rank 1 moves
once around the domain in a cycle. Of two streams, one shifted in time, tuples match best at an age
that the shift decides, which is what time correlation means there.

```
item of rank 1    L |      /|      /|          the same, shifted by tau
                    |    /  |    /  |    /
                    |  /    |  /    |  /
                  0 |/______|/______|/__       age of the best match = tau (modulo the cycle)
                    0      phi     2 phi  time
```
"""

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from streamjoin._typing import Times
from streamjoin.workloads.drawing import Numbers, draw_ranks, draw_sizes, require

Spacing = Literal["constant", "poisson"]
Rates = tuple[tuple[float, float], ...]
"""Steps of (seconds, tuples a second)."""

BURST: Final[Rates] = ((60.0, 100.0), (15.0, 500.0), (30.0, 300.0), (55.0, 100.0))
"""The rates of the paper's Figure 3 (GED-D4); the length of the last step is ours."""


@dataclass(frozen=True, eq=False)
class SetStream:
    """A recorded stream of sets: row i has ``items[offsets[i]:offsets[i + 1]]``, all distinct."""

    times: Times
    offsets: Numbers
    items: Numbers

    def __len__(self) -> int:
        return len(self.times)


@dataclass(frozen=True)
class RotatingSets:
    """A seeded stream of sets of items 0 to ``domain - 1``.

    Parameters
    ----------
    rates
        Steps of (seconds, tuples a second).
    skew
        Exponent of Zipf's law over the ranks (kappa); 0 is uniform.
    cycle_s
        After how long the item of rank 1 has been around the domain (phi).
    shift_s
        How much later than without it an item becomes popular (tau, GED-D2).
    domain
        How many items there are (L).
    size
        Mean and standard deviation of the number of items in a set; it is rounded, and at least 1.
        ``(1, 0)`` makes single values (GED-D3).
    spacing
        ``poisson`` arrivals, or ``constant`` gaps from a random first one.
    seed
        Another seed, another stream.

    Examples
    --------
    >>> stream = RotatingSets(((2.0, 500.0),), skew=0.8, cycle_s=40, seed=1).draw()
    >>> len(stream), len(stream.items)
    (1001, 5046)
    """

    rates: Rates
    skew: float
    cycle_s: float
    shift_s: float = 0.0
    domain: int = 100
    size: tuple[float, float] = (5.0, 1.0)
    spacing: Spacing = "poisson"
    seed: int | tuple[int, ...] = 0

    def __post_init__(self) -> None:
        require("rates", self.rates, min((min(step) for step in self.rates), default=0) > 0,
                "one or more steps of positive seconds and tuples a second")  # fmt: skip
        require("skew", self.skew, 0 <= self.skew <= 10, "0 to 10")
        require("cycle_s", self.cycle_s, self.cycle_s > 0, "more than 0 seconds")
        require("domain", self.domain, self.domain >= 1, "1 or more items")
        require("size", self.size, min(self.size) >= 0, "a mean and a deviation of 0 or more")

    def draw(self) -> SetStream:
        """Make the stream."""
        rng = np.random.default_rng(self.seed)
        times_s = _arrivals(rng, self.rates, self.spacing)
        sizes = draw_sizes(rng, len(times_s), self.size, self.domain)
        ranks, offsets = draw_ranks(rng, sizes, self.domain, self.skew)
        first = np.repeat(self.first_items(times_s), np.diff(offsets))
        times = np.floor(times_s * 1e6).astype(np.int64)
        return SetStream(times, offsets, (first + ranks) % self.domain)

    def first_items(self, times_s: NDArray[np.float64]) -> Numbers:
        """The item of rank 1 at each time (GED-D1, D2; the paper counts items from 1).

        Examples
        --------
        >>> stream = RotatingSets(((1.0, 1.0),), skew=0.8, cycle_s=40, shift_s=25)
        >>> stream.first_items(np.array([0.0, 25.0, 25.5, 45.0]))
        array([37,  0,  1, 50])
        """
        turns = np.mod(times_s - self.shift_s, self.cycle_s) / self.cycle_s
        # A time just below the cycle's end may be rounded up to it.
        first: Numbers = np.minimum(turns * self.domain, self.domain - 1).astype(np.int64)
        return first


def _arrivals(rng: np.random.Generator, rates: Rates, spacing: Spacing) -> NDArray[np.float64]:
    """Arrival times in seconds: those of rate 1, with time stretched to the rates."""
    steps = np.array(rates)
    ends_s = np.concatenate(([0.0], np.cumsum(steps[:, 0])))
    ends_n = np.concatenate(([0.0], np.cumsum(steps[:, 0] * steps[:, 1])))
    if spacing == "constant":
        arrivals = np.arange(rng.random(), ends_n[-1])
    else:
        n = rng.poisson(ends_n[-1])
        arrivals = np.sort(rng.random(n)) * ends_n[-1]
    return np.interp(arrivals, ends_n, ends_s)
