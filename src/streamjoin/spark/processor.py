"""What a shard does when Spark calls it: any `Operator`, once per micro-batch.

Rows of some joins may wait while the stream brings more (*timed* joins). Spark runs one batch
without data whenever the watermark has moved and nothing new is there; the number of the batch is
that watermark, so such a batch comes when the stream pauses. Then a timer of each shard that left
something goes off, and all of it is answered: with the trigger `availableNow` the query so ends
with nothing left.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from time import time_ns
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle
from pyspark.sql.types import DataType

from streamjoin.core.sealed import parse_json
from streamjoin.errors import StateError
from streamjoin.joins.base import MAX_PAIRS, Env, JoinLogic, MemoryStore, Operator, Outcome
from streamjoin.joins.channel import Channel, Run
from streamjoin.joins.folders import LateSink
from streamjoin.joins.packed import PackedRow, clock_of, read_packed
from streamjoin.joins.routing import Routing
from streamjoin.shedding.costs import thread_us
from streamjoin.spark.rows import COUNTERS, OutputForm
from streamjoin.spark.store import MapState, SparkStore, local_folder
from streamjoin.spark.worker import running


class Call(NamedTuple):
    """When and for what a shard is called."""

    label: int  # its name in Spark
    now_us: int | None  # the same when the batch is run again
    end: bool  # whether the stream pauses or ends
    run: Run


@dataclass(frozen=True)
class ShardRunner:
    """Runs the shards of an operator, each when Spark calls it."""

    operator: Operator
    routing: Routing
    labels: tuple[int, ...]  # the shards' names in Spark, in order
    types: tuple[DataType, ...]  # of the result's columns
    join_id: str  # names the local copies of this join, and the column of its counters
    late: LateSink | None = None
    channel: Channel | None = None
    is_timed: bool = False

    @cached_property
    def form(self) -> OutputForm:
        """In which form results leave."""
        operator, counters = self.operator, COUNTERS + self.join_id
        return OutputForm(operator.output, self.types, counters, operator.counter_names)

    @cached_property
    def agreed(self) -> dict[str, str]:
        """What a checkpoint must agree on."""
        return {**self.operator.join.describe(), "shards": self.routing.describe()}

    def on_batch(
        self,
        state: MapState,
        packed: Sequence[PackedRow],
        call: Call,
        wait: Callable[[], None] | None = None,
    ) -> Iterator[pa.Table]:
        """Join one shard's part of a micro-batch: result rows, and at last the counters.

        `wait` is called if something is left that must be answered when the stream pauses.
        """
        started = thread_us()
        run, number = call.run, self.labels.index(call.label)
        copies = local_folder(f"{self.join_id}-{run.query}", call.label)
        store = SparkStore(state, copies)
        directory = store.read_directory()
        values = None if directory is None else read_agreed(directory, self.agreed)
        env = Env(
            number,
            len(self.labels),
            run.batch,
            lambda first: SparkStore(state, copies, first),
            _now_us,
            None if self.channel is None else self.channel.at(run, number),
        )
        logic = self.operator.build(values, env)
        yield from self._results(logic, packed, call)
        if self.late is not None:
            for late in logic.late:
                if self.routing.counts(number, late.side):
                    self.late.write(late, run, number)
        outcome = logic.conclude(thread_us() - started)
        kept = {"agreed": self.agreed, **logic.to_dict()}
        store.write_directory(json.dumps(kept, separators=(",", ":")).encode())
        known = (s.copies(w) for s, w in outcome.remembered if isinstance(s, SparkStore))
        store.drop_other_copies(set().union(*known))
        yield self._last(outcome, number, packed)
        if wait is not None and outcome.waits:
            wait()

    def bounded(self, key: Any, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Join all rows of one shard at once; given to ``applyInArrow`` for tables."""
        started = thread_us()
        call, packed = Call(key[0].as_py(), None, True, running()), read_packed(batches)
        number, stores = self.labels.index(call.label), defaultdict[int, MemoryStore](MemoryStore)
        env = Env(number, len(self.labels), None, stores.__getitem__, _now_us)
        logic = self.operator.build(None, env)
        for table in self._results(logic, packed, call):
            yield from table.to_batches()
        outcome = logic.conclude(thread_us() - started)
        yield from self._last(outcome, number, packed).to_batches()

    def _results(
        self, logic: JoinLogic, packed: Sequence[PackedRow], call: Call
    ) -> Iterator[pa.Table]:
        results = logic.on_batch(packed, call.now_us, call.end)
        for columns in gather(results, self.operator.piece_bytes):
            yield self.form.table(columns)

    def _last(self, outcome: Outcome, number: int, packed: Sequence[PackedRow]) -> pa.Table:
        """The row with the counters, without rows that another shard counts.

        It also says how far the join has come if another one follows.
        """
        counts = dict(outcome.counts)
        for side, name in enumerate(self.operator.counted_inputs):
            mine = [row for row in packed if row.side == side]
            counts[f"rows_{name}"] = sum(int(row.total) for row in mine) if number == 0 else 0
            if not self.routing.counts(number, side):
                counts |= {f"{cause}_{name}": 0 for cause in ("late", "idle_late", "dropped")}
            if number == 0:
                turned_away = sum(int(row.dropped) for row in mine)
                counts[f"dropped_{name}"] = counts.get(f"dropped_{name}", 0) + turned_away
        counts["busiest"] = counts["work"]
        values = [counts.get(name, 0) for name in self.operator.counter_names]
        return self.form.counters_table(values, outcome.details, outcome.marks)


