"""A drawing as SVG: one file that needs nothing else, in light and in dark."""

from collections.abc import Iterable, Iterator
from typing import Final
from xml.sax.saxutils import escape

from streamjoin.explanations.layout import (
    MARGIN,
    WIDTH,
    Arrow,
    Box,
    Item,
    Sheet,
    Text,
    clean,
)
from streamjoin.joins.report import Card

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
    sheet, items, headings = Sheet(), [], []
    for heading, card in parts:
        headings.append(clean(heading))
        items += [*sheet.heading(heading), *sheet.tree(card)]
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
    return "\n".join([head, *_elements(items), "</svg>\n"])


def _elements(items: Iterable[Item]) -> Iterator[str]:
    for item in items:
        if isinstance(item, Box):
            yield _box(item)
        elif isinstance(item, Text):
            yield _text(item)
        else:
            yield from _arrow(item)


def _box(box: Box) -> str:
    corner = ' rx="2"' if box.kind.startswith("bar") else ' rx="5"'
    place = f'x="{box.x:.5g}" y="{box.y:.6g}" width="{box.width:.5g}" height="{box.height:.6g}"'
    return f'<rect class="{box.kind}" {place}{corner}/>'


def _text(line: Text) -> str:
    anchor = ' text-anchor="end"' if line.end else ""
    # Whoever points at it reads the whole of it.
    whole = "" if line.text == line.whole else f"<title>{escape(line.whole)}</title>"
    place = f'x="{line.x:.5g}" y="{line.y:.6g}"'
    return f'<text class="{line.kind}" {place}{anchor}>{whole}{escape(line.text)}</text>'


def _arrow(arrow: Arrow) -> Iterator[str]:
    *_, (x0, y0), (x, y) = arrow.points
    path = "L".join(f"{px:.5g} {py:.6g}" for px, py in arrow.points)
    yield f'<path class="line" d="M{path}"/>'
    dx, dy = (x > x0) - (x < x0), (y > y0) - (y < y0)
    back_x, back_y = x - 7 * dx, y - 7 * dy
    corners = f"{x:.5g} {y:.6g}L{back_x - 4 * dy:.5g} {back_y - 4 * dx:.6g}"
    yield f'<path class="head" d="M{corners}L{back_x + 4 * dy:.5g} {back_y + 4 * dx:.6g}Z"/>'
