"""What one shard tells of a batch besides its counts; it travels as JSON beside them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import reduce
from typing import Any

from streamjoin.metrics.ages import Ages
from streamjoin.metrics.windows import BasicWindows


@dataclass(frozen=True)
class Details:
    """Of one shard, or of all.

    Parameters
    ----------
    newest
        Event time of the newest row of all inputs, in microseconds since 1970; None if none came.
    budget_us, planned, looked_at, costs_us, ages, windows, allowances, algorithm, driver
        As `JoinMetrics` has them.

    Examples
    --------
    >>> one = Details(newest=7, budget_us=50, costs_us={"comparing": 0.02}, ages=Ages({3: 5}, 1.0))
    >>> Details.from_json(one.to_json()) == one
    True
    >>> both = one + Details(newest=9, budget_us=50, costs_us={"comparing": 0.04})
    >>> both.newest, both.budget_us, both.costs_us, both.ages.n
    (9, 100, {'comparing': 0.03}, 5)
    """

    newest: int | None = None
    budget_us: int = 0
    planned: int = 0
    looked_at: int = 0
    costs_us: Mapping[str, float] = field(default_factory=dict)
    ages: Ages | None = None
    windows: Mapping[str, BasicWindows] = field(default_factory=dict)
    allowances: Mapping[str, float] = field(default_factory=dict)
    algorithm: str = ""
    driver: str = ""

    @classmethod
    def together(cls, parts: Sequence["Details"]) -> "Details":
        """What all shards tell: sums, and means of what is measured."""
        if not parts:
            return cls()
        total = reduce(lambda before, one: before + one, parts)
        costs = {name: _mean([p.costs_us.get(name) for p in parts]) for name in total.costs_us}
        strips = {
            name: replace(strip, priority=_means([p.windows.get(name) for p in parts]))
            for name, strip in total.windows.items()
        }
        return replace(total, costs_us=costs, windows=strips)

    def __add__(self, other: "Details") -> "Details":
        times = [time for time in (self.newest, other.newest) if time is not None]
        ages = [one for one in (self.ages, other.ages) if one is not None]
        return Details(
            newest=max(times, default=None),
            budget_us=self.budget_us + other.budget_us,
            planned=self.planned + other.planned,
            looked_at=self.looked_at + other.looked_at,
            costs_us=_merged(self.costs_us, other.costs_us, lambda x, y: (x + y) / 2),
            ages=reduce(lambda x, y: x + y, ages) if ages else None,
            windows=_merged(self.windows, other.windows, lambda x, y: x + y),
            allowances=_merged(self.allowances, other.allowances, lambda x, y: x + y),
            algorithm=self.algorithm or other.algorithm,
            driver=self.driver or other.driver,
        )

    def to_json(self) -> str:
        """One line; what is zero, empty or not known is left out."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        values["ages"] = None if self.ages is None else self.ages.to_dict()
        values["windows"] = {name: one.to_dict() for name, one in self.windows.items()}
        known = {name: value for name, value in values.items() if value}
        if self.newest is not None:
            known["newest"] = self.newest
        return json.dumps(known, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> "Details":
        """Read `to_json` back."""
        values: dict[str, Any] = json.loads(text)
        if "ages" in values:
            values["ages"] = Ages.from_dict(values["ages"])
        strips = values.get("windows", {})
        values["windows"] = {name: BasicWindows.from_dict(one) for name, one in strips.items()}
        return cls(**values)


def _mean(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return float(f"{sum(known) / len(known):.4g}")


def _means(strips: Sequence[BasicWindows | None]) -> tuple[float, ...]:
    """The mean priority of each basic window, over shards that know one."""
    known = [strip.priority for strip in strips if strip is not None and strip.priority]
    return tuple(_mean(values) for values in zip(*known, strict=True))


def _merged(mine: Mapping[str, Any], theirs: Mapping[str, Any], both: Any) -> dict[str, Any]:
    merged = dict(mine)
    for name, value in theirs.items():
        merged[name] = both(merged[name], value) if name in merged else value
    return merged
