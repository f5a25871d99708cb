"""Too little memory: how much each window gets (Kang 2003, Section 4.3; KAN-A21 to A23).

Rates are fixed and windows become upper bounds. A unit of memory for the left window gives
``rate_right / size_left`` comparisons a second, and the other way round. That does not depend on
how much the window already has (Eq. 13 is linear), so the better one is filled first: with tuples
of equal size the window of the slower stream. What it cannot use goes to the other window.
"""

from typing import Final

from streamjoin.planning.demand import Demand, Pair, divide

MEMORY_SPLITS: Final = ("best", "slower", "faster", "rate", "inverse-rate", "equal")
"""By name: "best" is "slower": the window of the stream that brings less memory a second is filled
first; "faster" is the opposite; "rate" and "inverse-rate" go by the rates (KAN-A23)."""


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
    return divide(memory, _weights(split, rates, demand.sizes), caps=demand.memory(rates))


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


def _weights(split: str, rates: Pair, sizes: Pair) -> Pair:
    if split == "equal":
        return 1.0, 1.0
    if split.endswith("rate"):
        return rates[::-1] if split.startswith("inverse") else rates
    left_is_slower = rates[0] * sizes[0] <= rates[1] * sizes[1]
    return (1.0, 0.0) if left_is_slower == (split != "faster") else (0.0, 1.0)
