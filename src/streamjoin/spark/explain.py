"""What a join will do, in words: for the user to read before the query starts.

Reading order: this module (what is asked and what comes back), `explain_conditions` (what a pair
must fulfil), `explain_words` (time and shards), `explain_state` (about how much is remembered),
`explain_budget` and `explain_selective` (what gives way to a budget), `explain_methods` (how
matches are looked for), `explain_warnings` (what may go wrong); `explain_plan` (many streams);
`explain_table` (a table).
"""

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeAlias

from pyspark.sql import DataFrame

from streamjoin.errors import ConfigError
from streamjoin.spark import explain_words as words
from streamjoin.spark.explain_budget import BudgetExplanation, budget
from streamjoin.spark.explain_conditions import Conjunct, conditions, index
from streamjoin.spark.explain_methods import Methods, invalidation, methods
from streamjoin.spark.explain_plan import PlanExplanation, explain_plan
from streamjoin.spark.explain_plan_model import Selectivities
from streamjoin.spark.explain_rates import (
    Rates,
    check_selectivities,
    joins_of,
    name_of,
    rates_of,
)
from streamjoin.spark.explain_state import SideEstimate, estimate, totals
from streamjoin.spark.explain_table import TableExplanation, explain_table
from streamjoin.spark.explain_warnings import Advice, advice
from streamjoin.spark.explain_words import Shards
from streamjoin.spark.plans import JoinPlan, TablePlan, plans_of, queries_of
from streamjoin.spark.sql_explain import QueryExplanation, explain_query

_WIDTH: Final = 100
_INDENT: Final = 17


@dataclass(frozen=True)
class JoinExplanation:
    """One join.

    Parameters
    ----------
    name
        Name of its counters.
    how, direction
        Which rows come out; the direction of an as-of join, else None.
    streaming
        Whether the inputs are streams.
    conditions
        What a pair must fulfil, and where that is checked.
    windows
        Who meets whom in time, as sentences.
    emitted
        When rows come out.
    watermark, late, idle
        How far time has come; what becomes of late rows and of a silent input. None where the
        inputs are no streams.
    shards
        How the work is split.
    skew
        What becomes of a key with very many rows; None where the inputs are no streams.
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
    warnings
        What may go wrong.
    """

    name: str
    how: str
    direction: str | None
    streaming: bool
    conditions: tuple[Conjunct, ...]
    windows: tuple[str, ...]
    emitted: tuple[str, ...]
    watermark: str | None
    late: str | None
    idle: str | None
    shards: Shards
    skew: str | None
    budget: BudgetExplanation | None
    algorithm: Methods | None
    invalidation: str | None
    index: str
    columns: tuple[str, ...]
    state: tuple[SideEstimate, ...]
    warnings: tuple[Advice, ...]

    def lines(self) -> Iterator[str]:
        """The text, line by line."""
        kind = f"{self.how} ({self.direction})" if self.direction else self.how
        yield f"{self.name}: {kind} join of two {'streams' if self.streaming else 'tables'}"
        texts = [f"{c.text}  ({c.described})" for c in self.conditions]
        yield from _section("conditions", texts or ["none: all rows within the windows match"])
        yield from _section("windows", self.windows)
        yield from _section("comes out", self.emitted)
        yield from _section("watermark", [self.watermark])
        yield from _section("late rows", [self.late])
        yield from _section("silent input", [self.idle])
        yield from _section("shards", [self.shards.text])
        yield from _section("skewed keys", [self.skew])
        yield from _section("budget", self.budget.lines() if self.budget else [])
        yield from _section("algorithm", self.algorithm.lines() if self.algorithm else [])
        yield from _section("invalidation", [self.invalidation])
        yield from _section("index", [self.index])
        yield from _section("columns", [", ".join(self.columns)])
        whole = totals(self.state, limited=self.budget is not None)
        yield from _section("state, about", [s.text for s in self.state] + whole)
        for warning in self.warnings:
            yield from _wrapped("  ! ", " " * 4, warning.text)


_Part: TypeAlias = QueryExplanation | PlanExplanation | TableExplanation | JoinExplanation


