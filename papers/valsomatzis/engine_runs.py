"""The live join of this library, many tuples at once: draining against taking turns.

`streamjoin.multi_join` processes the tuples of a turn together. Streams that take turns do so in
rounds of some thousand tuples, for a turn costs what many tuples cost.
"""

from dataclasses import dataclass
from time import process_time
from typing import Final

import numpy as np
import pyarrow as pa

from papers.base import Context, Numbers
from papers.measurement import Measurement
from papers.operators.nary_window_settings import batch_ends
from papers.valsomatzis.comparison import batches
from papers.valsomatzis.nary_streams import DataSet, KeyedStream, NaryStreams
from papers.valsomatzis.printed import PERIODS, TIMESTAMP, Period
from papers.valsomatzis.workload import NAMES, orders_of, rotated
from streamjoin.local import LocalMultiJoin
from streamjoin.planning.many.nary import Order

CASES: Final[tuple[tuple[DataSet, Period], ...]] = (("I", "1M"), ("V", "1M"))
_SCHEMA: Final = pa.schema({"k": pa.int64(), "t": pa.timestamp("us")})
_STREAMS: Final = ("s1", "s2", "s3")
_FOR_EVER: Final = "1 hour"  # a time unit is taken as a microsecond: all last ten seconds

Tables = list[dict[str, pa.Table]]


@dataclass(frozen=True)
class Engine:
    """Of a case and an order: seconds over those of timestamp order, and turns of all batches."""

    data_set: DataSet
    period: Period
    order: Order
    time: Measurement
    turns: int
    results: int


def engine(context: Context) -> Numbers:
    """Orders of the live join on some of the paper's cases."""
    scale = 0.1 if context.quick else 1.0
    repetitions = min(3, len(context.seeds))
    found: list[Engine] = []
    for name, period in CASES:
        drawn = NaryStreams(name, scale, context.seeds[0]).draw()
        tables = _tables(drawn, PERIODS[period])
        seconds: dict[Order, list[float]] = {order: [] for order in orders_of(name)}
        counts: dict[Order, tuple[int, int]] = {}
        for turn in range(repetitions):
            for order in rotated(orders_of(name), turn):
                context.progress(f"live join, data set {name}, {period}, {NAMES[order]}")
                passed, counts[order] = _timed(tables, order)
                seconds[order].append(passed)
        base = seconds[TIMESTAMP]
        for order, each in seconds.items():
            ratios = [a / b for a, b in zip(each, base, strict=True)]
            found.append(Engine(name, period, order, Measurement.of(ratios), *counts[order]))
    return {"found": found, "scale": scale}


def _tables(drawn: list[KeyedStream], period: int) -> Tables:
    """Batches of rows by stream."""
    ends = batch_ends([each.times for each in drawn], period)
    begins = np.vstack([np.zeros_like(ends[:1]), ends[:-1]])
    whole = [pa.table([each.keys, each.times.astype("datetime64[us]")], _SCHEMA) for each in drawn]
    return [
        {
            name: table.slice(begin, end - begin)
            for name, table, begin, end in zip(_STREAMS, whole, *rows, strict=True)
        }
        for rows in zip(begins.tolist(), ends.tolist(), strict=True)
    ]


def _timed(tables: Tables, order: Order) -> tuple[float, tuple[int, int]]:
    """Seconds of the processor after the first fifth of the batches; turns and results of all."""
    join = LocalMultiJoin(
        dict.fromkeys(_STREAMS, _SCHEMA),
        on="k",
        time="t",
        window=_FOR_EVER,
        strategy="mjoin",
        order=order,
    )
    begin = batches(len(tables), "all").start
    for rows in tables[:begin]:
        join.push(rows)
    began = process_time()
    for rows in tables[begin:]:
        join.push(rows)
    join.finish()
    passed = process_time() - began
    return passed, (join.total["driver_changes"], join.total["rows_out"])
