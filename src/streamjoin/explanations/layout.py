"""Where everything of a drawing goes: one card below the other, branches a little to the right.

So a drawing is never wider than a phone, however many streams there are. What feeds a card is below
it; a single one stays in line with it. A drawing must not depend on the fonts of the machine that
makes it: widths of words are those of common sans-serif fonts, a little on the safe side.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from streamjoin.joins.report import Card, CardKind, Lane

LABELS: Final[dict[CardKind, str]] = {
    "result": "result",
    "check": "Spark",
    "join": "join",
    "shuffle": "shuffle",
    "stream": "stream",
    "table": "table",
}
"""What is written on a card, as its colour alone says nothing to some."""
WIDTH: Final = 480.0
MARGIN: Final = 10.0
PADDING: Final = 11.0
GAP: Final = 18.0
STEP: Final = 20.0
"""How far a branch goes to the right, at most."""
MOST_INDENT: Final = 160.0
HEADING: Final = 15.0
TITLE: Final = 14.0
BODY: Final = 12.0
SMALL: Final = 11.0
LEADING: Final = 1.35
"""Height of a line as a part of the font's size."""
ARROW: Final = 26.0
STEP_HEIGHT: Final = 22.0
MOST_LINES: Final = 4
"""Lines of one sentence; what is cut off is said in full to those who point at it."""
BOLD: Final = 1.15
"""How much wider bold letters are."""
NARROWEST: Final = 72.0
"""Steps of a lane that would be narrower become one line of text."""
ELLIPSIS: Final = "\u2026"
_NARROW: Final = frozenset("ijlftI.,:;'|!()[]{}`/\\ \"-")
_WIDE: Final = frozenset("mwMW@%")
# What XML 1.0 has no place for: a name may come from anywhere.
_ILLEGAL: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Text:
    """A line: where its baseline begins, its class, and the whole of what it says."""

    x: float
    y: float
    kind: str
    text: str
    whole: str
    end: bool = False


@dataclass(frozen=True)
class Box:
    """A rectangle."""

    x: float
    y: float
    width: float
    height: float
    kind: str

    @property
    def bottom(self) -> float:
        """Where it ends."""
        return self.y + self.height


@dataclass(frozen=True)
class Arrow:
    """A line through points, with a head at its end."""

    points: tuple[tuple[float, float], ...]


Item = Text | Box | Arrow


@dataclass
class Sheet:
    """What is drawn so far, from top to bottom."""

    y: float = MARGIN

    def heading(self, text: str) -> Iterator[Item]:
        """Write a heading."""
        yield from self._sentence(text, MARGIN, WIDTH - 2 * MARGIN, "heading", HEADING, 3)
        self.y += 6

    def tree(self, card: Card) -> Iterator[Item]:
        """Draw a tree of cards."""
        step = min(STEP, MOST_INDENT / max(1, _depth(card)))
        yield from self._below(card, MARGIN, step)
        self.y += GAP

    def _below(self, card: Card, x: float, step: float) -> Iterator[Item]:
        yield from self._card(card, x)
        bottom = self.y
        single = len(card.children) == 1
        for child in card.children:
            self.y += GAP
            top, left = self.y, x if single else x + step
            yield from self._below(child, left, step)
            if single:
                middle = x + (WIDTH - MARGIN - x) / 2
                yield Arrow(((middle, top), (middle, bottom + 2)))
            else:
                into = x + step / 2
                yield Arrow(((left, top + 18), (into, top + 18), (into, bottom + 2)))

    def _card(self, card: Card, x: float) -> Iterator[Item]:
        top, room = self.y, WIDTH - MARGIN - x
        items = list(self._inside(card, x + PADDING + 3, room - 2 * PADDING - 3))
        self.y += PADDING - 4
        yield Box(x, top, room, self.y - top, f"card {card.kind}")
        yield Box(x, top, 4, self.y - top, f"bar {card.kind}")
        yield from items

    def _inside(self, card: Card, x: float, room: float) -> Iterator[Item]:
        self.y += PADDING - 2
        label = LABELS[card.kind]
        side = 0.0
        if label != card.title:
            side = width(label, SMALL) + 10
            yield Text(x + room, self.y + SMALL, "label", label, label, end=True)
        yield from self._sentence(card.title, x, room - side, "title", TITLE, 2)
        for line in card.lines:
            yield from self._sentence(line, x, room, "body", BODY, MOST_LINES)
        for lane in card.lanes:
            yield from self._lane(lane, x, room)
        for limit in card.limits:
            self.y += 3
            yield from self._sentence(limit, x, room, "limit", BODY, MOST_LINES)

    def _sentence(
        self, text: str, x: float, room: float, kind: str, size: float, most: int
    ) -> Iterator[Item]:
        whole = clean(text)
        wide = size if kind in ("body", "small") else BOLD * size
        for line in wrap(whole, wide, room, most):
            yield Text(x, self.y + size, kind, line, whole)
            self.y += size * LEADING

    def _lane(self, lane: Lane, x: float, room: float) -> Iterator[Item]:
        n = len(lane.steps)
        each = (room - (n - 1) * ARROW) / n
        self.y += 5
        if each < NARROWEST:
            yield from self._sentence(" \u2192 ".join(lane.steps), x, room, "body", BODY, 3)
        else:
            for number, step in enumerate(lane.steps):
                yield from _step(clean(step), x + number * (each + ARROW), self.y, each)
                if number:
                    at = x + number * (each + ARROW)
                    middle = self.y + STEP_HEIGHT / 2
                    yield Arrow(((at - ARROW + 2, middle), (at - 2, middle)))
            self.y += STEP_HEIGHT + 2
        if lane.note:
            yield from self._sentence(lane.note, x, room, "small", SMALL, 3)


