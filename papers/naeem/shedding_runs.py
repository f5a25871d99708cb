"""Figures 4, 7 and 8, Lemma 1 and Theorem 1: what is shed, and where the queue is looked up."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from papers.base import Context, Numbers
from papers.measurement import Measurement
from papers.naeem.workload import Setting, foreign_keys, measured, n_table
from papers.operators.semi_stream import SemiStreamRun, Totals
from papers.operators.semi_stream_costs import NETWORK, Prices

TUNED: Final = 0.15
"""The paper's best look-up position."""
VARIANTS: Final = ("tuned, network", "tuned, disk", "untuned, disk", "upfront, disk", "MESHJOIN")
RAMP: Final = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0)
"""Arrival rate in each part of Figure 8, over what CHYBRIDJOIN can serve without shedding."""
LOAD: Final = 3.0
_WARM_UP: Final = 4.0  # turns of H_S, at less than the capacity
_WARM_LOAD: Final = 0.8
_BINS: Final = 10


@dataclass(frozen=True)
class Loaded:
    """A run under arrival rates in steps: what was counted in the second half of each."""

    steps: tuple[Totals, ...]
    capacity: float
    run: SemiStreamRun


def loaded(
    setting: Setting, capacity: float, loads: tuple[float, ...], turns: float, seed: int
) -> Loaded:
    """Run under loads that are shares of a capacity, each as long as so many turns take there."""
    warm = setting.turns(_WARM_UP)
    each = setting.turns(turns)
    halves = np.repeat(loads, 2)
    counts = [warm, *(max(1, int(load * each / 2)) for load in halves)]
    gaps = [1 / (load * capacity) for load in (_WARM_LOAD, *halves)]
    arrivals = np.cumsum(np.repeat(gaps, counts))
    run = setting.start(seed, len(arrivals), arrivals)
    ends = [float(arrivals[end - 1]) for end in np.cumsum(counts)]
    found = []
    for middle, end in zip(ends[1::2], ends[2::2], strict=True):
        run.advance(until_s=middle)
        before = run.totals
        run.advance(until_s=end)
        found.append(run.totals - before)
    return Loaded(tuple(found), capacity, run)


def capacity_of(setting: Setting, seed: int) -> float:
    """Service rate of the same join when a stream is always there and nothing is shed."""
    return measured(replace(setting, shedding="none", position=1.0), seed).service_rate


def figure_4(context: Context) -> Numbers:
    """The service rate follows the arrival rate up to a point."""
    loads = (0.25, 0.5, 0.75, 0.95, 1.2, 1.6, 2.0)
    setting = Setting(n_table(context))
    found: list[list[float]] = [[] for _ in loads]
    for seed in context.seeds:
        capacity = capacity_of(setting, seed)
        run = loaded(setting, capacity, loads, 2.0, seed)
        for i, step in enumerate(run.steps):
            found[i].append(step.service_rate / capacity)
    return {"loads": loads, "served": [Measurement.of(each) for each in found]}


def figure_7(context: Context) -> Numbers:
    """Service rate by look-up position under shedding, with and without a front stage."""
    positions = (
        (0.0, TUNED, 0.5, 1.0)
        if context.quick
        else (0.0, 0.05, 0.1, TUNED, 0.2, 0.3, 0.5, 0.75, 1.0)
    )
    n = n_table(context)
    cases = {
        "CHYBRIDJOIN, scattered": Setting(n),
        "CHYBRIDJOIN, clustered": Setting(n, clustered=True),
        "HYBRIDJOIN, scattered": Setting(n, front_share=0.0),
        "HYBRIDJOIN, clustered": Setting(n, front_share=0.0, clustered=True),
    }
    found: dict[str, dict[str, list[Measurement]]] = {}
    for name, case in list(cases.items())[:: 2 if context.quick else 1]:
        context.progress(name)
        runs = [_at(context, case, position) for position in positions]
        found[name] = {
            "rate": [Measurement.of([a for a, _ in each]) for each in runs],
            "matches": [Measurement.of([b for _, b in each]) for each in runs],
        }
    return {"positions": positions, "found": found}


def _at(context: Context, case: Setting, position: float) -> list[tuple[float, float]]:
    """Service rate over the capacity, and matches of a partition, for each seed."""
    setting = replace(case, shedding="considering", position=position)
    found = []
    for seed in context.seeds[:3]:
        capacity = capacity_of(case, seed)
        last = loaded(setting, capacity, (LOAD,), _turns(case), seed).steps[-1]
        found.append((last.service_rate / capacity, last.matches_per_load))
    return found


