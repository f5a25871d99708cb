"""A strip in two bytes a basic window: heat maps over a day must stay small."""

from base64 import b64encode
from collections.abc import Mapping
from math import isfinite, log2
from typing import Any, Final

from streamjoin.metrics import BasicWindows

MOST_CELLS: Final = 64
"""Basic windows that a page can show below each other; of more, neighbours are put together."""

NOTHING_TO_PROBE: Final = 255
OCTAVES: Final = 32
STEPS: Final = 8


def sound(windows: Mapping[str, BasicWindows]) -> dict[str, BasicWindows]:
    """Without the strips that cannot be, as a damaged file may have them.

    Examples
    --------
    >>> found_only = BasicWindows(1.0, found=(3.0, 1.0))
    >>> list(sound({"left": found_only, "right": BasicWindows(1.0, (1.0,), (), (2.0,))}))
    ['left']
    """
    return {name: one for name, one in windows.items() if _can_be(one)}


def _can_be(windows: BasicWindows) -> bool:
    every = [*windows.compared, *windows.skipped, *windows.found, *windows.priority]
    try:
        is_finite, least = isfinite(sum(every) + windows.seconds), min(every, default=0)
    except (TypeError, OverflowError):
        return False
    lengths = len(windows.compared), len(windows.skipped)
    n = len(windows.found)
    return is_finite and least >= 0 and lengths in ((0, 0), (n, n))


def packed(windows: BasicWindows) -> bytes:
    """The probed part of each basic window in percent, then the productivity of each.

    A productivity (pairs for each comparison) is a byte on a scale of logarithms, exact to 5 %: 0
    is none, 255 one pair for each comparison. 255 as a part says that there was nothing to probe.
    Where comparisons are not counted, all is probed, and productivity is the share of the pairs.

    Examples
    --------
    >>> list(packed(BasicWindows(1.0, (80.0, 20.0, 0.0), (0.0, 60.0, 0.0), (40.0, 4.0, 0.0))))
    [100, 25, 255, 248, 221, 0]
    >>> list(packed(BasicWindows(1.0, found=(6.0, 2.0, 0.0))))
    [100, 100, 100, 253, 240, 0]
    """
    cells = grouped(windows)
    if not cells.compared:
        all_found = sum(cells.found) or 1.0
        shares = bytes(_productivity(found / all_found) for found in cells.found)
        return bytes([100]) * len(cells.found) + shares
    parts = bytes(
        round(100 * part) if every else NOTHING_TO_PROBE
        for part, every in zip(cells.fractions, _every(cells), strict=True)
    )
    return parts + bytes(_productivity(density) for density in cells.density)


def as_text(strip: bytes) -> str:
    """A packed strip as JSON can hold it."""
    return b64encode(strip).decode("ascii")


def in_full(windows: BasicWindows) -> dict[str, Any]:
    """The latest strip, to be read cell by cell.

    Examples
    --------
    >>> in_full(BasicWindows(0.5, (80.0,), (20.0,), (10.0,)))
    {'seconds': 0.5, 'compared': (80.0,), 'skipped': (20.0,), 'found': (10.0,), 'priority': ()}
    """
    return dict(vars(grouped(windows)))


def grouped(windows: BasicWindows, most: int = MOST_CELLS) -> BasicWindows:
    """The same with at most so many basic windows: neighbours count together.

    Examples
    --------
    >>> grouped(BasicWindows(1.0, (1.0, 2.0, 4.0), (0.0, 1.0, 1.0), (1.0, 0.0, 2.0)), most=2)
    BasicWindows(seconds=2.0, compared=(3.0, 4.0), skipped=(1.0, 1.0), found=(1.0, 2.0), ...)
    """
    width = -(-len(windows.found) // most)
    if width <= 1:
        return windows
    return BasicWindows(
        seconds=windows.seconds * width,
        compared=_sums(windows.compared, width),
        skipped=_sums(windows.skipped, width),
        found=_sums(windows.found, width),
        priority=tuple(total / width for total in _sums(windows.priority, width)),
    )


def _sums(values: tuple[float, ...], width: int) -> tuple[float, ...]:
    return tuple(sum(values[start : start + width]) for start in range(0, len(values), width))


def _every(windows: BasicWindows) -> list[float]:
    return [done + left for done, left in zip(windows.compared, windows.skipped, strict=True)]


def _productivity(density: float) -> int:
    if density <= 0:
        return 0
    return max(1, min(255, round(STEPS * (OCTAVES + log2(density)))))
