"""Verdicts on what was run without freshness in question: Figures 6 and 7, and the solvers."""

from itertools import pairwise
from math import log2
from typing import Any, Final

import numpy as np

from papers.base import AllNumbers, Judge, Judged, Numbers
from papers.jaqpot.solver_runs import Gap
from papers.jaqpot.workload import HEURISTICS, NAMES
from papers.measurement import Measurement, within


def _figure_6a(numbers: AllNumbers) -> Judged:
    found = numbers["figure 6"]["linear"]
    steps = found["steps"]["jaqpot"]
    grown = {p: phases[2].mean - phases[1].mean for p, phases in found["phases"].items()}
    best = leader(found["total"])
    holds = (
        found["ratio"]["least"] > 1
        and steps["root doubled"].mean > steps["lower tripled"].mean
        and max(grown, key=grown.__getitem__) == "jaqpot"
        and best == "global-hjpr"
    )
    return Judged(
        holds,
        model=_phases(found["model"]),
        measured=(
            f"JAQPOT over the best heuristic {found['ratio']['mean']}; by tripled lower "
            f"selectivities {steps['lower tripled']} times, by the root's doubled "
            f"{steps['root doubled']} times"
        ),
        why=_order(found),
    )


def _figure_6b(numbers: AllNumbers) -> Judged:
    found = numbers["figure 6"]["bushy"]
    share = found["total"]["global-hjpr"].mean / found["total"]["jaqpot"].mean
    return Judged(
        found["ratio"]["least"] > 1 and 0.4 <= share <= 0.95,
        model=_phases(found["model"]),
        measured=f"JAQPOT over the best heuristic {found['ratio']['mean']}; GlobalHJPR {share:.0%}",
        why=_order(found),
    )


def _phases(model: dict[str, list[float]]) -> str:
    return "results/s in three phases: " + "; ".join(
        f"{NAMES[p]} {', '.join(f'{value:.3g}' for value in values)}" for p, values in model.items()
    )


def _order(found: Numbers) -> str:
    total = found["total"]
    order = sorted(total, key=lambda planner: -total[planner].mean)
    return (
        "Results/s: " + ", ".join(f"{NAMES[p]} {total[p].mean:.3g}" for p in order) + ". "
        "An allocation stays while a new one of the same planner promises less: so heuristics keep "
        f"more than the model's. Analyses of JAQPOT without a cover: {found['infeasible']}."
    )


def leader(values: dict[str, Measurement]) -> str:
    """The heuristic with the highest mean."""
    return max(HEURISTICS, key=lambda planner: values[planner].mean)


def _variation(numbers: AllNumbers) -> Judged:
    gains = numbers["variation"]["gains"]
    by = gains["selectivities"].mean
    return Judged(
        all(within(gains[name].mean, by, 0.1) for name in ("windows", "rates")),
        model="the same productivities, sigma * size, and so the same gain",
        measured="; ".join(f"{name} {gain}" for name, gain in gains.items()),
        why="Results/s over those before; the resources stay.",
    )


def _figure_7a(numbers: AllNumbers) -> Judged:
    found = numbers["figure 7"]["linear"]
    both = found["model ratios"], found["measured ratios"]
    holds = found["always best"] and all(
        each["at 60 %"] > 0.8 and 2 <= each["mean"] <= 3 for each in both
    )
    return _figure_7(found, holds, "")


def _figure_7b(numbers: AllNumbers) -> Judged:
    found, linear = numbers["figure 7"]["bushy"], numbers["figure 7"]["linear"]
    model, measured = found["model ratios"], found["measured ratios"]
    leads = min(model["global-hjpr of leader"], model["s-best-hjp of leader"])
    holds = (
        found["always best"]
        and 1.5 <= model["mean"] <= 2.5
        and found["off"] <= 0.1
        and model["mean"] < linear["model ratios"]["mean"]
        and measured["mean"] < linear["measured ratios"]["mean"]
        and leads >= 0.9
    )
    return _figure_7(found, holds, f" On linear plans {linear['model ratios']['mean']:.2f}.")


