"""What a join of many streams will do: its report.

Read this module, then `many_words` (plan, shards, time, states), `many_model` (half-way joins,
paths and planners in numbers), `many_strategy` (an n-ary join or a tree) and `many_expected` (what
comes out, what that takes, what budgets mean, what may go wrong).
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any, Final

from streamjoin.explanations import many_expected
from streamjoin.explanations import many_words as words
from streamjoin.explanations.asked import Asked
from streamjoin.explanations.expected import Basis, Meanings, expected_sections, numbers_of
from streamjoin.explanations.explainer import Explainer
from streamjoin.explanations.many_model import numbers, sampled_selectivities, streams_of
from streamjoin.explanations.many_strategy import explain_strategy
from streamjoin.explanations.plans import MultiPlan
from streamjoin.explanations.wording import (
    about,
    idle_words,
    late_words,
    listed,
    watermark_words,
    with_rate,
)
from streamjoin.joins.report import Card, Lane, Report
from streamjoin.metrics.words import size as format_bytes

_SMALLEST: Final = "the smallest of the streams' newest times"


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


class _Explainer(Explainer):
    """What is known of a join of many streams, and how that is said."""

    kind = "plans"

    def __init__(self, plan: MultiPlan, asked: Asked) -> None:
        super().__init__(plan, asked)
        self.plan, self.in_numbers = plan, None
        rates, selectivities = asked.by_stream, asked.selectivities
        basis: Basis = "assumed" if selectivities is None else "given"
        if asked.sources.samples and selectivities is None:
            basis, selectivities = "sample", sampled_selectivities(plan, asked.sources.samples)
        if rates is not None:
            self.in_numbers = numbers(plan, rates, selectivities)
            self.share = self.in_numbers.share
        self.strategy = explain_strategy(plan, rates, selectivities)
        self.meanings: Meanings | None = None
        self.remembered: list[str] = []
        self.state_bytes: float | None = None
        if rates is not None and self.in_numbers is not None and plan.streaming:
            self.expected = many_expected.expect(self.in_numbers, self.strategy, basis, asked)
            self.meanings = many_expected.meanings(plan, rates, selectivities, self.expected)
            self.remembered, self.state_bytes = words.remembered(plan, self.in_numbers)
            if self.strategy is not None and self.strategy.expected_mjoin is not None:
                self.state_bytes = self.strategy.expected_mjoin.state_bytes
        self.streams = streams_of(plan)
        self.names = list(self.streams)
        self.tree = None if words.is_nary(plan) else plan.resolved.tree
        self.budget = list(many_expected.budget_lines(plan))
        self.budget_text = next(iter(self.budget), None)
        self.conditions = words.conditions(plan)
        self.keys = [one.text for one in self.conditions if one.place == "key"]
        self.freshness = words.fresh(plan)
        self.lengths = words.lengths(self.streams)
        self.columns = [column.name for column in plan.join.output]
        self.shards = words.shards(plan)
        self.warnings = tuple(many_expected.warnings(plan, self.in_numbers, self.expected))

    def title(self) -> str:
        """What kind of join it is."""
        kind = "streams" if self.streaming else "tables"
        return f"join of {len(self.names)} {kind}, {', '.join(self.names)}"

    def numbers(self) -> dict[str, Any]:
        """What programs get."""
        plan, live = self.plan, self.streaming
        late_us = max(one.stream.lateness_us for one in self.streams.values())
        return {
            "name": plan.name,
            "streaming": live,
            "streams": self.names,
            "plan": words.planned(plan),
            "tree": numbers_of(self.tree),
            "strategy": numbers_of(self.strategy),
            "operators": words.operators(plan),
            "conditions": [asdict(one) for one in self.conditions],
            "windows": words.windows(self.streams),
            "freshness": self.freshness,
            "states": words.intermediate(plan),
            "emitted": words.emitted(plan),
            "watermark": watermark_words(_SMALLEST, late_us) if live else None,
            "late": late_words(plan.late_rows) if live else None,
            "idle": idle_words(plan.join.idle_us) if live else None,
            "shards": self.shards.to_dict(),
            "budget": self.budget,
            "numbers": numbers_of(self.in_numbers),
            "missing": many_expected.missing_words(plan) if self.in_numbers is None else None,
            "remembered": self.remembered,
            "state_bytes": self.state_bytes,
            "filters": dict(self.asked.sources.filters),
            "lengths": self.lengths,
            "expected": numbers_of(self.expected),
            "meanings": numbers_of(self.meanings),
            "columns": self.columns,
        }

    def sections(self, numbers: Mapping[str, Any]) -> dict[str, list[str | None]]:
        """The details in words."""
        tables = self.in_numbers.sections() if self.in_numbers and self.tree else {}
        return {
            "plan": [numbers["plan"]],
            "strategy": [] if self.strategy is None else [*self.strategy.texts],
            "operators": [one["text"] for one in numbers["operators"]],
            "conditions": [one.line for one in self.conditions],
            "windows": numbers["windows"],
            "freshness": [*self.freshness],
            "states": numbers["states"],
            "comes out": [numbers["emitted"]],
            "watermark": [numbers["watermark"]],
            "late rows": [numbers["late"]],
            "silent input": [numbers["idle"]],
            "shards": [self.shards.text],
            "budget": [*self.budget],
            **{title: [*lines] for title, lines in tables.items()},
            "in numbers": [numbers["missing"]],
            "columns": [", ".join(self.columns)],
            **expected_sections(self.expected),
            "state, about": [*self.remembered],
            "budgets": [] if self.meanings is None else [*self.meanings.table()],
        }

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

    def checked_after(self) -> list[str]:
        """Conditions that Spark checks on what the join hands out."""
        rest = [one.text for one in self.conditions if one.place == "spark"]
        return rest + super().checked_after()

    def operator(self) -> Card:
        """A tree of joins, or one n-ary join with all streams around it."""
        is_nary = self.strategy is not None and self.strategy.runs == "mjoin"
        return self._star() if is_nary or self.tree is None else self._node(self.tree.root)

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
