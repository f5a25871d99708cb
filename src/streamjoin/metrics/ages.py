"""How old results are: the age of the oldest tuple in each, as a histogram that can be added up."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

N_BUCKETS: Final = 256
PER_OCTAVE: Final = 4
"""Buckets for each doubling of the age: a quantile is exact to 12 %."""


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
        both = dict(self.buckets)
        for bucket, n in other.buckets.items():
            both[bucket] = both.get(bucket, 0) + n
        return Ages(both, max(self.most, other.most))

    def to_dict(self) -> dict[str, Any]:
        """Values that JSON can hold, with the quantiles for those who only read."""
        read = {"p50": round(self.p50, 6), "p95": round(self.p95, 6), "max": self.most}
        return {**read, "buckets": {str(b): n for b, n in self.buckets.items()}}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Ages":
        """Read `to_dict` back."""
        return cls({int(b): int(n) for b, n in values["buckets"].items()}, float(values["max"]))
