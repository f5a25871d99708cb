"""Why draining is faster: the same join with tables of many sizes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from papers.base import Context, Numbers
from papers.measurement import Measurement
from papers.operators.nary_window import NaryRun
from papers.valsomatzis.comparison import time_ratio
from papers.valsomatzis.printed import PERIODS, TIMESTAMP
from papers.valsomatzis.workload import Streams, rotated, warm
from streamjoin.planning.many.nary import Order

SCALES: Final = (0.003, 0.03, 0.3, 3.0)
QUICK_SCALES: Final = (0.003, 0.03, 0.3)
ORDERS: Final[tuple[Order, ...]] = (TIMESTAMP, "round-robin", "initial-output-size")
_TUPLES: Final = 300_000  # about so many in all runs of an order together: small ones run often


@dataclass(frozen=True)
class Sized:
    """Data set I at a scale: megabytes of all tables, nanoseconds a tuple, and times over TS."""

    scale: float
    megabytes: float
    tuple_ns: float
    round_robin: Measurement
    drained: Measurement


def locality(context: Context) -> Numbers:
    """Time of round-robin and of draining over timestamp order, by the size of the tables."""
    warm()
    found = []
    for scale in QUICK_SCALES if context.quick else SCALES:
        context.progress(f"tables of scale {scale:g}")
        found.append(_sized(scale, len(context.seeds)))
    return {"sized": found}


def _sized(scale: float, repetitions: int) -> Sized:
    streams = Streams("I", scale, 1)
    runs: dict[Order, list[list[NaryRun]]] = {order: [] for order in ORDERS}
    often = max(1, round(_TUPLES / sum(map(len, streams.traces))))
    for turn in range(repetitions):
        for order in rotated(ORDERS, turn):
            runs[order].append([streams.run(order, PERIODS["1M"]) for _ in range(often)])
    ratios = {
        order: Measurement.of([_ratio(a, b) for a, b in zip(each, runs[TIMESTAMP], strict=True)])
        for order, each in runs.items()
    }
    tables, first = streams.memory.tables, runs[TIMESTAMP][0][0]
    return Sized(
        scale,
        (tables.slots.nbytes + tables.older.nbytes) / 1e6,
        float(first.seconds.sum() / first.tuples.sum() * 1e9),
        ratios["round-robin"],
        ratios["initial-output-size"],
    )


def _ratio(runs: Sequence[NaryRun], base: Sequence[NaryRun]) -> float:
    each = [time_ratio(a, b, "all") for a, b in zip(runs, base, strict=True)]
    return sum(each) / len(each)
