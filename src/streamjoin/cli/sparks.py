"""Small drawings in a line of text: how a number went, and what was probed where."""

from collections.abc import Sequence
from typing import Final

from rich.text import Text

from streamjoin.metrics import BasicWindows

BLOCKS: Final = " ▁▂▃▄▅▆▇█"
ASCII: Final = " .:-=+*%#"
"""Where a terminal has no blocks."""
NOTHING: Final = {BLOCKS: "·", ASCII: "_"}
"""A basic window that is not probed at all."""
HEAT: Final = ("bright_black", "blue", "cyan", "green", "bright_yellow")
"""From no results to the most, for each comparison."""


def sparkline(values: Sequence[float], width: int, top: float = 0.0, ramp: str = BLOCKS) -> str:
    """Draw how a number went; if there are more values than places, means of neighbours.

    Parameters
    ----------
    values
        The oldest first.
    width
        Places that there are.
    top
        The value of the highest block; that of the largest value if it is more.
    ramp
        Characters from nothing to all.

    Examples
    --------
    >>> sparkline([0, 1, 4, 8], width=10)
    ' ▁▄█'
    >>> sparkline([1, 3, 6, 6, 8, 8], width=3, top=16)
    '▁▃▄'
    """
    each = -(-len(values) // max(width, 1)) or 1
    groups = [values[at : at + each] for at in range(0, len(values), each)]
    means = [sum(group) / len(group) for group in groups]
    top = max(top, *means, 0.0) if means else top
    return "".join(_block(mean / top if top > 0 else 0.0, ramp) for mean in means)


def strip(windows: BasicWindows, most: float, width: int, ramp: str = BLOCKS) -> Text:
    """Draw a window, the newest rows first: height is the part probed, colour the productivity.

    Parameters
    ----------
    windows
        Its basic windows.
    most
        Productivity of the brightest colour.
    width
        Places that there are.
    ramp
        Characters from nothing to all.

    Examples
    --------
    >>> seen = BasicWindows(1.0, (9.0, 5.0, 0.0), (0.0, 5.0, 9.0), (8.0, 2.0, 0.0))
    >>> strip(seen, most=0.9, width=8).plain
    '██▄▄··'
    """
    each = max(1, width // max(len(windows.fractions), 1))
    drawn = Text()
    for fraction, value in zip(windows.fractions, productivity(windows), strict=True):
        heat = HEAT[min(len(HEAT) - 1, round(value / most * (len(HEAT) - 1)))] if most else HEAT[0]
        drawn.append((_block(fraction, ramp).strip() or NOTHING[ramp]) * each, style=heat)
    drawn.truncate(width)
    return drawn


def productivity(windows: BasicWindows) -> tuple[float, ...]:
    """Pairs for each comparison; pairs alone where comparisons are not counted."""
    return windows.density or windows.found or (0.0,) * len(windows.fractions)


def _block(share: float, ramp: str) -> str:
    """A character for a share; of some it is never that of nothing."""
    steps = len(ramp) - 1
    least = 1 if share > 0.01 else 0
    return ramp[min(steps, max(least, int(share * steps + 0.5)))]
