"""Too little CPU: which share of each stream is taken in (Kang 2003, Section 4.2; KAN-A18, A19).

Windows are fixed; tuples are dropped as they come, so a stream that is cut by half also has half as
many tuples in its window. Results grow with the *product* of the two rates (Eq. 10), whose sum is
given: equal rates are the best, whatever the windows and selectivities (Eq. 11). A stream that is
slower than its half is not cut, and the other one gets the rest.
"""

from typing import Final

from streamjoin.planning.demand import Demand, Pair, divide

RATE_SPLITS: Final = ("best", "equal", "rate", "inverse-rate", "window", "inverse-window")
"""By name: "best" is "equal"; the others go by the streams' rates or windows, or by their inverse
(KAN-A19)."""


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
    if sum(demand.rates) <= service:
        return demand.rates
    return divide(service, _weights(split, demand), caps=demand.rates)


def _weights(split: str, demand: Demand) -> Pair:
    if split in ("best", "equal"):
        return 1.0, 1.0
    weights = demand.rates if split.endswith("rate") else demand.windows
    # Of two shares, those inverse to the weights are the same ones exchanged.
    return weights[::-1] if split.startswith("inverse") else weights
