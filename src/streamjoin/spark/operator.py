r"""Runs any `Join` as one operator: prepare the session, divide, pack, union, state, finish.

```
input 0 --> mapInArrow(pack) --\
input 1 --> mapInArrow(pack) ---union --> groupBy(shard) --> stateful operator --> rows + counters
input n --> mapInArrow(pack) --/
```
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Final

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import StructField

from streamjoin.budget import Budget
from streamjoin.errors import ConfigError, DataError
from streamjoin.joins.packed import PACKED_DDL
from streamjoin.joins.packing import Shaper
from streamjoin.spark.columns import numbered, with_ahead
from streamjoin.spark.labels import shard_labels, shards_of_tasks
from streamjoin.spark.pack import TICK, TICKING_DDL, Packer
from streamjoin.spark.plans import plan_text, plans_of
from streamjoin.spark.processor import Shard
from streamjoin.spark.requirements import (
    has_fixed_partitions,
    n_cores,
    prepare,
    refuse_too_much_memory,
)
from streamjoin.spark.stateful import ShardProcessor

MOST_SHARDS: Final = 4096


@dataclass(frozen=True)
class Division:
    """Over how many shards, partitions and cores the work of a join is spread."""

    n_shards: int
    n_partitions: int
    n_cores: int

    @classmethod
    def of(cls, asked: int | None, spark: SparkSession, *, streaming: bool) -> "Division":
        """As the user asked, or as the session suggests, which is prepared for joins here."""
        n_partitions = prepare(spark, streaming=streaming)
        return cls(n_shards_of(asked, spark, n_partitions), n_partitions, n_cores(spark))

    @cached_property
    def labels(self) -> tuple[int, ...]:
        """The shards' names in Spark, in order."""
        return tuple(shard_labels(self.n_shards))

    @cached_property
    def tasks(self) -> tuple[tuple[int, ...], ...]:
        """Numbers of the shards of each task."""
        return shards_of_tasks(self.labels, self.n_partitions)


def n_shards_of(asked: int | None, spark: SparkSession, n_partitions: int) -> int:
    """As many as asked for, or one per core; on a cluster, one per partition.

    A query is refused with other shards than it had, and the cores of a cluster are not always all
    there when it is started again.
    """
    if asked is None:
        most = MOST_SHARDS if has_fixed_partitions(spark) else n_cores(spark)
        return min(n_partitions, most)
    if not isinstance(asked, int) or isinstance(asked, bool) or not 1 <= asked <= MOST_SHARDS:
        raise ConfigError.at("shards", repr(asked), f"a whole number from 1 to {MOST_SHARDS}")
    return asked


@dataclass(frozen=True)
class Input:
    """One input of an operator."""

    frame: DataFrame
    shaper: Shaper
    # Column of the event time, and how far it may be ahead of the clock, where that is bounded.
    time: int = 0
    ahead_us: int | None = None

    @property
    def rows(self) -> DataFrame:
        """The rows, numbered, with what says whose time is too far ahead if that is bounded."""
        rows = numbered(self.frame)
        if self.ahead_us is None:
            return rows
        return with_ahead(rows, rows.columns[self.time], self.ahead_us)


def operate(shard: Shard, inputs: Sequence[Input], name: str) -> DataFrame:
    """The results of a join of these inputs; its counters are observed under a name."""
    ddl = TICKING_DDL if shard.is_timed else PACKED_DDL
    packed = reduce(
        DataFrame.unionAll,
        (
            one.rows.mapInArrow(Packer(one.shaper, shard.channel, ticks=shard.is_timed), ddl)
            for one in inputs
        ),
    )
    return shard.form.finish(_emitted(shard, packed), name)


def _emitted(shard: Shard, packed: DataFrame) -> DataFrame:
    if not packed.isStreaming:
        return packed.groupBy("shard").applyInArrow(shard.bounded, shard.form.schema)
    if shard.is_timed:
        if not has_watermark(packed):
            # It moves with every batch that has rows, whatever becomes of the clock. Nothing is
            # late by it: its column is dropped before the operator sees it.
            ticks = packed.withColumn(TICK, F.timestamp_millis(TICK))
            packed = ticks.withWatermark(TICK, "0 seconds")
        packed = packed.drop(TICK)
    return packed.groupBy("shard").transformWithStateInPandas(
        ShardProcessor(shard),
        shard.form.schema,
        "Append",
        "EventTime" if shard.is_timed else "None",
    )


def has_watermark(frame: DataFrame) -> bool:
    """Whether there is a watermark: Spark allows one only, so that one must do if it moves."""
    return "EventTimeWatermark" in plan_text(frame)


def arrow_schema(frame: DataFrame, argument: str) -> pa.Schema:
    """Schema of a DataFrame in Arrow's words."""
    return pa.schema([_arrow_field(field, argument) for field in frame.schema.fields])


def _arrow_field(field: StructField, argument: str) -> pa.Field:
    try:
        return pa.field(field.name, to_arrow_type(field.dataType, timezone="UTC"))
    except PySparkException:
        raise DataError(
            f"{argument}: column {field.name!r} has type {field.dataType.simpleString()}, which"
            " cannot be sent to Python; allowed: types that Arrow has (drop or cast it)"
        ) from None


def check_name(name: object, *frames: DataFrame) -> None:
    """Refuse a name for counters that a join before has."""
    if not isinstance(name, str) or not name:
        raise ConfigError.at("name", repr(name), "a non-empty string")
    if any(plan.name == name for frame in frames for plan in plans_of(frame)):
        raise ConfigError(
            f"name: {name!r} is the name of a join before this one; allowed: another name"
        )


def refuse_budget(budget: Budget, frame: DataFrame) -> None:
    """Refuse a budget where it would mean nothing."""
    if not frame.isStreaming:
        raise ConfigError.at(
            "budget", "one for batch DataFrames", "with streams (their time is budgeted)"
        )
    refuse_too_much_memory(budget, frame.sparkSession)


def refuse_freshness(frame: DataFrame) -> None:
    """Refuse freshness where nearly nothing would be fresh: at the end of all rows."""
    if not frame.isStreaming:
        raise ConfigError.at(
            "freshness", "one for batch DataFrames", "with streams (tables have no now)"
        )
