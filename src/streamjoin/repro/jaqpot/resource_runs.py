"""Figure 7: results against resources, from none to saturation (JAQ-C18, C19).

Plans with numbers from all of Table 3 make up to thousands of millions of results a second, so they
are evaluated in the model; plans from its small end are run, tuple by tuple, and show that the model
is right.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from streamjoin.planning.analysis import analyse
from streamjoin.planning.tree import Tree
from streamjoin.repro.base import Context, Numbers
from streamjoin.repro.jaqpot.workload import (
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
from streamjoin.repro.measurement import Measurement

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
    plans = range(40 if context.quick else 400)
    model = _joined([_modelled(Setting.draw(tree, TABLE_3, (i, 8)), i, SHARES) for i in plans])
    shares = MEASURED[::2] if context.quick else MEASURED
    seconds = (5, 15) if context.quick else (10, 30)
    measured, expected = [], []
    for i in range(2 if context.quick else 6):
        context.progress(f"{tree.shape}, plan {i}")
        setting = Setting.draw(tree, SMALL, (i, 9))
        measured.append(_run(setting, i, shares, seconds))
        expected.append(_modelled(setting, i, shares))
    found, small = _joined(measured), _joined(expected)
    return {
        "model": {planner: values.mean(axis=0) for planner, values in model.items()},
        "model ratios": _ratios(model),
        "shares": shares,
        "measured": {
            planner: [Measurement.of(column.tolist()) for column in values.T]
            for planner, values in found.items()
        },
        "measured ratios": _ratios(found),
        "off": max(float(np.max(np.abs(found[p] / small[p] - 1))) for p in COMPARED),
        "always best": all(bool(np.all(_over_best(each) >= 0.99)) for each in (model, found)),
    }


def _limits(setting: Setting, seed: int, share: float) -> Limits:
    """Freshness is drawn as in Table 3."""
    windows = float(np.random.default_rng((seed, 10)).uniform(FRESHNESS[0], FRESHNESS[-1]))
    mu = share * setting.model.saturation_resources
    return Limits(mu, setting.freshness_s(windows), check=False)


def _modelled(setting: Setting, seed: int, shares: tuple[float, ...]) -> dict[str, list[float]]:
    model, found = setting.model, {}
    for planner in COMPARED:
        limits = [_limits(setting, seed, share) for share in shares]
        allowances = [
            analyse(planner, model, each.mu, each.freshness_s).allocation.allowances
            for each in limits
        ]
        made = [model.throughput(each) for each in allowances]
        found[planner] = [each / model.saturation_throughput for each in made]
    return found


def _run(
    setting: Setting, seed: int, shares: tuple[float, ...], seconds: tuple[int, int]
) -> dict[str, list[float]]:
    begin, end = seconds
    model, traces = setting.model, setting.traces(end, seed)
    found = {}
    for planner in COMPARED:
        runs = [
            run(model, traces, planner, _limits(setting, seed, share), end)[0] for share in shares
        ]
        found[planner] = [results(each, begin) / model.saturation_throughput for each in runs]
    return found


def _joined(plans: list[dict[str, list[float]]]) -> Table:
    return {planner: np.array([plan[planner] for plan in plans]) for planner in COMPARED}


def _over_best(table: Table) -> NDArray[np.float64]:
    best = np.max([table[planner] for planner in HEURISTICS], axis=0)
    found: NDArray[np.float64] = table["jaqpot"] / best
    return found


def _ratios(table: Table) -> dict[str, float]:
    """JAQPOT over the best heuristic of each plan; over the best on average; who that is."""
    ratios = _over_best(table)
    means = {planner: float(table[planner].mean()) for planner in HEURISTICS}
    leader = max(means, key=means.__getitem__)
    return {
        "mean": float(ratios.mean()),
        "most": float(ratios.max()),
        "at 60 %": float(np.mean(table["jaqpot"], axis=0)[-1 - (ratios.shape[1] - 1) * 2 // 5]),
        "over leader": float(table["jaqpot"].mean() / means[leader]),
        **{f"{planner} of leader": means[planner] / means[leader] for planner in HEURISTICS},
    }
