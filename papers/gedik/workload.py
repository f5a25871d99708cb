"""The set-ups of Gedik et al.: streams, windows and processor of a run (GED-A19, D1 to D4)."""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from papers.gedik.densities import Correlation
from papers.gedik.rotating_sets import BURST, Rates, RotatingSets
from papers.operators.selective_settings import Index, Policy, ProbeCosts, SelectiveJoin, SetTrace
from papers.operators.selective_window import SelectiveRun, selective_window_join

CAPACITY: Final = 750_000.0
"""Comparisons a second: the paper's machine is not known, this gives its gains (GED-C5)."""
ADAPTATION: Final = 1000.0
"""Comparisons that a step of adaptation costs: it sorts the 42 basic windows of both streams."""
Seconds = tuple[int, int]
BEFORE: Final[Seconds] = (20, 60)
"""Seconds of `BURST` in which the windows are full and nothing is overloaded."""
FAST: Final[Seconds] = (60, 75)
MIDDLE: Final[Seconds] = (75, 105)
OVERLOADED: Final[Seconds] = (60, 105)
SETTLED: Final[Seconds] = (70, 75)
"""The end of the fast part, when the fraction has followed."""
WHOLE: Final[Seconds] = (0, 160)
NAMES: Final = {
    "drop": "random drop",
    "ra": "RA",
    "ra+tc": "RA+TC",
    "ra+tc+jd": "RA+TC+JD",
    "best": "knapsack",
}
"""What policies are called in the report."""


@dataclass(frozen=True)
class Setting:
    """Two streams and the join of them; `dataclasses.replace` makes another one.

    Parameters
    ----------
    skew
        Exponent of Zipf's law over the items (kappa).
    shift
        How late the second stream is, in cycles (tau / phi).
    cycle
        Length of a cycle, in windows (phi / w).
    window_s, sides
        Length of the windows; 1 if only the first stream is remembered (GED-I5).
    rates
        Of both streams.
    theta
        Items that must be common.
    capacity, fraction, basic_s, index, costs, memory
        As in `SelectiveJoin`.

    Examples
    --------
    >>> run = Setting(rates=((5.0, 40.0),), window_s=2).run("full", seed=1)
    >>> len(run.outputs)
    5
    """

    skew: float = 0.6
    shift: float = 5 / 8
    cycle: float = 2.0
    window_s: float = 20.0
    sides: int = 2
    rates: Rates = BURST
    theta: int = 3
    capacity: float | tuple[float, ...] | None = CAPACITY
    fraction: float | None = None
    basic_s: float | None = 1.0
    index: Index = "none"
    costs: ProbeCosts = field(default_factory=lambda: ProbeCosts(adaptation=ADAPTATION))
    memory: float = 0.0

    @property
    def matches(self) -> Correlation:
        """Match probability by age."""
        cycle_s = self.cycle * self.window_s
        return Correlation(self.skew, self.theta, cycle_s, self.shift * cycle_s)

    def run(self, policy: Policy, seed: int) -> SelectiveRun:
        """Join the streams of a seed."""
        cycle_s = self.cycle * self.window_s
        left = _trace(self.rates, self.skew, cycle_s, 0.0, (seed, 1))
        right = _trace(self.rates, self.skew, cycle_s, self.shift * cycle_s, (seed, 2))
        return selective_window_join(left, right, self._join(policy, seed))

    def _join(self, policy: Policy, seed: int) -> SelectiveJoin:
        window_us = _microseconds(self.window_s)
        return SelectiveJoin(
            windows_us=(window_us, window_us if self.sides == 2 else 0),
            policy=policy,
            basic_us=None if self.basic_s is None else _microseconds(self.basic_s),
            threshold=self.theta,
            index=self.index,
            capacity=self.capacity,
            costs=self.costs,
            fraction=self.fraction,
            memory=self.memory,
            seed=seed,
        )


@lru_cache(maxsize=12)
def _trace(
    rates: Rates, skew: float, cycle_s: float, shift_s: float, seed: tuple[int, int]
) -> SetTrace:
    stream = RotatingSets(rates, skew, cycle_s, shift_s, seed=seed).draw()
    return SetTrace(stream.times, stream.offsets, stream.items)


def _microseconds(seconds: float) -> int:
    return round(seconds * 1e6)


def results(run: SelectiveRun, seconds: Seconds) -> float:
    """Results a second between two seconds."""
    begin, end = seconds
    return float(run.outputs[begin:end].sum()) / (end - begin)
