"""Tuples in their final order, for windows that count them.

How many tuples lie between two is known only when nothing can come in between any more. So rows are
held until the watermark has passed them, and are then *released* in the total order, each with its
rank among all tuples of its stream in all shards. For that every shard is told the times of the
whole stream, not only those of its own rows.
"""

from typing import Literal, Protocol

import numpy as np
import pyarrow as pa

from streamjoin._typing import RIGHT, SIDES, Times, both
from streamjoin.core.batch import Batch
from streamjoin.core.stream import Order, Stream, total_order
from streamjoin.errors import StateError
from streamjoin.joins.base import Arrival, BlobKey, WindowStore
from streamjoin.joins.window.matching import Part
from streamjoin.joins.window.settings import WindowJoin, WindowJoinState

HELD_ROWS, HELD_ORDER = 4, 6
"""First numbers of the blobs' keys; the side is added."""


class Released(Protocol):
    """The part of a directory that says what was released and what is held, by input."""

    released: list[int]
    held: list[int]


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
    queues = [
        Queue(
            join.streams[side], (state, side), store, (HELD_ROWS + side, HELD_ORDER + side),
            arrivals[side], since,
        )
        for side in SIDES
    ]  # fmt: skip
    before = list(state.released)
    batches = [queue.release(state.watermark) for queue in queues]
    places: list[Times | None] = [None, None]
    for side in SIDES:
        other = queues[1 - side]
        if other.order is not None:
            places[side] = before[1 - side] + other.places(batches[side].times, ties=side == RIGHT)
    return both(lambda side: Part(_ranked(batches[side], queues[side].ranks), places=places[side]))


def _ranked(batch: Batch, ranks: Times | None) -> Batch:
    """Rows with their ranks, as they are kept."""
    if ranks is None:
        return batch
    columns = [*batch.rows.columns, pa.array(ranks, pa.int64())]
    return Batch(pa.RecordBatch.from_arrays(columns, schema=batch.stream.kept), batch.stream)


class Queue:
    """Rows of one input that wait for their place.

    Parameters
    ----------
    stream
        The input.
    state
        The directory, and the input's number in it.
    store, keys
        Where rows and order are held, and the first number of their keys.
    arrival
        What the batch brings.
    since
        The watermark of the batch before.

    Attributes
    ----------
    ranks
        Of the rows that were released last, where the window counts tuples.
    """

    def __init__(
        self,
        stream: Stream,
        state: tuple[Released, int],
        store: WindowStore,
        keys: tuple[int, int],
        arrival: Arrival,
        since: int | None,
    ) -> None:
        self._stream, self._store, self._since = stream, store, since
        self._state, self._number = state
        self._rows_key, self._order_key = (keys[0], 0, 0), (keys[1], 0, 0)
        self._rows = self._with_held(arrival.batch)
        self.order = self._ordered(arrival.order)
        self.ranks: Times | None = None

    def release(self, limit: int | None) -> Batch:
        """The rows before a watermark, in the total order."""
        n = 0 if limit is None else int(np.searchsorted(self._rows.times, limit, side="left"))
        out, held = self._rows.slice(0, n), self._rows.slice(n, len(self._rows))
        self._state.held[self._number] = len(held)
        self._hold(self._rows_key, held.rows.serialize().to_pybytes() if len(held) else None)
        if self.order is None:
            return out
        times, mine = self.order
        m = 0 if limit is None else int(np.searchsorted(times, limit, side="left"))
        self._released_times = times[:m]
        waiting = Order(times[m:], mine[m:])
        self._hold(self._order_key, waiting.to_bytes() if m < len(times) else None)
        self.ranks = self._state.released[self._number] + np.flatnonzero(mine[:m])
        self._state.released[self._number] += m
        if len(self.ranks) != len(out):
            raise StateError(
                f"{len(out)} rows have their turn and {len(self.ranks)} were expected: some that"
                " waited are missing; restore the checkpoint from a copy or start with a new one"
            )
        return out

    def places(self, times: Times, *, ties: bool) -> Times:
        """How many of the tuples released last come before each time; with `ties`, equal ones."""
        side: Literal["left", "right"] = "right" if ties else "left"
        return np.searchsorted(self._released_times, times, side=side).astype(np.int64)

    def _with_held(self, new: Batch) -> Batch:
        blob = self._store.get_blob(self._rows_key)
        if blob is None:
            return new
        held = pa.ipc.read_record_batch(pa.py_buffer(blob), self._stream.stored)
        return Batch.gather([held, new.rows], self._stream)

    def _hold(self, key: BlobKey, blob: bytes | None) -> None:
        if blob is None:
            self._store.remove_blob(key)
        else:
            self._store.put_blob(key, blob)

    def _ordered(self, new: Order | None) -> Order | None:
        if self._stream.window_rows is None:
            return None
        parts = [] if new is None else [new]
        if new is not None and self._since is not None:
            on_time = new.times >= self._since
            parts = [Order(new.times[on_time], new.mine[on_time])]
        blob = self._store.get_blob(self._order_key)
        if blob is not None:
            parts.insert(0, Order.from_bytes(blob))
        times, mine = Order.joined(parts)
        order = total_order(times)
        return Order(times, mine) if order is None else Order(times[order], mine[order])
