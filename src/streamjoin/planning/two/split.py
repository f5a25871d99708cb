"""Divide what is scarce between two streams, by the name of a strategy (Kang 2003, Section 4).

Which strategies there are depends on what is scarce (KAN-A17); "best" gives the most results.

- *CPU* (Section 4.2; KAN-A18, A19). Windows are fixed; tuples are dropped as they come, so a stream
  that is cut by half also has half as many tuples in its window. Results grow with the *product* of
  the two rates (Eq. 10), whose sum is given: equal rates are the best, whatever the windows and
  selectivities (Eq. 11). A stream slower than its half is not cut; the other one gets the rest.
- *Memory* (Section 4.3; KAN-A21 to A23). Rates are fixed and windows become upper bounds. A unit of
  memory for the left window gives ``rate_right / size_left`` comparisons a second, and the other
  way round. That does not depend on how much the window already has (Eq. 13 is linear), so the
  better one is filled first: with tuples of equal size the window of the slower stream. What it
  cannot use goes to the other window.
- *Both* (Section 4.3; KAN-A24, A25). A share x of the service goes to the left stream, the rest to
  the right one, and the windows share the memory (Eq. 14). The most results come when one stream's
  window has the memory and the *other* stream has the service. Neither stream may stop, so x stays
  between 0.1 and 0.9 (KAN-I5), unless a stream is too slow to use its share.
"""

import math
from dataclasses import dataclass
from typing import Final

from streamjoin.errors import ConfigError

Pair = tuple[float, float]
"""One number for the left stream, one for the right."""
RATE_SPLITS: Final = ("best", "equal", "rate", "inverse-rate", "window", "inverse-window")
"""By name: "best" is "equal"; the others go by the streams' rates or windows, or by their inverse
(KAN-A19)."""
MEMORY_SPLITS: Final = ("best", "slower", "faster", "rate", "inverse-rate", "equal")
"""By name: "best" is "slower": the window of the stream that brings less memory a second is filled
first; "faster" is the opposite; "rate" and "inverse-rate" go by the rates (KAN-A23)."""
JOINT_SPLITS: Final = ("best", "left/left", "left/right", "right/left", "right/right", "equal")
"""By name: the stream whose window gets the memory / the stream that gets the service (KAN-A25)."""
_SPLITS: Final = {
    (False, False): ("without a limit", ("best",)),
    (True, False): ("with a limit of CPU", RATE_SPLITS),
    (False, True): ("with a limit of memory", MEMORY_SPLITS),
    (True, True): ("with a limit of CPU and memory", JOINT_SPLITS),
}
"""By whether service and memory are limited."""
FAVOURED: Final = 0.9
"""Share of the service for the favoured stream (KAN-I5)."""


@dataclass(frozen=True)
class Demand:
    """What two streams would take if nothing were scarce.

    Examples
    --------
    >>> Demand(rates=(10.0, 50.0), windows=(60.0, 2.0)).memory((10.0, 50.0))
    (600.0, 100.0)
    """

    rates: Pair  # arrivals a second (lambda)
    windows: Pair  # seconds that a tuple is to be kept (T); may be infinite
    sizes: Pair = (1.0, 1.0)  # memory that one tuple takes, in the unit of `Limits.memory`

    def __post_init__(self) -> None:
        if not all(0 <= rate < math.inf for rate in self.rates):
            raise ConfigError.at("rates", self.rates, "two finite numbers, zero or more")
        if not all(window >= 0 for window in self.windows):
            raise ConfigError.at("windows", self.windows, "two numbers of seconds, zero or more")
        if not all(0 < size < math.inf for size in self.sizes):
            raise ConfigError.at("sizes", self.sizes, "two finite positive numbers")

    def memory(self, rates: Pair) -> Pair:
        """Memory that the whole windows take at these rates."""
        left, right = (
            times(times(rate, window), size)
            for rate, window, size in zip(rates, self.windows, self.sizes, strict=True)
        )
        return left, right


@dataclass(frozen=True)
class Limits:
    """What there is; None where there is enough."""

    service: float | None = None  # tuples a second that can be taken in, both streams together (mu)
    memory: float | None = None
    """Memory of both windows together (M), in the unit of `Demand.sizes`."""

    def __post_init__(self) -> None:
        for name, limit in (("service", self.service), ("memory", self.memory)):
            if limit is not None and not 0 < limit < math.inf:
                raise ConfigError.at(name, limit, "a finite positive number, or None for no limit")


