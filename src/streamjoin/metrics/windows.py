"""What was probed where: the basic windows of one input, the newest first (GED-A2)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_LISTS = ("compared", "skipped", "found", "priority")


@dataclass(frozen=True)
class BasicWindows:
    """One input's window, cut into basic windows, the newest first.

    Parameters
    ----------
    seconds
        Length of a basic window.
    compared, skipped
        Comparisons with its rows that were made, and that were left out; empty where they are not
        counted, as without a budget: then all were made.
    found
        Pairs that its rows are part of, found or (where some are left out) estimated.
    priority
        Results for each microsecond that its comparisons take: those with most come first. Empty
        where nothing is chosen.

    Examples
    --------
    >>> strip = BasicWindows(1.0, (80.0, 20.0), (0.0, 60.0), (40.0, 4.0), (0.5, 0.05))
    >>> strip.fractions, strip.density
    ((1.0, 0.25), (0.5, 0.05))
    >>> BasicWindows.from_dict(strip.to_dict()) == strip
    True
    """

    seconds: float
    compared: tuple[float, ...] = ()
    skipped: tuple[float, ...] = ()
    found: tuple[float, ...] = ()
    priority: tuple[float, ...] = ()

    @property
    def fractions(self) -> tuple[float, ...]:
        """The part of each basic window that was probed."""
        if not self.compared:
            return (1.0,) * len(self.found)
        return tuple(
            done / (done + left_out) if done + left_out else 1.0
            for done, left_out in zip(self.compared, self.skipped, strict=True)
        )

    @property
    def density(self) -> tuple[float, ...]:
        """Pairs for each comparison of a full join: the match density; empty if not counted."""
        if not self.compared:
            return ()
        return tuple(
            found / (done + left_out) if done + left_out else 0.0
            for found, done, left_out in zip(self.found, self.compared, self.skipped, strict=True)
        )

    def __add__(self, other: "BasicWindows") -> "BasicWindows":
        """Of two shards: comparisons and pairs are added up, of priorities the mean is taken."""
        priority = tuple(value / 2 for value in _sum(self.priority, other.priority))
        if not self.priority or not other.priority:
            priority = self.priority or other.priority
        return BasicWindows(
            self.seconds,
            _sum(self.compared, other.compared),
            _sum(self.skipped, other.skipped),
            _sum(self.found, other.found),
            priority,
        )

    def to_dict(self) -> dict[str, Any]:
        """Values that JSON can hold, to four digits."""
        lists = {name: [_short(v) for v in getattr(self, name)] for name in _LISTS}
        return {"seconds": self.seconds, **{name: some for name, some in lists.items() if some}}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "BasicWindows":
        """Read `to_dict` back."""
        return cls(values["seconds"], *(tuple(values.get(name, ())) for name in _LISTS))


def _sum(mine: tuple[float, ...], theirs: tuple[float, ...]) -> tuple[float, ...]:
    if not mine or not theirs:
        return mine or theirs
    return tuple(x + y for x, y in zip(mine, theirs, strict=True))


def _short(value: float) -> float:
    """As few digits as are of use: a line is written for every batch."""
    return float(f"{value:.4g}")