def _step(text: str, x: float, y: float, room: float) -> Iterator[Item]:
    yield Box(x, y, room, STEP_HEIGHT, "step")
    yield Text(x + 7, y + 15.5, "body", cut(text, BODY, room - 14), text)


def _depth(card: Card) -> int:
    """How many branches are below one another."""
    below = max(map(_depth, card.children), default=0)
    return below + (len(card.children) > 1)


def clean(text: str) -> str:
    r"""Text in one line, without what XML cannot hold.

    Examples
    --------
    >>> clean("a\x00b\n  c")
    'a\ufffdb c'
    """
    return " ".join(_ILLEGAL.sub("\ufffd", text).split())


def width(text: str, size: float) -> float:
    """About how wide text of a size is.

    Examples
    --------
    >>> width("ill", 10) < width("mom", 10) < width("\u6f22\u5b57\u6f22", 10)
    True
    """
    return size * sum(map(_share, text))


def _share(char: str) -> float:
    """Width of a character as a part of the font's size."""
    if char in _NARROW:
        return 0.36
    if char in _WIDE or unicodedata.east_asian_width(char) in "WF":
        return 1.02
    return 0.72 if char.isupper() else 0.6


def cut(text: str, size: float, room: float) -> str:
    """Text that fits, with an ellipsis where some is cut off.

    Examples
    --------
    >>> cut("a name that is far too long", 10, 80)
    'a name that is\u2026'
    >>> cut("short", 10, 80)
    'short'
    """
    if width(text, size) <= room:
        return text
    while text and width(text + ELLIPSIS, size) > room:
        text = text[:-1]
    return text.rstrip() + ELLIPSIS


def wrap(text: str, size: float, room: float, most: int) -> list[str]:
    """Text in lines that fit, at most so many; the last is cut.

    Examples
    --------
    >>> wrap("one two three four", 10, 60, most=2)
    ['one two', 'three four']
    >>> wrap("one two three four five six", 10, 60, most=2)
    ['one two', 'three four\u2026']
    """
    lines: list[str] = []
    words = text.split()
    while words:
        if len(lines) == most - 1:
            return [*lines, cut(" ".join(words), size, room)]
        line = words.pop(0)
        while words and width(f"{line} {words[0]}", size) <= room:
            line = f"{line} {words.pop(0)}"
        lines.append(cut(line, size, room))
    return lines
