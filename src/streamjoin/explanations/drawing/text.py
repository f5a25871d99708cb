"""Cards as lines of text."""

from collections.abc import Iterator

from streamjoin.explanations.drawing.cards import Card


def tree_lines(card: Card) -> tuple[str, ...]:
    r"""A tree of cards, the result first.

    Examples
    --------
    >>> from streamjoin.explanations.drawing.cards import Lane
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
    return tuple(_lines(card))


def _lines(card: Card) -> Iterator[str]:
    said = "; ".join(card.lines)
    yield f"{card.title}: {said}" if said else card.title
    rest = "|  " if card.children else "   "
    for lane in card.lanes:
        note = f": {lane.note}" if lane.note else ""
        yield f"{rest}{' -> '.join(lane.steps)}{note}"
    for limit in card.limits:
        yield f"{rest}{limit}"
    for number, child in enumerate(card.children, 1):
        last = number == len(card.children)
        first, *more = _lines(child)
        yield ("`- " if last else "+- ") + first
        yield from (("   " if last else "|  ") + line for line in more)
