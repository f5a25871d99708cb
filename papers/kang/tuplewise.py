"""C_n and C_h of the tuple-at-a-time join: directly, and by the paper's procedure (KAN-A13).

Every timing is of a one-way join from A to B in the steady state: window B is filled before the
first tuple of A comes, and the time to fill it is taken off. The model is linear in what the join
counts: tuples touched, probes, insertions and removals.

An access costs what the cache that holds the window makes it cost. Windows here have 8,000 to
40,000 tuples, which are too many for a first-level cache and few enough for a second-level one of
2 MB; smaller windows are cheaper and larger ones dearer than the costs found.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from papers.kang.cost_model import ratio_from_crossover
from papers.operators.moving_window import Structure, Trace, TupleRun, moving_window_join
from streamjoin.calibration.fitting import Fit, best_time, crossing, fit_costs
from streamjoin.calibration.store import Crossover

SECOND: Final = 1_000_000
WINDOW: Final = 40  # seconds, T_b
RATE_A: Final = 100


@dataclass(frozen=True)
class TupleCosts:
    """Nanoseconds of the tuple-at-a-time join with one structure.

    `access` is the cost of one tuple touched (C_n or C_h); `probe`, `insert` and `invalidate` are
    what a task costs besides the tuples that it touches.
    """

    access: float
    probe: float
    insert: float
    invalidate: float


@dataclass(frozen=True)
class Setting:
    """A one-way join: rates of A and B a second, distinct keys, and how many seconds are timed."""

    rate_a: int
    rate_b: int
    n_keys: int
    seconds: float = 15.0
    expires: bool = True

    def traces(self) -> tuple[Trace, Trace]:
        """A begins when window B is full; constant spacing and uniform keys (KAN-D1)."""
        begin, end = WINDOW * SECOND, int((WINDOW + self.seconds) * SECOND)
        random = np.random.default_rng(2003)
        left = begin + np.arange(int(self.rate_a * self.seconds)) * SECOND // max(self.rate_a, 1)
        right = np.arange(end * self.rate_b // SECOND) * SECOND // self.rate_b
        keys = [random.integers(0, self.n_keys, len(times)) for times in (left, right)]
        return Trace(left, keys[0]), Trace(right, keys[1])


def counts_of(setting: Setting, run: TupleRun) -> list[float]:
    """Tuples touched, probes, insertions, removals."""
    n_expired = run.tuples[1] if setting.expires else 0
    touched = run.probe[1] + (run.invalidate[1] if run.structures[1] == "hash" else 0)
    return [touched, run.tuples[0], run.tuples[1], n_expired]


def time_of(setting: Setting, structure: Structure, repeats: int) -> tuple[list[float], float]:
    """Counts of the steady state and its seconds."""
    left, right = setting.traces()
    length = (WINDOW if setting.expires else 10 * WINDOW) * SECOND
    begin = WINDOW * SECOND

    def run(since_us: int | None, until_us: int | None) -> TupleRun:
        return moving_window_join(
            left, right, (0, length), ("list", structure), n_buckets=(1, setting.n_keys),
            direction="left to right", since_us=since_us, until_us=until_us,
        )  # fmt: skip

    whole = best_time(lambda: run(None, None), repeats)
    filling = best_time(lambda: run(None, begin), repeats)
    return counts_of(setting, run(begin, None)), max(whole - filling, 1e-9)


def _rates(quick: bool) -> tuple[int, ...]:
    return (250, 1000) if quick else (200, 400, 600, 800, 1000)


def direct(structure: Structure, quick: bool) -> TupleCosts:
    """Least squares over rates of both streams and numbers of keys."""
    counts, seconds = [], []
    for rate_b in _rates(quick):
        for n_keys in (96, 512):
            for rate_a, expires in ((20, True), (200, True), (0, False)):
                setting = Setting(rate_a, rate_b, n_keys, expires=expires)
                count, taken = time_of(setting, structure, 3 if quick else 7)
                counts.append(count)
                seconds.append(taken * 1e9)
    return TupleCosts(*(float(cost) for cost in fit_costs(counts, seconds)))


def predict(count: Sequence[float], costs: TupleCosts) -> float:
    """Seconds that the linear model gives for some counts."""
    weights = (costs.access, costs.probe, costs.insert, costs.invalidate)
    return sum(n * weight for n, weight in zip(count, weights, strict=True)) / 1e9


def validate(nested: TupleCosts, hashed: TupleCosts, quick: bool) -> Fit:
    """Predicted against measured, for settings that were not used to find the costs."""
    predicted, measured = [], []
    costs_of: dict[Structure, TupleCosts] = {"list": nested, "hash": hashed}
    for structure, costs in costs_of.items():
        for rate_b in (300, 700) if quick else (250, 500, 700, 900):
            for rate_a, n_keys in ((60, 128), (150, 400)):
                setting = Setting(rate_a, rate_b, n_keys)
                count, taken = time_of(setting, structure, 3 if quick else 7)
                predicted.append(predict(count, costs))
                measured.append(taken)
    return Fit.of(predicted, measured)


def crossovers(
    nested: TupleCosts, hashed: TupleCosts, quick: bool
) -> tuple[list[Crossover], list[tuple[int, float]]]:
    """Sweep the rate of B at a fixed rate of A, find where HJ and NLJ take equally long (KAN-A13).

    The second list has C_h / C_n for each number of keys.
    """
    found, ratios = [], []
    costs_of: dict[Structure, TupleCosts] = {"hash": hashed, "list": nested}
    for n_keys in (128, 256) if quick else (128, 192, 256, 384):
        guess = max(0.5, n_keys * nested.access / hashed.access - 1)
        steps = np.geomspace(guess / 2, guess * 2, 7 if quick else 11)
        rates = sorted({max(5, round(RATE_A * float(step))) for step in steps})
        curves: list[list[float]] = [[], [], [], []]
        for rate_b in rates:
            for n, (structure, costs) in enumerate(costs_of.items()):
                setting = Setting(RATE_A, rate_b, n_keys)
                count, taken = time_of(setting, structure, 3 if quick else 7)
                curves[n].append(taken)
                curves[n + 2].append(predict(count, costs))
        at = [rate / RATE_A for rate in rates]
        measured = crossing(at, curves[0], curves[1])
        found.append(Crossover("hash|list", n_keys, crossing(at, curves[2], curves[3]), measured))
        if measured is not None:
            ratios.append((n_keys, float(ratio_from_crossover(n_keys, measured))))
    return found, ratios
