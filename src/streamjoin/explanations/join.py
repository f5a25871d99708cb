"""What a join of two streams will do, in words."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from streamjoin.explanations import words
from streamjoin.explanations.budget import BudgetExplanation, budget, plan_for
from streamjoin.explanations.conditions import Conjunct, conditions, index
from streamjoin.explanations.expected import Expected, assumed, expected, percent, sentences
from streamjoin.explanations.matches import Matches, matched
from streamjoin.explanations.meanings import Meanings, meanings
from streamjoin.explanations.methods import Methods, invalidation, methods
from streamjoin.explanations.plans import JoinPlan
from streamjoin.explanations.samples import Sources
from streamjoin.explanations.state import SideEstimate, estimate, totals
from streamjoin.explanations.text import section
from streamjoin.explanations.warnings import Advice, advice
from streamjoin.explanations.words import Shards

_SIDE: Final = re.compile(r"\b(left|right)\.|`(?:[^`]|``)*`")


@dataclass(frozen=True)
class JoinExplanation:
    """One join.

    Parameters
    ----------
    name
        Name of its counters.
    streams
        What left and right are called.
    how, direction
        Which rows come out; the direction of an as-of join, else None.
    streaming
        Whether the inputs are streams.
    keys
        Columns of left and right that must be equal.
    filters
        What rows of left and right must fulfil before the join.
    conditions
        What a pair must fulfil, and where that is checked.
    windows
        Who meets whom in time, as sentences.
    lengths
        How long, or how many, rows of left and right are remembered; None for not at all.
    emitted
        When rows come out.
    watermark, late, idle
        How far time has come; what becomes of late rows and of a silent input. None where the
        inputs are no streams.
    shards
        How the work is split.
    skew
        What becomes of a key with very many rows; None where the inputs are no streams.
    freshness
        Which results are withheld; None if none are.
    budget
        What the join may use and what gives way; None for an exact join.
    algorithm
        How the two windows are probed; None for as-of joins and tables, which have one way only.
    invalidation
        When rows that are too old go; None if in every batch.
    index
        How matches are found.
    columns
        Columns of the result.
    state
        Estimate of what is remembered of left and right; empty for a batch join.
    expected
        What comes out and what that takes; None if no rates were given.
    burst
        What becomes of a burst of generated streams; None without one.
    meanings
        What budgets would mean; None without rates.
    warnings
        What may go wrong.
    """

    name: str
    streams: tuple[str, str]
    how: str
    direction: str | None
    streaming: bool
    keys: tuple[tuple[str, str], ...]
    filters: tuple[tuple[str, ...], tuple[str, ...]]
    conditions: tuple[Conjunct, ...]
    windows: tuple[str, ...]
    lengths: tuple[str | None, str | None]
    emitted: tuple[str, ...]
    watermark: str | None
    late: str | None
    idle: str | None
    shards: Shards
    skew: str | None
    freshness: str | None
    budget: BudgetExplanation | None
    algorithm: Methods | None
    invalidation: str | None
    index: str
    columns: tuple[str, ...]
    state: tuple[SideEstimate, ...]
    expected: Expected | None
    burst: str | None
    meanings: Meanings | None
    warnings: tuple[Advice, ...]

    @property
    def title(self) -> str:
        """The first line."""
        kind = f"{self.how} ({self.direction})" if self.direction else self.how
        return f"{self.name}: {kind} join of two {'streams' if self.streaming else 'tables'}"

    @property
    def is_named(self) -> bool:
        """Whether the streams are called otherwise than left and right."""
        return self.streams != words.NAMES

    def named(self, text: str) -> str:
        """A condition with the streams' own names."""
        own = dict(zip(words.NAMES, self.streams, strict=True))
        return _SIDE.sub(lambda found: f"{own[found[1]]}." if found[1] else found[0], text)

    def details(self) -> Iterator[str]:
        """The text below the operators, line by line."""
        if self.is_named:
            yield from section("streams", ["left is {}, right is {}".format(*self.streams)])
        texts = [f"{c.text}  ({c.described})" for c in self.conditions]
        yield from section("conditions", texts or ["none: all rows within the windows match"])
        yield from section("windows", self.windows)
        yield from section("comes out", self.emitted)
        yield from section("freshness", [self.freshness])
        yield from section("watermark", [self.watermark])
        yield from section("late rows", [self.late])
        yield from section("silent input", [self.idle])
        yield from section("shards", [self.shards.text])
        yield from section("skewed keys", [self.skew])
        yield from section("budget", self.budget.lines() if self.budget else [])
        yield from section("algorithm", self.algorithm.lines() if self.algorithm else [])
        yield from section("invalidation", [self.invalidation])
        yield from section("index", [self.index])
        yield from section("columns", [", ".join(self.columns)])
        for title, lines in sentences(self.expected):
            yield from section(title, lines)
        whole = totals(self.state, limited=self.budget is not None)
        yield from section("state, about", [s.text for s in self.state] + whole)
        yield from section("budgets", list(self.meanings.table()) if self.meanings else [])


