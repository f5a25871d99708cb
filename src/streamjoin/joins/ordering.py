"""Tuples in their final order, for windows that count them.

How many tuples lie between two is known only when nothing can come in between any more. So rows are
held until the watermark has passed them, and are then *released* in the total order, each with its
rank among all tuples of its stream in all shards. For that every shard is told the times of the
whole stream, not only those of its own rows.
"""

import numpy as np
import pyarrow as pa

from streamjoin._typing import LEFT, SIDES, Side, Times
from streamjoin.core.batch import Batch
from streamjoin.core.order import Order, total_order
from streamjoin.joins.base import Arrival, WindowStore
from streamjoin.joins.matching import Part
from streamjoin.joins.window_join import WindowJoin, WindowJoinState

HELD_ROWS, HELD_ORDER = 4, 6
"""First numbers of the blobs' keys; the side is added."""


def release(
    join: WindowJoin,
    state: WindowJoinState,
    store: WindowStore,
    arrivals: tuple[Arrival, Arrival],
    since: int | None,
) -> tuple[Part, Part]:
    """Take in new rows; give back those that the watermark has passed.

    `since` is the watermark of the batch before: what is older was late and has no rank.
    """
    queues = [_Queue(join, state, store, side, arrivals[side], since) for side in SIDES]
    before = list(state.released)
    batches = [queue.release(state.watermark) for queue in queues]
    places: list[Times | None] = [None, None]
    for side in SIDES:
        other = queues[1 - side]
        if other.order is not None:
            # Left tuples come before right ones of the same time.
            ties = "left" if side == LEFT else "right"
            times = batches[side].times
            found = np.searchsorted(other.released_times, times, side=ties)  # type: ignore[call-overload]
            places[side] = before[1 - side] + found.astype(np.int64)
    return Part(batches[0], places=places[0]), Part(batches[1], places=places[1])


class _Queue:
    """Rows of one side that wait for their place."""

    def __init__(
        self,
        join: WindowJoin,
        state: WindowJoinState,
        store: WindowStore,
        side: Side,
        arrival: Arrival,
        since: int | None,
    ) -> None:
        self._state, self._store, self._side = state, store, side
        self._stream = join.streams[side]
        self._since = since
        self._rows = self._with_held(arrival.batch)
        self.order = self._ordered(arrival.order)

    def release(self, limit: int | None) -> Batch:
        n = 0 if limit is None else int(np.searchsorted(self._rows.times, limit, side="left"))
        out, held = self._rows.slice(0, n), self._rows.slice(n, len(self._rows))
        self._keep(held)
        if self.order is None:
            return out
        times, mine = self.order
        m = 0 if limit is None else int(np.searchsorted(times, limit, side="left"))
        self.released_times = times[:m]
        self._keep_order(Order(times[m:], mine[m:]))
        ranks = self._state.released[self._side] + np.flatnonzero(mine[:m])
        self._state.released[self._side] += m
        columns = [*out.rows.columns, pa.array(ranks, pa.int64())]
        rows = pa.RecordBatch.from_arrays(columns, schema=self._stream.kept)
        return Batch(rows, self._stream)

    def _with_held(self, new: Batch) -> Batch:
        blob = self._store.get_blob((HELD_ROWS + self._side, 0, 0))
        if blob is None:
            return new
        held = pa.ipc.read_record_batch(pa.py_buffer(blob), self._stream.stored)
        return Batch.gather([held, new.rows], self._stream)

    def _keep(self, held: Batch) -> None:
        self._state.held[self._side] = len(held)
        key = (HELD_ROWS + self._side, 0, 0)
        if len(held):
            self._store.put_blob(key, held.rows.serialize().to_pybytes())
        else:
            self._store.remove_blob(key)

    def _ordered(self, new: Order | None) -> Order | None:
        if self._stream.window_rows is None:
            return None
        parts = [] if new is None else [self._on_time(new)]
        blob = self._store.get_blob((HELD_ORDER + self._side, 0, 0))
        if blob is not None:
            parts.insert(0, Order.from_bytes(blob))
        times, mine = Order.joined(parts)
        order = total_order(times)
        return Order(times, mine) if order is None else Order(times[order], mine[order])

    def _on_time(self, new: Order) -> Order:
        if self._since is None:
            return new
        kept = new.times >= self._since
        return Order(new.times[kept], new.mine[kept])

    def _keep_order(self, held: Order) -> None:
        key = (HELD_ORDER + self._side, 0, 0)
        if len(held.times):
            self._store.put_blob(key, held.to_bytes())
        else:
            self._store.remove_blob(key)
