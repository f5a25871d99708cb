"""Overload of three kinds, other capacities and other shifts, against random drop (GED-C14)."""

from dataclasses import replace
from typing import Final

from streamjoin.joins.selective_settings import ProbeCosts
from streamjoin.repro.base import Context, Numbers
from streamjoin.repro.gedik.ideal import ideal_gain
from streamjoin.repro.gedik.runs import gain, run_all
from streamjoin.repro.gedik.workload import CAPACITY, OVERLOADED, Seconds, Setting
from streamjoin.repro.measurement import Measurement

_CALM: Final = Setting(rates=((100.0, 100.0),))
"""100 tuples a second and windows of 20 s: 400,000 comparisons a second, no overload."""
_SCENARIOS: Final[dict[str, tuple[Setting, Seconds]]] = {
    "bursty rates": (Setting(), OVERLOADED),
    "large windows": (replace(_CALM, window_s=80.0, rates=((200.0, 100.0),)), (100, 200)),
    "costly conditions": (replace(_CALM, costs=ProbeCosts(comparison=6.0)), (40, 100)),
}
"""Each asks for 2 to 13 times what `CAPACITY` pays for."""
_SHIFTS: Final = (0.0, 1 / 8, 3 / 8, 7 / 8)
_CAPACITIES: Final = (250_000.0, 500_000.0, 1_500_000.0)


def overload(context: Context) -> Numbers:
    """Results over those of random drop, in each scenario."""
    scenarios = {}
    for name, (setting, span) in _SCENARIOS.items():
        context.progress(name)
        scenarios[name] = _over_drop(context, setting, span)
    context.progress("other capacities")
    capacities = {
        capacity: _over_drop(context, Setting(capacity=capacity), OVERLOADED)
        for capacity in _CAPACITIES[:: 2 if context.quick else 1]
    }
    context.progress("other shifts")
    shifts = {
        shift: _over_drop(context, Setting(shift=shift), OVERLOADED)
        for shift in _SHIFTS[:: 2 if context.quick else 1]
    }
    return {
        "scenarios": scenarios,
        "capacities": capacities,
        "shifts": shifts,
        "ideal": {name: _ideal(setting) for name, (setting, _) in _SCENARIOS.items()},
    }


def _over_drop(context: Context, setting: Setting, span: Seconds) -> Measurement:
    return gain(run_all(context, setting, ("ra+tc+jd", "drop")), "ra+tc+jd", "drop", span)


def _ideal(setting: Setting) -> dict[str, float]:
    """What the capacity pays for at the highest rate, and what could be made of it."""
    rate = max(rate for _, rate in setting.rates)
    need = 2 * rate**2 * setting.window_s * setting.costs.comparison
    fraction = CAPACITY / need
    gain = ideal_gain("ra+tc+jd", setting.matches, fraction, setting.window_s)
    return {"fraction": fraction, "gain": gain}
