"""Drawings of reports as SVG: one file that needs nothing else, in light and in dark.

One card is below the other, branches a little to the right. So a drawing is never wider than a
phone, however many streams there are. What feeds a card is below it; a single one stays in line
with it. A drawing must not depend on the fonts of the machine that makes it: widths of words are
those of common sans-serif fonts, a little on the safe side.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final
from xml.sax.saxutils import escape

from streamjoin.joins.report import Card, Lane

WIDTH: Final = 480.0
MARGIN: Final = 10.0
PADDING: Final = 11.0
GAP: Final = 18.0
STEP: Final = 20.0
"""How far a branch goes to the right, at most."""
MAX_INDENT: Final = 160.0
HEADING: Final = 15.0
TITLE: Final = 14.0
BODY: Final = 12.0
SMALL: Final = 11.0
LEADING: Final = 1.35
"""Height of a line as a part of the font's size."""
ARROW: Final = 26.0
STEP_HEIGHT: Final = 22.0
MAX_LINES: Final = 4
"""Lines of one sentence; what is cut off is said in full to those who point at it."""
BOLD_FACTOR: Final = 1.15
"""How much wider bold letters are."""
MIN_STEP_WIDTH: Final = 72.0
"""Steps of a lane that would be narrower become one line of text."""
ELLIPSIS: Final = "\u2026"
_NARROW: Final = frozenset("ijlftI.,:;'|!()[]{}`/\\ \"-")
_WIDE: Final = frozenset("mwMW@%")
# What XML 1.0 has no place for: a name may come from anywhere.
_ILLEGAL: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
SCALE: Final = 1.25
"""How large it is where there is room; elsewhere it becomes as narrow as it must."""
_STYLE: Final = """
.sj{--ink:#1d2530;--soft:#5a6675;--paper:#fff;--card:#f6f8fa;--edge:#cfd7e0;--step:#fff;
--result:#5b4bb5;--check:#8a6d1a;--join:#0b6bb5;--shuffle:#6b7684;--stream:#1b7f4b;--table:#a3471b;
--limit:#8f4a00;
font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
@media (prefers-color-scheme:dark){.sj{--ink:#e7ecf2;--soft:#a3afbd;--paper:#12161c;--card:#1b222b;
--edge:#36414e;--step:#12161c;--result:#a99bf5;--check:#e0bd55;--join:#63b3f0;--shuffle:#9aa7b6;
--stream:#58c98d;--table:#f0905a;--limit:#f2b45c}}
.sj .paper{fill:var(--paper)}.sj text{fill:var(--ink)}
.sj .heading{font-size:15px;font-weight:600}.sj .title{font-size:14px;font-weight:600}
.sj .body{font-size:12px}.sj .small{font-size:11px;fill:var(--soft)}
.sj .label{font-size:11px;fill:var(--soft)}
.sj .limit{font-size:12px;font-weight:600;fill:var(--limit)}
.sj .card{fill:var(--card);stroke:var(--edge)}.sj .step{fill:var(--step);stroke:var(--edge)}
.sj .line{fill:none;stroke:var(--soft);stroke-width:1.5}.sj .head{fill:var(--soft)}
.sj .bar.result{fill:var(--result)}.sj .bar.check{fill:var(--check)}.sj .bar.join{fill:var(--join)}
.sj .bar.shuffle{fill:var(--shuffle)}.sj .bar.stream{fill:var(--stream)}
.sj .bar.table{fill:var(--table)}
""".strip()


def draw(parts: Iterable[tuple[str, Card]], description: str) -> str:
    """Draw trees of cards below their headings; described for those who cannot see it.

    Examples
    --------
    >>> text = draw([("a join", Card("stream", "<script>"))], "A join of nothing.")
    >>> "<script>" in text, "&lt;script&gt;" in text
    (False, True)
    """
    sheet, elements, headings = Sheet(), [], []
    for heading, card in parts:
        headings.append(clean(heading))
        elements += [*sheet.heading(heading), *sheet.tree(card)]
    height = sheet.y - MARGIN
    shown = SCALE * WIDTH, SCALE * height
    size = f'viewBox="0 0 {WIDTH:g} {height:g}" width="{shown[0]:g}" height="{shown[1]:g}"'
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="sj" role="img" {size} '
        'style="max-width:100%;height:auto">'
        f"<title>{escape('; '.join(headings))}</title><desc>{escape(clean(description))}</desc>"
        f"<style>{_STYLE}</style>"
        f'<rect class="paper" width="{WIDTH:g}" height="{height:g}"/>'
    )
    return "\n".join([head, *elements, "</svg>\n"])


