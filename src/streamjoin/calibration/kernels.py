"""Costs of the micro-batch kernels, and where one of the three methods overtakes another.

Timed as the planner counts them (`streamjoin.planning.algorithm_choice`): "nested" is one scan of
the whole window, "hash" one lookup in each basic window's index, "batch" one pass of the whole
window over an index of the arrivals.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from time import thread_time
from typing import Final

import numpy as np

from streamjoin._typing import Keys, Times
from streamjoin.calibration.fitting import Fit, best_time, crossing, fit_costs
from streamjoin.calibration.result import Crossover
from streamjoin.core.index import HashIndex
from streamjoin.core.list_index import ListIndex
from streamjoin.planning.algorithm_choice import Load, Method, OperationCosts, costs_of

ALWAYS: Final = 2**62
MAX_PAIRS: Final = 2**18
N_WINDOWS: Final = 4
MATCHES: Final = 4  # stored tuples of each key
_FITTED: Final = ("compare", "probe", "touch", "window")


@dataclass(frozen=True, eq=False)
class Stored:
    """A stored window of uniform keys, in basic windows, with all that the methods keep."""

    keys: Keys
    times: Times
    whole: ListIndex
    windows: tuple[HashIndex, ...]

    @classmethod
    def draw(cls, n: int) -> "Stored":
        """Draw n tuples, `MATCHES` for each key."""
        keys, times = _keys(n, n), np.arange(n, dtype=np.int64)
        parts = zip(np.array_split(keys, N_WINDOWS), np.array_split(times, N_WINDOWS), strict=True)
        windows = tuple(HashIndex.build(*part) for part in parts)
        return cls(keys, times, ListIndex.build(keys, times), windows)

    def method(self, method: Method, n_arrivals: int) -> Callable[[], int]:
        """Work that finds the matches of some arrivals and returns their number."""
        keys = _keys(n_arrivals, len(self.keys))
        times = np.full(n_arrivals, len(self.keys), np.int64)
        if method == "nested":
            return lambda: _drain(self.whole, keys, times)
        if method == "hash":
            return lambda: sum(_drain(index, keys, times) for index in self.windows)
        return lambda: _drain(HashIndex.build(keys, times), self.keys, self.times)


def _keys(n: int, stored: int) -> Keys:
    return np.random.default_rng(n).integers(0, max(1, stored // MATCHES), n)


def _drain(index: HashIndex | ListIndex, keys: Keys, times: Times) -> int:
    """Find all pairs and let them go, as a join that hands its output on does."""
    return sum(len(a) for a, _ in index.probe_chunks(keys, times, -ALWAYS, ALWAYS, MAX_PAIRS))


def measure_operations(quick: bool) -> OperationCosts:
    """Least squares over sizes of windows and batches, each method timed as a whole.

    Building an index and dropping one are timed by themselves. The constant that all methods share,
    a call from Python, is fitted too and left out.
    """
    repeats = 7 if quick else 25
    sizes = (4_000, 64_000) if quick else (5_000, 20_000, 80_000)
    insert, invalidate = _slope(sizes, _build, repeats), _slope(sizes, _release, repeats)
    counts, seconds, inserts = [], [], []
    for n in sizes:
        stored = Stored.draw(n)
        for method, arrivals in _cases(n):
            load = load_of(n, arrivals)
            counts.append([*_counts(method, load), 1.0])
            seconds.append(best_time(stored.method(method, arrivals), repeats) * 1e9)
            inserts.append(insert * _count("insert", method, load))
    costs = dict(zip(_FITTED, fit_costs(counts, seconds, inserts).tolist(), strict=False))
    return OperationCosts(**costs, insert=insert, invalidate=invalidate)


def load_of(n: int, arrivals: int) -> Load:
    """A batch whose arrivals meet a stored window."""
    return Load(arrivals, stored=n, stored_keys=n / MATCHES, inserted=0, n_windows=N_WINDOWS)


def _cases(n: int) -> list[tuple[Method, int]]:
    many = (2, 50, n // 20, n // 4, n)
    sizes: dict[Method, tuple[int, ...]] = {"nested": (2, 10, 50, 250), "hash": many, "batch": many}
    return [(method, arrivals) for method in sizes for arrivals in sizes[method]]


def _counts(method: Method, load: Load) -> list[float]:
    return [_count(name, method, load) for name in _FITTED]


def _count(name: str, method: Method, load: Load) -> float:
    """How many of an operation a method needs: its cost if nothing else costs anything."""
    nothing = dict.fromkeys((field.name for field in fields(OperationCosts)), 0.0)
    return costs_of(load, OperationCosts(**{**nothing, name: 1.0}))[method]


def _slope(sizes: tuple[int, ...], seconds: Callable[[int, int], float], repeats: int) -> float:
    """Nanoseconds of one more tuple, besides a constant."""
    taken = [1e9 * seconds(n, repeats) for n in sizes]
    return float(fit_costs([[n, 1] for n in sizes], taken)[0])


def _build(n: int, repeats: int) -> float:
    keys, times = _keys(n, n), np.arange(n, dtype=np.int64)
    return best_time(lambda: HashIndex.build(keys, times), repeats)


def _release(n: int, repeats: int) -> float:
    """Seconds to drop an index of n tuples, and with it a basic window."""
    best, keys, times = float("inf"), _keys(n, n), np.arange(n, dtype=np.int64)
    for _ in range(repeats):
        held = [HashIndex.build(keys, times)]
        start = thread_time()
        held.clear()
        best = min(best, thread_time() - start)
    return best


def crossovers(operations: OperationCosts, quick: bool) -> tuple[list[Crossover], Fit]:
    """Arrivals at which "batch" overtakes "nested" and "hash"; and how good predictions are."""
    found: list[Crossover] = []
    predicted: list[float] = []
    measured: list[float] = []
    for n in (20_000,) if quick else (10_000, 40_000, 160_000):
        stored = Stored.draw(n)
        others: tuple[tuple[Method, int, int], ...] = (
            ("nested", 4, 2_000),
            ("hash", n // 100, 2 * n),
        )
        for first, low, high in others:
            arrivals = [round(a) for a in np.geomspace(low, high, 6 if quick else 10)]
            curves: list[list[float]] = [[], [], [], []]
            for a in arrivals:
                costs = costs_of(load_of(n, a), operations)
                methods: tuple[Method, Method] = (first, "batch")
                for at, method in enumerate(methods):
                    curves[at].append(best_time(stored.method(method, a), 5 if quick else 15))
                    curves[at + 2].append(costs[method] / 1e9)
            found.append(
                Crossover(
                    f"{first}|batch",
                    n,
                    predicted=crossing(arrivals, curves[2], curves[3]),
                    measured=crossing(arrivals, curves[0], curves[1]),
                )
            )
            measured += curves[0] + curves[1]
            predicted += curves[2] + curves[3]
    return found, Fit.of(predicted, measured)
