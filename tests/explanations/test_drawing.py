"""Drawings, without any engine: valid, harmless, nothing over anything else."""

import re
from xml.etree import ElementTree

import pytest

from streamjoin.explanations.drawing import draw, width
from streamjoin.explanations.explanation import tree_lines
from streamjoin.joins.report import Card, Lane

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = '<script>alert(1)</script> & "quoted" \x00\x1b]8;; \ud800'
Rectangle = tuple[float, float, float, float]


def linear(n: int) -> Card:
    """A linear plan of n streams."""
    card = Card("stream", "s0", ("100 rows/s",))
    for i in range(1, n):
        lanes = Lane((f"s{i}", f"state of s{i - 1}"), "3 probes/s"), Lane(("a", "b", "c"))
        card = Card("join", f"join {i}", lanes=lanes, children=(card, Card("stream", f"s{i}")))
    return Card("result", "result", ("k, t",), limits=("budget 1 MB",), children=(card,))


def star(n: int) -> Card:
    names = [f"stream number {i}" for i in range(n)]
    streams = tuple(Card("stream", name) for name in names)
    return Card("join", "n-ary join", lanes=(Lane(tuple(names)),), children=streams)


def drawn(*cards: Card) -> ElementTree.Element:
    return ElementTree.fromstring(draw([("a plan", card) for card in cards], "In words."))


def rectangles(root: ElementTree.Element, kind: str) -> list[Rectangle]:
    found = [r for r in root.iter(f"{SVG}rect") if r.get("class", "").startswith(kind)]
    return [tuple(float(r.get(a, "")) for a in ("x", "y", "width", "height")) for r in found]  # type: ignore[misc]


def is_apart(one: Rectangle, other: Rectangle) -> bool:
    (ax, ay, aw, ah), (bx, by, bw, bh) = one, other
    return ax + aw <= bx or bx + bw <= ax or ay + ah <= by or by + bh <= ay


def is_inside(one: Rectangle, other: Rectangle) -> bool:
    (ax, ay, aw, ah), (bx, by, bw, bh) = one, other
    return bx <= ax and ax + aw <= bx + bw and by <= ay and ay + ah <= by + bh


def check_places(root: ElementTree.Element) -> None:
    """No card lies over another, all steps lie in cards, and everything in the drawing."""
    wide, high = map(float, root.get("viewBox", "").split()[2:])
    whole = (0.0, 0.0, wide, high)
    cards, steps = rectangles(root, "card"), rectangles(root, "step")
    assert cards
    for boxes in (cards, steps):
        for i, box in enumerate(boxes):
            assert is_inside(box, whole)
            assert all(is_apart(box, other) for other in boxes[:i])
    assert all(any(is_inside(step, card) for card in cards) for step in steps)
    sizes = {"heading": 17, "title": 16, "body": 12, "small": 11, "label": 11, "limit": 13.5}
    for text in root.iter(f"{SVG}text"):
        shown = "".join(text.itertext()) if not len(text) else text[0].tail or ""
        long = width(shown, sizes[text.get("class", "")])
        x = float(text.get("x", "")) - (long if text.get("text-anchor") else 0)
        assert x >= 0
        assert x + long <= whole[2]


@pytest.mark.parametrize("card", [linear(2), linear(5), linear(64), star(3), star(9)])
def test_nothing_lies_over_anything_else(card: Card) -> None:
    check_places(drawn(card))
    check_places(drawn(card, star(4)))


def test_a_hostile_name_is_text() -> None:
    lanes = (Lane((HOSTILE, HOSTILE), HOSTILE),)
    card = Card("stream", HOSTILE, (HOSTILE,), lanes, (HOSTILE,), (Card("stream", HOSTILE),))
    text = draw([(HOSTILE, card)], HOSTILE)
    root = ElementTree.fromstring(text)
    check_places(root)
    known = {"svg", "title", "desc", "style", "rect", "text", "path"}
    assert {element.tag.removeprefix(SVG) for element in root.iter()} == known
    assert not re.search(r"<script|href|url\(|@import|\son\w+=", text)
    assert '<script>alert(1)</script> & "quoted"' in str(root.findtext(f"{SVG}desc"))
    assert text.encode()  # no half of a character


def test_long_names_are_cut_and_told_in_full() -> None:
    name = "a_very_long_name_of_a_stream_" * 12
    root = drawn(Card("stream", name, ("x " * 400,), (Lane((name, "b")),)))
    check_places(root)
    shown = [t for t in root.iter(f"{SVG}text") if len(t)]
    assert shown
    for text in shown:
        assert text[0].tag == f"{SVG}title"
        cut = str(text[0].tail)
        whole = str(text[0].text)
        assert len(cut) < len(whole)
    assert any(str(t[0].tail).endswith("\u2026") and t[0].text == name for t in shown)


def test_it_is_readable_in_the_dark_and_for_screen_readers() -> None:
    text = draw([("calls and trades", linear(2))], "Pairs calls with trades.")
    root = ElementTree.fromstring(text)
    assert root.get("role") == "img"
    assert [child.tag for child in root][:2] == [f"{SVG}title", f"{SVG}desc"]
    assert root.findtext(f"{SVG}title") == "calls and trades"
    assert root.findtext(f"{SVG}desc") == "Pairs calls with trades."
    light, dark = text.split("@media (prefers-color-scheme:dark)")
    colours = re.findall(r"--(\w+):#", light)
    assert colours == re.findall(r"--(\w+):#", dark)
    assert 'style="max-width:100%;height:auto"' in text


def test_the_same_tree_as_text() -> None:
    lines = list(tree_lines(linear(3)))
    assert lines[0] == "result: k, t"
    assert "   +- join 1" in lines
    assert "   `- s2" in lines
    assert "   |  |  s1 -> state of s0: 3 probes/s" in lines
