"""Figures 6 to 8: time correlation and join direction adaptation on streams with a shift."""

from dataclasses import replace
from typing import Final

import numpy as np

from papers.base import Context, Numbers
from papers.gedik.densities import Correlation
from papers.gedik.ideal import ideal_gain
from papers.gedik.runs import gain, outputs, run_all, series
from papers.gedik.workload import FAST, MIDDLE, OVERLOADED, WHOLE, Setting
from papers.measurement import Measurement
from papers.operators.selective_settings import Policy
from papers.operators.selective_window import SelectiveRun

SHIFTED: Final = Setting()
PAPERS: Final[tuple[Policy, ...]] = ("ra", "ra+tc", "ra+tc+jd")
POLICIES: Final[tuple[Policy, ...]] = (*PAPERS, "best", "drop")
Step = tuple[Policy, Policy]
"""A policy and the one that it is measured against."""
STEPS: Final[tuple[Step, ...]] = (("ra+tc", "ra"), ("ra+tc+jd", "ra+tc"))
WHOLE_STEP: Final[Step] = ("ra+tc+jd", "ra")
FRACTIONS: Final = {"500": 0.075, "300": 0.75 / 3.6}
"""What `CAPACITY` pays for, two windows of 20 s, by tuples a second."""


def figure_7(context: Context) -> Numbers:
    """Fractions (Figure 6) and output (Figure 7) over time, for each policy."""
    context.progress("kappa 0.6")
    runs = run_all(context, SHIFTED, POLICIES)
    spans = {"500": FAST, "300": MIDDLE, "both": OVERLOADED}
    return {
        "arrived": series(runs["ra"], "arrived"),
        "fractions": series(runs["ra+tc+jd"], "fractions"),
        "fractions_by_seed": [np.asarray(run.fractions) for run in runs["ra+tc+jd"]],
        "outputs": {policy: series(each, "outputs").sum(axis=1) for policy, each in runs.items()},
        "steps": {
            (top, name): gain(runs, top, below, span)
            for top, below in STEPS
            for name, span in spans.items()
        },
        "over_drop": {policy: gain(runs, policy, "drop", OVERLOADED) for policy in POLICIES[:-1]},
        "ideal": _ideal_steps(0.6),
        "ideal_over_drop": _ideal("ra", 0.6),
        "sampled": {p: Measurement.of([_sampled(r) for r in runs[p]]) for p in POLICIES[:-1]},
        "spent": {p: Measurement.of([_spent(r) for r in runs[p]]) for p in POLICIES},
    }


def _ideal(policy: str, skew: float) -> dict[str, float]:
    matches = Correlation(skew)
    return {rate: ideal_gain(policy, matches, r) for rate, r in FRACTIONS.items()}


def _ideal_steps(skew: float) -> dict[tuple[str, str], float]:
    return {
        (top, rate): _ideal(top, skew)[rate] / _ideal(below, skew)[rate]
        for top, below in STEPS
        for rate in FRACTIONS
    }


def _sampled(run: SelectiveRun) -> float:
    """Share of comparisons that serve to learn."""
    sampled = sum(int(each.sum()) for each in run.sampled_comparisons)
    return sampled / run.total("comparisons")


def _spent(run: SelectiveRun) -> float:
    begin, end = OVERLOADED
    return float(np.sum(run.cost[begin:end])) / (end - begin)


def figure_8(context: Context) -> Numbers:
    """Average output against skew, at an overlap of 4 items."""
    skews = (0.4, 0.8) if context.quick else (0.2, 0.4, 0.6, 0.8, 1.0)
    average: dict[str, list[Measurement]] = {policy: [] for policy in PAPERS}
    overloaded: dict[str, list[Measurement]] = {policy: [] for policy in PAPERS}
    gains: dict[Step, list[Measurement]] = {step: [] for step in (*STEPS, WHOLE_STEP)}
    for skew in skews:
        context.progress(f"kappa {skew}")
        runs = run_all(context, replace(SHIFTED, skew=skew, theta=4), PAPERS)
        for policy in PAPERS:
            average[policy].append(outputs(runs, WHOLE)[policy])
            overloaded[policy].append(outputs(runs, OVERLOADED)[policy])
        for step, found in gains.items():
            found.append(gain(runs, *step, OVERLOADED))
    return {"skews": skews, "average": average, "overloaded": overloaded, "gains": gains}
