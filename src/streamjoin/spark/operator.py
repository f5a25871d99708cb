r"""Runs any `Operator` on DataFrames: prepare the session, divide, pack, union, state, finish.

```
input 0 --> mapInArrow(pack) --\
input 1 --> mapInArrow(pack) ---union --> groupBy(shard) --> stateful operator --> rows + counters
input n --> mapInArrow(pack) --/
```
"""

import logging
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Final, NamedTuple

import pyarrow as pa
from pyspark.errors import PySparkException, PySparkTypeError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_type
from pyspark.sql.types import DataType, StructField

from streamjoin.budget import Budget
from streamjoin.calibration import load
from streamjoin.errors import ConfigError, DataError
from streamjoin.joins.base import Operator, OutputColumn, Tasks
from streamjoin.joins.channel import Channel
from streamjoin.joins.folders import LateSink, address, reachable, system_of
from streamjoin.joins.packed import PACKED_DDL
from streamjoin.joins.plans import AnyPlan
from streamjoin.metrics.progress import plan_of
from streamjoin.planning.two.algorithm_choice import OperationCosts
from streamjoin.spark.columns import numbered, with_ahead
from streamjoin.spark.plans import plan_text, plans_of, remember
from streamjoin.spark.processor import ShardRunner
from streamjoin.spark.requirements import (
    has_fixed_partitions,
    is_local,
    n_cores,
    prepare,
    refuse_too_much_memory,
)
from streamjoin.spark.rows import TICK, TICKING_DDL, Packer
from streamjoin.spark.stateful import ShardProcessor

logger = logging.getLogger(__name__)

MOST_SHARDS: Final = 4096
_CHECKPOINTS: Final = "spark.sql.streaming.checkpointLocation"
_BESIDE: Final = "streamjoin-hot-keys"

# Of Spark's hash.
_MASK: Final = 0xFFFFFFFF
_WORD: Final = 1 << 32
_SEED: Final = 42  # of Spark's hash partitioning
_C1, _C2 = 0xCC9E2D51, 0x1B873593
_F1, _F2 = 0x85EBCA6B, 0xC2B2AE35
_ADD: Final = 0xE6546B64
_BYTES: Final = 8  # hashed per label


@dataclass(frozen=True)
class Division:
    """Over how many shards, partitions and cores the work of a join is spread."""

    n_shards: int
    n_partitions: int
    n_cores: int

    @cached_property
    def labels(self) -> tuple[int, ...]:
        """The shards' names in Spark, in order."""
        return tuple(shard_labels(self.n_shards))

    @cached_property
    def tasks(self) -> Tasks:
        """Numbers of the shards of each task."""
        return shards_of_tasks(self.labels, self.n_partitions)


def prepare_and_divide(asked: int | None, spark: SparkSession, *, streaming: bool) -> Division:
    """Prepare a session for joins, and divide one as the user asked or as the session suggests."""
    n_partitions = prepare(spark, streaming=streaming)
    return Division(n_shards_of(asked, spark, n_partitions), n_partitions, n_cores(spark))


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


class Input(NamedTuple):
    """One input of an operator."""

    frame: DataFrame
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


def operate(
    operator: Operator,
    inputs: Sequence[Input],
    plan: AnyPlan,
    division: Division,
    *,
    late: LateSink | None = None,
    channel: Channel | None = None,
    is_timed: bool = False,
) -> DataFrame:
    """The results of a join of these inputs, which is remembered to be explained as `plan`.

    Its counters are observed under the name of the plan.
    """
    join_id, routing, labels = uuid.uuid4().hex, plan.routing, division.labels
    types = tuple(_spark_type(column, inputs) for column in operator.output)
    runner = ShardRunner(operator, routing, labels, types, join_id, late, channel, is_timed)
    remember(join_id, plan)
    ddl = TICKING_DDL if is_timed else PACKED_DDL
    tasks = () if channel is None else channel.tasks
    packed = []
    for side, one in enumerate(inputs):
        shaper = operator.shaper(side, labels, routing, tasks, one.ahead_us is not None)
        packed.append(one.rows.mapInArrow(Packer(shaper, channel, ticks=is_timed), ddl))
    return runner.form.finish(_emitted(runner, reduce(DataFrame.unionAll, packed)), plan.name)


def _spark_type(column: OutputColumn, inputs: Sequence[Input]) -> DataType:
    """The type of a column of the result: that of the input's column, if it comes from one."""
    if column.position < 0 or column.side >= len(inputs):
        return _from_arrow(column)
    kind = inputs[column.side].frame.schema.fields[column.position].dataType
    if column.other is None or not pa.types.is_integer(column.type):
        return kind
    # Of keys that are integers of two sizes the wider one comes out.
    other = inputs[1 - column.side].frame.schema.fields[column.other].dataType
    return kind if to_arrow_type(kind) == column.type else other


def _from_arrow(column: OutputColumn) -> DataType:
    try:
        return from_arrow_type(column.type)
    except PySparkTypeError:
        raise DataError(
            f"columns: the table's {column.name!r} is {column.type}, which Spark has no type for; "
            "allowed: others (name those that you want), or another type in the table"
        ) from None


def _emitted(runner: ShardRunner, packed: DataFrame) -> DataFrame:
    if not packed.isStreaming:
        return packed.groupBy("shard").applyInArrow(runner.bounded, runner.form.schema)
    if runner.is_timed:
        # Spark allows one watermark only, so one that is there must do if it moves.
        if "EventTimeWatermark" not in plan_text(packed):
            # It moves with every batch that has rows, whatever becomes of the clock. Nothing is
            # late by it: its column is dropped before the operator sees it.
            ticks = packed.withColumn(TICK, F.timestamp_millis(TICK))
            packed = ticks.withWatermark(TICK, "0 seconds")
        packed = packed.drop(TICK)
    time_mode = "EventTime" if runner.is_timed else "None"
    return packed.groupBy("shard").transformWithStateInPandas(
        ShardProcessor(runner), runner.form.schema, "Append", time_mode
    )


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


