"""Figures 9.a, 9.b and 9.d: stale results without a cover, and what a cover costs."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from papers.base import Context, Numbers
from papers.jaqpot.plan_streams import Parameters
from papers.jaqpot.workload import (
    FRESHNESS,
    HEURISTICS,
    SHAPES,
    SMALL,
    TABLE_3,
    Limits,
    Setting,
    run,
)
from papers.measurement import Measurement
from papers.operators.plan_window import PlanTrace
from streamjoin.planning.many.cover import Share, refresh_rates
from streamjoin.planning.many.jaqpot import jaqpot
from streamjoin.planning.many.plan_model import PlanModel
from streamjoin.planning.many.tree import Tree

UNCOVERED: Final = ("grepp", *HEURISTICS)
MU: Final = 300.0
_POPULATIONS: Final = {"table 3": TABLE_3, "small": SMALL}


def figure_9(context: Context) -> Numbers:
    """Share of stale results by planner and freshness, mu = 300 and no cover."""
    return {
        name: {shape: _stale(context, tree, parameters, name) for shape, tree in SHAPES.items()}
        for name, parameters in _POPULATIONS.items()
    }


def _stale(context: Context, tree: Tree, parameters: Parameters, name: str) -> dict[str, Any]:
    n, seconds = (2, 14) if context.quick else (8, 90)
    if parameters is SMALL:
        n //= 2
    shares: dict[str, list[list[float]]] = {planner: [] for planner in UNCOVERED}
    for i in range(n):
        context.progress(f"{tree.shape}, {name}, plan {i}")
        setting = Setting.draw(tree, parameters, (i, 14))
        traces = setting.traces(seconds, i)
        for planner in UNCOVERED:
            shares[planner].append(stale_shares(setting, traces, planner, seconds))
    return {
        planner: [Measurement.of(list(each)) for each in zip(*values, strict=True)]
        for planner, values in shares.items()
    }


def stale_shares(
    setting: Setting, traces: list[PlanTrace], planner: str, seconds: int
) -> list[float]:
    """For each freshness the stale part of the results of the second half."""
    found = []
    for windows in FRESHNESS:
        limits = Limits(MU, setting.freshness_s(windows), cover=False)
        made, _ = run(setting.model, traces, planner, limits, seconds)
        found.append(made.stale_share(seconds // 2))
    return found


def cover_costs(context: Context) -> Numbers:
    """Part of mu that GH-WMSCP's cover takes, and plans that have none (JAQ-C27, C28).

    In the model, with mu from 0 to saturation, as in Table 3.
    """
    context.progress("covers")
    n = 40 if context.quick else 1000
    return {
        name: {share: _costs(parameters, share, n) for share in ("equal", "best")}
        for name, parameters in _POPULATIONS.items()
    }


def _costs(parameters: Parameters, share: Share, n: int) -> dict[str, Any]:
    used: dict[str, list[float]] = {}
    missing = []
    for shape, tree in SHAPES.items():
        for windows in FRESHNESS:
            found = [
                _cost(Setting.draw(tree, parameters, (i, 15)), windows, share, i) for i in range(n)
            ]
            missing += [(shape, windows)] * found.count(None)
            used.setdefault(shape, []).append(float(np.mean([f for f in found if f is not None])))
    total, infeasible = n * len(SHAPES) * len(FRESHNESS), len(missing)
    return {
        "used": used,
        "infeasible": infeasible / total,
        "at 1.5": _part(sum(windows == FRESHNESS[0] for _, windows in missing), infeasible),
        "bushy": _part(sum(shape == "bushy" for shape, _ in missing), infeasible),
    }


def _cost(setting: Setting, windows: float, share: Share, seed: int) -> float | None:
    """The cover's part of mu, None if there is no cover."""
    model = setting.model
    mu = float(np.random.default_rng((seed, 16)).random()) * model.saturation_resources
    found = jaqpot(model, mu, refresh_rates(model, setting.freshness_s(windows), share=share))
    return None if found.infeasible else found.cover / mu


def _part(count: int, total: int) -> float:
    return count / total if total else 0.0


def guarantee(context: Context) -> Numbers:
    """Stale results of plans whose states are covered (JAQ-C31), and of the same uncovered."""
    n, seconds = (3, 12) if context.quick else (15, 30)
    covered: dict[str, list[float]] = {}
    for shape, tree in SHAPES.items():
        for i in _feasible(tree, n):
            context.progress(f"{shape}, plan {i}")
            setting = Setting.draw(tree, SMALL, (i, 17))
            model, traces = setting.model, setting.traces(seconds, i)
            limits = Limits(_mu(model), setting.freshness_s(FRESHNESS[1]))
            for planner in ("jaqpot", "grepp"):
                made, _ = run(model, traces, planner, limits, seconds)
                covered.setdefault(planner, []).append(made.stale_share(seconds // 2))
    return {"shares": covered, "plans": len(covered["jaqpot"])}


def _mu(model: PlanModel) -> float:
    return 0.3 * model.saturation_resources


def _feasible(tree: Tree, n: int) -> Sequence[int]:
    """The first plans that have a cover, and that make few enough results to look at each."""
    found: list[int] = []
    seed = 0
    while len(found) < n:
        setting = Setting.draw(tree, SMALL, (seed, 17))
        model = setting.model
        refresh = refresh_rates(model, setting.freshness_s(FRESHNESS[1]))
        few = 0.3 * model.saturation_throughput < _MOST_RESULTS
        if few and jaqpot(model, _mu(model), refresh).infeasible is None:
            found.append(seed)
        seed += 1
    return found


_MOST_RESULTS: Final = 300_000