@dataclass(frozen=True)
class Allocation:
    """What each stream gets."""

    rates: Pair  # tuples a second that are taken in (lambda'); the rest is dropped
    memory: Pair | None = None
    """Memory of each window, no more than it fills at these rates; None: no limit."""


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


def split_rates(split: str, demand: Demand, service: float) -> Pair:
    """Divide `service` tuples a second; no stream gets more than comes.

    Examples
    --------
    >>> demand = Demand(rates=(80.0, 20.0), windows=(9.0, 1.0))
    >>> split_rates("equal", demand, service=10), split_rates("rate", demand, service=10)
    ((5.0, 5.0), (8.0, 2.0))
    >>> split_rates("equal", Demand(rates=(5.0, 100.0), windows=(1.0, 1.0)), service=50)
    (5.0, 45.0)
    """
    weights = demand.rates if split.endswith("rate") else demand.windows
    if split.startswith("inverse"):
        # Of two shares, those inverse to the weights are the same ones exchanged.
        weights = weights[::-1]
    return _shared_rates(demand, service, (1.0, 1.0) if split in ("best", "equal") else weights)


def _shared_rates(demand: Demand, service: float, weights: Pair) -> Pair:
    if sum(demand.rates) <= service:
        return demand.rates
    return divide(service, weights, caps=demand.rates)


def split_memory(split: str, demand: Demand, memory: float, rates: Pair | None = None) -> Pair:
    """Divide `memory`; no window gets more than it fills.

    Parameters
    ----------
    split
        One of `MEMORY_SPLITS`.
    demand
        The streams.
    memory
        What there is.
    rates
        What is taken in of the streams, if not all of it.

    Examples
    --------
    >>> demand = Demand(rates=(10.0, 50.0), windows=(60.0, 60.0))
    >>> split_memory("slower", demand, memory=500), split_memory("slower", demand, memory=1000)
    ((500.0, 0.0), (600.0, 400.0))
    >>> split_memory("inverse-rate", demand, memory=600)
    (500.0, 100.0)
    """
    rates = demand.rates if rates is None else rates
    return divide(memory, _memory_weights(split, rates, demand.sizes), caps=demand.memory(rates))


def fill_first(side: str, demand: Demand, memory: float, rates: Pair) -> Pair:
    """Give one window ("left" or "right") all that it can use, and the other the rest.

    Examples
    --------
    >>> demand = Demand(rates=(10.0, 50.0), windows=(60.0, 60.0))
    >>> fill_first("right", demand, memory=1000, rates=(10.0, 10.0))
    (400.0, 600.0)
    """
    weights = (1.0, 0.0) if side == "left" else (0.0, 1.0)
    return divide(memory, weights, caps=demand.memory(rates))


def _memory_weights(split: str, rates: Pair, sizes: Pair) -> Pair:
    if split == "equal":
        return 1.0, 1.0
    if split.endswith("rate"):
        return rates[::-1] if split.startswith("inverse") else rates
    left_is_slower = rates[0] * sizes[0] <= rates[1] * sizes[1]
    return (1.0, 0.0) if left_is_slower == (split != "faster") else (0.0, 1.0)


def split_both(
    split: str, demand: Demand, service: float, memory: float, favoured: float = FAVOURED
) -> Allocation:
    """Divide `service` tuples a second and `memory` between two streams.

    Parameters
    ----------
    split
        One of `JOINT_SPLITS`.
    demand
        The streams.
    service, memory
        What there is.
    favoured
        Share of the service for the favoured stream, and the most that "best" gives to one.

    Examples
    --------
    >>> demand = Demand(rates=(10, 10), windows=(100, 100))
    >>> split_both("left/right", demand, service=10, memory=100)
    Allocation(rates=(1.0, 9.0), memory=(100.0, 0.0))
    >>> output(split_both("best", demand, service=10, memory=100), demand)
    900.0
    """
    if not 0.5 <= favoured < 1:
        raise ConfigError.at("favoured", favoured, "from 0.5 to less than 1")
    if split == "best":
        return _best_of_both(demand, service, memory, favoured)
    if split == "equal":
        rates = _shared_rates(demand, service, (1.0, 1.0))
        return Allocation(rates, split_memory("equal", demand, memory, rates))
    window, stream = split.split("/")
    shares = favoured, 1 - favoured
    rates = _shared_rates(demand, service, shares if stream == "left" else shares[::-1])
    return Allocation(rates, fill_first(window, demand, memory, rates))