@dataclass
class Sheet:
    """How far down is drawn so far; its methods yield the elements of what they draw."""

    y: float = MARGIN

    def heading(self, text: str) -> Iterator[str]:
        """Write a heading."""
        yield from self._sentence(text, MARGIN, WIDTH - 2 * MARGIN, "heading", HEADING, 3)
        self.y += 6

    def tree(self, card: Card) -> Iterator[str]:
        """Draw a tree of cards."""
        step = min(STEP, MAX_INDENT / max(1, _depth(card)))
        yield from self._below(card, MARGIN, step)
        self.y += GAP

    def _below(self, card: Card, x: float, step: float) -> Iterator[str]:
        yield from self._card(card, x)
        bottom = self.y
        single = len(card.children) == 1
        for child in card.children:
            self.y += GAP
            top, left = self.y, x if single else x + step
            yield from self._below(child, left, step)
            if single:
                middle = x + (WIDTH - MARGIN - x) / 2
                yield from _arrow((middle, top), (middle, bottom + 2))
            else:
                into = x + step / 2
                yield from _arrow((left, top + 18), (into, top + 18), (into, bottom + 2))

    def _card(self, card: Card, x: float) -> Iterator[str]:
        top, room = self.y, WIDTH - MARGIN - x
        inside = list(self._inside(card, x + PADDING + 3, room - 2 * PADDING - 3))
        self.y += PADDING - 4
        yield _box(f"card {card.kind}", x, top, room, self.y - top)
        yield _box(f"bar {card.kind}", x, top, 4, self.y - top, corner=2)
        yield from inside

    def _inside(self, card: Card, x: float, room: float) -> Iterator[str]:
        self.y += PADDING - 2
        # Its kind is written on a card, as its colour alone says nothing to some.
        label, side = "Spark" if card.kind == "check" else card.kind, 0.0
        if label != card.title:
            side = width(label, SMALL) + 10
            yield _text("label", x + room, self.y + SMALL, label, label, ' text-anchor="end"')
        yield from self._sentence(card.title, x, room - side, "title", TITLE, 2)
        for line in card.lines:
            yield from self._sentence(line, x, room, "body", BODY, MAX_LINES)
        for lane in card.lanes:
            yield from self._lane(lane, x, room)
        for limit in card.limits:
            self.y += 3
            yield from self._sentence(limit, x, room, "limit", BODY, MAX_LINES)

    def _sentence(
        self, text: str, x: float, room: float, kind: str, size: float, most: int
    ) -> Iterator[str]:
        whole = clean(text)
        wide = size if kind in ("body", "small") else BOLD_FACTOR * size
        for line in wrap(whole, wide, room, most):
            yield _text(kind, x, self.y + size, line, whole)
            self.y += size * LEADING

    def _lane(self, lane: Lane, x: float, room: float) -> Iterator[str]:
        n = len(lane.steps)
        each = (room - (n - 1) * ARROW) / n
        self.y += 5
        if each < MIN_STEP_WIDTH:
            yield from self._sentence(" \u2192 ".join(lane.steps), x, room, "body", BODY, 3)
        else:
            for number, step in enumerate(map(clean, lane.steps)):
                left, middle = x + number * (each + ARROW), self.y + STEP_HEIGHT / 2
                yield _box("step", left, self.y, each, STEP_HEIGHT)
                yield _text("body", left + 7, self.y + 15.5, cut(step, BODY, each - 14), step)
                if number:
                    yield from _arrow((left - ARROW + 2, middle), (left - 2, middle))
            self.y += STEP_HEIGHT + 2
        if lane.note:
            yield from self._sentence(lane.note, x, room, "small", SMALL, 3)


def _depth(card: Card) -> int:
    """How many branches are below one another."""
    below = max(map(_depth, card.children), default=0)
    return below + (len(card.children) > 1)


def _box(kind: str, x: float, y: float, wide: float, high: float, corner: int = 5) -> str:
    place = f'x="{x:.5g}" y="{y:.6g}" width="{wide:.5g}" height="{high:.6g}"'
    return f'<rect class="{kind}" {place} rx="{corner}"/>'


def _text(kind: str, x: float, y: float, text: str, whole: str, anchor: str = "") -> str:
    # Whoever points at it reads the whole of it.
    title = "" if text == whole else f"<title>{escape(whole)}</title>"
    place = f'x="{x:.5g}" y="{y:.6g}"'
    return f'<text class="{kind}" {place}{anchor}>{title}{escape(text)}</text>'


def _arrow(*points: tuple[float, float]) -> Iterator[str]:
    """A line through points, with a head at its end."""
    *_, (x0, y0), (x, y) = points
    path = "L".join(f"{px:.5g} {py:.6g}" for px, py in points)
    yield f'<path class="line" d="M{path}"/>'
    dx, dy = (x > x0) - (x < x0), (y > y0) - (y < y0)
    back_x, back_y = x - 7 * dx, y - 7 * dy
    corners = f"{x:.5g} {y:.6g}L{back_x - 4 * dy:.5g} {back_y - 4 * dx:.6g}"
    yield f'<path class="head" d="M{corners}L{back_x + 4 * dy:.5g} {back_y + 4 * dx:.6g}Z"/>'


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
