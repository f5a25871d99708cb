"""Overload of every kind, and other shifts, against random drop (GED-C14)."""

from dataclasses import replace
from typing import Final

import numpy as np

from papers.base import Context, Numbers
from papers.gedik.ideal import ideal_gain
from papers.gedik.runs import gain, run_all
from papers.gedik.workload import ADAPTATION, OVERLOADED, Seconds, Setting
from papers.measurement import Measurement
from papers.operators.selective_settings import ProbeCosts

_CALM: Final = Setting(rates=((100.0, 100.0),))
"""100 tuples a second and windows of 20 s: 400,000 comparisons a second, no overload."""
_COSTLY: Final = ProbeCosts(comparison=6.0, adaptation=ADAPTATION)
_SCENARIOS: Final[dict[str, tuple[Setting, Seconds]]] = {
    "bursty rates": (Setting(), OVERLOADED),
    "large windows": (replace(_CALM, window_s=80.0, rates=((200.0, 100.0),)), (100, 200)),
    "costly conditions": (replace(_CALM, costs=_COSTLY), (40, 100)),
    "varying CPU": (
        replace(_CALM, rates=((100.0, 200.0),), capacity=(2e6,) * 40 + (3e5,) * 30 + (6e5,) * 30),
        (40, 100),
    ),
}
"""Each asks for 2 to 13 times what can be paid for."""
_SHIFTS: Final = (3 / 8, 0.0, 1 / 8, 7 / 8)


def overload(context: Context) -> Numbers:
    """Results over those of random drop, in each scenario."""
    scenarios = {}
    for name, (setting, span) in _SCENARIOS.items():
        context.progress(name)
        scenarios[name] = _over_drop(context, setting, span)
    context.progress("other shifts")
    shifts = {
        shift: _over_drop(context, Setting(shift=shift), OVERLOADED)
        for shift in _SHIFTS[: 1 if context.quick else None]
    }
    return {
        "scenarios": scenarios,
        "shifts": shifts,
        "ideal": {name: _ideal(*scenario) for name, scenario in _SCENARIOS.items()},
    }


def _over_drop(context: Context, setting: Setting, span: Seconds) -> Measurement:
    return gain(run_all(context, setting, ("ra+tc+jd", "drop")), "ra+tc+jd", "drop", span)


def _ideal(setting: Setting, span: Seconds) -> dict[str, float]:
    """What the capacity pays for at the highest rate, and what could be made of it."""
    capacity = np.broadcast_to(np.asarray(setting.capacity), span[1])[slice(*span)].mean()
    rate = max(rate for _, rate in setting.rates)
    need = 2 * rate**2 * setting.window_s * setting.costs.comparison
    fraction = float(capacity) / need
    gain = ideal_gain("ra+tc+jd", setting.matches, fraction, setting.window_s)
    return {"fraction": fraction, "gain": gain}
