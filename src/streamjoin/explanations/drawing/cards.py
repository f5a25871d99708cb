"""What a drawing shows: cards, each fed by those below it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["result", "check", "join", "shuffle", "stream", "table"]

LABELS: Final[dict[Kind, str]] = {
    "result": "result",
    "check": "Spark",
    "join": "join",
    "shuffle": "shuffle",
    "stream": "stream",
    "table": "table",
}
"""What is written on a card, as its colour alone says nothing to some."""


@dataclass(frozen=True)
class Lane:
    """A way through a join, drawn as an arrow: who probes what, and then what.

    Parameters
    ----------
    steps
        Two or more: arrivals first, then what they meet, in order.
    note
        How, and what it costs.
    """

    steps: tuple[str, ...]
    note: str = ""


@dataclass(frozen=True)
class Card:
    """One operator, source or result.

    Parameters
    ----------
    kind
        What it is.
    title
        Its name.
    lines
        What there is to say of it.
    lanes
        Half-way joins, or what rows try one after the other.
    limits
        Budget and freshness, which stand out.
    children
        What feeds it.

    Examples
    --------
    >>> join = Card("join", "a with b", children=(Card("stream", "a"), Card("stream", "b")))
    >>> [card.title for card in join.all()]
    ['a with b', 'a', 'b']
    """

    kind: Kind
    title: str
    lines: tuple[str, ...] = ()
    lanes: tuple[Lane, ...] = ()
    limits: tuple[str, ...] = ()
    children: tuple["Card", ...] = ()

    def all(self) -> Iterator["Card"]:
        """The card and all below, parents first."""
        yield self
        for child in self.children:
            yield from child.all()
