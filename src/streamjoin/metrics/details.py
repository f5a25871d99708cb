"""What one shard tells of a batch besides its counts: ages, basic windows; it travels as JSON."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import reduce
from itertools import chain
from typing import Any, Final, TypeVar

from streamjoin.metrics.catalogue import share_found

N_BUCKETS: Final = 256
PER_OCTAVE: Final = 4
"""Buckets for each doubling of the age: a quantile is exact to 12 %."""
Value = TypeVar("Value")
_LISTS = ("compared", "skipped", "found", "priority")


def begin(bucket: int) -> float:
    """The smallest age of a bucket, in microseconds: a doubling is cut into four equal parts.

    Examples
    --------
    >>> [begin(bucket) for bucket in (-8, 0, 1, 4, 5)]
    [0.25, 1.0, 1.25, 2.0, 2.5]
    """
    octave, part = divmod(bucket, PER_OCTAVE)
    return float(2.0**octave * (1 + part / PER_OCTAVE))


@dataclass(frozen=True)
class Ages:
    """Ages of results, in seconds of the streams' own time.

    The age of a result is that of its oldest tuple, measured from the newest row of all streams
    (JAQPOT, section 2: what a freshness predicate bounds).

    Parameters
    ----------
    buckets
        Results by bucket: number b is for ages from `begin` of b to `begin` of b + 1.
    most
        The largest age in seconds of those that were looked at: where many results come out
        together, of some.

    Examples
    --------
    >>> ages = Ages({80: 60, 92: 39, 100: 1}, 40.0) + Ages({80: 100}, 1.0)
    >>> ages.n, round(ages.p50, 2), round(ages.p95, 2), ages.most
    (200, 1.18, 9.44, 40.0)
    """

    buckets: Mapping[int, int] = field(default_factory=dict)
    most: float = 0.0

    @property
    def n(self) -> int:
        """Results."""
        return sum(self.buckets.values())

    @property
    def p50(self) -> float:
        """Half of the results are not older."""
        return self.quantile(0.5)

    @property
    def p95(self) -> float:
        """Of 100 results 95 are not older."""
        return self.quantile(0.95)

    def quantile(self, share: float) -> float:
        """The age in seconds that a share of the results does not exceed; exact to 12 %."""
        wanted, seen = share * self.n, 0
        for bucket in sorted(self.buckets):
            seen += self.buckets[bucket]
            if seen >= wanted:
                return min((begin(bucket) + begin(bucket + 1)) / 2e6, self.most)
        return self.most

    def __add__(self, other: "Ages") -> "Ages":
        buckets = dict(self.buckets)
        for bucket, n in other.buckets.items():
            buckets[bucket] = buckets.get(bucket, 0) + n
        return Ages(buckets, max(self.most, other.most))

    def to_dict(self) -> dict[str, Any]:
        """Values that JSON can hold, with the quantiles for those who only read."""
        read = {"p50": round(self.p50, 6), "p95": round(self.p95, 6), "max": self.most}
        return {**read, "buckets": {str(b): n for b, n in self.buckets.items()}}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Ages":
        """Read `to_dict` back."""
        return cls({int(b): int(n) for b, n in values["buckets"].items()}, float(values["max"]))


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
        return tuple(map(share_found, self.compared, self.skipped))

    @property
    def density(self) -> tuple[float, ...]:
        """Pairs for each comparison of a full join: the match density; empty if not counted."""
        if not self.compared:
            return ()
        return tuple(
            pairs / (done + left_out) if done + left_out else 0.0
            for pairs, done, left_out in zip(self.found, self.compared, self.skipped, strict=True)
        )

    @classmethod
    def together(cls, strips: Sequence["BasicWindows"]) -> "BasicWindows":
        """Of all shards: comparisons and pairs are added up, of priorities the mean is taken."""
        lists = {name: [some for one in strips if (some := getattr(one, name))] for name in _LISTS}
        priority = tuple(_mean(values) for values in zip(*lists.pop("priority"), strict=True))
        sums = {name: tuple(map(sum, zip(*some, strict=True))) for name, some in lists.items()}
        return cls(strips[0].seconds, **sums, priority=priority)

    def to_dict(self) -> dict[str, Any]:
        """Values that JSON can hold, to four digits."""
        lists = {name: [_short(v) for v in getattr(self, name)] for name in _LISTS}
        return {"seconds": self.seconds, **{name: some for name, some in lists.items() if some}}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "BasicWindows":
        """Read `to_dict` back."""
        return cls(values["seconds"], *(tuple(values.get(name, ())) for name in _LISTS))


def _short(value: float) -> float:
    """As few digits as are of use: a line is written for every batch."""
    return float(f"{value:.4g}")


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
        strips = _by_name(part.windows for part in parts)
        allowances = _by_name(part.allowances for part in parts)
        costs = _by_name(part.costs_us for part in parts)
        return cls(
            newest=max((one.newest for one in parts if one.newest is not None), default=None),
            budget_us=sum(one.budget_us for one in parts),
            planned=sum(one.planned for one in parts),
            looked_at=sum(one.looked_at for one in parts),
            costs_us={name: _mean(each) for name, each in costs.items()},
            ages=reduce(together, (one.ages for one in parts), None),
            windows={name: BasicWindows.together(each) for name, each in strips.items()},
            allowances={name: sum(each) for name, each in allowances.items()},
            algorithm=next((one.algorithm for one in parts if one.algorithm), ""),
            driver=next((one.driver for one in parts if one.driver), ""),
        )

    def __add__(self, other: "Details") -> "Details":
        return Details.together([self, other])

    def to_json(self) -> str:
        """One line; what is zero, empty or not known is left out."""
        known = {name: value for name, value in to_values(self).items() if value}
        if self.newest is not None:
            known["newest"] = self.newest
        return json.dumps(known, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> "Details":
        """Read `to_json` back."""
        return cls(**from_values(json.loads(text)))


def to_values(one: Any) -> dict[str, Any]:
    """The fields of `Details` or of `JoinMetrics`, with ages and windows as JSON can hold them."""
    values = {field.name: getattr(one, field.name) for field in fields(one)}
    values["ages"] = None if one.ages is None else one.ages.to_dict()
    values["windows"] = {name: strip.to_dict() for name, strip in one.windows.items()}
    return values


def from_values(values: dict[str, Any]) -> dict[str, Any]:
    """Read ages and windows back."""
    if "ages" in values:
        values["ages"] = Ages.from_dict(values["ages"])
    strips = values.get("windows", {})
    values["windows"] = {name: BasicWindows.from_dict(one) for name, one in strips.items()}
    return values


def together(before: Any, later: Any) -> Any:
    """The sum of two, or what there is."""
    if before is None or later is None:
        return before if later is None else later
    return before + later


def _mean(values: Sequence[float]) -> float:
    return _short(sum(values) / len(values))


def _by_name(parts: Iterable[Mapping[str, Value]]) -> dict[str, list[Value]]:
    groups: dict[str, list[Value]] = {}
    for name, value in chain.from_iterable(part.items() for part in parts):
        groups.setdefault(name, []).append(value)
    return groups
