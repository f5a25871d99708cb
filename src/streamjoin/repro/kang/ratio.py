"""C_h / C_n of this machine by the paper's procedure (KAN-A13): where HJ and NLJ take as long."""

from typing import Final

import numpy as np

from streamjoin.planning.cost_model import (
    AccessCosts,
    crossover_ratio,
    hash_one_way,
    nested_one_way,
    ratio_from_crossover,
)
from streamjoin.repro.base import Context, Numbers
from streamjoin.repro.kang.operator import ONE_WAY, crossing, timed

BUCKETS: Final = (120, 240, 480)
"""More than the paper's 10: a scan is so quick here that few buckets never win."""
FASTER_A: Final = 100
SHORTER: Final = 20
"""Rate of A and window: buckets long enough that walking them is what takes the time."""
AROUND: Final = (0.4, 0.7, 1.0, 1.5, 2.2)


def ratio(context: Context) -> Numbers:
    """The ratio measured directly and by crossovers, and the crossovers it predicts (KAN-C6)."""
    turns = 3 if context.quick else 9
    direct = _per_access("HJ", turns) / _per_access("NLJ", turns)
    crossovers = []
    for keys in BUCKETS:
        context.progress(f"{keys} buckets")
        crossovers.append(_crossover(keys, direct, turns) / FASTER_A)
    ratios = [
        float(ratio_from_crossover(keys, rho))
        for keys, rho in zip(BUCKETS, crossovers, strict=True)
    ]
    k = float(np.nanmedian(ratios))
    return {
        "buckets": BUCKETS,
        "crossovers": crossovers,
        "ratios": ratios,
        "predicted": [float(crossover_ratio(keys, AccessCosts(1.0, k))) for keys in BUCKETS],
        "k": k,
        "direct": direct,
    }


def _per_access(join: str, turns: int) -> float:
    """Seconds of a tuple access in a one-way join whose windows are long."""
    each = AccessCosts(1.0, 1.0)
    rates = FASTER_A, 2 * FASTER_A
    accesses = (
        nested_one_way(*rates, SHORTER, each)
        if join == "NLJ"
        else hash_one_way(*rates, SHORTER, BUCKETS[0], each)
    )
    return timed(join, rates, SHORTER, BUCKETS[0], turns) / (SHORTER * float(accesses))


def _crossover(keys: int, expected_ratio: float, turns: int) -> float:
    """The rate of B at which both joins take as long; NaN if there is none near the expected."""
    about = FASTER_A * max(1.0, float(crossover_ratio(keys, AccessCosts(1.0, expected_ratio))))
    rates = [share * about for share in AROUND]
    seconds = {
        join: [timed(join, (FASTER_A, rate), SHORTER, keys, turns) for rate in rates]
        for join in ONE_WAY
    }
    return crossing(rates, seconds["HJ"], seconds["NLJ"])
