"""What a join with a table costs in a running engine, and what follows from that (NAE-A19).

The paper's model speaks of its operators, tuple by tuple (`papers/operators/semi_stream_costs.py`).
Here work comes in batches, and three prices are measured while the join runs: to load a partition
and match its rows, to look up a key, and to take in a row of the stream.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from math import expm1, log, log1p
from typing import Final

import numpy as np
from numpy.typing import NDArray

_MAX_EXACT_TERMS: Final = 1_000_000  # terms that are added one by one
HYSTERESIS: Final = 0.8
"""What is done stays so until the other costs less than this part of it."""
WEIGHT: Final = 0.3
ENOUGH: Final = 32
FARTHEST: Final = 8
"""Of what was measured last in what is believed, if it is much more than so many; and a measured
price counts as at most so many times what was believed."""
BACK: Final = 0.1
"""So far a price that is not measured goes back to what it was at first."""
Rows = NDArray[np.int64]
Marks = NDArray[np.bool_]
SHARES: Final = tuple(i / 20 for i in range(1, 18))


def harmonic(n: int, skew: float) -> float:
    """Sum of ``r ** -skew`` over the ranks 1 to n.

    Examples
    --------
    >>> round(harmonic(100_000_000, 1.0), 6), harmonic(7, 0.0)
    (18.997896, 7.0)
    """
    if skew == 0:
        return float(n)
    known = _summed(min(n, _MAX_EXACT_TERMS), skew)
    if n <= _MAX_EXACT_TERMS:
        return known
    # Euler and Maclaurin: the integral, and half of both ends.
    a, b = float(_MAX_EXACT_TERMS), float(n)
    between = log(b / a) if skew == 1 else (b ** (1 - skew) - a ** (1 - skew)) / (1 - skew)
    return float(known + between + (b**-skew - a**-skew) / 2)


@lru_cache(maxsize=256)
def _summed(n: int, skew: float) -> float:
    return float(np.sum(np.arange(1, n + 1, dtype=np.float64) ** -skew))


def ideal_hit_share(n_cached: int, n_keys: int, skew: float) -> float:
    """Share of the stream that the most frequent keys would serve (NAE-U1).

    Examples
    --------
    >>> round(ideal_hit_share(1_500_000, 100_000_000, 1.0), 3)
    0.779
    >>> round(ideal_hit_share(150_000, 100_000_000, 1.0), 3)
    0.658
    """
    n_cached = min(n_cached, n_keys)
    return harmonic(n_cached, skew) / harmonic(n_keys, skew) if n_cached else 0.0


@dataclass(frozen=True)
class TableCosts:
    """Prices in microseconds."""

    scan: float = 2_000.0  # loading a partition and matching it
    look_up: float = 20.0  # looking up a key, many at a time
    row: float = 2.0
    """A stream row, all in all: this is what limits on time are compared with before it is known
    what the rows of a batch need."""

    def learn(self, first: "TableCosts", **measured: tuple[float, int]) -> "TableCosts":
        """Mix in what was measured: microseconds, and for how many.

        Few count little, and none moves a price far: the first of its kind in a process takes long.
        A price that was not measured goes back to what it was at first, so that what looked too
        expensive once is tried again.

        Examples
        --------
        >>> known = TableCosts(scan=100.0)
        >>> round(known.learn(known, scan=(200_000.0, 1000)).scan)
        129
        >>> round(known.learn(known, scan=(300_000.0, 1)).scan)
        106
        >>> TableCosts(scan=1000.0).learn(known, scan=(0.0, 0)).scan
        910.0
        """
        now = {
            name: _mixed(getattr(self, name), getattr(first, name), us, n)
            for name, (us, n) in measured.items()
        }
        return replace(self, **now)


def _mixed(known: float, first: float, us: float, n: int) -> float:
    if n <= 0:
        return known + BACK * (first - known)
    each = min(max(us / n, known / FARTHEST), known * FARTHEST)
    return known + WEIGHT * n / (n + ENOUGH) * (each - known)


def partitions_met(n_partitions: int, rows: float) -> float:
    """In how many partitions the keys of so many rows are, if each is anywhere.

    Examples
    --------
    >>> round(partitions_met(100, 50)), round(partitions_met(100, 1000))
    (39, 100)
    """
    if n_partitions <= 1:
        return float(min(n_partitions, rows))
    return -n_partitions * expm1(rows * log1p(-1 / n_partitions))


def is_waiting_cheaper(
    costs: TableCosts, rate: float, wait_s: float, n_partitions: int, waits: bool
) -> bool:
    """Whether rows should wait for their partition (HYBRIDJOIN) or be looked up at once (INLJ).

    Parameters
    ----------
    costs
        Prices.
    rate
        Rows per second that the front stage misses.
    wait_s
        How long they can wait: as long as they may, or until memory is full.
    n_partitions
        Of the table.
    waits
        What is done now.

    Examples
    --------
    A thousand partitions of 2 ms; ten thousand rows a second at 20 us, for ten seconds: 2 s of
    loading are less than 2 s of looking up, but not by so much that it is worth a change.

    >>> is_waiting_cheaper(TableCosts(), 10_000, 10, 1000, waits=False)
    False
    >>> is_waiting_cheaper(TableCosts(), 100_000, 10, 1000, waits=False)
    True
    """
    rows = rate * wait_s
    loading = partitions_met(n_partitions, rows) * costs.scan
    return loading < rows * costs.look_up * (1.0 if waits else HYSTERESIS)


def cheapest(costs: TableCosts, rows: Rows) -> NDArray[np.float64]:
    """Cost of answering the rows of each partition: loading it, or looking them up."""
    return np.asarray(np.minimum(rows * costs.look_up, costs.scan), np.float64)


def affordable(cost: NDArray[np.float64], rows: Rows, wanted: Marks, allowed: float) -> Marks:
    """The partitions that answer most rows for the time that is allowed; at least one.

    Examples
    --------
    >>> cost, rows = np.array([10.0, 10.0, 10.0]), np.array([5, 1, 7])
    >>> affordable(cost, rows, rows > 0, 20.0)
    array([ True, False,  True])
    """
    chosen = np.zeros(len(rows), np.bool_)
    which = np.flatnonzero(wanted)
    if len(which):
        order = which[np.argsort(-(rows[which] / np.maximum(cost[which], 1e-9)), kind="stable")]
        n = int(np.searchsorted(np.cumsum(cost[order]), allowed, side="right"))
        chosen[order[: max(1, n)]] = True
    return chosen


def fullest(rows: Rows, excess: int) -> Marks:
    """The partitions with most rows, so many that the excess is among them.

    Examples
    --------
    >>> fullest(np.array([3, 9, 4]), 10)
    array([False,  True,  True])
    """
    return _first_with(rows, np.argsort(-rows, kind="stable"), excess)


def emptiest(rows: Rows, excess: int) -> Marks:
    """The partitions with fewest rows, so many that the excess is among them.

    Examples
    --------
    >>> emptiest(np.array([3, 9, 0, 4]), 5)
    array([ True, False, False,  True])
    """
    return _first_with(rows, np.argsort(rows, kind="stable"), excess)


def _first_with(rows: Rows, order: NDArray[np.intp], excess: int) -> Marks:
    chosen = np.zeros(len(rows), np.bool_)
    if excess > 0:
        chosen[order[: int(np.searchsorted(np.cumsum(rows[order]), excess)) + 1]] = True
    return chosen & (rows > 0)


def skew_from_hits(hit_share: float, n_cached: int, n_keys: int) -> float:
    """Zipf's exponent for which a full cache of the most frequent keys has this share of hits.

    Examples
    --------
    >>> round(skew_from_hits(0.779, 1_500_000, 100_000_000), 2)
    1.0
    """
    low, high = 0.0, 2.0
    for _ in range(30):
        middle = (low + high) / 2
        if ideal_hit_share(n_cached, n_keys, middle) < hit_share:
            low = middle
        else:
            high = middle
    return low


def best_front_share(memory: int, cached_bytes: float, n_keys: int, skew: float) -> float:
    """Part of the memory for the front stage with which a row costs least where rows wait.

    Each partition that is loaded answers rows in proportion to those that wait, so the cost of a
    row is as ``(1 - hits) / room`` (NAE-U2); of equally good parts the smallest.

    Parameters
    ----------
    memory
        Bytes.
    cached_bytes
        What a cached table row takes.
    n_keys, skew
        Of the table; Zipf's exponent of the stream's keys.

    Examples
    --------
    >>> best_front_share(120_000_000, 190, 10_000_000, skew=1.0)
    0.2
    >>> best_front_share(120_000_000, 190, 10_000_000, skew=0.0)
    0.05
    """
    costs = [
        (1 - ideal_hit_share(int(memory * share / cached_bytes), n_keys, skew)) / (1 - share)
        for share in SHARES
    ]
    return SHARES[int(np.argmin(costs))]
