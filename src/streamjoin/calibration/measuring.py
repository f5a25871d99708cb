"""All measurements of a calibration: the work of the three methods of a micro-batch is timed.

Each does what the engine does. "nested" makes a list of each basic window, which all arrivals scan.
"batch" makes an index of the arrivals, past which each basic window is streamed. "hash" opens the
index of each basic window, which lies in a file as the engine's do, and looks up all arrivals; and
it makes and writes the index of what comes into the window. What all methods share, such as reading
the basic windows, is left out.

The cost model is fitted to a grid of settings. How well it predicts, and what choices by it lose,
is judged by others: of other sizes, other numbers of keys and of basic windows, and other random
tuples.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from itertools import cycle, groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from time import thread_time
from typing import Final, NamedTuple, get_args

import numpy as np
import pyarrow as pa

from streamjoin._typing import Keys, Times
from streamjoin.calibration.fitting import Fit, best_times, crossing, fit_costs
from streamjoin.calibration.many_streams import TUPLE_COSTS, measure_tuples
from streamjoin.calibration.store import Calibration, Crossover
from streamjoin.core.index import HashIndex, ListIndex
from streamjoin.planning.two.algorithm_choice import Load, Method, OperationCosts, costs_of

METHODS: Final[tuple[Method, ...]] = get_args(Method)
PAIRS: Final[tuple[tuple[Method, Method], ...]] = (
    ("nested", "batch"),
    ("nested", "hash"),
    ("hash", "batch"),
)
SECONDS: Final = {True: 2.0, False: 15.0}
"""That a grid is timed, by whether it is a quick one."""
ALWAYS: Final = 2**62
MAX_PAIRS: Final = 2**18
_ELSEWHERE: Final = {"invalidate", *TUPLE_COSTS}
_FITTED: Final = tuple(f.name for f in fields(OperationCosts) if f.name not in _ELSEWHERE)
_MOST_PAIRS: Final = 2_000_000
_MOST_SCANNED: Final = 150_000_000  # comparisons, of which few find a match
_DRAWN: Final = 2**16  # arrivals of all batches together, if not more are in one

Work = Callable[[], int]
"""Finds the matches of some arrivals and returns their number."""

_Rows = tuple[Keys, Times]


@dataclass(frozen=True)
class Stored:
    """A window of uniform keys in basic windows.

    Parameters
    ----------
    rows, n_keys, n_windows
        Tuples, keys they are drawn from, and basic windows.
    grows
        Whether as many tuples come into the window as arrive on the other side; else none.
    """

    rows: int
    n_keys: int
    n_windows: int
    grows: bool = False

    def load(self, arrivals: int) -> Load:
        """What the planner knows of a batch."""
        new = arrivals if self.grows else 0
        return Load(arrivals, self.rows, self.n_keys, new, self.n_windows)


class Filled:
    """A window with its tuples, basic window by basic window, and the files of their indexes."""

    def __init__(self, about: Stored, folder: Path, seed: int) -> None:
        self.about = about
        self.random = np.random.default_rng([seed, about.rows, about.n_keys, about.n_windows])
        keys = self.random.integers(0, about.n_keys, about.rows)
        split = (np.array_split(each, about.n_windows) for each in (keys, np.arange(about.rows)))
        self.windows: list[_Rows] = list(zip(*split, strict=True))
        name = "_".join(map(str, (seed, *vars(about).values())))
        self.files = [folder / f"{name}_{n}" for n in range(about.n_windows)]
        for file, window in zip(self.files, self.windows, strict=True):
            _keep(file, window)

    def work(self, method: Method, arrivals: int) -> Work:
        """What a method does in a batch; each has other arrivals, which no processor can learn."""
        keys = self.random.integers(0, self.about.n_keys, (max(1, _DRAWN // arrivals), arrivals))
        times, batches = np.full(arrivals, self.about.rows), cycle(keys)
        if method == "hash":
            return lambda: self._hash((next(batches), times))
        if method == "nested":
            return lambda: self._scan((next(batches), times))
        return lambda: self._stream(HashIndex.build(next(batches), times))

    def _hash(self, rows: _Rows) -> int:
        if self.about.grows:
            _keep(self.files[0].with_suffix(".new"), rows)
        maps = (pa.memory_map(str(file)).read_buffer() for file in self.files)
        return sum(_drain(HashIndex.from_buffer(mapped), rows) for mapped in maps)

    def _scan(self, rows: _Rows) -> int:
        return sum(_drain(ListIndex.build(*window), rows) for window in self.windows)

    def _stream(self, index: HashIndex) -> int:
        return sum(_drain(index, window) for window in self.windows)


def _keep(file: Path, rows: _Rows) -> None:
    """Make an index and write it to a file, and remove the one before."""
    file.unlink(missing_ok=True)
    draft = file.with_suffix(".draft")
    draft.write_bytes(HashIndex.build(*rows).to_bytes())
    draft.rename(file)


def _drain(index: HashIndex | ListIndex, rows: _Rows) -> int:
    """Find all pairs and let them go, as a join that hands its output on does."""
    return sum(len(a) for a, _ in index.probe_chunks(*rows, -ALWAYS, ALWAYS, MAX_PAIRS))


class Case(NamedTuple):
    """A batch that one method has to match."""

    stored: Stored
    arrivals: int
    method: Method


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
    filled = {stored: Filled(stored, folder, seed) for stored in dict.fromkeys(c[0] for c in cases)}
    works: list[Work] = [filled[stored].work(method, n) for stored, n, method in cases]
    return [1e9 * best for best in best_times(works, seconds)]


def measure_operations(quick: bool) -> OperationCosts:
    """Least squares of relative errors over sizes of windows and batches, and numbers of keys."""
    cases = cases_of(*_grid(quick))
    with TemporaryDirectory() as name:
        folder = Path(name)
        times = times_of(cases, 1, folder, SECONDS[quick])
        invalidate = _removing(folder)
    counts = [_counts(method, stored.load(n)) for stored, n, method in cases]
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


class Timed(NamedTuple):
    """A case with its predicted and its measured nanoseconds."""

    case: Case
    predicted: float
    measured: float


def judge(operations: OperationCosts, quick: bool) -> tuple[Calibration, list[Timed]]:
    """Compare predictions with measurements; the largest loss of all settings counts."""
    windows, arrivals = _settings(quick)
    cases = cases_of(windows, arrivals)
    with TemporaryDirectory() as folder:
        measured = times_of(cases, 3, Path(folder), SECONDS[quick])
    shared = replace(operations, invalidate=0.0)  # no method differs in it, so it is not timed
    predicted = [costs_of(stored.load(n), shared)[method] for stored, n, method in cases]
    timed = [Timed(*each) for each in zip(cases, predicted, measured, strict=True)]
    settings = groupby(timed, key=lambda each: each.case[:2])
    calibration = Calibration(
        operations=operations,
        batch_fit=Fit.of(predicted, measured, logs=True),
        batch_loss=max(loss_of(list(methods)) for _, methods in settings),
        crossovers=tuple(each for window in windows for each in _crossovers(window, timed)),
    )
    return calibration, timed


def _settings(quick: bool) -> tuple[list[Stored], list[int]]:
    windows = [
        Stored(3_000, 1_500, 2),
        Stored(5_000, 200, 5, grows=True),
        Stored(40_000, 160_000, 3, grows=True),
        Stored(200_000, 50_000, 5),
    ]
    if not quick:
        windows += [
            Stored(15_000, 300, 6),
            Stored(60_000, 5_000, 8),
            Stored(250_000, 1_000_000, 3, grows=True),
            Stored(500_000, 20_000, 3, grows=True),
            Stored(700_000, 300_000, 6),
        ]
    most, steps = (20_000, 8) if quick else (200_000, 14)
    return windows, [round(float(n)) for n in np.geomspace(1, most, steps)]


def loss_of(methods: Sequence[Timed]) -> float:
    """How much more the method with the least predicted cost costs than the best one."""
    chosen = min(methods, key=lambda each: each.predicted)
    return chosen.measured / min(each.measured for each in methods) - 1


def _crossovers(window: Stored, timed: Sequence[Timed]) -> list[Crossover]:
    """Where two methods cost the same for a window, for all pairs of methods that cross."""
    found = []
    for pair in PAIRS:
        first, second = (
            {each.case.arrivals: each for each in timed if each.case[::2] == (window, method)}
            for method in pair
        )
        both = [(first[n], second[n]) for n in sorted(first.keys() & second.keys())]
        at = [a.case.arrivals for a, _ in both]
        predicted = crossing(at, *([each[i].predicted for each in both] for i in (0, 1)))
        measured = crossing(at, *([each[i].measured for each in both] for i in (0, 1)))
        if predicted is not None or measured is not None:
            loss = max(loss_of(each) for each in both)
            found.append(Crossover("|".join(pair), window.rows, predicted, measured, loss))
    return found


def measure(quick: bool, progress: Callable[[str], None]) -> Calibration:
    """Measure this machine; takes under a minute, `quick` a few seconds.

    Other work on the machine makes it less exact: each timing is the best of several.

    Parameters
    ----------
    quick
        Fewer sizes and fewer repetitions.
    progress
        Is told in a few words what is measured next.
    """
    progress("micro-batches: cost of the operations of nested, hash and batch")
    operations = measure_operations(quick)
    progress("micro-batches: predicted against measured, and where the methods cost the same")
    return judge(operations, quick)[0]
