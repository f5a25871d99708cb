"""Divide what is scarce between two streams, by the name of a strategy (Kang 2003, Section 4).

Which strategies there are depends on what is scarce (KAN-A17): CPU (`rate_split`), memory
(`memory_split`) or both (`joint_split`). "best" gives the most results in each case.
"""

from streamjoin.errors import ConfigError
from streamjoin.planning.demand import Allocation, Demand, Limits, Pair, held, output
from streamjoin.planning.joint_split import JOINT_SPLITS, split_both
from streamjoin.planning.memory_split import MEMORY_SPLITS, split_memory
from streamjoin.planning.rate_split import RATE_SPLITS, split_rates

__all__ = ["Allocation", "Demand", "Limits", "Pair", "held", "output", "plan", "splits_for"]


def splits_for(limits: Limits) -> tuple[str, ...]:
    """Names of the strategies for these limits; the first gives the most results.

    Examples
    --------
    >>> splits_for(Limits(service=100))
    ('best', 'equal', 'rate', 'inverse-rate', 'window', 'inverse-window')
    >>> splits_for(Limits())
    ('best',)
    """
    if limits.service is None:
        return ("best",) if limits.memory is None else MEMORY_SPLITS
    return RATE_SPLITS if limits.memory is None else JOINT_SPLITS


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
    allowed = splits_for(limits)
    if split not in allowed:
        names = ", ".join(map(repr, allowed))
        msg = f"split: got {split!r}; allowed {_scarce(limits)}: {names}"
        raise ConfigError(msg)
    if limits.service is None:
        if limits.memory is None:
            return Allocation(demand.rates)
        return Allocation(demand.rates, split_memory(split, demand, limits.memory))
    if limits.memory is None:
        return Allocation(split_rates(split, demand, limits.service))
    return split_both(split, demand, limits.service, limits.memory)


def _scarce(limits: Limits) -> str:
    limited = [
        name
        for name, limit in (("CPU", limits.service), ("memory", limits.memory))
        if limit is not None
    ]
    return f"with a limit of {' and '.join(limited)}" if limited else "without a limit"
