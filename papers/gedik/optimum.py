"""Quality against the possible: results as a share of the informed optimum's.

Beyond the paper. The informed optimum knows the true match densities and, for every arriving tuple,
takes those parts of basic windows that bring the most, at the same number of comparisons.
"""

from dataclasses import dataclass, replace
from typing import Final

from papers.base import Context, Numbers
from papers.gedik.densities import SETS, Correlation
from papers.gedik.ideal import informed_optimum
from papers.gedik.workload import Seconds, Setting
from papers.measurement import Measurement
from papers.operators.selective_settings import Policy
from papers.operators.selective_window import SelectiveRun

SKEWS: Final = (0.0, 0.4, 0.6, 0.8, 1.0, 1.2)
FRACTIONS: Final = (0.05, 0.1, 0.2, 0.3, 0.5)
Variant = tuple[Policy, float]
"""A policy, and how much of earlier periods' samples it still counts; the paper's policies none."""
BEST: Final[Variant] = ("best", 0.0)
PAPERS: Final[Variant] = ("ra+tc+jd", 0.0)
REMEMBERING: Final[Variant] = ("ra+tc+jd", 0.8)
ONE_WINDOW_EACH: Final[Variant] = ("ra+tc", 0.0)
DROP: Final[Variant] = ("drop", 0.0)
MEASURED: Final = (BEST, REMEMBERING, PAPERS, DROP)
PROMISED: Final = {BEST: 0.9, REMEMBERING: 0.75}
"""Shares of the optimum to be reached."""
NOT_FLAT: Final = 2.0
"""A density is not flat for a budget if the optimum is this many times random drop."""
Counted = tuple[float, float]
"""Results and comparisons of a run."""
TWO_WAY_MEASURED: Final = (BEST, REMEMBERING, PAPERS, ONE_WINDOW_EACH, DROP)
TWO_WAY: Final = Setting(skew=0.8, cycle=1.0, capacity=None)
"""In a cycle of one window each tuple has partners in both: both have a productive part."""


@dataclass(frozen=True)
class Quality:
    """What the policies reached at one skew and one budget.

    Parameters
    ----------
    skew, fraction
        Exponent of Zipf's law, and comparisons as a share of the full join's (r).
    optimum
        Results of the informed optimum over those of random drop.
    shares
        By policy: results over those of the optimum, at the comparisons that were made.
    gains
        By policy: results a comparison over those of random drop.
    """

    skew: float
    fraction: float
    optimum: float
    shares: dict[Variant, Measurement]
    gains: dict[Variant, Measurement]

    @property
    def flat(self) -> bool:
        """Whether no choice can bring much."""
        return self.optimum < NOT_FLAT


def optimum(context: Context) -> Numbers:
    """Shares of the optimum over skew and budget, and with two-way traffic."""
    found = []
    for skew in SKEWS[:: 3 if context.quick else 1]:
        context.progress(f"kappa {skew}")
        found += _qualities(context, Setting(skew=skew, capacity=None), MEASURED)
    context.progress("two-way traffic")
    return {"qualities": found, "two_way": _qualities(context, TWO_WAY, TWO_WAY_MEASURED)}


def _qualities(context: Context, setting: Setting, variants: tuple[Variant, ...]) -> list[Quality]:
    span, rate = ((35, 60), 300.0) if context.quick else ((40, 80), 500.0)
    seeds = context.seeds[: 1 if context.quick else 3]
    setting = replace(setting, rates=((float(span[1]), rate),))
    matches = replace(setting.matches, sets=SETS if context.quick else 4 * SETS)
    full = [_counted(setting.run("full", seed), span) for seed in seeds]
    found = []
    for fraction in FRACTIONS[:3:2] if context.quick else FRACTIONS:
        counted = {}
        for policy, memory in variants:
            limited = replace(setting, fraction=fraction, memory=memory)
            runs = [_counted(limited.run(policy, seed), span) for seed in seeds]
            counted[policy, memory] = runs
        shares = {variant: _shares(matches, runs, full) for variant, runs in counted.items()}
        gains = {variant: _gains(runs, counted[DROP]) for variant, runs in counted.items()}
        possible = informed_optimum(matches, fraction) / fraction
        found.append(Quality(setting.skew, fraction, possible, shares, gains))
    return found


def _counted(run: SelectiveRun, span: Seconds) -> Counted:
    begin, end = span
    return float(run.outputs[begin:end].sum()), float(run.comparisons[begin:end].sum())


def _shares(matches: Correlation, runs: list[Counted], full: list[Counted]) -> Measurement:
    pairs = zip(runs, full, strict=True)
    return Measurement.of([_share(matches, run, whole) for run, whole in pairs])


def _share(matches: Correlation, run: Counted, full: Counted) -> float:
    possible = informed_optimum(matches, run[1] / full[1])
    return run[0] / (possible * full[0])


def _gains(runs: list[Counted], base: list[Counted]) -> Measurement:
    pairs = zip(runs, base, strict=True)
    return Measurement.of([(a[0] / a[1]) / (b[0] / b[1]) for a, b in pairs])
