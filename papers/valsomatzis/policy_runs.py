"""All orders on all data sets with both periods: Tables 4 and 5, Figures 5 to 8."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from papers.base import Context, Numbers
from papers.operators.nary_window import NaryRun
from papers.valsomatzis.comparison import Compared, FloatArray, Model, batches
from papers.valsomatzis.nary_streams import DATA_SETS, DURATION, DataSet, NaryStreams
from papers.valsomatzis.printed import EARLY, PERIODS, TIMES, TIMESTAMP, Period
from papers.valsomatzis.workload import (
    STEPS,
    Runs,
    Streams,
    orders_of,
    rotated,
    scale,
    seeds,
    warm,
)

FITTED: Final[tuple[DataSet, Period]] = ("I", "1M")
"""The case from which the model's one constant comes (VAL-I5)."""
BEST: Final[tuple[DataSet, Period]] = ("V", "1M")
"""The case with the largest printed gain: half of the time."""
_INTERVALS: Final = 200


class Driven(NamedTuple):
    """Of one stream: its share of the results, and its time, timestamp order's being 1."""

    results: float
    time: float


AllRuns = dict[tuple[DataSet, Period], Runs]


def policies(context: Context) -> Numbers:
    """Run all, in turns, and compare each with timestamp order of the same repetition."""
    runs = _run_all(context)
    model = _fitted(runs[FITTED], float(np.mean([TIMES[order][FITTED] for order in EARLY])))
    compared = {
        case: {o: Compared.of(each, found[TIMESTAMP], model) for o, each in found.items()}
        for case, found in runs.items()
    }
    measured = [compared[FITTED][order].time["all"].mean for order in EARLY]
    return {
        "compared": compared,
        "per_change": model.per_change,
        "per_change_here": _fitted(runs[FITTED], float(np.mean(measured))).per_change,
        "per_change_needed": Model.fitted(
            runs[BEST]["initial-output-size"],
            runs[BEST][TIMESTAMP],
            TIMES["initial-output-size"][BEST],
        ).per_change,
        "same_results": all(_same(found) for found in runs.values()),
        "by_driver": {
            case: _by_driver(found["output-rate"], found[TIMESTAMP]) for case, found in runs.items()
        },
        "begins_with_third": {
            case: _begins_with(2, found["initial-output-size"]) for case, found in runs.items()
        },
    }


def _run_all(context: Context) -> AllRuns:
    warm()
    runs: AllRuns = {
        (name, period): {order: [] for order in orders_of(name)}
        for name in DATA_SETS
        for period in PERIODS
    }
    for name in DATA_SETS:
        streams = Streams(name, scale(context), 0)
        for turn, seed in enumerate(seeds(context)):
            context.progress(f"data set {name}, repetition {turn + 1}")
            if streams.seed != seed:
                streams = Streams(name, scale(context), seed)
            for period, units in PERIODS.items():
                for order in rotated(orders_of(name), turn):
                    run = streams.run(order, units, STEPS[period])
                    runs[name, period][order].append(run)
    return runs


def _fitted(found: Runs, ratio: float) -> Model:
    """The cost of a change with which the early orders take this share of the time."""
    early = [run for order in EARLY for run in found[order]]
    return Model.fitted(early, found[TIMESTAMP] * len(EARLY), ratio)


def _same(found: Runs) -> bool:
    """Whether all orders gave the same results in each repetition (VAL-U5)."""
    prints = [[run.fingerprint for run in each] for each in found.values()]
    return all(each == prints[0] for each in prints)


def _by_driver(runs: list[NaryRun], base: list[NaryRun]) -> list[Driven]:
    """What each stream brings and takes where buffers are drained one after the other."""
    shares, whole = np.zeros((runs[0].left.shape[2], 2)), 0.0
    for run, other in zip(runs, base, strict=True):
        part = batches(len(run.tuples), "all")
        waiting = np.concatenate([run.waiting[part, None], run.left[part]], axis=1)
        drives = np.diff(waiting, axis=1) < 0
        shares[:, 0] += (run.results[part, :, None] * drives).sum(axis=(0, 1))
        shares[:, 1] += (run.seconds[part, :, None] * drives).sum(axis=(0, 1))
        whole += other.seconds[part].sum()
    shares /= shares[:, 0].sum(), whole
    return [Driven(*each) for each in shares.tolist()]


def _begins_with(stream: int, runs: list[NaryRun]) -> float:
    """Share of the batches in which a stream is drained first."""
    parts = [(run, batches(len(run.tuples), "all")) for run in runs]
    first = [run.left[part, 0, stream] < run.waiting[part, stream] for run, part in parts]
    return float(np.mean(first))


def most_by(drivers: Sequence[Driven], time: float) -> float:
    """The most results by a time if the best streams are drained first.

    Examples
    --------
    >>> most_by([Driven(0.5, 0.4), Driven(0.5, 0.1)], 0.3)
    0.75
    """
    found = 0.0
    for each in sorted(drivers, key=lambda each: -each.results / max(each.time, 1e-12)):
        part = min(1.0, time / max(each.time, 1e-12))
        found, time = found + part * each.results, max(0.0, time - each.time)
    return found


def arrivals(context: Context) -> Numbers:
    """Tuples of each stream by time (Figure 5), and all results (VAL-U1)."""
    rates: dict[DataSet, list[FloatArray]] = {}
    for name in DATA_SETS:
        drawn = NaryStreams(name, scale(context), context.seeds[0]).draw()
        bounds = np.linspace(0, DURATION, _INTERVALS + 1)
        rates[name] = [
            np.histogram(each.times, bounds)[0] * (_INTERVALS / DURATION / scale(context))
            for each in drawn
        ]
    return {
        "times": (np.arange(_INTERVALS) + 0.5) * DURATION / _INTERVALS,
        "rates": rates,
        "results": {name: NaryStreams(name).keys.results for name in DATA_SETS},
    }
