"""What two streams ask for, what there is, and what each stream gets."""

import math
from dataclasses import dataclass

from streamjoin.errors import ConfigError

Pair = tuple[float, float]
"""One number for the left stream, one for the right."""


@dataclass(frozen=True)
class Demand:
    """What two streams would take if nothing were scarce.

    Parameters
    ----------
    rates
        Arrivals a second (lambda).
    windows
        Seconds that a tuple is to be kept (T); may be infinite.
    sizes
        Memory that one tuple takes, in the unit of `Limits.memory`.

    Examples
    --------
    >>> Demand(rates=(10.0, 50.0), windows=(60.0, 2.0)).memory((10.0, 50.0))
    (600.0, 100.0)
    """

    rates: Pair
    windows: Pair
    sizes: Pair = (1.0, 1.0)

    def __post_init__(self) -> None:
        if not all(0 <= rate < math.inf for rate in self.rates):
            _refuse("rates", self.rates, "two finite numbers, zero or more")
        if not all(window >= 0 for window in self.windows):
            _refuse("windows", self.windows, "two numbers of seconds, zero or more")
        if not all(0 < size < math.inf for size in self.sizes):
            _refuse("sizes", self.sizes, "two finite positive numbers")

    def memory(self, rates: Pair) -> Pair:
        """Memory that the whole windows take at these rates."""
        left, right = (
            times(times(rate, window), size)
            for rate, window, size in zip(rates, self.windows, self.sizes, strict=True)
        )
        return left, right


@dataclass(frozen=True)
class Limits:
    """What there is; None where there is enough.

    Parameters
    ----------
    service
        Tuples a second that can be taken in, both streams together (mu).
    memory
        Memory of both windows together (M), in the unit of `Demand.sizes`.
    """

    service: float | None = None
    memory: float | None = None

    def __post_init__(self) -> None:
        for name, limit in (("service", self.service), ("memory", self.memory)):
            if limit is not None and not 0 < limit < math.inf:
                _refuse(name, limit, "a finite positive number, or None for no limit")


@dataclass(frozen=True)
class Allocation:
    """What each stream gets.

    Parameters
    ----------
    rates
        Tuples a second that are taken in (lambda'); the rest is dropped.
    memory
        Memory of each window, no more than it fills at these rates; None: no limit.
    """

    rates: Pair
    memory: Pair | None = None


def held(allocation: Allocation, demand: Demand) -> Pair:
    """Tuples that each window holds: what its length and its memory allow.

    Examples
    --------
    >>> held(Allocation((10.0, 50.0), (300.0, 700.0)), Demand((10.0, 50.0), windows=(60.0, 2.0)))
    (300.0, 100.0)
    """
    left, right = map(times, allocation.rates, demand.windows)
    if allocation.memory is not None:
        room = allocation.memory[0] / demand.sizes[0], allocation.memory[1] / demand.sizes[1]
        left, right = min(left, room[0]), min(right, room[1])
    return left, right


def output(allocation: Allocation, demand: Demand) -> float:
    """Expected results a second, divided by the join's selectivity (Eqs. 9, 10, 13 and 14).

    Each arrival is compared with all that the other window holds: ``A * rate_b + B * rate_a``.

    Examples
    --------
    >>> output(Allocation((5.0, 5.0)), Demand((80.0, 20.0), windows=(9.0, 1.0)))
    250.0
    """
    left, right = held(allocation, demand)
    return times(left, allocation.rates[1]) + times(right, allocation.rates[0])


def divide(total: float, weights: Pair, caps: Pair) -> Pair:
    """Divide a total by weights; what one side cannot use goes to the other.

    Examples
    --------
    >>> divide(10.0, weights=(4, 1), caps=(100.0, 100.0))
    (8.0, 2.0)
    >>> divide(10.0, weights=(4, 1), caps=(5.0, 100.0))
    (5.0, 5.0)
    """
    if weights[0] < weights[1]:  # the larger share first: exchanged sides, exchanged result
        left, right = divide(total, weights[::-1], caps[::-1])[::-1]
        return left, right
    left = min(caps[0], total * _share(weights))
    right = min(caps[1], total - left)
    if right == caps[1]:
        left = min(caps[0], total - right)
    return left, right


def times(left: float, right: float) -> float:
    """A product in which nothing of something infinite is nothing."""
    return left * right if left and right else 0.0


def _share(weights: Pair) -> float:
    """The left one's share; an infinite weight takes all, equal ones (nothing too) the half."""
    left, right = weights
    if left == right:
        return 0.5
    return 1.0 if math.isinf(left) else left / (left + right)


def _refuse(argument: str, got: object, allowed: str) -> None:
    msg = f"{argument}: got {got}; allowed: {allowed}"
    raise ConfigError(msg)
