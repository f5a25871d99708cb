"""The forms in which rows go to the stateful operator and results leave it.

Map tasks pack rows before the shuffle (`Packer`). Result columns of plain types leave as they are:
frames whose columns are Arrow arrays, which Spark takes over without a copy (*flat*). PySpark
converts nested values one row at a time in Python, so results with arrays, maps or structs leave as
Arrow blobs instead and are unpacked by one more ``mapInArrow`` (*blobs*). One extra row per shard
and batch carries the counters as JSON, and after a tab what else the shard has to tell; `finish`
adds up the counters with ``observe``, leaves the rest beside them as a list, and takes that row
out.
"""

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, DataType, LongType, StringType, StructField, StructType

from streamjoin._names import backquoted
from streamjoin.joins.base import MARK, OutputColumn, typed
from streamjoin.joins.channel import Channel, Run
from streamjoin.joins.packed import PACKED_DDL
from streamjoin.joins.packing import Decided, Shaper, pack
from streamjoin.metrics import METRIC_NAMES, Details
from streamjoin.metrics.progress import COUNTERS_FIELD, DETAILS_FIELD
from streamjoin.spark.worker import running, settle

Batches = Iterable[pa.RecordBatch]

COUNTERS: Final = "_counters_"
"""How the column of a join's counters begins; its id follows."""
TICK: Final = "tick"
FIRST_TICK: Final = 4_102_444_800_000
"""Of batch 0; later than any clock, by which ticks went in older checkpoints."""
TICKING_DDL: Final = f"{PACKED_DDL}, {TICK} long"
TAB: Final = "\t"
_TAB: Final = "char(9)"  # in SQL, whatever the session's rules of escaping


@dataclass(frozen=True)
class Packer:
    """Packs the rows of one input; given to ``mapInArrow``."""

    shaper: Shaper
    channel: Channel | None = None
    # Whether the number of the batch goes along, as the watermark of joins whose rows may wait.
    ticks: bool = False

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Packed rows of one map task; called by Spark."""
        context = TaskContext.get()
        yield from self.pack(batches, context.partitionId() if context else 0, running())
        settle()

    def pack(self, batches: Batches, part: int, run: Run) -> Iterator[pa.RecordBatch]:
        """Packed rows of one partition, in the order of its rows."""
        began = time.time_ns() // 1000  # to read decisions is a part of what the task takes
        decided = Decided() if self.channel is None else self.channel.at(run).decided()
        for packed in pack(self.shaper, batches, part, decided, began):
            tick = [FIRST_TICK + (run.batch or 0)] * packed.num_rows
            yield packed.append_column(TICK, pa.array(tick)) if self.ticks else packed


@dataclass(frozen=True)
class OutputForm:
    """Shape of the operator's output.

    Parameters
    ----------
    columns
        The result's columns.
    types
        Their Spark types.
    counters
        Name of the column for the counters.
    metrics
        Names of the counters, in order.
    """

    columns: tuple[OutputColumn, ...]
    types: tuple[DataType, ...]
    counters: str
    metrics: tuple[str, ...] = METRIC_NAMES

    @property
    def marks(self) -> int:
        """How many of the last columns say how far the join has come, if another one follows."""
        return sum(column.position == MARK for column in self.columns)

    @property
    def flat(self) -> bool:
        """Whether every column is of a plain type."""
        return not any(pa.types.is_nested(column.type) for column in self.columns)

    @property
    def arrow(self) -> pa.Schema:
        """Arrow schema of the rows."""
        return pa.schema([(f"c{i}", column.type) for i, column in enumerate(self.columns)])

    @property
    def schema(self) -> StructType:
        """Spark schema of what the operator emits."""
        if self.flat:
            both = zip(self.columns, self.types, strict=True)
            kinds = [LongType() if _is_instant(c.type) else kind for c, kind in both]
            fields = [StructField(f"c{i}", kind) for i, kind in enumerate(kinds)]
        else:
            fields = [StructField("blob", BinaryType())]
        return StructType([*fields, StructField(self.counters, StringType())])

    def table(self, columns: list[pa.Array]) -> pa.Table:
        """Result rows as the operator emits them."""
        columns = [*columns, *[pa.nulls(len(columns[0]), pa.int64())] * self.marks]
        if self.flat:
            arrays = [c.view(pa.int64()) if _is_instant(c.type) else c for c in columns]
            return pa.table([*arrays, pa.nulls(len(columns[0]), pa.string())], self.schema.names)
        rows = pa.RecordBatch.from_arrays(columns, schema=self.arrow)
        blob = pa.array([rows.serialize().to_pybytes()], pa.binary())
        return pa.table([blob, pa.nulls(1, pa.string())], self.schema.names)

    def counters_table(
        self, counters: Sequence[float], details: Details, marks: Sequence[int | None] = ()
    ) -> pa.Table:
        """The row that carries the counters and details, and says how far the join has come."""
        kinds = [pa.int64() if _is_instant(c.type) else c.type for c in self.columns]
        row = [pa.nulls(1, kind) for kind in kinds[: len(kinds) - self.marks]]
        row += [pa.array([mark], pa.int64()) for mark in marks]
        if not self.flat:
            blob = None
            if self.marks:
                values = [typed(a, c.type) for a, c in zip(row, self.columns, strict=True)]
                rows = pa.RecordBatch.from_arrays(values, schema=self.arrow)
                blob = rows.serialize().to_pybytes()
            row = [pa.array([blob], pa.binary())]
        told = json.dumps(list(counters)) + TAB + details.to_json()
        return pa.table([*row, pa.array([told])], self.schema.names)

    def finish(self, emitted: DataFrame, name: str) -> DataFrame:
        """Observe the counters under a name and give the rows their names and types."""
        totals = _totals(self.counters, self.metrics).alias(COUNTERS_FIELD)
        rows = emitted.observe(name, totals)
        if not self.marks:
            rows = rows.filter(F.col(self.counters).isNull())
        if not self.flat:
            fields = [StructField(f"c{i}", kind) for i, kind in enumerate(self.types)]
            rows = rows.select("blob").mapInArrow(self._unpack, StructType(fields))
        columns = []
        for i, column in enumerate(self.columns):
            value = F.col(f"c{i}")
            if self.flat and _is_instant(column.type):
                value = F.timestamp_micros(value)
            columns.append(value.alias(column.name))
        return rows.select(*columns)

    def _unpack(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Blobs to rows; given to ``mapInArrow``."""
        for batch in batches:
            for blob in batch.column("blob"):
                yield pa.ipc.read_record_batch(blob.as_buffer(), self.arrow)