def known_costs() -> OperationCosts:
    """What operations cost on this machine, if somebody has measured it; else what is usual."""
    calibration = load()
    return OperationCosts() if calibration is None else calibration.operations


def check_name(name: object, *frames: DataFrame) -> None:
    """Refuse a name for counters that a join before has."""
    if not isinstance(name, str) or not name:
        raise ConfigError.at("name", repr(name), "a non-empty string")
    for before in {plan.name for frame in frames for plan in plans_of(frame)}:
        if before == name:
            raise ConfigError(
                f"name: {name!r} is the name of a join before this one; allowed: another name"
            )
        if plan_of(before) == name or plan_of(name) == before:  # their counters would be added up
            raise ConfigError(
                f"name: {name!r} beside {before!r} of a join before this one looks like an operator"
                " of the same plan; allowed: another name"
            )


def find_folder(
    asked: object, argument: str, allowed: str, spark: SparkSession, *, wanted: bool
) -> str | None:
    """The user's folder for decisions, or the one beside the session's checkpoints, or None.

    What the user asked for is checked in any case; there is a folder only if one is `wanted`.
    """
    given = None if asked is None else reachable(asked, argument, allowed)
    if given is not None or not wanted:
        return given if wanted else None
    checkpoints = spark.conf.get(_CHECKPOINTS, None)
    if not checkpoints:
        return None
    if ":/" not in checkpoints and not is_local(spark):
        return None  # which file system it is in is known to Spark only
    folder = address(f"{checkpoints}/{_BESIDE}")
    try:
        system_of(folder)
    except (pa.ArrowInvalid, OSError) as error:
        logger.warning("shards cannot tell later batches: %s cannot be reached (%s)", folder, error)
        return None
    return folder


def check_limits(frame: DataFrame, budget: Budget | None, *, has_freshness: bool) -> None:
    """Refuse a budget or freshness where it would mean nothing, and more memory than there is."""
    if budget is not None:
        if not frame.isStreaming:
            raise ConfigError.at(
                "budget", "one for batch DataFrames", "with streams (their time is budgeted)"
            )
        refuse_too_much_memory(budget, frame.sparkSession)
    if has_freshness and not frame.isStreaming:  # at the end of all rows nearly nothing is fresh
        raise ConfigError.at(
            "freshness", "one for batch DataFrames", "with streams (tables have no now)"
        )


def shard_labels(n_shards: int) -> list[int]:
    """One label per shard; those of fewer shards are among those of more.

    Spark sends a group to partition ``hash(label) mod partitions`` with Murmur3: labels 0, 1, 2,
    ... would share partitions and leave others empty. So the label of shard i is the number whose
    hash is i: whatever the number of partitions is, now or after `rescale`, shards go to them in
    turn. The first shard has the same label in all joins, so a checkpoint of another number of
    shards is noticed.

    Examples
    --------
    >>> shard_labels(3)
    [958104307, 3029212710, 2330224183]
    >>> [murmur3_long(label) for label in shard_labels(3)]
    [0, 1, 2]
    """
    return [_label_of(shard) for shard in range(n_shards)]


def shards_of_tasks(labels: Sequence[int], n_partitions: int) -> Tasks:
    """Numbers of the shards that fall into one partition, hence into one task.

    Examples
    --------
    >>> shards_of_tasks(shard_labels(3), 2)
    ((0, 2), (1,))
    """
    tasks: dict[int, list[int]] = {}
    for shard, label in enumerate(labels):
        tasks.setdefault(murmur3_long(label) % n_partitions, []).append(shard)
    return tuple(tuple(shards) for shards in tasks.values())


def murmur3_long(value: int) -> int:
    """Spark's ``hash(value)`` of a non-negative long, as a signed 32-bit number.

    Examples
    --------
    >>> murmur3_long(0), murmur3_long(1)
    (-1670924195, -1712319331)
    """
    h = _SEED
    for word in (value & _MASK, value >> 32 & _MASK):
        h ^= _rotate(word * _C1, 15) * _C2 & _MASK
        h = (_rotate(h, 13) * 5 + _ADD) & _MASK
    h ^= _BYTES
    h = (h ^ h >> 16) * _F1 & _MASK
    h = (h ^ h >> 13) * _F2 & _MASK
    h ^= h >> 16
    return h - _WORD if h >> 31 else h


def _label_of(h: int) -> int:
    """The number below 2^32 whose hash is h: every step of `murmur3_long` undone, last one first.

    The upper word of such a number is 0, which leaves its round without a word to mix in.
    """
    h = _unshift(h, 16) * pow(_F2, -1, _WORD) & _MASK
    h = _unshift(h, 13) * pow(_F1, -1, _WORD) & _MASK
    h = _unshift(h, 16) ^ _BYTES
    for _ in range(2):
        h = _rotate((h - _ADD) * pow(5, -1, _WORD), 32 - 13)
    word = _rotate((h ^ _SEED) * pow(_C2, -1, _WORD), 32 - 15)
    return word * pow(_C1, -1, _WORD) & _MASK


def _rotate(value: int, bits: int) -> int:
    value &= _MASK
    return (value << bits | value >> 32 - bits) & _MASK


def _unshift(value: int, bits: int) -> int:
    """The x with ``x ^ x >> bits == value``, for bits of at least 11."""
    return value ^ value >> bits ^ value >> 2 * bits
