"""Where the parts of a query are evaluated, in words."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from streamjoin.sql_text.query_plan import QueryPlan

_PLACES: Final = {
    "stream": "filter of {}, before the join",
    "key": "key of the join",
    "join": "checked by the join",
    "after": "by Spark, after the join",
}


@dataclass(frozen=True)
class PlacedCondition:
    """A condition of a query: its text, where that stands, and where it is evaluated.

    `place` is ``stream``, ``key``, ``join`` or ``after``; `stream` is set for the first of these.
    """

    text: str
    line: int
    column: int
    place: str
    stream: str | None

    @property
    def described(self) -> str:
        """The place in words."""
        return _PLACES[self.place].format(self.stream)


@dataclass(frozen=True)
class QueryExplanation:
    """A query.

    Parameters
    ----------
    streams
        Names in the query, and those under which the streams are known.
    how
        Join type.
    conditions
        What results must fulfil, in the order of the text.
    carried
        Columns that the join carries, by stream; others are left out before it.
    selected
        What comes out, as Spark evaluates it after the join.
    plan
        The plan of the clause PLAN, if there is one.
    """

    streams: dict[str, str]
    how: str
    conditions: tuple[PlacedCondition, ...]
    carried: dict[str, tuple[str, ...]]
    selected: tuple[str, ...]
    plan: str | None

    @property
    def title(self) -> str:
        """The first line."""
        streams = [s if s == alias else f"{s} {alias}" for alias, s in self.streams.items()]
        return f"query: {self.how} join of {', '.join(streams)}"

    def sections(self) -> Iterator[tuple[str, list[str]]]:
        """Titles with their lines."""
        yield "conditions", [f"{c.text}  ({c.described})" for c in self.conditions]
        yield "carried", [f"{alias}: {', '.join(names)}" for alias, names in self.carried.items()]
        yield "selected", [", ".join(self.selected)]
        yield "plan", [self.plan] if self.plan else []


def explain_query(plan: "QueryPlan") -> QueryExplanation:
    """Say where the parts of a query are evaluated."""
    return QueryExplanation(
        streams={source.alias: source.stream for source in plan.sources},
        how=plan.how,
        conditions=tuple(
            PlacedCondition(c.text, *plan.text.place(c.start), c.place, c.stream)
            for c in plan.conditions
        ),
        carried=dict(plan.columns),
        selected=tuple(output.sql for output in plan.outputs),
        plan=plan.plan,
    )
