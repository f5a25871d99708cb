"""Costs of the micro-batch kernels: a grid of settings is timed and the cost model fitted to it."""

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory
from time import thread_time
from typing import Final, NamedTuple, get_args

from streamjoin.calibration.fitting import best_times, fit_costs
from streamjoin.calibration.kernels import Stored, Work
from streamjoin.calibration.many_streams import TUPLE_COSTS, measure_tuples
from streamjoin.planning.two.algorithm_choice import Load, Method, OperationCosts, costs_of

METHODS: Final[tuple[Method, ...]] = get_args(Method)
_ELSEWHERE: Final = {"invalidate", *TUPLE_COSTS}
_FITTED: Final = tuple(f.name for f in fields(OperationCosts) if f.name not in _ELSEWHERE)
SECONDS: Final = {True: 2.0, False: 15.0}
"""That a grid is timed, by whether it is a quick one."""

_MOST_PAIRS: Final = 2_000_000
_MOST_SCANNED: Final = 150_000_000  # comparisons, of which few find a match


class Case(NamedTuple):
    """A batch that one method has to match."""

    stored: Stored
    arrivals: int
    method: Method

    @property
    def load(self) -> Load:
        """What the planner knows of it."""
        return self.stored.load(self.arrivals)


def _grid(quick: bool) -> tuple[list[Stored], list[int]]:
    sizes = (1_000, 10_000, 300_000) if quick else (1_000, 10_000, 100_000, 300_000, 1_000_000)
    windows = [Stored(n, keys, 4) for n in sizes for keys in (100, n // 4, n * 10)]
    windows += [Stored(50_000, 12_500, n) for n in (1, 16)]
    windows += [Stored(n, 4 * n, 4, grows=True) for n in (1_000, 300_000)]
    return windows, [1, 30, 300, 3_000, 30_000] + ([] if quick else [128, 1_000, 100_000, 300_000])


def cases_of(windows: Sequence[Stored], arrivals: Sequence[int]) -> list[Case]:
    """All combinations that do not take too long."""
    return [
        Case(stored, n, method)
        for stored in windows
        for n in arrivals
        for method in METHODS
        if stored.load(n).matches <= _MOST_PAIRS
        and (method != "nested" or _scanned(stored, n) <= _MOST_SCANNED)
    ]


def _scanned(stored: Stored, arrivals: int) -> float:
    """Comparisons of a scan; each match costs as much as a hundred."""
    return stored.rows * arrivals + 100 * stored.load(arrivals).matches


def times_of(cases: Sequence[Case], seed: int, folder: Path, seconds: float) -> list[float]:
    """Nanoseconds of each."""
    filled = {stored: stored.fill(folder, seed) for stored in dict.fromkeys(c[0] for c in cases)}
    works: list[Work] = [filled[case.stored].work(case.method, case.arrivals) for case in cases]
    return [1e9 * best for best in best_times(works, seconds)]


def measure_operations(quick: bool) -> OperationCosts:
    """Least squares of relative errors over sizes of windows and batches, and numbers of keys."""
    cases = cases_of(*_grid(quick))
    with TemporaryDirectory() as name:
        folder = Path(name)
        times = times_of(cases, 1, folder, SECONDS[quick])
        invalidate = _removing(folder)
    counts = [_counts(case.method, case.load) for case in cases]
    costs = dict(zip(_FITTED, fit_costs(counts, times).tolist(), strict=True))
    return OperationCosts(**costs, invalidate=invalidate, **measure_tuples(quick))


def _counts(method: Method, load: Load) -> list[float]:
    """How many of each operation a method needs: its cost if nothing else costs anything."""
    nothing = dict.fromkeys((field.name for field in fields(OperationCosts)), 0.0)
    return [costs_of(load, OperationCosts(**{**nothing, name: 1.0}))[method] for name in _FITTED]


def _removing(folder: Path) -> float:
    """Nanoseconds to remove a basic window's file, for each tuple; methods do not differ in it."""
    file, n, best = folder / "expired", 100_000, float("inf")
    for _ in range(10):
        file.write_bytes(bytes(16 * n))
        start = thread_time()
        file.unlink()
        best = min(best, thread_time() - start)
    return 1e9 * best / n
