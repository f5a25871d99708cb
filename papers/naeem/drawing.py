"""Points with intervals."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from papers.measurement import Measurement

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def points(
    axes: "Axes",
    x: Sequence[float],
    values: Sequence[Measurement],
    colour: str,
    label: str,
    *,
    scale: float = 1.0,
    line: str = "-",
    plain: bool = False,
) -> None:
    """Draw means with their intervals; `plain` ones are open and dashed."""
    bars: Any = [
        [scale * (m.mean - m.low) for m in values],
        [scale * (m.high - m.mean) for m in values],
    ]
    axes.errorbar(
        x, [scale * m.mean for m in values], bars, fmt=f"o{'--' if plain and line else line}",
        color=colour, label=label, markersize=4, capsize=2, linewidth=1,
        markerfacecolor="none" if plain else colour,
    )  # fmt: skip
