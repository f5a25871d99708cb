"""What to expect of a join of many streams."""

from typing import Final

from streamjoin.planning.many.planners import analyse
from streamjoin.shedding.comparisons import SelectiveState
from streamjoin.shedding.rows import FIRST_COST_US
from streamjoin.spark.explain_expected import BASES, ITSELF, Expected, cpu_words
from streamjoin.spark.explain_matches import Basis
from streamjoin.spark.explain_meanings import PARTS, Meaning, Meanings
from streamjoin.spark.explain_plan_model import Selectivities, StreamRates, model_of
from streamjoin.spark.explain_plan_numbers import PlanNumbers, about
from streamjoin.spark.explain_plan_strategy import StrategyExplanation
from streamjoin.spark.explain_plan_words import is_nary
from streamjoin.spark.explain_samples import Sources
from streamjoin.spark.plans import MultiPlan

_ASSUMED: Final = "selectivities are assumed; give those that are known"
_PLANNER: Final = "jaqpot"


def expected_of_many(
    numbers: PlanNumbers,
    strategy: StrategyExplanation | None,
    basis: Basis,
    sources: Sources,
    cores: int,
) -> Expected:
    """What comes out, and what that takes."""
    receiving = FIRST_COST_US * sum(numbers.rates.values()) / 1e6
    probing = numbers.cost * (1.0 if numbers.unit == "us" else FIRST_COST_US) / 1e6
    if strategy is not None and strategy.runs == "mjoin" and strategy.mjoin is not None:
        probing = strategy.mjoin.cpu_us / 1e6
    probing += SelectiveState().emitting.each * numbers.results / 1e6
    known = _ASSUMED if basis == "assumed" else BASES[basis]
    itself = ITSELF if sources.is_reflexive else ""
    return Expected(
        rows_per_second=numbers.results,
        selectivity=None,
        basis=basis,
        cpu_s=receiving + probing,
        cores=cores,
        output=f"{about(numbers.results)} rows/s ({known}), before what Spark checks, if "
        f"anything{itself}",
        cpu=cpu_words(receiving, probing, cores, "to probe and to hand out results"),
    )


def meanings_of_many(
    plan: MultiPlan, rates: StreamRates, selectivities: Selectivities, found: Expected
) -> Meanings:
    """Budgets of a join of many streams, which are of CPU only."""
    if is_nary(plan):
        return Meanings((), "a budget is for a tree of joins: one n-ary join is exact")
    model, limits = model_of(plan, rates, selectivities), plan.resolved.steps[-1].join.limits
    planner = _PLANNER if limits is None else limits.planner
    receiving = FIRST_COST_US * sum(rates.values()) / 1e6
    rows = [Meaning("cpu", 1.0, f"cpu={found.share:.2g}", "nothing", 1.0)]
    for part in PARTS[1:]:
        left = max(0.0, part * found.cpu_s - receiving) / (found.cpu_s - receiving)
        allowances = analyse(
            planner, model, left * model.saturation_resources
        ).allocation.allowances
        whole = model.saturation_throughput
        recall = min(1.0, model.throughput(allowances) / whole) if whole else 1.0
        gone = f"{100 * (1 - left):.0f} % of the probes"
        rows.append(Meaning("cpu", part, f"cpu={part * found.share:.2g}", gone, recall))
    note = (
        f"by the model of Mukherji et al. of a tree of joins, divided by {planner}; every row is "
        f"received first, at {FIRST_COST_US:g} us; there is no budget of memory for many streams"
    )
    return Meanings(tuple(rows), note)
