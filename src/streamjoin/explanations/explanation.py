"""Explanations of joins as text, as JSON and as a drawing; of a join they know its report alone."""

import json
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from streamjoin.explanations.asked import (
    NOTHING_KNOWN,
    Asked,
    Rates,
    Selectivities,
    Sources,
    rates_by_join,
    selectivities_by_join,
)
from streamjoin.explanations.drawing import draw
from streamjoin.explanations.explainer import Explainer, Fact, numbers_of, sections_of
from streamjoin.explanations.many import ManyExplainer
from streamjoin.explanations.table import TableExplainer
from streamjoin.explanations.window import WindowExplainer
from streamjoin.joins.plans import AnyPlan, JoinPlan, MultiPlan, TablePlan
from streamjoin.joins.report import Card, Report, ReportKind

if TYPE_CHECKING:
    from streamjoin.sql_text.query_plan import QueryPlan

_EXPLAINERS: Final[dict[type[AnyPlan], Callable[[Any, Asked], Explainer]]] = {
    JoinPlan: WindowExplainer,
    MultiPlan: ManyExplainer,
    TablePlan: TableExplainer,
}
_READ: Final[tuple[ReportKind, ...]] = ("plans", "tables", "joins", "queries")
"""The order of the text."""
_WRITTEN: Final[tuple[ReportKind, ...]] = ("joins", "queries", "plans", "tables")
"""The order of the document."""
_WIDTH: Final = 100
_INDENT: Final = " " * 17
_PLACES: Final = {
    "stream": "filter of {}, before the join",
    "key": "key of the join",
    "join": "checked by the join",
    "after": "by Spark, after the join",
}


@dataclass(frozen=True, repr=False)
class Explanation:
    """What the joins of a DataFrame will do; its text is meant to be read, `to_dict` for programs.

    The joins are in the order of the data's way; those of many streams come first, then those with
    a table, then those of two streams, then the queries of `streamjoin.sql`.
    """

    reports: tuple[Report, ...]

    def __str__(self) -> str:
        return "\n\n".join("\n".join(_lines(report)) for report in self.reports)

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Values that JSON can hold: all that the text says, and the answer in sentences."""
        values = {
            kind: [one.to_dict() for one in self.reports if one.kind == kind] for kind in _WRITTEN
        }
        document: dict[str, Any] = json.loads(json.dumps(values, default=asdict))
        return document

    def to_json(self) -> str:
        """`to_dict` as one JSON document."""
        return json.dumps(self.to_dict(), indent=2)

    def to_svg(self) -> str:
        """A drawing of the joins: one SVG document that needs nothing else."""
        drawn = [(one.heading, one.card) for one in self.reports if one.card is not None]
        return draw(drawn, " ".join(text for one in self.reports for text in one.answer))


def explain_plans(
    plans: Sequence[AnyPlan],
    queries: "Sequence[QueryPlan]",
    cores: int,
    rates: Rates = None,
    selectivities: Selectivities = None,
    sources: Sources = NOTHING_KNOWN,
) -> Explanation:
    """Explain joins and queries, which are given outermost first."""
    joins = [plan for plan in plans if plan.is_whole]
    given, shares = rates_by_join(rates, joins), selectivities_by_join(selectivities, joins)
    # Where there are several joins the query and they stand alone.
    query = queries[0] if len(queries) == len(joins) == 1 else None
    reports = []
    for join in reversed(joins):
        asked = Asked(cores, given.get(join.name), shares.get(join.name), sources, query)
        reports.append(_EXPLAINERS[type(join)](join, asked).report())
    reports += [explain_query(one) for one in reversed(queries)]
    return Explanation(tuple(sorted(reports, key=lambda report: _READ.index(report.kind))))


def explain_query(plan: "QueryPlan") -> Report:
    """Say where the parts of a query are evaluated."""
    names = {source.alias: source.stream for source in plan.query.streams.sources}
    streams = [name if name == alias else f"{name} {alias}" for alias, name in names.items()]
    how, conditions, lines = plan.query.streams.how, [], []
    for one in plan.conditions:
        line, column = plan.query.text.place(one.start)
        place = {"line": line, "column": column, "place": one.place, "stream": one.stream}
        conditions.append({"text": one.text, **place})
        lines.append(f"{one.text}  ({_PLACES[one.place].format(one.stream)})")
    carried = [f"{alias}: {', '.join(names)}" for alias, names in plan.columns.items()]
    selected = [output.sql for output in plan.outputs]
    facts = [
        Fact("streams", names),
        Fact("how", how),
        Fact("conditions", conditions, "conditions", lines),
        Fact("carried", dict(plan.columns), "carried", carried),
        Fact("selected", selected, "selected", [", ".join(selected)]),
        Fact("plan", plan.plan, "plan"),
    ]
    title = f"query: {how} join of {', '.join(streams)}"
    return Report("queries", title, sections_of(facts), numbers_of(facts))


def _lines(report: Report) -> Iterator[str]:
    """The text of a report: its answer, the operators, the details, the warnings."""
    yield from _wrapped("", " " * 2, report.title)
    for sentence in report.answer:
        yield from _wrapped("  ", " " * 4, sentence)
    tree = [] if report.card is None else tree_lines(report.card)
    for number, line in enumerate(tree):  # what is too long goes on where its text begins
        text = line.lstrip(" |`+-")
        marks = line[: len(line) - len(text)]
        more = marks.replace("`", " ").replace("+", "|").replace("-", " ")
        yield from _wrapped(_head("how it runs", number) + marks, _INDENT + more + "  ", text)
    for title, texts in report.sections.items():
        for number, text in enumerate(text for text in texts if text is not None):
            yield from _wrapped(_head(title, number), _INDENT, text)
    for warning in report.warnings:
        yield from _wrapped("  ! ", " " * 4, warning.text)


def tree_lines(card: Card) -> Iterator[str]:
    r"""A tree of cards, the result first.

    Examples
    --------
    >>> from streamjoin.joins.report import Card, Lane
    >>> streams = Card("stream", "a", ("10 rows/s",)), Card("stream", "b")
    >>> join = Card("join", "a with b", lanes=(Lane(("a", "window of b"), "hash"),),
    ...             children=streams)
    >>> print(*tree_lines(Card("result", "k, t", children=(join,))), sep="\n")
    k, t
    `- a with b
       |  a -> window of b: hash
       +- a: 10 rows/s
       `- b
    """
    text = "; ".join(card.lines)
    yield f"{card.title}: {text}" if text else card.title
    rest = "|  " if card.children else "   "
    for lane in card.lanes:
        note = f": {lane.note}" if lane.note else ""
        yield f"{rest}{' -> '.join(lane.steps)}{note}"
    for limit in card.limits:
        yield f"{rest}{limit}"
    for number, child in enumerate(card.children, 1):
        last = number == len(card.children)
        first, *more = tree_lines(child)
        yield ("`- " if last else "+- ") + first
        yield from (("   " if last else "|  ") + line for line in more)


def _head(title: str, number: int) -> str:
    """What stands beside a line: the title beside the first."""
    return f"  {title if number == 0 else '':<{len(_INDENT) - 2}}"


def _wrapped(head: str, indent: str, text: str) -> list[str]:
    """A paragraph within the width."""
    wrapper = textwrap.TextWrapper(_WIDTH, head, indent, break_long_words=False)
    wrapper.break_on_hyphens = False
    return wrapper.wrap(text)
