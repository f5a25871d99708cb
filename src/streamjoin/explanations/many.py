"""What a join of many streams will do: its report.

Read this module, then `many_words` (plan, shards, time, states), `many_model` (half-way joins,
paths and planners in numbers) `many_strategy` (an n-ary join or a
tree) and `many_expected` (what comes out, what that takes, what budgets mean, what may go wrong).
"""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from streamjoin.explanations import many_words as words
from streamjoin.explanations.asked import Asked
from streamjoin.explanations.expected import (
    Basis,
    Expected,
    Meanings,
    budget_line,
    expected_sections,
    kept_within,
    look_out,
    numbers_of,
    result_card,
    stream_lines,
)
from streamjoin.explanations.many_expected import (
    budget_lines,
    expect,
    meanings,
    missing_words,
    warnings,
)
from streamjoin.explanations.many_model import (
    PlanNumbers,
    numbers,
    sampled_selectivities,
    streams_of,
)
from streamjoin.explanations.many_strategy import explain_strategy
from streamjoin.explanations.plans import MultiPlan
from streamjoin.explanations.wording import about, format_bytes, late_words, listed, with_rate
from streamjoin.joins.report import Card, Lane, Report
from streamjoin.planning.many.tree import Tree


def explain_many(plan: MultiPlan, asked: Asked) -> Report:
    r"""Explain a join of many streams, by the last of its operators.

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
    return _Explainer(plan, asked).report()


class _Explainer:
    """What is known of a join, and how that is said."""

    def __init__(self, plan: MultiPlan, asked: Asked) -> None:
        self.plan, self.asked, self.join = plan, asked, plan.resolved.steps[-1].join
        rates, selectivities = asked.by_stream, asked.selectivities
        basis: Basis = "assumed" if selectivities is None else "given"
        if asked.sources.samples and selectivities is None:
            basis, selectivities = "sample", sampled_selectivities(plan, asked.sources.samples)
        self.numbers: PlanNumbers | None = None
        if rates is not None:
            self.numbers = numbers(plan, rates, selectivities)
        self.strategy = explain_strategy(plan, rates, selectivities)
        self.expected: Expected | None = None
        self.meanings: Meanings | None = None
        self.remembered: list[str] = []
        self.state_bytes: float | None = None
        if rates is not None and self.numbers is not None and plan.streaming:
            self.expected = expect(self.numbers, self.strategy, basis, asked)
            self.meanings = meanings(plan, rates, selectivities, self.expected)
            self.remembered, self.state_bytes = words.remembered(plan, self.numbers)
            if self.strategy is not None and self.strategy.expected_mjoin is not None:
                self.state_bytes = self.strategy.expected_mjoin.state_bytes
        self.streams = streams_of(plan)
        self.tree = None if words.is_nary(plan) else plan.resolved.tree
        self.budget = tuple(budget_lines(plan))
        self.conditions = words.conditions(plan)
        self.keys = [one.text for one in self.conditions if one.place == "key"]
        self.freshness = words.fresh(plan)
        self.lengths = words.lengths(self.streams)
        self.columns = [column.name for column in self.join.output]
        self.shards = words.shards(plan)
        self.warnings = tuple(warnings(plan, self.numbers, self.expected))

    def report(self) -> Report:
        """All of it."""
        names, details = list(self.streams), self.details()
        kind = "streams" if self.plan.streaming else "tables"
        return Report(
            "plans",
            f"{self.plan.name}: join of {len(names)} {kind}, {', '.join(names)}",
            self.sections(details),
            details,
            tuple(self.answer()),
            self.warnings,
            f"{self.plan.name}: {listed(names)}",
            self.card(),
        )

    def details(self) -> dict[str, Any]:
        """For programs."""
        plan, live = self.plan, self.plan.streaming
        return {
            "name": plan.name,
            "streaming": live,
            "streams": list(self.streams),
            "plan": words.planned(plan),
            "tree": None if self.tree is None else asdict(self.tree),
            "strategy": None if self.strategy is None else asdict(self.strategy),
            "operators": words.operators(plan),
            "conditions": [asdict(one) for one in self.conditions],
            "windows": words.windows(self.streams),
            "freshness": self.freshness,
            "states": words.intermediate(plan),
            "emitted": words.emitted(plan),
            "watermark": words.watermark(self.streams) if live else None,
            "late": late_words(plan.late_rows) if live else None,
            "idle": words.idle(plan) if live else None,
            "shards": self.shards.to_dict(),
            "budget": self.budget,
            "numbers": None if self.numbers is None else self.numbers.to_dict(),
            "missing": missing_words(plan) if self.numbers is None else None,
            "remembered": self.remembered,
            "state_bytes": self.state_bytes,
            "filters": dict(self.asked.sources.filters),
            "lengths": self.lengths,
            "expected": numbers_of(self.expected),
            "meanings": numbers_of(self.meanings),
            "columns": self.columns,
        }

    def sections(self, details: dict[str, Any]) -> dict[str, list[str | None]]:
        """The details in words."""
        in_numbers = {} if self.numbers is None or self.tree is None else self.numbers.sections()
        return {
            "plan": [details["plan"]],
            "strategy": [] if self.strategy is None else [*self.strategy.texts],
            "operators": [one["text"] for one in details["operators"]],
            "conditions": [one.line for one in self.conditions],
            "windows": details["windows"],
            "freshness": [*self.freshness],
            "states": details["states"],
            "comes out": [details["emitted"]],
            "watermark": [details["watermark"]],
            "late rows": [details["late"]],
            "silent input": [details["idle"]],
            "shards": [self.shards.text],
            "budget": [*self.budget],
            **{title: [*lines] for title, lines in in_numbers.items()},
            "in numbers": [details["missing"]],
            "columns": [", ".join(self.columns)],
            **expected_sections(self.expected),
            "state, about": [*self.remembered],
            "budgets": [] if self.meanings is None else [*self.meanings.table()],
        }

    def answer(self) -> Iterator[str]:
        """The whole in a few sentences."""
        rates = {} if self.numbers is None else self.numbers.rates
        streams = [with_rate(name, rates.get(name)) for name in self.streams]
        how = "one n-ary join" if self.tree is None else f"a tree of {len(streams) - 1} joins"
        if self.strategy is not None and self.strategy.strategy == "auto":
            how = "one n-ary join or a tree of joins, whichever is cheaper"
            if self.strategy.expected is not None:
                expects = "one n-ary join" if self.strategy.expected == "mjoin" else "the tree"
                how = f"{how} (to expect: {expects})"
        yield f"Combines rows of {listed(streams)} where {' and '.join(self.keys)}, by {how}."
        if not self.plan.streaming:
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
        if limited and self.numbers is not None:
            fits, share = not self.numbers.planners, self.numbers.share
            yield kept_within(self.budget[0], fits, share, self.expected)
        yield from look_out(self.warnings)

    def card(self) -> Card:
        """A tree of joins, or one n-ary join with all streams around it."""
        nary = self.strategy is not None and self.strategy.runs == "mjoin"
        tree = None if nary else self.tree
        return result_card(
            self._star() if tree is None else self._node(tree, tree.root),
            self.columns,
            self.expected,
            conditions=[one.text for one in self.conditions if one.place == "spark"],
            query=self.asked.query,
            share=1.0 if self.numbers is None else self.numbers.share,
        )

    def _star(self) -> Card:
        """One n-ary join: whoever drives probes the others in its own order."""
        sequences = None if self.strategy is None else self.strategy.sequences
        order = "" if self.strategy is None else f"order {self.strategy.order}; "
        return Card(
            "join",
            "n-ary join",
            (*self.keys, f"{order}{self.shards.brief}"),
            lanes=tuple(Lane((name, *others)) for name, others in (sequences or {}).items()),
            limits=tuple(self._limits()),
            children=tuple(self._stream(name) for name in self.streams),
        )

    def _node(self, tree: Tree, node: int) -> Card:
        if node < tree.n_streams:
            return self._stream(tree.names[node])
        left, right = tree.children(node)
        is_root, a, b = node == tree.root, tree.label(left), tree.label(right)
        return Card(
            "join",
            f"join of {a} with {b}",
            (*self.keys, self.shards.brief) if is_root else (),
            lanes=(self._lane(a, b), self._lane(b, a)),
            limits=tuple(self._limits()) if is_root else (),
            children=(self._node(tree, left), self._node(tree, right)),
        )

    def _lane(self, tuples: str, probed: str) -> Lane:
        """A half-way join."""
        steps = (tuples, f"state of {probed}")
        if self.numbers is None:
            return Lane(steps)
        known = {one.tuples: one for one in self.numbers.half_way}
        one = known[tuples]
        allowed = "" if one.allowance is None else f", {about(one.allowance)}/s allowed"
        return Lane(
            steps,
            f"{about(one.arriving)} probes/s{allowed}; each finds {about(one.productivity)} of "
            f"{about(known[probed].state)}",
        )

    def _stream(self, name: str) -> Card:
        rate = None if self.numbers is None else self.numbers.rates[name]
        filters = self.asked.sources.filters.get(name, ())
        lines = stream_lines(rate, self.lengths[name], filters)
        return Card("stream" if self.plan.streaming else "table", name, tuple(lines))

    def _limits(self) -> Iterator[str]:
        """What stands out: the budget, and which results are withheld."""
        if self.budget:
            yield budget_line(self.budget[0], None if self.numbers is None else self.numbers.share)
        yield from (f"freshness {text.partition(':')[0]}" for text in self.freshness)
