"""Figures 1 to 5: match densities, and rate adaptation against random drop."""

from dataclasses import replace
from typing import Final

import numpy as np

from papers.base import Context, Numbers
from papers.gedik.densities import Correlation, FloatArray
from papers.gedik.ideal import basic_density, ideal_gain
from papers.gedik.runs import gain, outputs, run_all, series
from papers.gedik.workload import (
    BEFORE,
    FAST,
    MIDDLE,
    OVERLOADED,
    SETTLED,
    WHOLE,
    Setting,
)
from papers.measurement import Measurement
from papers.operators.selective_window import SelectiveRun

ALIGNED: Final = Setting(shift=0.0, sides=1)
"""The rate adaptation experiments: no shift, and one window (GED-I5)."""
FULL_FRACTIONS: Final = {"500": 0.15, "300": 750_000 / 1_800_000}
"""What `CAPACITY` pays for, one window of 20 s, by tuples a second."""
WINDOWS_S: Final = (10.0, 20.0, 40.0)
_AGES: Final = (np.arange(400) + 0.5) / 400 * 20
_STEADY: Final = ((70.0, 100.0),)


def figure_1(_context: Context) -> Numbers:
    """Age-based window reduction (GED-A16) where matches are young and where they are old."""
    cases = {"I": Correlation(0.8, shift_s=38), "II": Correlation(0.8, shift_s=25)}
    return {
        "ages": _AGES,
        "density": {case: matches.at(_AGES)[1] for case, matches in cases.items()},
        "reduced": {case: _reduced(matches.at(_AGES)[1]) for case, matches in cases.items()},
    }


def _reduced(density: FloatArray) -> dict[str, float]:
    """Keep tuples until their average output peaks: how long, and the output with and without."""
    n = int(np.argmax(np.cumsum(density) / np.arange(1, len(density) + 1))) + 1
    best = np.sort(density)[::-1]
    return {
        "kept": n / len(density),
        "output": float(density[:n].sum() / density.sum()),
        "selected": float(best[:n].sum() / density.sum()),
        "young": float(density[: n // 2].sum() / density[:n].sum()),
    }


def figure_2(context: Context) -> Numbers:
    """Match density by age in both windows, counted by the full join."""
    found: dict[float, dict[str, object]] = {}
    for skew in (0.6, 0.8):
        context.progress(f"densities at kappa {skew}")
        setting = Setting(skew=skew, rates=_STEADY, capacity=None)
        runs = [setting.run("full", seed) for seed in context.seeds]
        found[skew] = {
            "model": basic_density(setting.matches),
            "measured": [_density(runs, side) for side in (0, 1)],
        }
    return {"densities": found}


def _density(runs: list[SelectiveRun], side: int) -> list[Measurement]:
    """Matches a comparison in each basic window."""
    counted = [
        run.sampled_matches[side] / np.maximum(run.sampled_comparisons[side], 1) for run in runs
    ]
    return [Measurement.of(values) for values in np.transpose(counted)]


def partial(context: Context) -> Numbers:
    """Partial processing without anything to select: items that are all as popular (GED-C2)."""
    runs = run_all(context, replace(ALIGNED, skew=0.0), ("ra", "drop"))
    fixed = {}
    for fraction in (0.1, 0.3):
        setting = Setting(skew=0.0, rates=_STEADY, capacity=None, fraction=fraction)
        fixed[fraction] = gain(run_all(context, setting, ("ra", "drop")), "ra", "drop", (30, 70))
    return {"gain": gain(runs, "ra", "drop", OVERLOADED), "fixed": fixed}


def figure_4(context: Context) -> Numbers:
    """Fraction and output over time (Figures 3 and 4), and with two windows as a control."""
    runs = run_all(context, ALIGNED, ("ra", "drop"))
    control = replace(ALIGNED, sides=2, capacity=1_500_000.0)
    both = run_all(context, control, ("ra", "drop"))
    spans = {"before": BEFORE, "500": FAST, "settled": SETTLED, "300": MIDDLE}
    return {
        "arrived": series(runs["ra"], "arrived"),
        "fraction": series(runs["ra"], "fraction"),
        "fractions": [np.asarray(run.fraction) for run in runs["ra"]],
        "outputs": {policy: series(each, "outputs").sum(axis=1) for policy, each in runs.items()},
        "gain": {name: gain(runs, "ra", "drop", span) for name, span in spans.items()},
        "control": {name: gain(both, "ra", "drop", span) for name, span in spans.items()},
        "ideal": {
            name: ideal_gain("ra", ALIGNED.matches, fraction, sides=1)
            for name, fraction in FULL_FRACTIONS.items()
        },
        "fractions_ideal": FULL_FRACTIONS,
        "lost": Measurement.of([run.total("lost") / run.total("arrived") for run in runs["ra"]]),
    }


def figure_5(context: Context) -> Numbers:
    """Average output against skew, for several windows."""
    skews = (0.4, 0.8) if context.quick else (0.2, 0.4, 0.6, 0.8, 1.0)
    found: dict[float, dict[str, list[Measurement]]] = {}
    for window_s in WINDOWS_S[:: 2 if context.quick else 1]:
        found[window_s] = {"ra": [], "drop": [], "gain": []}
        for skew in skews:
            context.progress(f"windows of {window_s:g} s, kappa {skew}")
            runs = run_all(context, replace(ALIGNED, skew=skew, window_s=window_s), ("ra", "drop"))
            for policy, measured in outputs(runs, WHOLE).items():
                found[window_s][policy].append(measured)
            found[window_s]["gain"].append(gain(runs, "ra", "drop", WHOLE))
    ideal = {
        skew: {r: ideal_gain("ra", Correlation(skew, shift_s=0), r, sides=1) for r in (0.1, 0.3)}
        for skew in skews
    }
    return {"skews": skews, "measured": found, "ideal": ideal}
