"""Drawings of plans as text and as SVG: no engine, no files.

Read `cards` (what is drawn), `text` (as lines), `fitting` (how wide words are), `layout` (where
everything goes) and `svg` (the drawing itself).
"""

from streamjoin.explanations.drawing.cards import Card, Lane
from streamjoin.explanations.drawing.svg import draw
from streamjoin.explanations.drawing.text import tree_lines

__all__ = ["Card", "Lane", "draw", "tree_lines"]
