"""The paper's joins by name: their formulas, and the operator that counts tuple accesses."""

from collections.abc import Callable, Sequence
from time import thread_time
from typing import Final

import numpy as np

from papers.kang import cost_model
from papers.kang.cost_model import PAPER, Values
from papers.kang.workload import Streams, until
from papers.operators.moving_window import (
    AccessCosts,
    Capacity,
    Invalidation,
    Structure,
    Trace,
    TupleRun,
    cost,
    moving_window_join,
)

WINDOW: Final = 60
"""T_a and T_b of Figures 2 to 7, in seconds."""
RATE_A: Final = 10
CAPACITY: Final = 60_000
"""Weighted accesses a second of the authors' machine (derived, KAN-C5)."""

FULL: Final = ("HHJ", "HNJ", "NHJ", "NNJ")
ONE_WAY: Final = ("HJ", "NLJ")
_STRUCTURES: Final[dict[str, tuple[Structure, Structure]]] = {
    "HHJ": ("hash", "hash"),
    "HNJ": ("hash", "list"),
    "NHJ": ("list", "hash"),
    "NNJ": ("list", "list"),
    "HJ": ("hash", "hash"),
    "NLJ": ("list", "list"),
}
_FORMULAS: Final[dict[str, Callable[..., Values]]] = {
    "HHJ": cost_model.hhj,
    "HNJ": cost_model.hnj,
    "NHJ": cost_model.nhj,
    "NNJ": cost_model.nnj,
}


def model_cost(join: str, rate_b: Values, keys: int, costs: AccessCosts = PAPER) -> Values:
    """Cost a second of a join of Figures 2 to 7, by its formula.

    Examples
    --------
    >>> round(model_cost("HNJ", 70, 10), 3), model_cost("NLJ", 100, 10)
    (24196.5, 30100.0)
    """
    if join == "HJ":
        return cost_model.hash_one_way(RATE_A, rate_b, WINDOW, keys, costs)
    if join == "NLJ":
        return cost_model.nested_one_way(RATE_A, rate_b, WINDOW, costs)
    return _FORMULAS[join](RATE_A, rate_b, WINDOW, WINDOW, keys, keys, costs)


def model_output(join: str, rate_b: float, keys: int) -> float:
    """Results a second by Eq. 9; one way, only arrivals of A find any."""
    window_a = 0 if join in ONE_WAY else WINDOW
    found = cost_model.output_rate(RATE_A, rate_b, window_a, WINDOW, 1 / keys)
    return float(found)


def run_join(
    join: str,
    traces: tuple[Trace, Trace],
    keys: tuple[int, int],
    span: tuple[float, float],
    windows: tuple[float, float] = (WINDOW, WINDOW),
    invalidation: Invalidation = "active",
    capacity: float | None = None,
) -> TupleRun:
    """Run a join over two streams and count what is done within a span of seconds."""
    return moving_window_join(
        *traces,
        windows=(round(windows[0] * 1e6), round(windows[1] * 1e6)),
        structures=_STRUCTURES[join],
        invalidation=invalidation,
        n_buckets=keys,
        direction="left to right" if join in ONE_WAY else "both",
        capacity=None if capacity is None else Capacity(capacity, PAPER),
        since_us=round(span[0] * 1e6),
        until_us=round(span[1] * 1e6),
    )


def counted_cost(join: str, rate_b: float, keys: int, seed: int, seconds: float) -> float:
    """Weighted accesses a second of a join of Figures 2 to 7, counted with full windows."""
    span = WINDOW + 5, WINDOW + 5 + seconds
    traces = Streams((RATE_A, rate_b), (keys, keys), span[1], seed).traces()
    return cost(run_join(join, traces, (keys, keys), span), PAPER) / seconds


def timed(join: str, rates: tuple[float, float], window: float, keys: int, turns: int) -> float:
    """CPU seconds of this machine for a window's length of tuples, windows full; best of turns."""
    traces = Streams(rates, (keys, keys), 2 * window, seed=1).traces()
    before = until(traces[0], window), until(traces[1], window)
    return _best(join, traces, window, keys, turns) - _best(join, before, window, keys, turns)


def _best(join: str, traces: tuple[Trace, Trace], window: float, keys: int, turns: int) -> float:
    seconds = []
    for _ in range(turns):
        began = thread_time()
        run_join(join, traces, (keys, keys), (0, 2 * window), (window, window))
        seconds.append(thread_time() - began)
    return min(seconds)


def crossing(rates: Sequence[float], first: Sequence[float], second: Sequence[float]) -> float:
    """The rate from which on `second` is the smaller; NaN if the lines do not cross.

    The difference of two costs divided by the rate is a straight line (Eqs. 2 and 3), so between
    two rates it is interpolated as one.

    Examples
    --------
    >>> crossing([10, 20], [1.0, 6.0], [2.0, 4.0])
    15.0
    """
    gap = (np.asarray(first) - np.asarray(second)) / np.asarray(rates)
    turns = np.flatnonzero((gap[:-1] <= 0) & (gap[1:] > 0))
    if len(turns) == 0:
        return float("nan")
    at = turns[-1]
    share = -gap[at] / (gap[at + 1] - gap[at])
    return float(rates[at] + share * (rates[at + 1] - rates[at]))
