"""The paper's data sets as streams of the operator, and runs of all orders on them."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from papers.base import Context
from papers.operators.nary_window import NaryRun, NaryWindowJoin, Trace, nary_window_join
from papers.operators.nary_window_memory import NaryMemory
from papers.valsomatzis.nary_streams import DataSet, NaryStreams
from papers.valsomatzis.printed import PERIODS, PROPOSED, TIMES, TIMESTAMP, Period
from streamjoin.planning.many.nary import Order

Runs = dict[Order, list[NaryRun]]
"""One run for each repetition, by order."""

NAMES: Final[dict[Order, str]] = {
    "timestamp": "timestamp",
    "round-robin": "round-robin",
    "consumption-rate": "consumption rate",
    "initial-output-size": "initial output size",
    "output-rate": "output rate",
}
REPETITIONS: Final = 10
STEPS: Final[dict[Period, int]] = {"0.1M": 12, "1M": 50}
"""Into how many steps a batch is cut: about a millisecond each at full size."""


def scale(context: Context) -> float:
    """Part of the paper's cardinalities."""
    return 0.1 if context.quick else 1.0


def seeds(context: Context) -> tuple[int, ...]:
    """The streams of each repetition: ten repetitions at full size (VAL-A11)."""
    if context.quick:
        return context.seeds
    each = -(-REPETITIONS // len(context.seeds))
    return tuple(seed for seed in context.seeds for _ in range(each))[:REPETITIONS]


def orders_of(data_set: DataSet) -> tuple[Order, ...]:
    """The orders that the paper measures on a data set; timestamp order first."""
    return (TIMESTAMP, *(order for order in TIMES if (data_set, "1M") in TIMES[order]))


@dataclass(frozen=True)
class Streams:
    """Streams of a data set, and tables for them that all runs share."""

    data_set: DataSet
    scale: float
    seed: int

    @cached_property
    def traces(self) -> list[Trace]:
        """The streams."""
        drawn = NaryStreams(self.data_set, self.scale, self.seed).draw()
        return [Trace(each.times, each.keys) for each in drawn]

    @cached_property
    def memory(self) -> NaryMemory:
        """The tables."""
        return NaryMemory(self.traces, NaryWindowJoin(1, TIMESTAMP))

    def run(self, order: Order, period: int, steps: int = 1) -> NaryRun:
        """Run the join with the known probing sequences (VAL-A3)."""
        sequences = NaryStreams(self.data_set, self.scale).keys.sequences()
        join = NaryWindowJoin(period, order, sequences=sequences, steps=steps)
        return nary_window_join(self.traces, join, memory=self.memory)


def warm() -> None:
    """Have the kernel compiled before anything is timed."""
    streams = Streams("V", 0.003, 1)
    for order in (TIMESTAMP, *PROPOSED):
        streams.run(order, PERIODS["1M"])


def rotated(orders: Iterable[Order], by: int) -> list[Order]:
    """The same orders, another one first: what a machine does meanwhile hits all alike.

    Examples
    --------
    >>> rotated(("timestamp", "round-robin", "output-rate"), 4)
    ['round-robin', 'output-rate', 'timestamp']
    """
    every = list(orders)
    return every[by % len(every) :] + every[: by % len(every)]