def figure_8(context: Context) -> Numbers:
    """Service rates under a ramp of arrival rates, by what is shed and where to."""
    n = n_table(context)
    network = Prices(spill=NETWORK)
    settings = {
        "tuned, network": Setting(n, shedding="considering", position=TUNED, prices=network),
        "tuned, disk": Setting(n, shedding="considering", position=TUNED),
        "untuned, disk": Setting(n, shedding="considering"),
        "upfront, disk": Setting(n, shedding="upfront"),
        "MESHJOIN": Setting(n, "mesh", 0.0, shedding="upfront"),
        "HYBRIDJOIN, tuned": Setting(n, front_share=0.0, shedding="considering", position=TUNED),
        "HYBRIDJOIN, untuned": Setting(n, front_share=0.0, shedding="considering"),
        "HYBRIDJOIN, upfront": Setting(n, front_share=0.0, shedding="upfront"),
    }
    found: dict[str, list[Loaded]] = {}
    for name, setting in settings.items():
        context.progress(name)
        own = Setting(n, front_share=0.0) if name.startswith("HYBRIDJOIN") else Setting(n)
        turns = _turns(own) if context.quick else 2 * _turns(own)
        found[name] = [
            loaded(setting, capacity_of(own, seed), RAMP, turns, seed) for seed in context.seeds
        ]
    return {
        "loads": RAMP,
        "rates": {name: _by_step(runs, _served) for name, runs in found.items()},
        "matches": {name: _by_step(runs, _matched) for name, runs in found.items()},
        "over upfront": {
            name: {
                "rate": _over(found[one], found[other], _served),
                "matches": _over(found[one], found[other], _matched),
            }
            for name, one, other in (
                ("CHYBRIDJOIN", "tuned, disk", "upfront, disk"),
                ("HYBRIDJOIN", "HYBRIDJOIN, tuned", "HYBRIDJOIN, upfront"),
            )
        },
    }


def _turns(setting: Setting) -> float:
    """How long a step lasts; without a front stage popular keys are served in bursts."""
    return 1.5 if setting.front_share else 4.0


def _served(run: Loaded, step: int) -> float:
    return run.steps[step].service_rate / run.capacity


def _matched(run: Loaded, step: int) -> float:
    return run.steps[step].matches_per_load


def _by_step(runs: list[Loaded], value: Callable[[Loaded, int], float]) -> list[Measurement]:
    return [Measurement.of([value(run, i) for run in runs]) for i in range(len(RAMP))]


def _over(
    ones: list[Loaded], others: list[Loaded], value: Callable[[Loaded, int], float]
) -> Measurement:
    """One over the other in the last step, each seed for itself."""
    pairs = zip(ones, others, strict=True)
    return Measurement.of([value(one, -1) / value(other, -1) for one, other in pairs])


def queue(context: Context) -> Numbers:
    """Mean stream probability of the partitions of queued tuples, by position (Lemma 1)."""
    n = n_table(context)
    tuned = Setting(n, shedding="considering", position=TUNED)
    cases = {
        "HYBRIDJOIN": Setting(n, front_share=0.0),
        "HYBRIDJOIN, tuned, shedding": tuned.uncached(),
        "CHYBRIDJOIN": Setting(n),
        "CHYBRIDJOIN, tuned, shedding": tuned,
        "CHYBRIDJOIN, tuned, shedding, clustered": replace(tuned, clustered=True),
    }
    found: dict[str, list[Measurement]] = {}
    for name, setting in cases.items():
        by_seed = [_by_position(setting, seed) for seed in context.seeds[:3]]
        found[name] = [Measurement.of(values) for values in np.transpose(by_seed)]
    return {"found": found, "bins": _BINS}


def _by_position(setting: Setting, seed: int) -> list[float]:
    """In tenths of the queue, newest first, over the mean of all; at some moments of a run."""
    size = setting.split.partition
    shares = np.add.reduceat(
        foreign_keys(setting.n, setting.skew, seed, setting.clustered).shares,
        np.arange(0, setting.n, size),
    )
    load = LOAD if setting.shedding == "considering" else 20.0  # a buffer that is never empty
    first, last, n_moments = setting.turns(4), setting.turns(6), 8
    arrivals = np.arange(2 * int(last * LOAD)) / (load * capacity_of(setting, seed))
    run = setting.start(seed, len(arrivals), arrivals)
    sums = np.zeros(_BINS)
    for served in np.linspace(first, last, n_moments):
        run.advance(served=int(served))
        sums += [part.mean() for part in np.array_split(shares[run.queued // size], _BINS)]
    means: list[float] = (sums / sums.mean()).tolist()
    return means
