"""The paper's worked examples and what it proves: the model alone."""

from typing import Final

import numpy as np

from papers.base import Context, Numbers
from papers.kang.cost_model import PAPER, crossover_ratio, prefers_nested
from papers.kang.operator import counted_cost
from streamjoin.planning.two.split import Allocation, Demand, Limits, output, plan

# Of Figure 11.
MU: Final = 10
MEMORY: Final = 100
SIGMA: Final = 0.01
STILL: Final = 1e-9
"""Share of the rate of a stream that all but stands; none at all is excluded (KAN-I5)."""

_MEMORY_SPLITS: Final = ("slower", "faster", "rate", "inverse-rate", "equal")


def examples(context: Context) -> Numbers:
    """Choices of an algorithm, and splits, as in Sections 3.4, 4.2 and 4.3 (KAN-C8, C15 to C19)."""
    regulated = plan("equal", Demand((5, 100), (60, 60)), Limits(service=50)).rates
    ratios = np.linspace(0.01, 1, 100)[:, None]
    buckets = np.arange(3, 1001)
    return {
        "threshold": float(crossover_ratio(10, PAPER)),
        "threshold_20": float(crossover_ratio(20, PAPER)),
        "nested": bool(prefers_nested(10, 100, 10, PAPER)),
        "counted": {
            join: counted_cost(join, 100, 10, context.seeds[0], 20) for join in ("HJ", "NLJ")
        },
        "regulated": regulated,
        "nested_10": bool(prefers_nested(*regulated, 10, PAPER)),
        "nested_20": bool(prefers_nested(*regulated, 20, PAPER)),
        "equal_rates": {split: _equal_rates(split) for split in _MEMORY_SPLITS},
        "nested_from_fast": int(np.sum(prefers_nested(1.0, ratios, buckets, PAPER))),
        "settings_from_fast": ratios.size * buckets.size,
        "above_one": (
            float(crossover_ratio(2.6, PAPER)),
            float(crossover_ratio(2.7, PAPER)),
        ),
        **_optimum(),
    }


def surface(_context: Context) -> Numbers:
    """Output over the split of rate and memory, Eq. 14 (KAN-C21)."""
    x = np.linspace(STILL, 1 - STILL, 101)
    held = np.linspace(0.0, MEMORY, 101)
    # Windows without end: nothing but memory limits what is held.
    demand = Demand((MU, MU), (np.inf, np.inf))
    found = [
        [output(Allocation((s * MU, (1 - s) * MU), (a, MEMORY - a)), demand) for a in held]
        for s in x
    ]
    return {"x": x, "held": held, "output": SIGMA * np.array(found)}


def _equal_rates(split: str) -> float:
    demand = Demand((10, 10), (200, 200))
    return 0.005 * output(plan(split, demand, Limits(memory=1000)), demand)


def _optimum() -> dict[str, object]:
    """Planned rates over random settings: how far from Eq. 11, and from the best of a search."""
    rng = np.random.default_rng(11)
    worst_rate = worst_output = 0.0
    for _ in range(200):
        rates = tuple(rng.uniform(1, 100, 2).tolist())
        windows = tuple(rng.uniform(1, 100, 2).tolist())
        service = float(rng.uniform(0.05, 0.95)) * sum(rates)
        demand = Demand((rates[0], rates[1]), (windows[0], windows[1]))
        planned = plan("equal", demand, Limits(service=service))
        expected = _eq_11(rates[0], rates[1], service)
        worst_rate = max(worst_rate, abs(planned.rates[0] - expected))
        found = output(planned, demand)
        worst_output = max(worst_output, _best(demand, service) / found - 1)
    return {"optimum_rate_error": worst_rate, "optimum_shortfall": worst_output}


def _eq_11(rate_a: float, rate_b: float, service: float) -> float:
    """Rate of A: half, its own if that is less, or what a slower B leaves."""
    return min(rate_a, max(service / 2, service - rate_b))


def _best(demand: Demand, service: float) -> float:
    """The most that any split of 2001 gives, by Eq. 10."""
    low, high = max(0.0, service - demand.rates[1]), min(service, demand.rates[0])
    a = np.linspace(low, high, 2001)
    return float(np.max(a * (service - a)) * sum(demand.windows))
