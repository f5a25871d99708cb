"""Too little CPU and memory: rates and windows together (Kang 2003, Section 4.3; KAN-A24, A25).

A share x of the service goes to the left stream, the rest to the right one, and the windows share
the memory (Eq. 14). The most results come when one stream's window has the memory and the *other*
stream has the service. Neither stream may stop, so x stays between 0.1 and 0.9 (KAN-I5), unless a
stream is too slow to use its share. Windows keep no tuple longer than asked; a window that is full
leaves its memory to the other one.
"""

import math
from typing import Final

from streamjoin.errors import ConfigError
from streamjoin.planning.demand import Allocation, Demand, Pair, divide, output
from streamjoin.planning.memory_split import fill_first, split_memory

JOINT_SPLITS: Final = ("best", "left/left", "left/right", "right/left", "right/right", "equal")
"""By name: the stream whose window gets the memory / the stream that gets the service (KAN-A25)."""

FAVOURED: Final = 0.9
"""Share of the service for the favoured stream (KAN-I5)."""


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
        msg = f"favoured: got {favoured}; allowed: from 0.5 to less than 1"
        raise ConfigError(msg)
    if split == "best":
        return _best(demand, service, memory, favoured)
    if split == "equal":
        rates = _rates(demand, service, 0.5)
        return Allocation(rates, split_memory("equal", demand, memory, rates))
    window, stream = split.split("/")
    rates = _rates(demand, service, favoured if stream == "left" else 1 - favoured)
    return Allocation(rates, fill_first(window, demand, memory, rates))


def _best(demand: Demand, service: float, memory: float, favoured: float) -> Allocation:
    shares = (favoured, 1 - favoured, *_turning_points(demand, service, memory))
    tried = []
    for share in shares:
        if 1 - favoured <= share <= favoured:
            rates = _rates(demand, service, share)
            tried.append(Allocation(rates, split_memory("best", demand, memory, rates)))
    return max(tried, key=lambda allocation: output(allocation, demand))


def _rates(demand: Demand, service: float, share: float) -> Pair:
    if sum(demand.rates) <= service:
        return demand.rates
    return divide(service, (share, 1 - share), caps=demand.rates)


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
