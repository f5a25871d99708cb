"""Figures as SVG for the report: ink takes the page's colour, so light and dark both work."""

import re
from io import StringIO
from typing import TYPE_CHECKING, Any, Final

from papers.base import AllNumbers, Figure
from streamjoin.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

WIDTH: Final = 5.1
"""Inches; narrow, so that words stay readable on a phone."""
COLOURS: Final = ("#2f8fd0", "#e08a00", "#1a9e77", "#d1495b", "#9a6fd0", "#8c8c8c")
"""Readable on white and on black, and told apart by the colour-blind."""
_INK: Final = "#0a0b0c"
_STYLE: Final[dict[Any, Any]] = {
    "axes.edgecolor": _INK,
    "axes.grid": True,
    "axes.labelcolor": _INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.axisbelow": True,
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "grid.alpha": 0.15,
    "grid.color": _INK,
    "legend.framealpha": 0.0,
    "legend.fontsize": 8.5,
    "svg.fonttype": "none",
    "text.color": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
}


def require_matplotlib() -> None:
    """Refuse early where nothing could be drawn at the end."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise MissingExtraError.of(extra="report", module="matplotlib") from error


def draw(figure: Figure, numbers: AllNumbers) -> "Canvas":
    """Draw a figure onto a new canvas."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure as Canvas

    with rc_context(_STYLE):
        canvas = Canvas(figsize=(WIDTH, figure.height), layout="constrained")
        figure.draw(canvas, numbers)
    return canvas


def svg(figure: Figure, numbers: AllNumbers) -> str:
    """Draw a figure as an SVG element that stands within a page on its own."""
    from matplotlib import rc_context

    text = StringIO()
    # Words must be laid out with the settings they were made with, and ids differ between figures.
    with rc_context({**_STYLE, "svg.hashsalt": figure.name}):
        draw(figure, numbers).savefig(text, format="svg", transparent=True, metadata={"Date": None})
    return _inline(text.getvalue(), f"{figure.name}: {figure.title}")


def _inline(text: str, label: str) -> str:
    body = text[text.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r'\s(?:xmlns(?::\w+)?|width|height)="[^"]*"', "", body, count=4)
    body = body.replace("xlink:href", "href").replace(_INK, "currentColor")
    body = body.replace("'DejaVu Sans'", "DejaVu Sans, Verdana, sans-serif")
    return body.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)
