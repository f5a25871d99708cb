"""The orders in which streams may drive an n-ary join, compared in this process.

All orders get the same batches, each batch one order after the other, and every time another one
first. Time is CPU time of the join's thread. Spark would hide when the results of a batch come.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import median
from time import thread_time
from typing import Any

import pyarrow as pa

from benchmarks.recorded import GroupedKeys
from streamjoin.core.batch import Batch, arrange
from streamjoin.core.stream import Stream
from streamjoin.joins.base import Arrival, MemoryStore
from streamjoin.joins.multi.arguments import resolve_plan
from streamjoin.joins.multi.logic import MultiJoinLogic
from streamjoin.joins.multi.states import MultiJoinState
from streamjoin.planning.many.nary import ORDERS, Order


@dataclass(frozen=True)
class Batches:
    """What a batch took, batch by batch.

    Parameters
    ----------
    seconds, half
        Until it was done, and until half of its results had come.
    results, changes
        Results, and how often another stream drove.
    """

    seconds: list[float]
    half: list[float]
    results: list[int]
    changes: list[int]


def compare(
    streams: GroupedKeys, window_seconds: float, cold: int, warm: int
) -> dict[Order, Batches]:
    """Run all orders; the first batches are not counted."""
    found = {order: Batches([], [], [], []) for order in ORDERS}
    first = streams.tables(0)
    joins = {order: _Join(order, first, window_seconds) for order in ORDERS}
    for number in range(cold + warm):
        tables = streams.tables(number)
        at = number % len(ORDERS)
        for order in (*ORDERS[at:], *ORDERS[:at]):
            came, changes = joins[order].batch(tables)
            if number >= cold:
                _add(found[order], came, changes)
    return found


def rows_and_ratios(
    found: Mapping[Order, Batches], batch_rows: int
) -> tuple[list[dict[str, Any]], dict[str, float]]:
    """What is shown of each order, and throughput against the order of time."""
    rows: list[dict[str, Any]] = []
    ratios: dict[str, float] = {}
    base = found["timestamp"].seconds
    for order, one in found.items():
        share = [half / whole for half, whole in zip(one.half, base, strict=True)]
        rows.append(
            {
                "workload": "orders",
                "system": order,
                "rows_per_s": batch_rows / median(one.seconds),
                "half_of_results_at": median(share),
                "driver_changes": median(one.changes),
                "results": one.results[-1],
            }
        )
        faster = [b / s for s, b in zip(one.seconds, base, strict=True)]
        if order != "timestamp":
            ratios |= {
                f"orders {order}/timestamp": median(faster),
                f"orders {order}/timestamp lowest": min(faster),
                f"orders {order}/timestamp highest": max(faster),
            }
    return rows, ratios


class _Join:
    def __init__(self, order: Order, tables: Mapping[str, pa.Table], window_seconds: float) -> None:
        schemas = {name: table.schema for name, table in tables.items()}
        plan = resolve_plan(
            schemas, on="k", time="ts", window=f"{window_seconds} seconds", strategy="mjoin",
            order=order,
        )  # fmt: skip
        self._join = plan.steps[0].join
        self._state, self._store = MultiJoinState.of(self._join), MemoryStore()

    def batch(self, tables: Mapping[str, pa.Table]) -> tuple[list[tuple[float, int]], int]:
        """When how many results came, at last none at the end; and how often the driver changed."""
        arrivals = [_arrival(tables[one.name], one.stream) for one in self._join.inputs]
        logic = MultiJoinLogic(self._join, self._state, self._store)
        return list(_timed(logic, arrivals)), logic.counts["driver_changes"]


def _timed(logic: MultiJoinLogic, arrivals: list[Arrival]) -> Iterator[tuple[float, int]]:
    began = thread_time()
    for columns in logic.on_batch(arrivals):
        yield thread_time() - began, len(columns[0])
    yield thread_time() - began, 0


def _arrival(table: pa.Table, stream: Stream) -> Arrival:
    parts = [arrange(rows, stream) for rows in table.to_batches()]
    known = [part.latest for part in parts if part.latest is not None]
    return Arrival(Batch.gather([part.rows for part in parts], stream), latest=max(known))


def _add(found: Batches, came: list[tuple[float, int]], changes: int) -> None:
    total, so_far = sum(n for _, n in came), 0
    for seconds, n in came:
        so_far += n
        if 2 * so_far >= total:
            found.half.append(seconds)
            break
    found.seconds.append(came[-1][0])
    found.results.append(total)
    found.changes.append(changes)
