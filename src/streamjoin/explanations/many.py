"""What a join of many streams will do: its report.

Read this module, then `many_words` (plan, shards, time, states), `many_model` (half-way joins,
paths and planners in numbers) and `many_strategy` (an n-ary join or a tree).
"""

from collections.abc import Iterator
from typing import Final

from streamjoin.explanations import many_model
from streamjoin.explanations import many_words as words
from streamjoin.explanations.asked import Asked, Selectivities, StreamRates
from streamjoin.explanations.explainer import (
    BASES,
    BUDGET_PARTS,
    Basis,
    Expected,
    Explainer,
    Fact,
    Meaning,
    Meanings,
    expect,
    warn,
)
from streamjoin.explanations.many_strategy import explain_strategy
from streamjoin.explanations.wording import Condition, about, listed, with_rate
from streamjoin.joins.plans import MultiPlan
from streamjoin.joins.report import Advice, Card, Lane
from streamjoin.metrics.words import size as format_bytes
from streamjoin.planning.many.plan_model import PlanModel
from streamjoin.planning.many.planners import analyse
from streamjoin.shedding.comparisons import SelectiveState
from streamjoin.shedding.rows import FIRST_COST_US

_PLANNER: Final = "jaqpot"


class ManyExplainer(Explainer):
    r"""What is known of a join of many streams, by the last of its operators.

    Examples
    --------
    >>> import streamjoin as sj
    >>> spark = getfixture("spark")
    >>> ticks = spark.readStream.format("rate").load().selectExpr("value AS k", "timestamp AS t")
    >>> out = sj.multi_join(dict.fromkeys("abc", ticks), on="k", time="t", window="10 seconds")
    >>> (report,) = sj.explain(out, rates=dict.fromkeys("abc", 100), selectivities=0.01).reports
    >>> print(*report.sections["half-way joins"], sep="\n")
    tuples -> state  tuples/s  sel.  finds   state  allowance
    a -> b                100  0.01     10   1,000        all
    b -> a                100  0.01     10   1,000        all
    c -> a b              100  0.01    100   1,000        all
    a b -> c            2,000  0.01     10  10,000        all
    """

    kind = "plans"

    def __init__(self, plan: MultiPlan, asked: Asked) -> None:
        super().__init__(plan, asked)
        self.plan, self.streams = plan, plan.streams
        self.names = list(self.streams)
        kind = "streams" if self.streaming else "tables"
        self.title = f"join of {len(self.names)} {kind}, {', '.join(self.names)}"
        self.tree = None if words.is_nary(plan) else plan.resolved.tree
        self.budget = list(self._budget())
        self.budget_text = next(iter(self.budget), None)
        self.keys = [one.describe() for one in plan.resolved.keys.classes]
        self.conditions = [Condition(key, "key") for key in self.keys]
        self.conditions += [Condition(plan.where, "spark")] if plan.where else []
        self.freshness = words.fresh(plan)
        self.lengths = words.lengths(self.streams)
        self.columns = [column.name for column in plan.join.output]
        self.shards = words.shards(plan)
        self.in_numbers: many_model.PlanNumbers | None = None
        self.state_bytes: float | None = None
        selectivities = asked.selectivities
        self.basis: Basis = "assumed" if selectivities is None else "given"
        if asked.sources.samples and selectivities is None:
            self.basis = "sample"
            selectivities = many_model.sampled_selectivities(plan, asked.sources.samples)
        self.strategy = explain_strategy(plan, asked.rates, selectivities)
        is_nary = self.strategy is not None and self.strategy.runs == "mjoin"
        self.is_nary = is_nary or self.tree is None
        self.nary = self.strategy.mjoin if self.strategy is not None and is_nary else None
        if asked.rates is not None:
            self._count(asked.rates, selectivities)
        self.warnings = tuple(self._warnings())

    def _count(self, rates: StreamRates, selectivities: Selectivities) -> None:
        """What follows from the rates."""
        plan, model = self.plan, many_model.model_of(self.plan, rates, selectivities)
        self.in_numbers = many_model.numbers_of(plan, model)
        self.share = self.in_numbers.share
        if not plan.streaming:
            return
        self.expected = self._expect(self.in_numbers)
        self.meanings = self._meanings(model, self.expected)
        self.state, self.state_bytes = words.remembered(
            plan, self.in_numbers, self.shards.sent or {}
        )
        if self.nary is not None:
            self.state_bytes = self.nary.state_bytes

    def facts(self) -> list[Fact]:
        """The details."""
        plan, strategy, join = self.plan, self.strategy, self.plan.join
        late_us = max(one.lateness_us for one in self.streams.values())
        operators = words.operators(plan)
        tables = self.in_numbers.sections() if self.in_numbers and self.tree else {}
        newest = "the smallest of the streams' newest times"
        return [
            Fact("name", plan.name),
            Fact("streaming", self.streaming),
            Fact("streams", self.names),
            Fact("plan", words.planned(plan), "plan"),
            Fact("tree", self.tree),
            Fact("strategy", strategy, "strategy", () if strategy is None else strategy.texts),
            Fact("operators", operators, "operators", [one["text"] for one in operators]),
            Fact("conditions", self.conditions, "conditions", [x.line for x in self.conditions]),
            Fact("windows", words.windows(self.streams), "windows"),
            Fact("freshness", self.freshness, "freshness"),
            Fact("states", words.intermediate(plan), "states"),
            Fact("emitted", words.emitted(plan), "comes out"),
            *self.time_facts(newest, late_us, plan.late_rows, join.idle_us, ""),
            Fact("shards", self.shards.to_dict(), "shards", [self.shards.text]),
            Fact("budget", self.budget, "budget"),
            Fact("numbers", self.in_numbers),
            *(Fact(None, lines, title) for title, lines in tables.items()),
            Fact("missing", None if self.in_numbers else self._missing(), "in numbers"),
            Fact("remembered", self.state),
            Fact("state_bytes", self.state_bytes),
            Fact("filters", dict(self.asked.sources.filters)),
            Fact("lengths", self.lengths),
            Fact("expected", self.expected),
            Fact("meanings", self.meanings),
            Fact("columns", self.columns),
        ]

    def answer(self) -> Iterator[str]:
        """The whole in a few sentences."""
        rates = {} if self.in_numbers is None else self.in_numbers.rates
        streams = [with_rate(name, rates.get(name)) for name in self.streams]
        how = "one n-ary join" if self.tree is None else f"a tree of {len(streams) - 1} joins"
        if self.strategy is not None and self.strategy.strategy == "auto":
            how = "one n-ary join or a tree of joins, whichever is cheaper"
            if self.strategy.expected is not None:
                expects = "one n-ary join" if self.strategy.expected == "mjoin" else "the tree"
                how = f"{how} (to expect: {expects})"
        yield f"Combines rows of {listed(streams)} where {' and '.join(self.keys)}, by {how}."
        if not self.streaming:
            yield "All rows are there, so the result comes at the end."
            return
        limited = bool(self.budget)
        if self.expected is None or self.state_bytes is None:
            yield (
                "Give rates, and selectivities if known, to see what comes out, what is "
                "remembered, the CPU that takes and what a budget would mean."
            )
        else:
            size = format_bytes(self.state_bytes)
            yield f"{self.expected.comes_out(limited=limited)}; about {size} are remembered."
            yield self.expected.takes(limited=limited)
        if limited and self.in_numbers is not None:
            yield self.kept(fits=not self.in_numbers.planners)
        yield from self.look_out()

    def operator(self) -> Card:
        """A tree of joins, or one n-ary join with all streams around it."""
        return self._star() if self.is_nary else self._node(self.plan.resolved.tree.root)

    def _star(self) -> Card:
        """One n-ary join: whoever drives probes the others in its own order."""
        sequences = None if self.strategy is None else self.strategy.sequences
        order = "" if self.strategy is None else f"order {self.strategy.order}; "
        return Card(
            "join",
            "n-ary join",
            (*self.keys, f"{order}{self.shards.brief}"),
            lanes=tuple(Lane((name, *others)) for name, others in (sequences or {}).items()),
            limits=self.limits(),
            children=tuple(map(self._stream, self.names)),
        )

    def _node(self, node: int) -> Card:
        tree = self.plan.resolved.tree
        if node < tree.n_streams:
            return self._stream(tree.names[node])
        left, right = tree.children(node)
        is_root, a, b = node == tree.root, tree.label(left), tree.label(right)
        return Card(
            "join",
            f"join of {a} with {b}",
            (*self.keys, self.shards.brief) if is_root else (),
            lanes=(self._lane(a, b), self._lane(b, a)),
            limits=self.limits() if is_root else (),
            children=(self._node(left), self._node(right)),
        )

    def _lane(self, tuples: str, probed: str) -> Lane:
        """A half-way join."""
        steps = (tuples, f"state of {probed}")
        if self.in_numbers is None:
            return Lane(steps)
        known = {one.tuples: one for one in self.in_numbers.half_way}
        one = known[tuples]
        allowed = "" if one.allowance is None else f", {about(one.allowance)}/s allowed"
        return Lane(
            steps,
            f"{about(one.arriving)} probes/s{allowed}; each finds {about(one.productivity)} of "
            f"{about(known[probed].state)}",
        )

    def _stream(self, name: str) -> Card:
        rate = None if self.in_numbers is None else self.in_numbers.rates[name]
        return self.stream(name, rate, self.lengths[name])

    def _expect(self, numbers: many_model.PlanNumbers) -> Expected:
        """What comes out, and what that takes."""
        receiving = FIRST_COST_US * sum(numbers.rates.values()) / 1e6
        probing = numbers.cost * (1.0 if numbers.unit == "us" else FIRST_COST_US) / 1e6
        if self.nary is not None:
            probing = self.nary.cpu_us / 1e6
        probing += SelectiveState().emitting.each * numbers.results / 1e6
        known = BASES[self.basis]
        if self.basis == "assumed":
            known = "selectivities are assumed; give those that are known"
        rows = f"{about(numbers.results)} rows/s ({known}), before what Spark checks, if anything"
        what = "to probe and to hand out results"
        cpu = receiving, probing
        return expect(self.asked, numbers.results, rows, self.basis, cpu, what)

    def _meanings(self, model: PlanModel, expected: Expected) -> Meanings:
        """What budgets would mean, which are of CPU only."""
        if self.tree is None:
            return Meanings((), "a budget is for a tree of joins: one n-ary join is exact")
        limits = self.plan.join.limits
        planner = _PLANNER if limits is None else limits.planner
        receiving = FIRST_COST_US * float(model.rates.sum()) / 1e6
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
            f"by the model of Mukherji et al. of a tree of joins, divided by {planner}; every row "
            f"is received first, at {FIRST_COST_US:g} us; there is no budget of memory for many "
            "streams"
        )
        return Meanings(rows, note)

    def _budget(self) -> Iterator[str]:
        """What the join may use and what gives way; nothing for an exact join."""
        plan, limits = self.plan, self.plan.join.limits
        if plan.budget is None or limits is None:
            return
        rate, much = plan.budget.rate, plan.budget.describe()
        if rate is not None:
            much = f"{rate:,.6g} probes for each second of the streams"
        yield f"{much}, divided by {limits.planner}"
        if len(plan.resolved.steps) > 1:
            yield (
                "it is one for all operators, which tell each other what they measured through "
                f"files in {plan.shared}"
            )
        elif plan.shared is not None:
            yield f"what shards decide, and why, is in files in {plan.shared}"
        yield (
            "every row is remembered; the half-way joins that yield most for the whole plan probe "
            "(probed_*, skipped_*), and how many results are missing is estimated (missed)"
        )
        if rate is None:
            yield (
                f"below, to receive a row and to probe are taken as {FIRST_COST_US:g} us of CPU "
                "each; while the join runs both are measured"
            )

    def _missing(self) -> str:
        """What there is to give to see numbers."""
        tree, assumed = self.plan.resolved.tree, many_model.ASSUMED_SELECTIVITY
        what = "half-way joins, paths and the plan cost and yield"
        if self.tree is None:
            what = "the join costs"
        given = ", ".join(f'"{name}": 300' for name in tree.names)
        return (
            f"what {what}: give rates={{{given}}} in rows per second and, if known, "
            f'selectivities={{"{tree.label(tree.n_streams)}": {assumed}, ...}} '
            "(that is also what is taken where none is said)"
        )

    def _warnings(self) -> Iterator[Advice]:
        """What may go wrong."""
        plan, join = self.plan, self.plan.join
        if self.in_numbers is not None and self.in_numbers.infeasible is not None:
            yield warn("infeasible", why=self.in_numbers.infeasible)
        if plan.where:
            yield warn("left_to_spark", condition=plan.where, what="results")
        if plan.n_shards == 1:
            yield warn("one_shard", why="there is one shard")
        if plan.budget is None:
            yield from self.cpu_warnings()
        if not plan.streaming:
            return
        windows = {f"window of {name}": one for name, one in self.streams.items()}
        can_end = join.idle_us is not None
        kept = "others are all kept"
        yield from self.time_warnings(windows, can_end=can_end, every="all", kept=kept)
        if join.states and not join.freshness:
            yield warn("stale_states")
