"""Figures 8, 9.c and 9.d on sensor readings (JAQ-C20 to C23, C26 to C28).

A seed is a day of the recorded readings, from midnight on; without recorded ones it is other
readings. See `workloads.sensors` for what is joined and how time is compressed.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np

from papers.base import Context, Numbers
from papers.jaqpot.sensors import DAYS, Readings, readings
from papers.jaqpot.staleness_runs import MU, UNCOVERED
from papers.jaqpot.workload import COMPARED, FRESHNESS, HEURISTICS, Limits, run
from papers.measurement import Measurement
from papers.operators.plan_window import PlanTrace
from streamjoin.planning.many.plan_model import PlanModel
from streamjoin.planning.many.tree import Tree

PLAN: Final = Tree.parse("((a b)(c d)) e")
WINDOW: Final = 1000
"""Tuples of each state."""
LIMITS: Final = (300.0, 600.0, 900.0)
WARM_UP_S: Final = 120
"""States are full after about 70 s."""
DAY_S: Final = 1200
AVERAGED_S: Final = 60
"""Seconds that planners look back."""
_RATE: Final = 15.0
_SIGMA: Final = 0.02
PREDICATE: Final = 3.0
"""Freshness in windows for Figure 8, where the paper states none."""


def figure_8(context: Context) -> Numbers:
    """Results by planner under three limits."""
    end, days = _span(context)
    found: dict[float, dict[str, Any]] = {}
    made: dict[tuple[float, str], list[Any]] = {}
    stale: dict[tuple[float, str], list[float]] = {}
    for day in days:
        traces = _traces(day, end)
        for mu in LIMITS:
            context.progress(f"mu = {mu:g}, day {day}")
            for planner in COMPARED:
                each, _ = run(_model(), traces, planner, _limits(mu, PREDICATE, True), end)
                made.setdefault((mu, planner), []).append(each.made[WARM_UP_S:])
                stale.setdefault((mu, planner), []).append(each.stale_share(WARM_UP_S))
    for mu in LIMITS:
        series = {planner: made[mu, planner] for planner in COMPARED}
        found[mu] = {
            **_compared(series),
            "stale": {p: Measurement.of(stale[mu, p]) for p in COMPARED},
        }
    return {"recorded": _readings(0).recorded, "mu": found}


def _span(context: Context) -> tuple[int, Sequence[int]]:
    """Seconds of a run, and days."""
    return (420, context.seeds[:1]) if context.quick else (DAY_S, context.seeds)


@lru_cache(maxsize=5)
def _readings(seed: int) -> Readings:
    return readings(seed)


def _traces(seed: int, seconds: int) -> list[PlanTrace]:
    found = _readings(0)
    if not found.recorded:
        found = _readings(seed)
    streams = found.streams(seed % DAYS, seconds)
    return [PlanTrace(each.times, each.left, each.right) for each in streams]


def _model() -> PlanModel:
    """What is expected before anything was seen."""
    k = PLAN.n_streams
    return PlanModel.of(PLAN, [_RATE] * k, [float(WINDOW)] * PLAN.root, [_SIGMA] * (k - 1))


def _limits(mu: float, windows: float, cover: bool) -> Limits:
    fresh = (windows * WINDOW / _RATE,) * PLAN.n_streams
    return Limits(mu, fresh, cover=cover, adapt=AVERAGED_S)


def _compared(series: dict[str, list[Any]]) -> dict[str, Any]:
    """JAQPOT over the best heuristic of each day: on average, and at most up to any minute."""
    totals = {planner: np.array([s.sum() for s in each]) for planner, each in series.items()}
    best = np.max([totals[planner] for planner in HEURISTICS], axis=0)
    minutes = {
        planner: np.cumsum(np.mean(each, axis=0))[59::60] for planner, each in series.items()
    }
    leader = np.max([minutes[planner] for planner in HEURISTICS], axis=0)
    means = {planner: float(totals[planner].mean()) for planner in HEURISTICS}
    return {
        "cumulative": minutes,
        "rates": {
            planner: Measurement.of([float(s.mean()) for s in each])
            for planner, each in series.items()
        },
        "ratio": Measurement.of((totals["jaqpot"] / best).tolist()),
        "most": float(np.max(minutes["jaqpot"] / leader)),
        "leaders": sorted(HEURISTICS, key=lambda planner: -means[planner]),
        "of leader": {planner: mean / max(means.values()) for planner, mean in means.items()},
    }


def figure_9c(context: Context) -> Numbers:
    """Stale results without a cover, and JAQPOT's cover, at mu = 300."""
    end, days = _span(context)
    days = days[:3]
    stale = {}
    for planner in UNCOVERED:
        context.progress(f"stale results of {planner}")
        stale[planner] = [_stale(planner, windows, days, end) for windows in FRESHNESS]
    context.progress("covers")
    return {
        "recorded": _readings(0).recorded,
        "stale": stale,
        "covers": {windows: _covers(windows, days, end) for windows in FRESHNESS},
    }


def _stale(planner: str, windows: float, days: Sequence[int], end: int) -> Measurement:
    found = [
        run(_model(), _traces(day, end), planner, _limits(MU, windows, False), end)[0]
        for day in days
    ]
    return Measurement.of([each.stale_share(WARM_UP_S) for each in found])


def _covers(windows: float, days: Sequence[int], end: int) -> dict[str, float]:
    """JAQPOT's cover as a part of mu, over its analyses, and how many of these found none."""
    found = []
    for day in days:
        _, policy = run(_model(), _traces(day, end), "jaqpot", _limits(MU, windows, True), end)
        found += policy.found
    used = [each.cover / MU for each in found if each.infeasible is None]
    return {
        "used": float(np.mean(used)) if used else float("nan"),
        "infeasible": sum(each.infeasible is not None for each in found) / len(found),
    }
