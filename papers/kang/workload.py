"""Streams of Kang et al. (KAN-D1): constant rates, uniform keys.

The keys of both streams come from a common prefix 0..n-1, n being each stream's own number of keys:
two tuples match with probability 1 / max(n_a, n_b), which is the paper's min(sigma_a, sigma_b).
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from papers.operators.moving_window import Trace

Spacing = Literal["constant", "poisson"]


@dataclass(frozen=True)
class Streams:
    """Two seeded streams.

    Parameters
    ----------
    rates
        Tuples a second.
    keys
        Numbers of keys.
    seconds
        Length of both streams.
    seed
        Another seed, other keys and another phase.
    spacing
        ``constant`` gaps from a random first one, or ``poisson``.
    delay_us
        What a slow feeder adds to every gap (KAN-A26).

    Examples
    --------
    >>> left, right = Streams((10, 50), (5, 5), seconds=60, seed=1).traces()
    >>> len(left.times), len(right.times), int(right.keys.max())
    (600, 3000, 4)
    """

    rates: tuple[float, float]
    keys: tuple[int, int]
    seconds: float
    seed: int
    spacing: Spacing = "constant"
    delay_us: float = 0.0

    def traces(self) -> tuple[Trace, Trace]:
        """The streams as times and keys."""
        return self._trace(0), self._trace(1)

    def tables(self) -> tuple[pa.Table, pa.Table]:
        """The streams as tables with the columns ``k`` and ``t``."""
        left, right = (_table(trace) for trace in self.traces())
        return left, right

    def _trace(self, side: int) -> Trace:
        rng = np.random.default_rng([self.seed, side])
        times = self._times(rng, 1e6 / self.rates[side] + self.delay_us)
        return Trace(times, rng.integers(0, self.keys[side], len(times)))

    def _times(self, rng: np.random.Generator, gap_us: float) -> NDArray[np.int64]:
        end = self.seconds * 1e6
        if self.spacing == "constant":
            times = np.arange(rng.random() * gap_us, end, gap_us)
        else:
            n = int(end / gap_us)
            gaps = rng.exponential(gap_us, n + 10 * int(n**0.5) + 10)  # ten deviations to spare
            times = np.cumsum(gaps)
        found: NDArray[np.int64] = np.floor(times[times < end]).astype(np.int64)
        return found


def until(trace: Trace, seconds: float) -> Trace:
    """The part of a stream before a time."""
    n = int(np.searchsorted(trace.times, seconds * 1e6))
    return Trace(trace.times[:n], trace.keys[:n])


def _table(trace: Trace) -> pa.Table:
    times = pa.array(trace.times).cast(pa.timestamp("us"))
    return pa.table({"k": pa.array(trace.keys), "t": times})
