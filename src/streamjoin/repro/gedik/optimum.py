"""Quality against the possible: results as a share of the informed optimum's.

Beyond the paper. The informed optimum knows the true match densities and, for every arriving tuple,
takes those fractions of basic windows that bring the most, at the same number of comparisons.
"""

from dataclasses import dataclass, replace
from typing import Final

from streamjoin.joins.selective_settings import Policy
from streamjoin.joins.selective_window import SelectiveRun
from streamjoin.repro.base import Context, Numbers
from streamjoin.repro.gedik.ideal import informed_optimum
from streamjoin.repro.gedik.workload import Seconds, Setting
from streamjoin.repro.measurement import Measurement

SKEWS: Final = (0.0, 0.4, 0.6, 0.8, 1.0, 1.2)
FRACTIONS: Final = (0.05, 0.1, 0.2, 0.3, 0.5)
MEASURED: Final[tuple[Policy, ...]] = ("best", "ra+tc+jd", "drop")
PROMISED: Final[dict[Policy, float]] = {"best": 0.9, "ra+tc+jd": 0.75}
NOT_FLAT: Final = 2.0
"""A density is not flat for a budget if the optimum is this many times random drop."""
Counted = tuple[float, float]
"""Results and comparisons of a run."""
TWO_WAY_POLICIES: Final[tuple[Policy, ...]] = ("best", "ra+tc+jd", "ra+tc", "drop")
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
    shares: dict[Policy, Measurement]
    gains: dict[Policy, Measurement]

    @property
    def flat(self) -> bool:
        """Whether no choice can bring much."""
        return self.optimum < NOT_FLAT


def optimum(context: Context) -> Numbers:
    """Shares of the optimum over skew and budget, and with two-way traffic."""
    found = []
    for skew in SKEWS[:: 2 if context.quick else 1]:
        context.progress(f"kappa {skew}")
        found += _qualities(context, Setting(skew=skew, capacity=None), MEASURED)
    context.progress("two-way traffic")
    return {"qualities": found, "two_way": _qualities(context, TWO_WAY, TWO_WAY_POLICIES)}


def _qualities(context: Context, setting: Setting, policies: tuple[Policy, ...]) -> list[Quality]:
    end, rate = (80, 200.0) if context.quick else (100, 300.0)
    seeds, span = context.seeds[: 1 if context.quick else 3], (40, end)
    setting = replace(setting, rates=((float(end), rate),))
    full = [_counted(setting.run("full", seed), span) for seed in seeds]
    found = []
    for fraction in FRACTIONS[:: 2 if context.quick else 1]:
        limited = replace(setting, fraction=fraction)
        counted = {p: [_counted(limited.run(p, seed), span) for seed in seeds] for p in policies}
        shares = {p: _shares(setting, each, full) for p, each in counted.items()}
        gains = {p: _gains(each, counted["drop"]) for p, each in counted.items()}
        possible = informed_optimum(setting.matches, fraction) / fraction
        found.append(Quality(setting.skew, fraction, possible, shares, gains))
    return found


def _counted(run: SelectiveRun, span: Seconds) -> Counted:
    begin, end = span
    return float(run.outputs[begin:end].sum()), float(run.comparisons[begin:end].sum())


def _shares(setting: Setting, runs: list[Counted], full: list[Counted]) -> Measurement:
    return Measurement.of(
        [
            results
            / (informed_optimum(setting.matches, comparisons / all_comparisons) * all_results)
            for (results, comparisons), (all_results, all_comparisons) in zip(
                runs, full, strict=True
            )
        ]
    )


def _gains(runs: list[Counted], base: list[Counted]) -> Measurement:
    pairs = zip(runs, base, strict=True)
    return Measurement.of([(a[0] / a[1]) / (b[0] / b[1]) for a, b in pairs])