def explain_join(
    plan: JoinPlan,
    rates: tuple[float, float] | None,
    selectivity: float | None,
    sources: Sources,
    cores: int,
) -> JoinExplanation:
    """Explain a join of two streams."""
    join, live = plan.resolved.join, plan.streaming
    names = sources.names or words.NAMES
    matches = _matches(plan, selectivity, sources)
    sides = estimate(plan, rates)
    limited = budget(plan, sides, rates, matches)
    planned = limited.planned if limited else None
    known, found = matches, None
    if rates is not None and live:
        known = known or assumed(plan, rates)
        found = expected(plan, rates, known, cores, is_reflexive=sources.is_reflexive)
    return JoinExplanation(
        name=plan.name,
        streams=(names[0], names[1]),
        how=join.how,
        direction=join.direction if join.how == "asof" else None,
        streaming=live,
        keys=words.keys(join),
        filters=(sources.filters.get(names[0], ()), sources.filters.get(names[1], ())),
        conditions=conditions(plan.resolved),
        windows=words.windows(join),
        lengths=words.lengths(join),
        emitted=words.emitted(join, live),
        watermark=words.watermark(join) if live else None,
        late=words.late(plan.late_rows) if live else None,
        idle=words.idle(join) if live else None,
        shards=words.shards(plan),
        skew=words.skew(plan) if live else None,
        freshness=words.freshness(join),
        budget=limited,
        algorithm=methods(plan, sides, rates, planned),
        invalidation=invalidation(plan),
        index=index(plan.resolved),
        columns=tuple(column.name for column in join.output),
        state=sides if live else (),
        expected=found,
        burst=_burst(plan, sides, rates, known, sources.burst, cores),
        meanings=meanings(plan, sides, rates, known, found) if rates and known and found else None,
        warnings=tuple(advice(plan, sides, planned, found)),
    )


def _burst(
    plan: JoinPlan,
    sides: tuple[SideEstimate, ...],
    rates: tuple[float, float] | None,
    matches: Matches | None,
    times: float,
    cores: int,
) -> str | None:
    """What becomes of a time in which all streams bring some times as many rows."""
    if rates is None or matches is None or times <= 1:
        return None
    high = rates[0] * times, rates[1] * times
    found = expected(plan, high, matches, cores)
    said = f"In the burst, at {times:g} times the rates, it takes about {found.cpu_s:.2g} s of CPU"
    shedding = plan.resolved.join.shedding
    if shedding is None:
        return f"{said} a second, {percent(found.share)} of the cores."
    planned = plan_for(plan, shedding, sides, high, matches)
    left = "nothing is left out" if planned.fits else f"about {percent(planned.share)} remain"
    return f"{said} a second for everything: {left} within the budget."


def _matches(plan: JoinPlan, selectivity: float | None, sources: Sources) -> Matches | None:
    """How often rows match, if that is known."""
    if selectivity is not None:
        return Matches(selectivity, "given")
    join = plan.resolved.join
    if not join.left.key and join.predicate is None and plan.resolved.rest is None:
        return Matches(1.0, "given")  # a cross join
    if not sources.samples:
        return None
    left, right = (sources.samples[name] for name in sources.names)
    return matched(plan, (left, right))
