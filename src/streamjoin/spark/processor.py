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

from streamjoin._typing import LEFT, RIGHT, SIDES
from streamjoin.errors import StateError
from streamjoin.joins.base import MemoryStore
from streamjoin.joins.logic import WindowJoinLogic
from streamjoin.joins.matching import MAX_BYTES, MAX_PAIRS
from streamjoin.joins.window_join import WindowJoin, WindowJoinState, refuse_other
from streamjoin.metrics import JoinMetrics
from streamjoin.spark.arrivals import from_batches, from_frames, unpack
from streamjoin.spark.late import LateSink
from streamjoin.spark.routing import Routing
from streamjoin.spark.rows import OutputForm
from streamjoin.spark.store import STATE_KEY, STATE_VALUE, SparkStore, local_folder
from streamjoin.spark.worker import settle


@dataclass(frozen=True)
class ShardJoin:
    """What a shard needs to know of the join.

    Parameters
    ----------
    join
        Settings.
    routing
        Which rows come to which shard.
    labels
        The shards' names in Spark, in order.
    form
        How results leave.
    agreed
        What a checkpoint must agree on.
    join_id
        Names the local copies of this plan.
    late
        Where late rows go; None for nowhere.
    """

    join: WindowJoin
    routing: Routing
    labels: tuple[int, ...]
    form: OutputForm
    agreed: dict[str, str]
    join_id: str
    late: LateSink | None = None

    def counters(self, metrics: JoinMetrics, label: int) -> str:
        """The counters of one shard, without rows that another one counts."""
        shard = self.labels.index(label)
        for side, name in ((LEFT, "left"), (RIGHT, "right")):
            if not self.routing.counts(shard, side):
                no_rows = dict.fromkeys((f"rows_{name}", f"late_{name}", f"idle_late_{name}"), 0)
                metrics = replace(metrics, **no_rows)
        return json.dumps(asdict(replace(metrics, busiest=metrics.work)))

    def write_late(self, logic: WindowJoinLogic, label: int, query: str) -> None:
        """Keep the late rows of a batch, if asked to."""
        shard = self.labels.index(label)
        for side in SIDES:
            if self.late is not None and self.routing.counts(shard, side):
                name = f"{query}-{shard:04d}-{logic.state.sequence:08d}"
                self.late.write(side, logic.late[side], self.join.streams[side], name)

    def bounded(self, key: Any, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Join all rows of one shard at once; given to ``applyInArrow`` for tables."""
        logic = WindowJoinLogic(self.join, WindowJoinState(), MemoryStore())
        arrivals, _ = unpack(self.join, from_batches(batches))
        results = logic.on_batch(arrivals, end=True)
        for columns in gather(emitted.take(self.join.output) for emitted in results):
            yield from self.form.table(columns).to_batches()
        counters = self.counters(logic.metrics, key[0].as_py())
        yield from self.form.counters_table(counters).to_batches()


class WindowJoinProcessor(StatefulProcessor):
    """Runs a `WindowJoinLogic` on the state of one shard.

    Decides from the committed state and the batch alone, so a retried batch gives the same rows.
    """

    def __init__(self, shard: ShardJoin) -> None:
        self._shard = shard

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the one state variable; called by Spark."""
        self._windows = handle.getMapState("windows", STATE_KEY, STATE_VALUE)

    def handleInputRows(
        self, key: Any, rows: Iterator[pd.DataFrame] | Iterator[Row], timerValues: Any
    ) -> Iterator[pd.DataFrame]:
        """Join one shard's part of a micro-batch; called by Spark."""
        shard, label, query = self._shard, int(key[0]), _query()
        store = SparkStore(self._windows, local_folder(f"{shard.join_id}-{query}", label))
        state = self._read(store.read_directory())
        # Rows come to processors of transformWithState; this one is given frames.
        packed = from_frames(cast(Iterator[pd.DataFrame], rows))
        arrivals, now_us = unpack(shard.join, packed)
        logic = WindowJoinLogic(shard.join, state, store)
        results = logic.on_batch(arrivals, now_us)
        for columns in gather(emitted.take(shard.join.output) for emitted in results):
            yield to_frame(shard.form.table(columns))
        shard.write_late(logic, label, query)
        directory = {"agreed": shard.agreed, **state.to_dict()}
        store.write_directory(json.dumps(directory, separators=(",", ":")).encode())
        store.drop_other_copies(state.windows)
        yield to_frame(shard.form.counters_table(shard.counters(logic.metrics, label)))
        settle()

    def close(self) -> None:
        """Nothing to release; called by Spark."""

    def _read(self, directory: bytes | None) -> WindowJoinState:
        if directory is None:
            return WindowJoinState()
        try:
            values = json.loads(directory)
            agreed = values.pop("agreed")
        except (ValueError, KeyError, TypeError):
            msg = "the checkpoint holds no readable directory of this join; use a new one"
            raise StateError(msg) from None
        refuse_other(agreed, self._shard.agreed)
        return WindowJoinState.from_dict(values)


def _query() -> str:
    """Id of the running query: one DataFrame may be started as several."""
    context = TaskContext.get()
    return str(context.getLocalProperty("sql.streaming.queryId") if context else None)


def to_frame(table: pa.Table) -> pd.DataFrame:
    """A frame over the same memory."""
    frame: pd.DataFrame = table.to_pandas(types_mapper=pd.ArrowDtype)
    return frame


def gather(parts: Iterator[list[pa.Array]]) -> Iterator[list[pa.Array]]:
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
