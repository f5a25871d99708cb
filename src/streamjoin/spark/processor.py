"""One window join per shard, called once per micro-batch."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from time import thread_time_ns, time_ns
from typing import Any, Final, Protocol

import pandas as pd
import pyarrow as pa

from streamjoin._typing import LEFT, RIGHT, SIDES
from streamjoin.core.sealed import parse_json
from streamjoin.errors import StateError
from streamjoin.joins.base import MemoryStore
from streamjoin.joins.columns import SIDE_NAMES
from streamjoin.joins.logic import WindowJoinLogic
from streamjoin.joins.matching import MAX_BYTES, MAX_PAIRS
from streamjoin.joins.routing import Routing
from streamjoin.joins.spread_join import SpreadJoinLogic, SpreadState
from streamjoin.joins.window_join import WindowJoin, WindowJoinState, refuse_other
from streamjoin.metrics import METRIC_NAMES, JoinCounts
from streamjoin.spark.arrivals import PackedRow, from_batches, from_frames, unpack, unpack_spread
from streamjoin.spark.gate import GateFolder
from streamjoin.spark.hot_keys import HotFolder
from streamjoin.spark.late import LateSink
from streamjoin.spark.local_files import local_folder
from streamjoin.spark.rows import OutputForm
from streamjoin.spark.store import MapState, SparkStore
from streamjoin.spark.worker import Run, running

SPREAD: Final = 16
"""First number in the state's keys of rows that were spread to a shard."""


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
    hot
        Where decisions about hot keys go; None if keys are not spread.
    gate
        Where decisions about rows to turn away go; None if none are.
    """

    join: WindowJoin
    routing: Routing
    labels: tuple[int, ...]
    form: OutputForm
    agreed: dict[str, str]
    join_id: str
    late: LateSink | None = None
    hot: HotFolder | None = None
    gate: GateFolder | None = None

    def on_batch(
        self, windows: MapState, label: int, packed: list[PackedRow], run: Run
    ) -> Iterator[pa.Table]:
        """Join one shard's part of a micro-batch: result rows, and at last the counters.

        Decides from the committed state and the batch alone, so a retried batch gives the same
        rows.
        """
        started = thread_time_ns()
        copies = local_folder(f"{self.join_id}-{run.query}", label)
        stores = SparkStore(windows, copies), SparkStore(windows, copies, SPREAD)
        state, spread = self._read(stores[0].read_directory())
        self._check_hot(spread, label, packed, run)
        arrivals, now_us = unpack(self.join, packed)
        cells = unpack_spread(self.join, packed, state.watermark)
        logic = SpreadJoinLogic(self.join, (state, spread), stores)
        results = logic.on_batch(arrivals, cells, now_us)
        for columns in gather(emitted.take(self.join.output) for emitted in results):
            yield self.form.table(columns)
        self._write_late(logic, label, run)
        self._decide_hot(logic, label, packed, run)
        cpu_us = (thread_time_ns() - started) / 1000
        logic.charge(cpu_us)
        metrics = replace(logic.metrics, cpu_us=round(cpu_us))
        if self.gate is not None and label == self.labels[0]:
            behind = self._decide_gate(logic, self.gate, packed, run)
            metrics = replace(metrics, lagging=max(metrics.lagging, behind))
        directory = {"agreed": self.agreed, **state.to_dict()}
        if spread:
            directory["spread"] = spread.to_dict()
        stores[0].write_directory(json.dumps(directory, separators=(",", ":")).encode())
        stores[0].drop_other_copies(
            stores[0].copies(state.windows) | stores[1].copies(spread.windows)
        )
        yield self.form.counters_table(self._counters(metrics, label, packed), logic.details)

    def _read(self, directory: bytes | None) -> tuple[WindowJoinState, SpreadState]:
        if directory is None:
            return WindowJoinState(), SpreadState()
        values = read_agreed(directory, self.agreed)
        spread = values.pop("spread", None)
        known = SpreadState() if spread is None else SpreadState.from_dict(spread)
        return WindowJoinState.from_dict(values), known

    def _check_hot(
        self, spread: SpreadState, label: int, packed: list[PackedRow], run: Run
    ) -> None:
        if self.hot is not None:
            self.hot.check(run, label, spread.keys, {row.known for row in packed})
        elif spread:
            msg = (
                "hot_keys: the checkpoint holds keys that are spread over shards; allowed: a folder"
                " that all machines see, as before"
            )
            raise StateError(msg)

    def _decide_hot(
        self, logic: SpreadJoinLogic, label: int, packed: list[PackedRow], run: Run
    ) -> None:
        if self.hot is None or run.batch is None:
            return
        rows = sum(row.task_rows for row in packed), sum(row.all_rows for row in packed)
        hot = logic.decide(run.batch, rows, self.labels.index(label), self.hot.tasks)
        if hot is not None:
            self.hot.write(run, label, hot)

    def _decide_gate(
        self, logic: SpreadJoinLogic, gate: GateFolder, packed: list[PackedRow], run: Run
    ) -> int:
        """Decide what later batches let in; whether this one took longer than the streams' time."""
        took = (time_ns() / 1000 - min(row.began for row in packed)) / 1e6
        decided = logic.decide_gate(took)
        if decided is None:
            return 0
        gate.write(run, (decided.shares[LEFT], decided.shares[RIGHT]))
        return int(decided.is_behind)

    def _counters(self, metrics: JoinCounts, label: int, packed: list[PackedRow]) -> list[float]:
        """The counters of one shard, without rows that another one counts."""
        shard = self.labels.index(label)
        counted: dict[str, int] = {}
        for side, name in ((LEFT, "left"), (RIGHT, "right")):
            total = sum(int(row.total) for row in packed if row.side == side)
            counted[f"rows_{name}"] = total if shard == 0 else 0
            if not self.routing.counts(shard, side):
                once = ("late", "idle_late", "dropped")
                counted |= {f"{cause}_{name}": 0 for cause in once}
            if shard == 0:
                before = counted.get(f"dropped_{name}", getattr(metrics, f"dropped_{name}"))
                turned_away = sum(int(row.dropped) for row in packed if row.side == side)
                counted[f"dropped_{name}"] = before + turned_away
        counts = replace(metrics, **counted, busiest=metrics.work)
        return [getattr(counts, name) for name in METRIC_NAMES]

    def _write_late(self, logic: SpreadJoinLogic, label: int, run: Run) -> None:
        """Keep the late rows of a batch, if asked to."""
        shard = self.labels.index(label)
        for side in SIDES:
            if self.late is not None and self.routing.counts(shard, side):
                stream, number = self.join.streams[side], logic.state.sequence
                self.late.write(SIDE_NAMES[side], logic.late[side], stream, run, shard, number)

    def bounded(self, key: Any, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Join all rows of one shard at once; given to ``applyInArrow`` for tables."""
        logic = WindowJoinLogic(self.join, WindowJoinState(), MemoryStore())
        packed = from_batches(batches)
        arrivals, _ = unpack(self.join, packed)
        results = logic.on_batch(arrivals, end=True)
        for columns in gather(emitted.take(self.join.output) for emitted in results):
            yield from self.form.table(columns).to_batches()
        counters = self._counters(logic.metrics, key[0].as_py(), packed)
        yield from self.form.counters_table(counters, logic.details).to_batches()


class Shard(Protocol):
    """What a shard does with its part of a micro-batch: `ShardJoin`, and that of a plan."""

    def on_batch(
        self, windows: MapState, label: int, packed: list[PackedRow], run: Run
    ) -> Iterator[pa.Table]:
        """Join it: result rows, and at last the counters."""


def join_frames(
    shard: Shard, windows: MapState, label: int, rows: Iterator[pd.DataFrame]
) -> Iterator[pd.DataFrame]:
    """What a shard makes of its part of a micro-batch, as Spark brings and takes it."""
    for table in shard.on_batch(windows, label, from_frames(rows), running()):
        yield to_frame(table)


def read_agreed(directory: bytes, agreed: dict[str, str]) -> dict[str, Any]:
    """What a directory says, if it is one of the same join."""
    try:
        values: dict[str, Any] = parse_json(directory)
        before = dict(values.pop("agreed"))
    except (ValueError, KeyError, TypeError, AttributeError):
        msg = "the checkpoint holds no readable directory of this join; use a new one"
        raise StateError(msg) from None
    refuse_other(before, agreed)
    return values


def to_frame(table: pa.Table) -> pd.DataFrame:
    """A frame over the same memory."""
    frame: pd.DataFrame = table.to_pandas(types_mapper=pd.ArrowDtype)
    return frame


def gather(
    parts: Iterator[list[pa.Array]], most_bytes: int = MAX_BYTES
) -> Iterator[list[pa.Array]]:
    """Join small results into large ones: a frame costs Spark milliseconds whatever its size."""
    held: list[list[pa.Array]] = []
    rows, size = 0, 0
    for columns in parts:
        held.append(columns)
        rows += len(columns[0])
        size += sum(column.nbytes for column in columns)
        if rows >= MAX_PAIRS or size >= most_bytes:
            yield [pa.concat_arrays(arrays) for arrays in zip(*held, strict=True)]
            held, rows, size = [], 0, 0
    if rows:
        yield [pa.concat_arrays(arrays) for arrays in zip(*held, strict=True)]
