"""Drawings of plans as text and as SVG: no engine, no files.

Read `cards` (what is drawn), `text` (as lines), `fitting` (how wide words are), `layout` (where
everything goes) and `svg` (the drawing itself).
"""

from streamjoin.drawing.cards import Card, Lane
from streamjoin.drawing.svg import draw
from streamjoin.drawing.text import tree_lines

__all__ = ["Card", "Lane", "draw", "tree_lines"]
