"""What a join will do, in words: for the user to read before the query starts.

Reading order: this module (what is asked and what comes back), `join` (two streams),
`plan` (many streams), `table` (a table), `query` (a query);
`answers` (all of it in a few sentences), `cards` and `plan_cards` (the
operators, to draw), `text` (how it is written). Of two streams: `conditions` (what
a pair must fulfil), `words` (time and shards), `samples` and `matches` (how
often rows match), `expected` (what comes out, and what that takes), `state` (about
how much is remembered), `budget` and `selective` (what gives way to a budget),
`meanings` (what other budgets would mean), `methods` (how matches are looked for),
`warnings` (what may go wrong).
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from streamjoin.explanations.answers import answer_of_join, answer_of_plan, answer_of_table
from streamjoin.explanations.cards import cards_of_join, cards_of_table
from streamjoin.explanations.drawing import Card, draw, tree_lines
from streamjoin.explanations.join import JoinExplanation, explain_join
from streamjoin.explanations.plan import PlanExplanation, explain_plan
from streamjoin.explanations.plan_cards import cards_of_plan
from streamjoin.explanations.plan_model import Selectivities
from streamjoin.explanations.plans import AnyPlan, JoinPlan, TablePlan
from streamjoin.explanations.query import QueryExplanation, explain_query
from streamjoin.explanations.rates import (
    Rates,
    check_selectivities,
    joins_of,
    name_of,
    rates_of,
)
from streamjoin.explanations.samples import Sources
from streamjoin.explanations.table import TableExplanation, explain_table
from streamjoin.explanations.text import drawn, section, wrapped

if TYPE_CHECKING:
    from streamjoin.sql_text.query_plan import QueryPlan

_Join: TypeAlias = PlanExplanation | TableExplanation | JoinExplanation
NOTHING_KNOWN: Final = Sources()


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
        parts = ["\n".join(_lines_of(join, self._query)) for join in self._all()]
        parts += ["\n".join(_query_lines(query)) for query in self.queries]
        return "\n\n".join(parts)

    def __repr__(self) -> str:
        return str(self)

    def to_dict(self) -> dict[str, Any]:
        """Values that JSON can hold: all that the text says, and the answer in sentences."""
        values: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        for kind in ("plans", "tables", "joins"):
            for value, join in zip(values[kind], getattr(self, kind), strict=True):
                value["answer"] = list(_answer(join))
        return values

    def to_json(self) -> str:
        """`to_dict` as one JSON document."""
        return json.dumps(self.to_dict(), indent=2)

    def to_svg(self) -> str:
        """A drawing of the joins: one SVG document that needs nothing else."""
        parts = [(_heading(join), _card(join, self._query)) for join in self._all()]
        sentences = [sentence for join in self._all() for sentence in _answer(join)]
        return draw(parts, " ".join(sentences))

    def _all(self) -> list[_Join]:
        return [*self.plans, *self.tables, *self.joins]

    @property
    def _query(self) -> QueryExplanation | None:
        """The query that the one join is of; where there are several joins they stand alone."""
        single = len(self.queries) == 1 and len(self._all()) == 1
        return self.queries[0] if single else None


def explain_plans(
    plans: Sequence[AnyPlan],
    queries: "Sequence[QueryPlan]",
    cores: int,
    streaming: bool = True,
    rates: Rates = None,
    selectivities: Selectivities = None,
    sources: Sources = NOTHING_KNOWN,
) -> Explanation:
    """Explain joins and queries, which are given outermost first."""
    joins = joins_of(plans)
    chosen = rates_of(rates, joins)
    selectivity = check_selectivities(selectivities, joins)
    two: list[JoinExplanation] = []
    many: list[PlanExplanation] = []
    for join in reversed(joins):
        said = chosen.get(name_of(join))
        if isinstance(join, JoinPlan):
            pair = None if isinstance(said, Mapping) else said
            two.append(explain_join(join, pair, selectivity, sources, cores))
        else:
            by_name = said if isinstance(said, Mapping) else None
            many.append(explain_plan(join, by_name, selectivities, sources, cores))
    explained = tuple(explain_query(query) for query in reversed(queries))
    tables = tuple(
        explain_table(plan, sources, streaming, cores)
        for plan in reversed(plans)
        if isinstance(plan, TablePlan)
    )
    return Explanation(tuple(two), explained, tuple(many), tables)


def _answer(join: _Join) -> Iterator[str]:
    if isinstance(join, JoinExplanation):
        return answer_of_join(join)
    return answer_of_plan(join) if isinstance(join, PlanExplanation) else answer_of_table(join)


def _card(join: _Join, query: QueryExplanation | None) -> Card:
    if isinstance(join, JoinExplanation):
        return cards_of_join(join, query)
    if isinstance(join, PlanExplanation):
        return cards_of_plan(join, query)
    return cards_of_table(join)


def _heading(join: _Join) -> str:
    names = join.streams if not isinstance(join, TableExplanation) else (join.stream, "a table")
    return f"{join.name}: {', '.join(names[:-1])} and {names[-1]}"


def _lines_of(join: _Join, query: QueryExplanation | None) -> Iterator[str]:
    yield from wrapped("", " " * 2, join.title)
    for sentence in _answer(join):
        yield from wrapped("  ", " " * 4, sentence)
    yield from drawn("how it runs", tree_lines(_card(join, query)))
    if isinstance(join, JoinExplanation):
        yield from join.details()
    else:
        for title, texts in join.sections():
            yield from section(title, texts)
    for warning in join.warnings:
        yield from wrapped("  ! ", " " * 4, warning.text)


def _query_lines(query: QueryExplanation) -> Iterator[str]:
    yield from wrapped("", " " * 2, query.title)
    for title, texts in query.sections():
        yield from section(title, texts)
