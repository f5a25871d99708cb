"""Figure 7: results against resources, from none to saturation (JAQ-C18, C19).

Plans with numbers from all of Table 3 make up to thousands of millions of results a second, so they
are evaluated in the model; plans from its small end are run, tuple by tuple, and show that it is
right.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from papers.base import Context, Numbers
from papers.jaqpot.workload import (
    COMPARED,
    FRESHNESS,
    HEURISTICS,
    SHAPES,
    SMALL,
    TABLE_3,
    Limits,
    Setting,
    results,
    run,
)
from papers.measurement import Measurement
from streamjoin.planning.many.cover import refresh_rates
from streamjoin.planning.many.planners import allocate
from streamjoin.planning.many.tree import Tree

SHARES: Final = tuple(round(0.1 * i, 1) for i in range(1, 11))
"""Resources as parts of those at saturation."""
MEASURED: Final = (0.2, 0.4, 0.6, 0.8, 1.0)
Table = dict[str, NDArray[np.float64]]
"""By planner: results as a part of saturation, of [plan, share]."""


def figure_7(context: Context) -> Numbers:
    """Results as a part of saturation, by planner and resources."""
    return {shape: _shape(context, tree) for shape, tree in SHAPES.items()}


def _shape(context: Context, tree: Tree) -> dict[str, Any]:
    context.progress(f"{tree.shape}, the model")
    plans = range(60 if context.quick else 400)
    model = _joined([_modelled(Setting.draw(tree, TABLE_3, (i, 8)), i, SHARES) for i in plans])
    shares = MEASURED[:3:2] if context.quick else MEASURED
    seconds = (4, 9) if context.quick else (10, 30)
    measured, expected = [], []
    for i in range(2 if context.quick else 6):
        context.progress(f"{tree.shape}, plan {i}")
        setting = Setting.draw(tree, SMALL, (i, 9))
        measured.append(_run(setting, i, shares, seconds))
        expected.append(_modelled(setting, i, shares))
    found, small = _joined(measured), _joined(expected)
    return {
        "model": {planner: values.mean(axis=0) for planner, values in model.items()},
        "model ratios": _ratios(model, SHARES),
        "shares": shares,
        "measured": {
            planner: [Measurement.of(column.tolist()) for column in values.T]
            for planner, values in found.items()
        },
        "measured ratios": _ratios(found, shares),
        "off": max(float(np.max(np.abs(found[p] / small[p] - 1))) for p in COMPARED),
        "always best": all(_always_best(each) for each in (model, found)),
    }


def _windows(seed: int) -> float:
    """Freshness is drawn as in Table 3."""
    return float(np.random.default_rng((seed, 10)).uniform(FRESHNESS[0], FRESHNESS[-1]))


def _modelled(setting: Setting, seed: int, shares: tuple[float, ...]) -> dict[str, list[float]]:
    model = setting.model
    refresh = refresh_rates(model, setting.freshness_s(_windows(seed)))
    budgets = [share * model.saturation_resources for share in shares]
    return {
        planner: [
            model.throughput(allocate(planner, model, mu, refresh).allowances)
            / model.saturation_throughput
            for mu in budgets
        ]
        for planner in COMPARED
    }


def _run(
    setting: Setting, seed: int, shares: tuple[float, ...], seconds: tuple[int, int]
) -> dict[str, list[float]]:
    begin, end = seconds
    model, traces = setting.model, setting.traces(end, seed)
    fresh = setting.freshness_s(_windows(seed))
    found: dict[str, list[float]] = {planner: [] for planner in COMPARED}
    for share in shares:
        limits = Limits(share * model.saturation_resources, fresh, check=False)
        for planner, values in found.items():
            made, _ = run(model, traces, planner, limits, end)
            values.append(results(made, begin) / model.saturation_throughput)
    return found


def _joined(plans: list[dict[str, list[float]]]) -> Table:
    return {planner: np.array([plan[planner] for plan in plans]) for planner in COMPARED}


def _over_best(table: Table) -> NDArray[np.float64]:
    best = np.max([table[planner] for planner in HEURISTICS], axis=0)
    found: NDArray[np.float64] = table["jaqpot"] / best
    return found


def _always_best(table: Table) -> bool:
    """Whether JAQPOT's mean over plans is above every heuristic's, at all resources."""
    means = {planner: values.mean(axis=0) for planner, values in table.items()}
    return all(bool(np.all(means["jaqpot"] > means[planner])) for planner in HEURISTICS)


def _ratios(table: Table, shares: tuple[float, ...]) -> dict[str, float]:
    """JAQPOT over the best heuristic of each plan; over the best on average; who that is."""
    ratios = _over_best(table)
    means = {planner: float(table[planner].mean()) for planner in HEURISTICS}
    leader = max(means, key=means.__getitem__)
    return {
        "mean": float(ratios.mean()),
        "most": float(ratios.max()),
        "least": float(ratios.min()),
        "at 60 %": float(table["jaqpot"][:, shares.index(0.6)].mean()),
        "over leader": float(table["jaqpot"].mean() / means[leader]),
        **{f"{planner} of leader": means[planner] / means[leader] for planner in HEURISTICS},
    }
