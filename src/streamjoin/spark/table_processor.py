"""A join with a table per shard, called once per shard and micro-batch.

Rows that may wait do so while the stream brings more. Spark runs one batch without data whenever
the watermark has moved and nothing new is there; the number of the batch is that watermark, so
such a batch comes when the stream pauses. Then a timer of each shard that left something goes off,
and all of it is answered: with the trigger `availableNow` the query so ends with nothing left.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from time import thread_time_ns
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

from streamjoin.errors import TableError
from streamjoin.joins.base import MemoryStore, WindowStore
from streamjoin.joins.table.arrivals import SEVERAL, TableArrival, stored
from streamjoin.joins.table.logic import TableJoinLogic
from streamjoin.joins.table.settings import PART, TableJoin
from streamjoin.joins.table.state import TableJoinState
from streamjoin.spark.blobs import read_rows
from streamjoin.spark.local_files import local_folder
from streamjoin.spark.processor import gather, read_agreed, to_frame
from streamjoin.spark.rows import OutputForm
from streamjoin.spark.store import MapState, SparkStore
from streamjoin.spark.table_pack import PackedRows, from_batches, from_frames
from streamjoin.spark.worker import Run, running
from streamjoin.tables.access import TableAccess
from streamjoin.tables.base import OpenTable

METRICS: Final = (
    "rows", "null", "hits", "looked_up", "loads", "pairs", "alone", "waiting_rows", "spilled_rows",
    "shed", "reloaded", "cached_rows", "state_bytes", "work", "busiest", "cpu_us",
)  # fmt: skip
"""Rows that came, that had no key, that the front stage answered, that were looked up; partitions
loaded; results with a table row and without; rows that wait, that are spilled, that were spilled
now and that came again now; table rows that are cached; bytes of all that is kept."""


@dataclass(frozen=True)
class Call:
    """When and for what a shard is called.

    Parameters
    ----------
    label
        Its name.
    now_us
        The time of the batch: the same when the batch is run again.
    end
        Whether the stream pauses.
    run
        What the task works for.
    """

    label: int
    now_us: int
    end: bool
    run: Run


@dataclass(frozen=True)
class TableShard:
    """What a shard needs to know of a join.

    Parameters
    ----------
    join, access
        Settings, and how the table is read.
    form
        How results leave.
    agreed
        What a checkpoint must agree on.
    join_id
        Names the local copies of this join.
    is_timed
        Whether rows may be left for later, so that there are timers.
    """

    join: TableJoin
    access: TableAccess
    form: OutputForm
    agreed: dict[str, str]
    join_id: str
    is_timed: bool

    def on_batch(
        self, windows: MapState, packed: list[PackedRows], call: Call, left: "Left"
    ) -> Iterator[pa.Table]:
        """Join one shard's part of a micro-batch: result rows, and at last the counters."""
        store = SparkStore(windows, local_folder(f"{self.join_id}-{call.run.query}", call.label))
        state = self._read(store.read_directory())
        patient = self.access.on_failure == "stale"
        yield from self._joined(store, state, packed, call, patient)
        left.is_any = bool(state.waiting or state.spilled)
        directory = {"agreed": self.agreed, **state.to_dict()}
        store.write_directory(json.dumps(directory, separators=(",", ":")).encode())
        store.drop_other_copies(store.copies([state.waiting, state.cached, state.spilled]))

    def bounded(self, key: Any, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Join all rows of one shard at once; given to ``applyInArrow`` for tables."""
        call = Call(key[0].as_py(), 0, True, running())
        packed = from_batches(batches)
        for table in self._joined(MemoryStore(), TableJoinState(), packed, call, patient=False):
            yield from table.to_batches()

    def _joined(
        self,
        store: WindowStore,
        state: TableJoinState,
        packed: list[PackedRows],
        call: Call,
        patient: bool,
    ) -> Iterator[pa.Table]:
        started = thread_time_ns()
        current = self.access.current(state.version)
        changes = None
        if state.version not in ("", current.table.version):
            changes = current.since(state.version)
        patient = patient and self.access.is_patient(current)
        logic = TableJoinLogic(self.join, state, store, current.table, is_patient=patient)
        arrival = self._arrival(packed, current.table)
        try:
            results = logic.on_batch(arrival, call.now_us, changes, call.end)
            for columns in gather(results, self.join.piece_bytes):
                yield self.form.table(columns)
        except TableError:
            self.access.forget()
            raise
        if logic.counts["loads"] or logic.counts["looked_up"]:
            current.note_reached()
        logic.counts["cpu_us"] = (thread_time_ns() - started) // 1000
        logic.counts["work"] = logic.counts["busiest"] = logic.counts["rows"]
        counters = [logic.counts[name] for name in METRICS]
        yield self.form.counters_table(counters, logic.details)

    def _arrival(self, packed: list[PackedRows], table: OpenTable) -> TableArrival:
        schema = stored(self.join.stream, pa.field(PART, pa.int32()))
        blobs = [read_rows(row.blob, schema) for row in packed]
        plain = schema.names[: len(self.join.stream)]
        loose_schema = pa.schema([schema.field(name) for name in plain])
        loose = [read_rows(row.loose, loose_schema) for row in packed if row.loose is not None]
        nothing = pa.RecordBatch.from_pylist([], schema)
        rows = pa.concat_batches([nothing, *blobs])
        parts = np.asarray(rows.column(PART))
        # Of another version of the table numbers mean nothing; nor do those that it does not have.
        is_known = self.join.is_routed and all(row.version == table.version for row in packed)
        can_be = (parts >= SEVERAL) & (parts < len(table.partition_rows))
        return TableArrival(
            rows.drop_columns([PART]),
            pa.concat_batches([nothing.select(plain), *loose]),
            parts if is_known and can_be.all() else None,
        )

    def _read(self, directory: bytes | None) -> TableJoinState:
        if directory is None:
            return TableJoinState()
        return TableJoinState.from_dict(read_agreed(directory, self.agreed))


@dataclass
class Left:
    """Whether a shard has left something for later."""

    is_any: bool = field(default=False)


def join_frames(
    shard: TableShard,
    state: tuple[StatefulProcessorHandle, MapState],
    label: int,
    rows: Iterator[pd.DataFrame],
    times: Any,
    end: bool,
) -> Iterator[pd.DataFrame]:
    """What a shard makes of its part of a micro-batch, as Spark brings and takes it."""
    handle, windows = state
    packed = from_frames(rows)
    if not shard.is_timed:  # there are neither timers nor times
        call = Call(label, max((row.clock for row in packed), default=0), end, running())
    else:
        now_us = 1000 * int(times.getCurrentProcessingTimeInMs())
        call = Call(label, now_us, end, running())
        for timer in list(handle.listTimers()):
            handle.deleteTimer(timer)
    left = Left()
    for table in shard.on_batch(windows, packed, call, left):
        yield to_frame(table)
    if left.is_any and shard.is_timed:
        handle.registerTimer(int(times.getCurrentWatermarkInMs()) + 1)
