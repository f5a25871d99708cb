"""What follows by arithmetic: sizes, shares, bounds (NAE-C1, C2, U1 to U3) and NAE-C17."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from papers.base import Context, Numbers
from papers.naeem.foreign_keys import INTERVALS
from papers.naeem.workload import PAPER_TABLE, Setting, foreign_keys, n_table
from papers.operators.semi_stream_costs import TupleSizes, most_speed_up, shedding_amounts
from streamjoin.planning.table import ideal_hit_share

GIB: Final = 2**30


def arithmetic(_context: Context) -> Numbers:
    """Printed numbers, and the model's at the paper's size."""
    table = PAPER_TABLE * TupleSizes().table
    domain = PAPER_TABLE // 10
    return {
        "gib": {share: table * share / GIB for share in (1.0, 0.01, 0.1)},
        "interval": PAPER_TABLE / (INTERVALS * 10),
        "interval share": PAPER_TABLE / (INTERVALS * 10) / domain,
        "hits": {n: ideal_hit_share(n, PAPER_TABLE, 1.0) for n in (1_500_000, 150_000)},
        "bounds": {
            h: (most_speed_up("index", h, 0.15), most_speed_up("mesh", h, 0.15))
            for h in (0.51, ideal_hit_share(1_500_000, PAPER_TABLE, 1.0))
        },
        "shed": [shedding_amounts(n, 20, waiting=100, spilled=100) for n in (50, 30, 40)],
    }


def partitions(context: Context) -> Numbers:
    """Stream probabilities of partitions, with ranks scattered or clustered (NAE-C17)."""
    n = 5 * n_table(context)
    found: dict[str, dict[str, float]] = {}
    sorted_shares: dict[str, NDArray[np.float64]] = {}
    for name, clustered, skip in (
        ("scattered", False, False), ("scattered, not cached", False, True),
        ("clustered", True, False), ("clustered, not cached", True, True),
    ):  # fmt: skip
        split = Setting(n).split
        keys = foreign_keys(n, 1.0, 1, clustered)
        shares = keys.shares.copy()
        if skip:
            shares[keys.by_rank[: split.cached]] = 0
        sums = np.add.reduceat(shares, np.arange(0, n, split.partition))
        sums = sums[: n // split.partition]  # whole ones
        found[name] = _shape(sums / sums.sum())
        sorted_shares[name] = np.sort(sums / sums.mean())[::-1]
    return {"shapes": found, "sorted": sorted_shares, "n": n}


def _shape(shares: NDArray[np.float64]) -> dict[str, float]:
    """Skewness (0 for a normal one), the largest over the mean, the deviation over the mean."""
    off = shares - shares.mean()
    deviation = float(np.sqrt(np.mean(off**2)))
    return {
        "skewness": float(np.mean(off**3)) / deviation**3,
        "largest": float(shares.max() / shares.mean()),
        "deviation": deviation / float(shares.mean()),
    }
