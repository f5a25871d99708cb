"""Rows in the total order, where windows count them; see `joins.window.ordering`."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from streamjoin.core.batch import Batch
from streamjoin.joins.base import Arrival, WindowStore
from streamjoin.joins.multi.settings import MultiJoin
from streamjoin.joins.multi.states import MultiJoinState, kept
from streamjoin.joins.window.ordering import Queue

HELD_ROWS: Final = 1 << 10
HELD_ORDER: Final = 1 << 11
"""First numbers of the blobs' keys; the input is added. Nodes have smaller ones."""


def release(
    join: MultiJoin,
    state: MultiJoinState,
    store: WindowStore,
    arrivals: Sequence[Arrival],
    since: int | None,
) -> list[Batch]:
    """The rows that take part now, with their places on the axes that count.

    Without such an axis these are all that arrive. With one, rows wait until the watermark has
    passed them.
    """
    if not join.counted:
        return [arrival.batch for arrival in arrivals]
    queues = [
        Queue(
            one.stream, (state, i), store, (HELD_ROWS + i, HELD_ORDER + i), arrivals[i], since
        )
        for i, one in enumerate(join.inputs)
    ]  # fmt: skip
    before = list(state.released)
    batches = [queue.release(state.watermark) for queue in queues]
    placed = []
    for i, batch in enumerate(batches):
        columns = list(batch.rows.columns)
        for counted in join.counted:
            if counted == i:
                ranks = queues[i].ranks
                places = np.empty(0, np.int64) if ranks is None else ranks
            else:  # of equal times the stream with the smaller number comes first
                times = queues[counted].places(batch.times, ties=counted < i)
                places = before[counted] + times
            columns.append(pa.array(places, pa.int64()))
        rows = pa.RecordBatch.from_arrays(columns, schema=kept(join, i))
        placed.append(Batch(rows, batch.stream))
    return placed
