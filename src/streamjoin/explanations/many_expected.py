"""What to expect of a join of many streams, what budgets mean, and what may go wrong."""

from collections.abc import Iterator
from typing import Final

from streamjoin.explanations.asked import Asked, Selectivities, StreamRates
from streamjoin.explanations.expected import (
    BASES,
    BUDGET_PARTS,
    ITSELF,
    Basis,
    Expected,
    Meaning,
    Meanings,
    cpu_words,
    left_to_spark,
    time_warnings,
)
from streamjoin.explanations.many_model import (
    ASSUMED_SELECTIVITY,
    PlanNumbers,
    model_of,
    streams_of,
)
from streamjoin.explanations.many_strategy import Strategy
from streamjoin.explanations.many_words import is_nary
from streamjoin.explanations.plans import MultiPlan
from streamjoin.explanations.wording import about
from streamjoin.joins.report import Advice
from streamjoin.planning.many.planners import analyse
from streamjoin.shedding.comparisons import SelectiveState
from streamjoin.shedding.rows import FIRST_COST_US

_ASSUMED: Final = "selectivities are assumed; give those that are known"
_PLANNER: Final = "jaqpot"


def expect(numbers: PlanNumbers, strategy: Strategy | None, basis: Basis, asked: Asked) -> Expected:
    """What comes out, and what that takes."""
    receiving = FIRST_COST_US * sum(numbers.rates.values()) / 1e6
    probing = numbers.cost * (1.0 if numbers.unit == "us" else FIRST_COST_US) / 1e6
    if strategy is not None and strategy.expected_mjoin is not None:
        probing = strategy.expected_mjoin.cpu_us / 1e6
    probing += SelectiveState().emitting.each * numbers.results / 1e6
    known = _ASSUMED if basis == "assumed" else BASES[basis]
    itself = ITSELF if asked.sources.is_reflexive else ""
    return Expected(
        rows_per_second=numbers.results,
        selectivity=None,
        basis=basis,
        cpu_s=receiving + probing,
        cores=asked.cores,
        output=f"{about(numbers.results)} rows/s ({known}), before what Spark checks, if "
        f"anything{itself}",
        cpu=cpu_words(receiving, probing, asked.cores, "to probe and to hand out results"),
    )


def meanings(
    plan: MultiPlan, rates: StreamRates, selectivities: Selectivities, expected: Expected
) -> Meanings:
    """What budgets would mean, which are of CPU only."""
    if is_nary(plan):
        return Meanings((), "a budget is for a tree of joins: one n-ary join is exact")
    model, limits = model_of(plan, rates, selectivities), plan.join.limits
    planner = _PLANNER if limits is None else limits.planner
    receiving = FIRST_COST_US * sum(rates.values()) / 1e6
    whole, cpu_s = model.saturation_throughput, expected.cpu_s
    rows = [Meaning("cpu", 1.0, f"cpu={expected.share:.2g}", "nothing", 1.0)]
    for part in BUDGET_PARTS[1:]:
        left = max(0.0, part * cpu_s - receiving) / (cpu_s - receiving)
        resources = left * model.saturation_resources
        allowances = analyse(planner, model, resources).allocation.allowances
        recall = min(1.0, model.throughput(allowances) / whole) if whole else 1.0
        gone = f"{100 * (1 - left):.0f} % of the probes"
        rows.append(Meaning("cpu", part, f"cpu={part * expected.share:.2g}", gone, recall))
    note = (
        f"by the model of Mukherji et al. of a tree of joins, divided by {planner}; every row is "
        f"received first, at {FIRST_COST_US:g} us; there is no budget of memory for many streams"
    )
    return Meanings(tuple(rows), note)


def budget_lines(plan: MultiPlan) -> Iterator[str]:
    """What the join may use and what gives way; nothing for an exact join."""
    limits = plan.join.limits
    if plan.budget is None or limits is None:
        return
    rate = plan.budget.rate
    much = plan.budget.describe()
    if rate is not None:
        much = f"{rate:,.6g} probes for each second of the streams"
    yield f"{much}, divided by {limits.planner}"
    if len(plan.resolved.steps) > 1:
        yield (
            "it is one for all operators, which tell each other what they measured through files "
            f"in {plan.shared}"
        )
    elif plan.shared is not None:
        yield f"what shards decide, and why, is in files in {plan.shared}"
    yield (
        "every row is remembered; the half-way joins that yield most for the whole plan probe "
        "(probed_*, skipped_*), and how many results are missing is estimated (missed)"
    )
    if rate is None:
        yield (
            f"below, to receive a row and to probe are taken as {FIRST_COST_US:g} us of CPU each; "
            "while the join runs both are measured"
        )


def missing_words(plan: MultiPlan) -> str:
    """What there is to give to see numbers."""
    tree = plan.resolved.tree
    what = "half-way joins, paths and the plan cost and yield"
    if is_nary(plan):
        what = "the join costs"
    given = ", ".join(f'"{name}": 300' for name in tree.names)
    return (
        f"what {what}: give rates={{{given}}} in rows per second and, if known, "
        f'selectivities={{"{tree.label(tree.n_streams)}": '
        f"{ASSUMED_SELECTIVITY}, ...}} (that is also what is taken where none is said)"
    )


def warnings(
    plan: MultiPlan, numbers: PlanNumbers | None, expected: Expected | None
) -> Iterator[Advice]:
    """All warnings."""
    if numbers is not None and numbers.infeasible is not None:
        yield Advice("infeasible", numbers.infeasible)
    yield from left_to_spark([plan.where] if plan.where else [], "results")
    if plan.n_shards == 1:
        yield Advice("one_shard", "one core does all the work: there is one shard")
    if expected is not None and plan.budget is None:
        yield from expected.warnings()
    if not plan.streaming:
        return
    join = plan.join
    windows = {f"window of {name}": one.stream for name, one in streams_of(plan).items()}
    can_end = join.idle_us is not None
    yield from time_warnings(windows, can_end=can_end, every="all", kept="others are all kept")
    if join.states and not join.freshness:
        yield Advice(
            "stale_states",
            "joins remember a number of results, whose rows may be of any age; give `freshness` "
            "to withhold results that are too old",
        )
