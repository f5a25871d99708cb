"""What a join of many streams will do, in words.

Reading order: this module (what comes back), `explain_plan_words` (plan, time and states),
`explain_plan_model` (half-way joins, paths and planners in numbers).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from streamjoin.durations import format_duration
from streamjoin.joins.multi.settings import Input
from streamjoin.planning.tree import Tree
from streamjoin.shedding.regulation import FIRST_COST_US
from streamjoin.spark import explain_plan_words as words
from streamjoin.spark import explain_words
from streamjoin.spark.explain_conditions import Conjunct
from streamjoin.spark.explain_plan_model import (
    SELECTIVITY,
    PlanNumbers,
    Selectivities,
    StreamRates,
    numbers,
    write,
)
from streamjoin.spark.explain_plan_words import OperatorExplanation
from streamjoin.spark.explain_state import format_bytes, row_bytes
from streamjoin.spark.explain_warnings import LONG_US, Advice
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
    plan, tree
        The plan, where it comes from and how it may change; and drawn, line by line.
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
    columns
        Columns of the result.
    warnings
        What may go wrong.
    """

    name: str
    streaming: bool
    streams: tuple[str, ...]
    plan: str
    tree: tuple[str, ...]
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
        yield "tree", self.tree
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
        if self.numbers is not None:
            yield "half-way joins", list(self.numbers.table())
            yield "paths", list(self.numbers.ways())
            yield "costs", list(self.numbers.spent())
        yield "in numbers", [self.missing]
        yield "columns", [", ".join(self.columns)]
        yield "state, about", self.remembered


def explain_plan(
    plans: Sequence[MultiPlan], rates: StreamRates | None, selectivities: Selectivities
) -> PlanExplanation:
    r"""Explain a join of many streams, whose operators are given in order.

    Examples
    --------
    >>> import streamjoin as sj
    >>> spark = getfixture("spark")
    >>> ticks = spark.readStream.format("rate").load().selectExpr("value AS k", "timestamp AS t")
    >>> out = sj.multi_join(dict.fromkeys("abc", ticks), on="k", time="t", window="10 seconds",
    ...                     budget=sj.Budget(rate=300))
    >>> explained = sj.explain(out, rates=dict.fromkeys("abc", 100), selectivities=0.01).joins[0]
    >>> print(*explained.numbers.table(), sep="\n")
    tuples -> state  tuples/s  sel.  finds   state  allowance
    a -> b              100  0.01     10   1,000        0/s
    b -> a              100  0.01     10   1,000        0/s
    c -> a b            100  0.01    100   1,000      100/s
    a b -> c          2,000  0.01     10  10,000      ...
    """
    last, live = plans[-1], plans[-1].streaming
    streams = words.inputs(last)
    found = None if rates is None else numbers(last, rates, selectivities)
    return PlanExplanation(
        name=last.name,
        streaming=live,
        streams=tuple(streams),
        plan=words.planned(last),
        tree=words.drawn(last.resolved.tree),
        operators=words.operators(plans),
        conditions=words.conditions(last),
        windows=words.windows(streams),
        freshness=words.fresh(last),
        states=words.remembered(last),
        emitted=words.emitted(last),
        watermark=words.watermark(streams) if live else None,
        late=explain_words.late(last.late_rows) if live else None,
        idle=words.idle(last) if live else None,
        shards=Shards(last.n_shards, last.n_partitions, f"{last.n_shards} by key", (1, 1)),
        budget=_budget(last),
        numbers=found,
        missing=_missing(last.resolved.tree) if found is None else None,
        remembered=() if found is None or not live else tuple(_remembered(last, found, streams)),
        columns=tuple(column.name for column in last.resolved.steps[-1].join.output),
        warnings=tuple(_advice(last, streams, found)),
    )


def _missing(tree: Tree) -> str:
    given = ", ".join(f'"{name}": 300' for name in tree.names)
    return (
        f"what half-way joins, paths and the plan cost and yield: give rates={{{given}}} in rows "
        f'per second and, if known, selectivities={{"{tree.label(tree.n_streams)}": '
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
    return (
        f"{much}, divided by {limits.planner}",
        "every row is remembered; the half-way joins that yield most for the whole plan probe "
        "(probed_*, skipped_*), and how many results are missing is estimated (missed)",
        *cost,
    )


def _remembered(plan: MultiPlan, found: PlanNumbers, streams: dict[str, Input]) -> Iterator[str]:
    """About how much each state holds."""
    total = 0.0
    tree = plan.resolved.tree
    axes = max(step.join.n_axes for step in plan.resolved.steps)
    for node, one in enumerate(found.half_way):
        if node < tree.n_streams:
            stream = streams[one.tuples].stream
            size, rows = row_bytes(stream.kept)[0], one.state
            rows += found.rates[one.tuples] * stream.lateness_us / 1e6
            what = "rows"
        else:
            # key, interval, and the names of its rows
            size, rows = 8.0 * (1 + 2 * axes + len(tree.streams(node))), one.state
            what = "tuples"
        total += rows * size
        yield f"{one.tuples} {format_bytes(rows * size)} = {write(rows)} {what} x {size:.3g} B"
    late = max(one.stream.lateness_us for one in streams.values())
    more = f", with {format_duration(late)} of lateness" if late else ""
    yield f"together {format_bytes(total)}{more}, and more while one input is ahead of the others"


def _advice(
    plan: MultiPlan, streams: dict[str, Input], found: PlanNumbers | None
) -> Iterator[Advice]:
    if found is not None and found.infeasible is not None:
        yield Advice("infeasible", found.infeasible)
    if plan.where:
        yield Advice(
            "left_to_spark",
            f"{plan.where} is left to Spark: results are built first and dropped afterwards, and "
            "the counters count them",
        )
    if plan.n_shards == 1:
        yield Advice("one_shard", "one core does all the work: there is one shard")
    if not plan.streaming:
        return
    join = plan.resolved.steps[-1].join
    if join.idle_us is None:
        yield Advice(
            "unbounded_state",
            "unbounded state: while one input is silent the rows of the others are all kept; give "
            "`idle_timeout` if that may last",
        )
    if all(one.stream.lateness_us == 0 for one in streams.values()):
        yield Advice(
            "no_lateness",
            "no lateness: a row that is older than what all inputs had reached a batch before is "
            "left out; give `lateness` unless rows come in order of time",
        )
    for name, one in streams.items():
        if one.stream.window_us > LONG_US:
            length = format_duration(one.stream.window_us)
            yield Advice("long_window", f"the window of {name} is long ({length}): mind the state")
    if join.states and not join.freshness:
        yield Advice(
            "stale_states",
            "joins remember a number of results, whose rows may be of any age; give `freshness` "
            "to withhold results that are too old",
        )