@dataclass(frozen=True, repr=False)
class Explanation:
    """What the joins of a DataFrame will do; its text is meant to be read, `to_dict` for programs.

    `joins` are those of two streams, `plans` those of many and `tables` those with a table, the
    first of the data's way first; `queries` are those of `streamjoin.sql`.
    """

    joins: tuple[JoinExplanation, ...]
    queries: tuple[QueryExplanation, ...] = ()
    plans: tuple[PlanExplanation, ...] = ()
    tables: tuple[TableExplanation, ...] = ()

    def __str__(self) -> str:
        parts: list[_Part] = [*self.queries, *self.plans, *self.tables, *self.joins]
        return "\n\n".join("\n".join(_lines_of(part)) for part in parts)

    def __repr__(self) -> str:
        return str(self)

    def to_dict(self) -> dict[str, Any]:
        """Values that JSON can hold."""
        values: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return values


def explain_frame(
    frame: DataFrame, rates: Rates = None, selectivities: Selectivities = None
) -> Explanation:
    """Explain every join that a DataFrame comes from.

    Examples
    --------
    >>> import streamjoin as sj
    >>> spark = getfixture("spark")
    >>> ticks = spark.readStream.format("rate").load().selectExpr("value AS k", "timestamp AS t")
    >>> out = sj.join(ticks, ticks, on="k", time="t", window=("10 minutes", "0 seconds"))
    >>> print(explain_frame(out).joins[0].windows[0])
    a left row of time t meets right rows from t to t + 10 minutes
    """
    if not isinstance(frame, DataFrame):
        msg = f"frame: got {type(frame).__name__}; allowed: a DataFrame or a pipeline file's path"
        raise ConfigError(msg)
    plans = plans_of(frame)
    if not plans:
        msg = "frame: the DataFrame comes from no join of streamjoin; allowed: what sj.join returns"
        raise ConfigError(msg)
    joins = joins_of(plans)
    chosen = rates_of(rates, joins)
    check_selectivities(selectivities, joins)
    two: list[JoinExplanation] = []
    many: list[PlanExplanation] = []
    for join in reversed(joins):
        said = chosen.get(name_of(join))
        if isinstance(join, JoinPlan):
            two.append(_explained(join, None if isinstance(said, Mapping) else said))
        else:
            by_name = said if isinstance(said, Mapping) else None
            many.append(explain_plan(join, by_name, selectivities))
    queries = tuple(explain_query(query) for query in reversed(queries_of(frame)))
    tables = (plan for plan in reversed(plans) if isinstance(plan, TablePlan))
    return Explanation(tuple(two), queries, tuple(many), tuple(map(explain_table, tables)))


def _lines_of(one: _Part) -> Iterator[str]:
    if isinstance(one, JoinExplanation):
        yield from one.lines()
        return
    yield from _wrapped("", " " * 2, one.title)
    for title, texts in one.sections():
        yield from _section(title, texts)
    for warning in () if isinstance(one, QueryExplanation) else one.warnings:
        yield from _wrapped("  ! ", " " * 4, warning.text)


def _explained(plan: JoinPlan, rates: tuple[float, float] | None) -> JoinExplanation:
    join, live = plan.resolved.join, plan.streaming
    sides = estimate(plan, rates)
    limited = budget(plan, sides, rates)
    planned = limited.planned if limited else None
    return JoinExplanation(
        name=plan.name,
        how=join.how,
        direction=join.direction if join.how == "asof" else None,
        streaming=live,
        conditions=conditions(plan.resolved),
        windows=words.windows(join),
        emitted=words.emitted(join, live),
        watermark=words.watermark(join) if live else None,
        late=words.late(plan.late_rows) if live else None,
        idle=words.idle(join) if live else None,
        shards=words.shards(plan),
        skew=words.skew(plan) if live else None,
        budget=limited,
        algorithm=methods(plan, sides, rates, planned),
        invalidation=invalidation(plan),
        index=index(plan.resolved),
        columns=tuple(column.name for column in join.output),
        state=sides if live else (),
        warnings=tuple(advice(plan, sides, planned)),
    )


def _section(title: str, texts: Sequence[str | None]) -> Iterator[str]:
    for number, text in enumerate(text for text in texts if text is not None):
        head = f"  {title if number == 0 else '':<{_INDENT - 2}}"
        yield from _wrapped(head, " " * _INDENT, text)


def _wrapped(head: str, indent: str, text: str) -> list[str]:
    wrapper = textwrap.TextWrapper(_WIDTH, head, indent, break_long_words=False)
    wrapper.break_on_hyphens = False
    return wrapper.wrap(text)