def _best_of_both(demand: Demand, service: float, memory: float, favoured: float) -> Allocation:
    shares = (favoured, 1 - favoured, *_turning_points(demand, service, memory))
    tried = []
    for share in shares:
        if 1 - favoured <= share <= favoured:
            rates = _shared_rates(demand, service, (share, 1 - share))
            tried.append(Allocation(rates, split_memory("best", demand, memory, rates)))
    return max(tried, key=lambda allocation: output(allocation, demand))


def _turning_points(demand: Demand, service: float, memory: float) -> list[float]:
    """Shares of the left stream where the best output may have its maximum.

    With the memory divided in the best way, the output is made of pieces: each is linear in the
    left stream's rate r, or a parabola that opens downwards. So its maximum is at an end of the
    range, where two pieces meet, or at the top of a parabola: no search is needed. (Where the other
    window becomes the better one the output has a dent, never its maximum.)
    """
    (left, right), (size_left, size_right) = demand.windows, demand.sizes
    whole_left, whole_right = left * size_left, right * size_right  # memory of a window at rate 1
    points = [
        # the left window, the right window, both together fill the memory
        _ratio(memory, whole_left),
        service - _ratio(memory, whole_right),
        _ratio(memory - service * whole_right, whole_left - whole_right),
        # tops: both windows whole; only the left one whole; only the right one
        service / 2,
        _top(service, memory, left, size_left, size_right),
        service - _top(service, memory, right, size_right, size_left),
    ]
    return [r / service for r in points if math.isfinite(r)]


def _top(service: float, memory: float, window: float, size: float, other_size: float) -> float:
    """Where one window is whole and the other has the rest of the memory: rate of the first stream.

    Output is ``r * window * (service - r) + (memory - r * window * size) * r / other_size``.
    """
    return (service + _ratio(memory, other_size * window)) / (2 * (1 + size / other_size))


def _ratio(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator else math.inf


def splits_for(limits: Limits) -> tuple[str, ...]:
    """Names of the strategies for these limits; the first gives the most results.

    Examples
    --------
    >>> splits_for(Limits(service=100))
    ('best', 'equal', 'rate', 'inverse-rate', 'window', 'inverse-window')
    >>> splits_for(Limits())
    ('best',)
    """
    return _SPLITS[limits.service is not None, limits.memory is not None][1]


def plan(split: str, demand: Demand, limits: Limits) -> Allocation:
    """Divide what there is; without need nothing is cut.

    Parameters
    ----------
    split
        One of ``splits_for(limits)``.
    demand
        What the streams would take.
    limits
        What there is.

    Examples
    --------
    >>> demand = Demand(rates=(10.0, 50.0), windows=(60.0, 60.0))
    >>> plan("best", demand, Limits(service=40))
    Allocation(rates=(10.0, 30.0), memory=None)
    >>> plan("best", demand, Limits(memory=500))
    Allocation(rates=(10.0, 50.0), memory=(500.0, 0.0))
    >>> plan("faster", demand, Limits(service=40))
    Traceback (most recent call last):
        ...
    streamjoin.errors.ConfigError: split: got 'faster'; allowed with a limit of CPU: 'best',
    'equal', 'rate', 'inverse-rate', 'window', 'inverse-window'
    """
    limited, allowed = _SPLITS[limits.service is not None, limits.memory is not None]
    if split not in allowed:
        names = ", ".join(map(repr, allowed))
        raise ConfigError(f"split: got {split!r}; allowed {limited}: {names}")
    if limits.service is None:
        memory = limits.memory
        return Allocation(
            demand.rates, None if memory is None else split_memory(split, demand, memory)
        )
    if limits.memory is None:
        return Allocation(split_rates(split, demand, limits.service))
    return split_both(split, demand, limits.service, limits.memory)
