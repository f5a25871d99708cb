"""What a join of many streams will do, in words.

Reading order: this module (what comes back), `explain_plan_words` (plan, time and states),
`explain_plan_strategy` and `explain_plan_situation` (an n-ary join or a tree),
`explain_plan_model` and `explain_plan_numbers` (half-way joins, paths and planners in numbers),
`explain_plan_matches` and `explain_plan_expected` (how often rows match; what comes out, what that
takes and what budgets would mean),
`explain_plan_shards` and `explain_plan_state` (what is where, and what may go wrong).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from streamjoin.planning.many.tree import Tree
from streamjoin.shedding.rows import FIRST_COST_US
from streamjoin.spark import explain_plan_words as words
from streamjoin.spark import explain_words
from streamjoin.spark.explain_conditions import Conjunct
from streamjoin.spark.explain_expected import Expected, sentences
from streamjoin.spark.explain_matches import Basis
from streamjoin.spark.explain_meanings import Meanings
from streamjoin.spark.explain_plan_expected import expected_of_many, meanings_of_many
from streamjoin.spark.explain_plan_matches import selectivities_of
from streamjoin.spark.explain_plan_model import (
    SELECTIVITY,
    Selectivities,
    StreamRates,
    numbers,
)
from streamjoin.spark.explain_plan_numbers import PlanNumbers
from streamjoin.spark.explain_plan_shards import spread
from streamjoin.spark.explain_plan_state import advice, remembered
from streamjoin.spark.explain_plan_strategy import StrategyExplanation, explain_strategy
from streamjoin.spark.explain_plan_words import OperatorExplanation
from streamjoin.spark.explain_samples import Sources
from streamjoin.spark.explain_warnings import Advice
from streamjoin.spark.explain_words import Shards
from streamjoin.spark.plans import MultiPlan


@dataclass(frozen=True)
class PlanExplanation:
    """A join of many streams.

    Parameters
    ----------
    name
        Name of its counters.
    streaming
        Whether the inputs are streams.
    streams
        Their names.
    plan
        The plan, where it comes from and how it may change.
    tree
        Its joins; None for an n-ary join.
    strategy
        Whether an n-ary join or a tree runs, and what both cost; None where there is no choice.
    operators
        Which joins run together.
    conditions
        What a result must fulfil, and where that is checked.
    windows, freshness, states
        How long rows are in results, which results are withheld, what joins remember.
    emitted, watermark, late, idle
        As of a join of two streams.
    shards
        How the work is split.
    budget
        What the join may use and what gives way, as sentences; empty for an exact join.
    numbers
        What the plan costs and yields; None if no rates were given.
    missing
        What there is to give for that; None if it was given.
    remembered
        About how much is remembered, as sentences; empty without rates.
    state_bytes
        All of it; None without rates.
    filters
        What rows must fulfil before the join, by stream.
    lengths
        How long, or how many, rows of each stream are remembered; None for not at all.
    expected
        What comes out and what that takes; None without rates.
    meanings
        What budgets would mean; None without rates.
    columns
        Columns of the result.
    warnings
        What may go wrong.
    """

    name: str
    streaming: bool
    streams: tuple[str, ...]
    plan: str
    tree: Tree | None
    strategy: StrategyExplanation | None
    operators: tuple[OperatorExplanation, ...]
    conditions: tuple[Conjunct, ...]
    windows: tuple[str, ...]
    freshness: tuple[str, ...]
    states: tuple[str, ...]
    emitted: str
    watermark: str | None
    late: str | None
    idle: str | None
    shards: Shards
    budget: tuple[str, ...]
    numbers: PlanNumbers | None
    missing: str | None
    remembered: tuple[str, ...]
    state_bytes: float | None
    filters: dict[str, tuple[str, ...]]
    lengths: dict[str, str | None]
    expected: Expected | None
    meanings: Meanings | None
    columns: tuple[str, ...]
    warnings: tuple[Advice, ...]

    @property
    def title(self) -> str:
        """The first line."""
        kind = "streams" if self.streaming else "tables"
        return f"{self.name}: join of {len(self.streams)} {kind}, {', '.join(self.streams)}"

    def sections(self) -> Iterator[tuple[str, Sequence[str | None]]]:
        """Titles with their lines."""
        yield "plan", [self.plan]
        yield "strategy", [] if self.strategy is None else self.strategy.texts
        yield "operators", [one.text for one in self.operators]
        yield "conditions", [f"{c.text}  ({c.described})" for c in self.conditions]
        yield "windows", self.windows
        yield "freshness", self.freshness
        yield "states", self.states
        yield "comes out", [self.emitted]
        yield "watermark", [self.watermark]
        yield "late rows", [self.late]
        yield "silent input", [self.idle]
        yield "shards", [self.shards.text]
        yield "budget", self.budget
        if self.numbers is not None and self.tree is not None:
            yield "half-way joins", list(self.numbers.table())
            yield "paths", list(self.numbers.ways())
            yield "costs", list(self.numbers.spent())
        yield "in numbers", [self.missing]
        yield "columns", [", ".join(self.columns)]
        yield from sentences(self.expected)
        yield "state, about", self.remembered
        yield "budgets", list(self.meanings.table()) if self.meanings else []


def explain_plan(
    plans: Sequence[MultiPlan],
    rates: StreamRates | None,
    selectivities: Selectivities,
    sources: Sources,
    cores: int,
) -> PlanExplanation:
    r"""Explain a join of many streams, whose operators are given in order.

    Examples
    --------
    >>> import streamjoin as sj
    >>> spark = getfixture("spark")
    >>> ticks = spark.readStream.format("rate").load().selectExpr("value AS k", "timestamp AS t")
    >>> out = sj.multi_join(dict.fromkeys("abc", ticks), on="k", time="t", window="10 seconds")
    >>> explained = sj.explain(out, rates=dict.fromkeys("abc", 100), selectivities=0.01).plans[0]
    >>> print(*explained.numbers.table(), sep="\n")
    tuples -> state  tuples/s  sel.  finds   state  allowance
    a -> b                100  0.01     10   1,000        all
    b -> a                100  0.01     10   1,000        all
    c -> a b              100  0.01    100   1,000        all
    a b -> c            2,000  0.01     10  10,000        all
    """
    last, live = plans[-1], plans[-1].streaming
    streams = words.inputs(last)
    basis: Basis = "assumed" if selectivities is None else "given"
    if sources.samples and selectivities is None:
        basis, selectivities = "sample", selectivities_of(last, sources.samples)
    found = None if rates is None else numbers(last, rates, selectivities)
    strategy = explain_strategy(last, rates, selectivities)
    brings = (
        None
        if found is None or not live
        else expected_of_many(found, strategy, basis, sources, cores)
    )
    held = None if found is None or not live else remembered(last, found, streams)
    return PlanExplanation(
        name=last.name,
        streaming=live,
        streams=tuple(streams),
        plan=words.planned(last),
        tree=None if words.is_nary(last) else last.resolved.tree,
        strategy=strategy,
        operators=words.operators(plans),
        conditions=words.conditions(last),
        windows=words.windows(streams),
        freshness=words.fresh(last),
        states=words.remembered(last),
        emitted=words.emitted(last),
        watermark=words.watermark(streams) if live else None,
        late=explain_words.late(last.late_rows) if live else None,
        idle=words.idle(last) if live else None,
        shards=spread(last),
        budget=_budget(last),
        numbers=found,
        missing=_missing(last) if found is None else None,
        remembered=() if held is None else held.texts,
        state_bytes=None if held is None else _held(held.bytes, strategy),
        filters=dict(sources.filters),
        lengths=words.lengths(streams),
        expected=brings,
        meanings=(
            None
            if rates is None or brings is None
            else meanings_of_many(last, rates, selectivities, brings)
        ),
        columns=tuple(column.name for column in last.resolved.steps[-1].join.output),
        warnings=tuple(advice(last, streams, found, brings)),
    )


def _held(tree: float, strategy: StrategyExplanation | None) -> float:
    """Bytes that are remembered: of a tree, or of one n-ary join if that is to be expected."""
    if strategy is None or strategy.runs != "mjoin" or strategy.mjoin is None:
        return tree
    return strategy.mjoin.state_bytes


def _missing(plan: MultiPlan) -> str:
    tree = plan.resolved.tree
    what = "half-way joins, paths and the plan cost and yield"
    if words.is_nary(plan):
        what = "the join costs"
    given = ", ".join(f'"{name}": 300' for name in tree.names)
    return (
        f"what {what}: give rates={{{given}}} in rows per second and, if known, "
        f'selectivities={{"{tree.label(tree.n_streams)}": '
        f"{SELECTIVITY}, ...}} (that is also what is taken where none is said)"
    )


def _budget(plan: MultiPlan) -> tuple[str, ...]:
    limits = plan.resolved.steps[-1].join.limits
    if plan.budget is None or limits is None:
        return ()
    rate, cpu = plan.budget.rate, plan.budget.describe()
    much = cpu if rate is None else f"{rate:,.6g} probes for each second of the streams"
    cost = (
        []
        if rate is not None
        else [
            f"below, to receive a row and to probe are taken as {FIRST_COST_US:g} us of CPU each; "
            "while the join runs both are measured"
        ]
    )
    told = []
    if len(plan.resolved.steps) > 1:
        told.append(
            "it is one for all operators, which tell each other what they measured through files "
            f"in {plan.shared}"
        )
    elif plan.shared is not None:
        told.append(f"what shards decide, and why, is in files in {plan.shared}")
    return (
        f"{much}, divided by {limits.planner}",
        *told,
        "every row is remembered; the half-way joins that yield most for the whole plan probe "
        "(probed_*, skipped_*), and how many results are missing is estimated (missed)",
        *cost,
    )