def _figure_7(found: Numbers, holds: bool, more: str) -> Judged:
    model, measured = found["model ratios"], found["measured ratios"]
    shares = ", ".join(f"{NAMES[p]} {model[f'{p} of leader']:.0%}" for p in HEURISTICS)
    return Judged(
        holds,
        model=(
            f"{model['at 60 %']:.0%} at 60 % of the resources; {model['mean']:.2f} times the best "
            f"heuristic of each plan, at most {model['most']:.2f}"
        ),
        measured=(
            f"{measured['at 60 %']:.0%} at 60 %; {measured['mean']:.2f} times, at most "
            f"{measured['most']:.2f}"
        ),
        why=(
            f"Heuristics as a part of the best of them on average: {shares}. What is measured is "
            f"off the model by {found['off']:.0%} at most. In single plans, where a cover takes "
            f"much of the resources, the ratio is as low as {model['least']:.2f}.{more}"
        ),
    )


def _complexity(numbers: AllNumbers) -> Judged:
    found = numbers["steps"]
    doubling = [b / a for name in ("mu", "k") for a, b in pairwise(found[name].values())]
    sorting = all(n <= k * log2(k) for k, n in found["fill"].items())
    covers = list(found["cover"].values())
    last = [list(each.values())[-1] / list(each.values())[-2] for each in covers]
    holds = (
        all(within(ratio, 2, 0.05) for ratio in doubling)
        and sorting
        and found["fill"] == found["fill at 1000 times mu"]
        and all(n <= 6 * k**2 for each in covers for k, n in each.items())
        and max(last) <= 5
    )
    return Judged(
        holds,
        model="k mu; k log k; k^2",
        measured=(
            f"doubled mu or k: {min(doubling):.2f} to {max(doubling):.2f} times the steps; "
            f"{found['fill'][64]} comparisons for 64 paths; GH-WMSCP "
            + ", ".join(
                f"{shape} {each[64] / 64**2:.1f} k^2" for shape, each in found["cover"].items()
            )
        ),
        why=f"From 32 to 64 streams a cover takes {last[0]:.1f} and {last[1]:.1f} times the steps.",
    )


def _quality(numbers: AllNumbers) -> Judged:
    found: list[Gap] = numbers["gaps"]["gaps"]
    ranked = _off([gap.cover_by_multiples for gap in found])
    ours = _off([gap.cover for gap in found])
    return Judged(
        0.05 <= ranked["mean"] <= 0.2 and ranked["most"] <= 0.25,
        model="at most ln(k - 2) times the optimum",
        measured=(
            f"as in the discrete model {ranked['mean']:.1%} on average, {ranked['most']:.0%} at "
            f"most; by parts of the need {ours['mean']:.2%} and {ours['most']:.0%}"
        ),
        why=f"Over {ranked['n']} plans that have a cover, {len(found)} in all.",
    )


def _off(ratios: list[float]) -> dict[str, Any]:
    values = np.array(ratios)
    values = values[~np.isnan(values)]
    return {"mean": values.mean() - 1, "most": values.max() - 1, "n": len(values)}


def _times(numbers: AllNumbers) -> Judged:
    times, overhead = numbers["times"]["milliseconds"], numbers["times"]["overhead"]
    cover = [each["GH-WMSCP"] for each in times.values()]
    holds = (
        max(cover) <= 300
        and all(each["GH-WMSCP"] > each["GrePP"] for each in times.values())
        and overhead["analysis"] > 2 * (overhead["monitoring"] + overhead["actuation"])
    )
    return Judged(
        holds,
        model="- (seconds of a machine)",
        measured=f"GH-WMSCP {min(cover):.2g} to {max(cover):.2g} ms for 3 to 20 streams",
        why=(
            f"Monitoring {overhead['monitoring']:.2g} ms, an analysis {overhead['analysis']:.2g} "
            f"ms, actuation {1000 * overhead['actuation']:.2g} us."
        ),
    )


RUN_JUDGES: Final[dict[str, Judge]] = {
    "JAQ-C13": _complexity,
    "JAQ-C15": _figure_6a,
    "JAQ-C16": _figure_6b,
    "JAQ-C17": _variation,
    "JAQ-C18": _figure_7a,
    "JAQ-C19": _figure_7b,
    "JAQ-C29": _quality,
    "JAQ-C30": _times,
}
