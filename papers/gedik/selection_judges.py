"""Verdicts on Figures 6 to 8 and on the conclusions."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from papers.base import AllNumbers, Judge, Judged
from papers.gedik.densities import FloatArray
from papers.gedik.runs import clearly_more, rising
from papers.gedik.selection_runs import STEPS, WHOLE_STEP
from papers.gedik.workload import ADAPTATION, CAPACITY
from papers.measurement import Measurement


def _directions(numbers: AllNumbers) -> Judged:
    found = numbers["figure 7"]
    runs: Sequence[FloatArray] = found["fractions_by_seed"]
    lower = [float(np.mean(r[65:110, 0] < r[65:110, 1])) for r in runs]
    holds = float(np.mean(lower)) >= 0.8 and all(
        r[:60].min() >= 0.95 and r[65:110, 0].min() <= 0.05 and r[-1].min() >= 0.5 for r in runs
    )
    means = [Measurement.of([float(r[65:110, i].mean()) for r in runs]) for i in (0, 1)]
    return Judged(
        holds,
        model="r_1 falls first: o_1 < o_2 (GED-D5); r_2 falls once r_1 is 0, at r < 0.5",
        measured=f"in the overload r_1 is {means[0]} and r_2 {means[1]}",
        why=(
            f"r_1 is below r_2 in {np.mean(lower):.0%} of these seconds (samples of 5 s may say "
            "the opposite); both are near 1 before, and return."
        ),
    )


def _adaptations(numbers: AllNumbers) -> Judged:
    found = numbers["figure 7"]
    steps, ideal, over = found["steps"], found["ideal"], found["over_drop"]
    (tc, _), (jd, _) = STEPS
    return Judged(
        steps[tc, "both"].low > 1 and steps[jd, "both"].low > 1,
        model=(
            f"perfect statistics, full windows: TC/RA {ideal[tc, '500']:.1f} at 500, "
            f"{ideal[tc, '300']:.1f} at 300; JD/TC {ideal[jd, '500']:.2f}, {ideal[jd, '300']:.2f}"
        ),
        measured=(
            f"TC/RA {steps[tc, '500']} at 500, {steps[tc, '300']} at 300; JD/TC "
            f"{steps[jd, '500']} and {steps[jd, '300']}"
        ),
        why=(
            f"In the overload TC gives {steps[tc, 'both'].mean - 1:+.0%} and JD "
            f"{steps[jd, 'both'].mean - 1:+.0%} (paper: about 50 % and 40 %). Against random drop: "
            f"RA alone {over['ra']}, as the newest part matches little (GED-I7; ideal "
            f"{found['ideal_over_drop']['500']:.2f}), RA+TC "
            f"{over['ra+tc']}, RA+TC+JD {over['ra+tc+jd']}, the knapsack planner {over['best']}."
        ),
    )


def _skew(numbers: AllNumbers) -> Judged:
    found = numbers["figure 8"]
    tc, both = found["gains"][STEPS[0]], found["gains"][WHOLE_STEP]
    jd, ra = found["gains"][STEPS[1]], found["overloaded"]["ra"]
    first, last = found["skews"][0], found["skews"][-1]
    holds = rising(tc) and rising(both) and not clearly_more(ra[-1], ra[0])
    return Judged(
        holds,
        model="the younger part of both windows matches ever less as kappa grows (GED-D5)",
        measured=(
            f"kappa {first} to {last}: TC/RA {tc[0]} to {tc[-1]}, JD/TC {jd[0]} to {jd[-1]}; "
            f"RA {ra[0]} to {ra[-1]} results/s in the overload"
        ),
        why=(
            f"TC and JD together give {both[0].mean:.1f} times RA at kappa {first} and "
            f"{both[-1].mean:.1f} times at {last}."
        ),
    )


def _overhead(numbers: AllNumbers) -> Judged:
    found = numbers["figure 7"]
    sampled, over = found["sampled"], found["over_drop"]
    used = [m.mean / CAPACITY for m in found["spent"].values()]
    adaptive = ("ra+tc", "ra+tc+jd")
    holds = (
        all(0.05 <= sampled[p].mean <= 0.15 and over[p].low > 1 for p in adaptive)
        and max(used) <= 1.01
    )
    return Judged(
        holds,
        model="gamma / (1 + gamma - gamma r) = 9 to 10 % of all comparisons (GED-U4)",
        measured=(
            f"{sampled['ra+tc+jd'].mean:.1%} of the comparisons serve to learn; results over "
            f"random drop: RA+TC {over['ra+tc']}, RA+TC+JD {over['ra+tc+jd']}"
        ),
        why=(
            f"Joins spend {min(used):.0%} to {max(used):.0%} of the capacity; each step of "
            f"adaptation is charged {ADAPTATION:.0f} comparisons."
        ),
    )


def _overload(numbers: AllNumbers) -> Judged:
    found = numbers["overload"]
    shifts = list(found["shifts"].values())
    kinds, ideal = [*found["scenarios"].values(), *shifts], found["ideal"]
    return Judged(
        all(gain.mean > 1.1 and gain.low > 1 for gain in kinds),
        model="; ".join(
            f"{name}: {each['gain']:.2f} at r = {each['fraction']:.2f}"
            for name, each in ideal.items()
        ),
        measured="RA+TC+JD over random drop: "
        + "; ".join(f"{name} {gain}" for name, gain in found["scenarios"].items()),
        why=(
            f"With other shifts in the bursts: {min(m.mean for m in shifts):.2f} to "
            f"{max(m.mean for m in shifts):.2f} times the results of random drop."
        ),
    )


SELECTION_JUDGES: Final[dict[str, Judge]] = {
    "GED-C7": _directions,
    "GED-C8": _adaptations,
    "GED-C9": _skew,
    "GED-C13": _overhead,
    "GED-C14": _overload,
}
