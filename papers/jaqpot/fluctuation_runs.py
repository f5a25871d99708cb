"""Figure 6: results while selectivities change, and what windows and rates do (JAQ-C15 to C17).

The paper's ten minutes run in 200 s, with its changes at the same parts of them: nothing in a plan
lasts longer than a state, 3 to 10 s. Rates and sizes are not printed (JAQ-I11).
"""

from dataclasses import replace
from itertools import pairwise
from typing import Any, Final

import numpy as np

from papers.base import Context, Numbers
from papers.jaqpot.plan_streams import SEL, Parameters, PlanStreams, Range
from papers.jaqpot.workload import (
    COMPARED,
    HEURISTICS,
    LINEAR,
    SHAPES,
    Limits,
    Setting,
    recorded,
    results,
    run,
)
from papers.measurement import Measurement
from streamjoin.planning.many.planners import analyse
from streamjoin.planning.many.tree import Tree

SHARE: Final = 0.3
"""Of the resources of saturation at SEL1; they stay when selectivities change."""
WINDOWS: Final = 1.5
NUMBERS: Final = Parameters(rates=Range(300, 600), sizes=Range(1500, 3000))
"""States large enough that this freshness can be had all the time."""
QUICK: Final = Parameters(rates=Range(300, 600), sizes=Range(700, 1400))
_PAPER_S: Final = 600
_SETTLED: Final = 0.3
"""Part of a phase after which the states hold its keys only and planners have followed."""


def figure_6(context: Context) -> Numbers:
    """Results by planner, in each of the three phases."""
    seconds = 60 if context.quick else 200
    return {
        "seconds": seconds,
        **{shape: _shape(context, tree, seconds) for shape, tree in SHAPES.items()},
    }


def _shape(context: Context, tree: Tree, seconds: int) -> dict[str, Any]:
    numbers, seeds = (QUICK, context.seeds[:1]) if context.quick else (NUMBERS, context.seeds[:3])
    made: dict[str, list[Any]] = {planner: [] for planner in COMPARED}
    predicted: dict[str, list[list[float]]] = {planner: [] for planner in COMPARED}
    infeasible = 0
    for seed in seeds:
        context.progress(f"{tree.shape}, seed {seed}")
        setting = replace(Setting.draw(tree, numbers, (seed, 6)), sigmas=SEL[0][1])
        mu, fresh = SHARE * setting.model.saturation_resources, setting.freshness_s(WINDOWS)
        steps = tuple((at * seconds / _PAPER_S, setting.neighbours(sel)) for at, sel in SEL)
        traces = recorded(PlanStreams(setting.rates, steps, seconds, seed).draw())
        limits = Limits(mu, fresh, check=False, adapt=max(2, seconds // 20))
        for planner in COMPARED:
            found, policy = run(setting.model, traces, planner, limits, seconds)
            made[planner].append(found.made)
            infeasible += sum(each.infeasible is not None for each in policy.found)
            predicted[planner].append(
                [_predicted(replace(setting, sigmas=sel), planner, mu, fresh) for _, sel in SEL]
            )
    phases = _phases(seconds)
    by_phase = {
        planner: [[results_of(series, *phase) for phase in phases] for series in each]
        for planner, each in made.items()
    }
    return {
        "cumulative": {p: np.cumsum(np.mean(each, axis=0)) for p, each in made.items()},
        "phases": {p: _measured(each) for p, each in by_phase.items()},
        "model": {p: np.mean(each, axis=0).tolist() for p, each in predicted.items()},
        "steps": {p: _steps(each) for p, each in by_phase.items()},
        "total": {p: Measurement.of([float(s.mean()) for s in each]) for p, each in made.items()},
        "ratio": _ratio(made),
        "infeasible": infeasible,
    }


def _ratio(made: dict[str, list[Any]]) -> dict[str, Any]:
    """JAQPOT over the best heuristic of each seed."""
    totals = {planner: np.array([s.sum() for s in each]) for planner, each in made.items()}
    ratios = totals["jaqpot"] / np.max([totals[p] for p in HEURISTICS], axis=0)
    return {"mean": Measurement.of(ratios.tolist()), "least": float(ratios.min())}


def _predicted(setting: Setting, planner: str, mu: float, fresh: tuple[float, ...]) -> float:
    model = setting.model
    return model.throughput(analyse(planner, model, mu, fresh).allocation.allowances)


def _phases(seconds: int) -> list[tuple[int, int]]:
    """The settled part of each phase."""
    ends = [round(at * seconds / _PAPER_S) for at, _ in SEL] + [seconds]
    return [(round(begin + _SETTLED * (end - begin)), end) for begin, end in pairwise(ends)]


def results_of(series: Any, begin: int, end: int) -> float:
    """Results a second of a series."""
    return float(np.mean(series[begin:end]))


def _measured(by_seed: list[list[float]]) -> list[Measurement]:
    return [Measurement.of(list(values)) for values in zip(*by_seed, strict=True)]


def _steps(by_seed: list[list[float]]) -> dict[str, Measurement]:
    """Growth when the two lower joins' selectivities triple, and when the root's doubles."""
    return {
        "lower tripled": Measurement.of([two / one for one, two, _ in by_seed]),
        "root doubled": Measurement.of([three / two for _, two, three in by_seed]),
    }


def variation(context: Context) -> Numbers:
    """What JAQPOT gains when selectivities, windows or rates of lower joins triple (JAQ-C17)."""
    numbers = Parameters(rates=Range(300, 600), sizes=Range(300, 600))
    seconds = 30 if context.quick else 60
    gains: dict[str, list[float]] = {}
    for seed in context.seeds[: 1 if context.quick else 3]:
        setting = replace(Setting.draw(LINEAR, numbers, (seed, 7)), sigmas=SEL[0][1])
        limits = Limits(SHARE * setting.model.saturation_resources, check=False)
        base = _output(setting, limits, seconds, seed)
        for name, changed in _changed(setting).items():
            gains.setdefault(name, []).append(_output(changed, limits, seconds, seed) / base)
    return {"gains": {name: Measurement.of(values) for name, values in gains.items()}}


def _changed(setting: Setting) -> dict[str, Setting]:
    """States of a, b, c and ab are what the two lower joins probe."""
    one, two, root = setting.sigmas
    below = (3, 3, 3, 1, 3, 1)
    sizes = tuple(size * times for size, times in zip(setting.sizes, below, strict=True))
    rates = tuple(rate * times for rate, times in zip(setting.rates, below, strict=False))
    return {
        "selectivities": replace(setting, sigmas=(3 * one, 3 * two, root)),
        "windows": replace(setting, sizes=sizes),
        # Windows of the same time hold three times as many.
        "rates": replace(setting, sizes=sizes, rates=rates),
    }


def _output(setting: Setting, limits: Limits, seconds: int, seed: int) -> float:
    found, _ = run(setting.model, setting.traces(seconds, seed), "jaqpot", limits, seconds)
    return results(found, seconds // 2)
