"""Costs of the micro-batch kernels: a grid of settings is timed and the cost model fitted to it."""

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory
from time import thread_time
from typing import Final, NamedTuple, get_args

import numpy as np

from streamjoin.calibration.fitting import best_times, fit_costs
from streamjoin.calibration.kernels import Stored, Work, keep_index
from streamjoin.planning.algorithm_choice import Load, Method, OperationCosts, costs_of

METHODS: Final[tuple[Method, ...]] = get_args(Method)
_FITTED: Final = tuple(f.name for f in fields(OperationCosts) if f.name != "invalidate")
_MOST_PAIRS: Final = 2_000_000
_MOST_SCANNED: Final = 40_000_000  # comparisons, of which few find a match


class Case(NamedTuple):
    """A batch that one method has to match."""

    stored: Stored
    arrivals: int
    method: Method

    @property
    def load(self) -> Load:
        """What the planner knows of it."""
        return self.stored.load(self.arrivals)


def _fitted_to(quick: bool) -> tuple[list[Stored], list[int]]:
    sizes = (1_000, 10_000, 250_000) if quick else (1_000, 10_000, 100_000, 1_000_000)
    windows = [Stored(n, keys, 4) for n in sizes for keys in (100, n // 4, n * 10)]
    windows += [Stored(50_000, 12_500, n) for n in (1, 16)]
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
    return stored.rows * max(arrivals, 128) + 100 * stored.load(arrivals).matches


def times_of(cases: Sequence[Case], seed: int, folder: Path, passes: int) -> list[float]:
    """Nanoseconds of each."""
    filled = {stored: stored.fill(folder, seed) for stored in dict.fromkeys(c[0] for c in cases)}
    works: list[Work] = [filled[case.stored].work(case.method, case.arrivals) for case in cases]
    return [1e9 * seconds for seconds in best_times(works, passes)]


def measure_operations(quick: bool) -> OperationCosts:
    """Least squares of relative errors over sizes of windows and batches, and numbers of keys."""
    cases = cases_of(*_fitted_to(quick))
    kept = (10, 1_000, 10_000, 100_000) if quick else (10, 100, 1_000, 10_000, 100_000, 300_000)
    passes = 2 if quick else 5
    with TemporaryDirectory() as name:
        folder = Path(name)
        times = times_of(cases, 1, folder, passes) + _keeping(kept, folder, passes)
        invalidate = _removing(folder, 5 * passes)
    counts = [_counts(case.method, case.load) for case in cases]
    counts += [_counts("hash", _growth(n)) for n in kept]
    costs = dict(zip(_FITTED, fit_costs(counts, times).tolist(), strict=True))
    return OperationCosts(**costs, invalidate=invalidate)


def _counts(method: Method, load: Load) -> list[float]:
    """How many of each operation a method needs: its cost if nothing else costs anything."""
    nothing = dict.fromkeys((field.name for field in fields(OperationCosts)), 0.0)
    return [costs_of(load, OperationCosts(**{**nothing, name: 1.0}))[method] for name in _FITTED]


def _growth(n: int) -> Load:
    """A batch that only brings new tuples, four of a key."""
    return Load(arrivals=0, stored=0, stored_keys=max(1, n // 4), inserted=n, n_windows=0)


def _keeping(sizes: Sequence[int], folder: Path, passes: int) -> list[float]:
    """Nanoseconds to make and write an index."""
    random = np.random.default_rng(2)
    rows = [(random.integers(0, max(1, n // 4), n), np.arange(n)) for n in sizes]
    files = [folder / f"kept_{n}" for n in sizes]
    works = [lambda f=f, r=r: keep_index(f, r) for f, r in zip(files, rows, strict=True)]
    return [1e9 * seconds for seconds in best_times(works, passes)]


def _removing(folder: Path, repeats: int) -> float:
    """Nanoseconds to remove a basic window's file, for each tuple; methods do not differ in it."""
    file, n, best = folder / "expired", 100_000, float("inf")
    for _ in range(repeats):
        file.write_bytes(bytes(16 * n))
        start = thread_time()
        file.unlink()
        best = min(best, thread_time() - start)
    return 1e9 * best / n
