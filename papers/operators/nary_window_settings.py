"""Settings of the n-ary join over recorded streams, and how time is cut into batches."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from streamjoin._typing import Times
from streamjoin.errors import ConfigError
from streamjoin.planning.many.nary import ORDERS, Order, Waiting

Each = tuple[int | None, ...]
"""A number for each stream; None for no limit."""
PAPER_ORDERS: tuple[Order, ...] = tuple(order for order in ORDERS if order != "adaptive")


@dataclass(frozen=True)
class NaryWindowJoin:
    """An n-ary join on one attribute.

    Parameters
    ----------
    period
        Time units after which what has arrived is processed (VAL-A2).
    order
        Who drives: one of the paper's five (VAL-A5..A10).
    spans
        Time windows: a tuple is valid until it is older than this; by default for ever.
    sizes
        Count windows: a tuple is valid while it is among the last so many of its stream. Not
        together with `spans`.
    sequences
        For each stream in what order it probes the others (VAL-A3); by default those are taken
        first where a sample of waiting tuples finds least.
    steps
        Into how many parts a batch is cut when it is counted.

    Examples
    --------
    >>> NaryWindowJoin(100_000, "initial-output-size", spans=(60_000, None, None)).steps
    1
    """

    period: int
    order: Order
    spans: Each | None = None
    sizes: Each | None = None
    sequences: tuple[tuple[int, ...], ...] | None = None
    steps: int = 1

    def __post_init__(self) -> None:
        if self.period < 1:
            raise ConfigError(f"period: got {self.period}; allowed: 1 time unit or more")
        if self.steps < 1:
            raise ConfigError(f"steps: got {self.steps}; allowed: 1 or more")
        if self.order not in PAPER_ORDERS:
            raise ConfigError(f"order: got {self.order!r}; allowed: {', '.join(PAPER_ORDERS)}")
        if self.spans is not None and self.sizes is not None:
            raise ConfigError("sizes: got both spans and sizes; allowed: one of them")

    def check(self, n_streams: int) -> None:
        """Refuse settings that do not fit a number of streams."""
        for name in ("spans", "sizes"):
            each = getattr(self, name)
            if each is not None and (
                len(each) != n_streams or any(limit is not None and limit < 1 for limit in each)
            ):
                raise ConfigError(f"{name}: got {each}; allowed: {n_streams} of 1 or more, or None")
        for j, sequence in enumerate(self.sequences or ()):
            if sorted((*sequence, j)) != list(range(n_streams)):
                raise ConfigError(
                    f"sequences: got {sequence} for stream {j}; allowed: all others, once"
                )
        if self.sequences is not None and len(self.sequences) != n_streams:
            raise ConfigError(
                f"sequences: got {len(self.sequences)}; allowed: {n_streams}, one a stream"
            )


def n_batches(first: int, last: int, period: int) -> int:
    """How many periods there are from the first to the last time: K (VAL-A4).

    Examples
    --------
    VAL-U6.

    >>> n_batches(0, 9_999_990, 100_000), n_batches(0, 9_999_990, 1_000_000), n_batches(5, 5, 10)
    (100, 10, 1)
    """
    return max(1, -(-(last - first) // period))


def batch_of(times: Times, first: int, last: int, period: int) -> NDArray[np.int64]:
    """Batch of each time; one on the very last boundary belongs to the last batch (VAL-I9).

    Examples
    --------
    >>> batch_of(np.array([0, 9, 10, 20]), first=0, last=20, period=10).tolist()
    [0, 0, 1, 1]
    """
    batches: NDArray[np.int64] = np.minimum(
        (times - first) // period, n_batches(first, last, period) - 1
    )
    return batches


def batch_ends(times: Sequence[Times], period: int) -> NDArray[np.int64]:
    """How many tuples of each stream (columns) have come by the end of each batch (rows).

    Examples
    --------
    >>> batch_ends([np.array([0, 9, 10]), np.array([20])], period=10).tolist()
    [[2, 0], [3, 1]]
    """
    bounds = [(int(each[0]), int(each[-1])) for each in times if len(each)]
    if not bounds:
        return np.zeros((0, len(times)), np.int64)
    first, last = min(low for low, _ in bounds), max(high for _, high in bounds)
    inner = np.arange(n_batches(first, last, period))
    ends = [
        np.searchsorted(batch_of(each, first, last, period), inner, side="right") for each in times
    ]
    return np.stack(ends, axis=1).astype(np.int64)


def output_estimates(waiting: Waiting, tables: Sequence[int], selectivity: float) -> list[float]:
    """Results that draining each buffer now would bring (VAL-A8, Eq. 1).

    Examples
    --------
    VAL-U2.

    >>> waiting = Waiting((10, 30, 50), (100, 200, 400), (0, 0, 0))
    >>> output_estimates(waiting, waiting.tables, selectivity=1e-4)
    [80.0, 120.0, 100.0]
    """
    return [
        buffer * selectivity * prod(table for i, table in enumerate(tables) if i != j)
        for j, buffer in enumerate(waiting.buffers)
    ]
