"""The stateful operator: one window join per shard, called once per micro-batch."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, cast

import pandas as pd
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from streamjoin._typing import LEFT, RIGHT, SIDES, Side
from streamjoin.core.batch import Batch
from streamjoin.errors import StateError
from streamjoin.joins.window_join import (
    MAX_BYTES,
    MAX_PAIRS,
    WindowJoin,
    WindowJoinLogic,
    WindowJoinState,
    refuse_other,
)
from streamjoin.metrics import JoinMetrics
from streamjoin.spark.pack import NEVER
from streamjoin.spark.rows import OutputForm
from streamjoin.spark.store import STATE_KEY, STATE_VALUE, SparkStore, local_folder
from streamjoin.spark.worker import settle


@dataclass(frozen=True)
class Arrivals:
    """What one shard gets in one micro-batch."""

    batches: tuple[Batch, Batch]
    latest: tuple[int | None, int | None]
    nulls: tuple[int, int]

    @classmethod
    def unpack(cls, join: WindowJoin, frames: Iterator[pd.DataFrame]) -> "Arrivals":
        """Sort blobs by side, map partition and chunk, and make one batch of each side's."""
        packed = pd.concat(frames).sort_values(["side", "part", "chunk"])
        parts = [packed[packed["side"] == side] for side in SIDES]
        left, right = (cls._batch(join, side, parts[side]["blob"]) for side in SIDES)
        times = [max(parts[side]["latest"], default=NEVER) for side in SIDES]
        latest = [None if t == NEVER else int(t) for t in times]
        nulls = [int(parts[side]["nulls"].sum()) for side in SIDES]
        return cls((left, right), (latest[LEFT], latest[RIGHT]), (nulls[LEFT], nulls[RIGHT]))

    @staticmethod
    def _batch(join: WindowJoin, side: Side, blobs: "pd.Series[Any]") -> Batch:
        stream = join.streams[side]
        chunks = [pa.ipc.read_record_batch(pa.py_buffer(b), stream.stored) for b in blobs]
        return Batch.gather([chunk for chunk in chunks if chunk.num_rows], stream)


class WindowJoinProcessor(StatefulProcessor):
    """Runs a `WindowJoinLogic` on the state of one shard.

    Decides from the committed state and the batch alone, so a retried batch gives the same rows.

    Parameters
    ----------
    join
        Settings.
    form
        How results leave.
    agreed
        What a checkpoint must agree on.
    join_id
        Names the local copies of this plan.
    """

    def __init__(
        self, join: WindowJoin, form: OutputForm, agreed: dict[str, str], join_id: str
    ) -> None:
        self._join = join
        self._form = form
        self._agreed = agreed
        self._join_id = join_id

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the one state variable; called by Spark."""
        self._windows = handle.getMapState("windows", STATE_KEY, STATE_VALUE)

    def handleInputRows(
        self, key: Any, rows: Iterator[pd.DataFrame] | Iterator[Row], timerValues: Any
    ) -> Iterator[pd.DataFrame]:
        """Join one shard's part of a micro-batch; called by Spark."""
        store = SparkStore(self._windows, local_folder(self._copies_of(), int(key[0])))
        state = self._read(store.read_directory())
        # Rows come to processors of transformWithState; this one is given frames.
        arrivals = Arrivals.unpack(self._join, cast(Iterator[pd.DataFrame], rows))
        logic = WindowJoinLogic(self._join, state, store)
        for columns in _gather(
            pairs.take(self._join.output)
            for pairs in logic.on_batch(arrivals.batches, arrivals.latest)
        ):
            yield self._form.frame(columns)
        directory = {"agreed": self._agreed, **state.to_dict()}
        store.write_directory(json.dumps(directory, separators=(",", ":")).encode())
        store.drop_other_copies(state.windows)
        yield self._counters(logic.metrics, arrivals.nulls)
        settle()

    def _copies_of(self) -> str:
        """Name of this query's copies: one DataFrame may be started as several queries."""
        context = TaskContext.get()
        query = context.getLocalProperty("sql.streaming.queryId") if context else None
        return f"{self._join_id}-{query}"

    def close(self) -> None:
        """Nothing to release; called by Spark."""

    def _read(self, directory: bytes | None) -> WindowJoinState:
        if directory is None:
            return WindowJoinState()
        try:
            values = json.loads(directory)
            agreed = values["agreed"]
        except (ValueError, KeyError, TypeError):
            msg = "the checkpoint holds no readable directory of this join; use a new one"
            raise StateError(msg) from None
        refuse_other(agreed, self._agreed)
        return WindowJoinState.from_dict(values)

    def _counters(self, metrics: JoinMetrics, nulls: tuple[int, int]) -> pd.DataFrame:
        counted = replace(
            metrics,
            rows_left=metrics.rows_left + nulls[LEFT],
            rows_right=metrics.rows_right + nulls[RIGHT],
            null_left=nulls[LEFT],
            null_right=nulls[RIGHT],
        )
        return self._form.counters_frame(json.dumps(asdict(counted)))


def _gather(parts: Iterator[list[pa.Array]]) -> Iterator[list[pa.Array]]:
    """Join small results into large ones: a frame costs Spark milliseconds whatever its size."""
    held: list[list[pa.Array]] = []
    rows, size = 0, 0
    for columns in parts:
        held.append(columns)
        rows += len(columns[0])
        size += sum(column.nbytes for column in columns)
        if rows >= MAX_PAIRS or size >= MAX_BYTES:
            yield [pa.concat_arrays(arrays) for arrays in zip(*held, strict=True)]
            held, rows, size = [], 0, 0
    if rows:
        yield [pa.concat_arrays(arrays) for arrays in zip(*held, strict=True)]