def _now_us() -> float:
    return time_ns() / 1000


def join_frames(
    runner: ShardRunner,
    state: tuple[StatefulProcessorHandle, MapState],
    label: int,
    rows: Iterable[pd.DataFrame],
    times: Any,
    end: bool,
) -> Iterator[pd.DataFrame]:
    """What a shard makes of its part of a micro-batch, as Spark brings and takes it."""
    handle, windows = state
    packed = read_frames(rows)
    now_us, wait = clock_of(packed), None
    if runner.is_timed:
        now_us = 1000 * int(times.getCurrentProcessingTimeInMs())
        for timer in list(handle.listTimers()):
            handle.deleteTimer(timer)

        def wait() -> None:
            handle.registerTimer(int(times.getCurrentWatermarkInMs()) + 1)

    for table in runner.on_batch(windows, packed, Call(label, now_us, end, running()), wait):
        yield table.to_pandas(types_mapper=pd.ArrowDtype)  # over the same memory


def read_frames(frames: Iterable[pd.DataFrame]) -> list[PackedRow]:
    """Packed rows as the state API hands them over."""
    names = list(PackedRow._fields)
    rows = (frame[names].itertuples(index=False, name=None) for frame in frames)
    return [PackedRow(*row) for part in rows for row in part]


def refuse_other(stored: dict[str, str], wanted: dict[str, str]) -> None:
    """Refuse a checkpoint that another join wrote, saying what differs.

    Examples
    --------
    >>> refuse_other({"left window": "10 seconds"}, {"left window": "1 minute"})
    Traceback (most recent call last):
        ...
    streamjoin.errors.StateError: the checkpoint was written by another join: left window was
    '10 seconds' and is now '1 minute'; go on with the old settings or use a new checkpoint folder
    >>> refuse_other({"version": "9"}, {"version": "2"})
    Traceback (most recent call last):
        ...
    streamjoin.errors.StateError: the checkpoint was written by another version of streamjoin: the
    form of its state is '9' and this version reads '2'; go on with a version that reads it, or use
    a new checkpoint folder
    """
    if stored.get("version") != wanted.get("version"):
        raise StateError(
            "the checkpoint was written by another version of streamjoin: the form of its state is "
            f"{stored.get('version')!r} and this version reads {wanted.get('version')!r}; go on "
            "with a version that reads it, or use a new checkpoint folder"
        )
    names = [n for n in {**stored, **wanted} if stored.get(n) != wanted.get(n)]
    if names:
        parts = [f"{n} was {stored.get(n)!r} and is now {wanted.get(n)!r}" for n in names]
        raise StateError(
            f"the checkpoint was written by another join: {'; '.join(parts)}; "
            "go on with the old settings or use a new checkpoint folder"
        )


def read_agreed(directory: bytes, agreed: dict[str, str]) -> dict[str, Any]:
    """What a directory says, if it is one of the same join."""
    try:
        values: dict[str, Any] = parse_json(directory)
        before = dict(values.pop("agreed"))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise StateError(
            "the checkpoint holds no readable directory of this join; use a new one"
        ) from None
    refuse_other(before, agreed)
    return values


def gather(parts: Iterator[list[pa.Array]], most_bytes: int) -> Iterator[list[pa.Array]]:
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
