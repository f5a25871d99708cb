"""What a join says of itself before it runs: sentences, numbers, warnings, and what to draw."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

CardKind = Literal["result", "check", "join", "shuffle", "stream", "table"]
ReportKind = Literal["joins", "queries", "plans", "tables"]
"""Joins of two streams, SQL queries, joins of many streams, joins with a table."""


@dataclass(frozen=True)
class Lane:
    """A way through a join, drawn as an arrow: arrivals first, then what they meet, in order."""

    steps: tuple[str, ...]
    note: str = ""  # how, and what it costs


@dataclass(frozen=True)
class Card:
    """One operator, source or result.

    Examples
    --------
    >>> join = Card("join", "a with b", children=(Card("stream", "a"), Card("stream", "b")))
    >>> [card.title for card in join.all()]
    ['a with b', 'a', 'b']
    """

    kind: CardKind
    title: str
    lines: tuple[str, ...] = ()
    lanes: tuple[Lane, ...] = ()  # half-way joins, or what rows try one after the other
    limits: tuple[str, ...] = ()  # budget and freshness, which stand out
    children: tuple["Card", ...] = ()  # what feeds it

    def all(self) -> Iterator["Card"]:
        """The card and all below, parents first."""
        yield self
        for child in self.children:
            yield from child.all()


@dataclass(frozen=True)
class Advice:
    """A warning: a word for programs, and a sentence with what to do."""

    code: str
    text: str


@dataclass(frozen=True)
class Report:
    """What a join, or a query, says of itself.

    Examples
    --------
    >>> report = Report("joins", "calls: inner join", {"index": ["by key"]}, {"name": "calls"})
    >>> report.to_dict()
    {'name': 'calls'}
    """

    kind: ReportKind
    title: str
    sections: Mapping[str, Sequence[str | None]]  # lines by title; None for those not to be said
    numbers: Mapping[str, Any]  # for programs: what JSON can hold, and dataclasses of that
    answer: tuple[str, ...] = ()  # the whole in a few sentences; a query has none
    warnings: tuple[Advice, ...] = ()
    heading: str = ""  # of the drawing
    card: Card | None = None  # what is drawn

    def to_dict(self) -> dict[str, Any]:
        """What programs get."""
        if not self.answer:
            return dict(self.numbers)
        warnings = [asdict(warning) for warning in self.warnings]
        return {**self.numbers, "warnings": warnings, "answer": self.answer}