def _totals(column: str, names: tuple[str, ...]) -> Column:
    """All counters as one struct, over the rows that carry counters; nulls without any input.

    Counters are added up over shards, but of `busiest` the largest counts. One aggregate for all of
    them, and few expressions: an aggregate costs every result row some nanoseconds, although it is
    skipped, and Spark plans the expressions anew in each micro-batch. As SQL, because the same in
    calls would be thousands of round trips to the JVM, a third of a second for each join.
    """
    n, busiest = len(names), names.index("busiest")
    value = f"from_json(substring_index(row, {_TAB}, 1), 'array<double>')[i]"
    added = f"""
        transform(sequence(0, {n - 1}), i -> CASE
            WHEN i = {busiest} THEN greatest(total[i], {value})
            ELSE coalesce(total[i], 0D) + {value} END)"""
    summed = f"""
        aggregate(rows, array_repeat(CAST(NULL AS DOUBLE), {n}), (total, row) -> {added})"""
    values = [f"summed[{i}]" for i in range(n)]
    values.append(f"transform(rows, row -> substring_index(row, {_TAB}, -1))")
    kinds = dict.fromkeys(("missed_variance", "unmet", "unmet_weight"), "double")
    fields = [f"{backquoted(name)}: {kinds.get(name, 'bigint')}" for name in names]
    fields.append(f"{backquoted(DETAILS_FIELD)}: array<string>")
    named = f"CAST(struct({', '.join(values)}) AS struct<{', '.join(fields)}>)"
    told = f"transform(array({summed}), summed -> {named})[0]"
    return F.expr(f"transform(array(collect_list({backquoted(column)})), rows -> {told})[0]")


def _is_instant(data_type: pa.DataType) -> bool:
    """Timestamps with a zone: PySpark would convert them through pandas, so they go as numbers."""
    return bool(pa.types.is_timestamp(data_type) and data_type.tz is not None)
