"""What the systems of a benchmark run: one streaming DataFrame each, over the same files.

Every query reads the columns ``ts, k, v`` of both sides and gives the same columns as its rivals.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from streamjoin.spark.frames import join
from streamjoin.spark.multi_frames import multi_join
from streamjoin.spark.session import STATE_STORE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FOUR: Final = "abcd"
"""The streams of a join of many, unless a task says otherwise."""
BAND: Final = 2.5e-6
"""Half the width of the band join: two partners a row among 400,000 uniform values within 10 s."""

_IN_MEMORY: Final = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
_SCHEMA: Final = "ts timestamp, k long, v double"
_SPARK_WORDS: Final = {
    "inner": "JOIN",
    "left": "LEFT JOIN",
    "right": "RIGHT JOIN",
    "full": "FULL JOIN",
    "semi": "LEFT SEMI JOIN",
}
_PAIR: Final = "a.ts ts_left, a.v v_left, b.ts ts_right, b.v v_right"
_BUCKETS: Final = 4
"""Width of Spark's buckets in `BAND`: wider ones hold fewer copies and more pairs to be refused."""


@dataclass(frozen=True)
class Task:
    """What to run: a system over the files of a folder, so many files of each side a batch.

    `streams` are those of a join of many; `shards` are ours, as many as we choose if None.
    """

    system: str
    folder: str
    files_per_batch: int
    window_seconds: float
    how: str = "inner"
    streams: str = FOUR
    shards: int | None = None


def _stream(spark: "SparkSession", task: Task, name: str) -> "DataFrame":
    reader = spark.readStream.schema(_SCHEMA).option("maxFilesPerTrigger", task.files_per_batch)
    return reader.parquet(str(Path(task.folder) / name))


def _streamjoin(spark: "SparkSession", task: Task) -> "DataFrame":
    return _our_join(spark, task, on="k")


def _streamjoin_band(spark: "SparkSession", task: Task) -> "DataFrame":
    return _our_join(spark, task, where=f"abs(left.v - right.v) <= {BAND!r}")


def _our_join(spark: "SparkSession", task: Task, **condition: Any) -> "DataFrame":
    left, right = (_stream(spark, task, name) for name in "ab")
    window = timedelta(seconds=task.window_seconds)
    return join(
        left, right, how=task.how, time="ts", window=window, lateness="1 second",
        shards=task.shards, **condition,
    )  # fmt: skip


def _spark_join(spark: "SparkSession", task: Task) -> "DataFrame":
    _watermarked_views(spark, task)
    key = {"right": "b.k", "full": "coalesce(a.k, b.k)"}.get(task.how, "a.k")
    columns = "a.k, a.ts, a.v" if task.how == "semi" else f"{key} k, {_PAIR}"
    return spark.sql(
        f"SELECT {columns} FROM a {_SPARK_WORDS[task.how]} b ON a.k = b.k AND {_within(task)}"
    )


def _spark_in_memory(spark: "SparkSession", task: Task) -> "DataFrame":
    _use_memory(spark)
    return _spark_join(spark, task)


def _use_memory(spark: "SparkSession") -> None:
    spark.conf.set(f"{STATE_STORE}providerClass", _IN_MEMORY)
    spark.conf.set("spark.sql.streaming.join.stateFormatVersion", "2")  # the newest that it has


def _spark_band(spark: "SparkSession", task: Task) -> "DataFrame":
    """The band as an equality of buckets, one side copied into each bucket that it can reach."""
    _watermarked_views(spark, task)
    width = _BUCKETS * BAND
    reach = 1.001 * BAND  # no pair may be lost to rounding; the band itself is checked below
    bucket = f"CAST(floor((v {{}}) / {width!r}) AS BIGINT)"
    ends = ", ".join(bucket.format(f"{sign} {reach!r}") for sign in "-+")
    return spark.sql(
        f"SELECT a.k k_left, b.k k_right, {_PAIR} "
        f"FROM (SELECT *, {bucket.format('')} bucket FROM a) a "
        f"JOIN (SELECT *, explode(sequence({ends})) bucket FROM b) b "
        f"ON a.bucket = b.bucket AND abs(a.v - b.v) <= {BAND!r} AND {_within(task)}"
    )


def _streamjoin_plan(spark: "SparkSession", task: Task, strategy: str = "auto") -> "DataFrame":
    streams = {name: _stream(spark, task, name) for name in task.streams}
    window = timedelta(seconds=task.window_seconds)
    return multi_join(
        streams, on="k", time="ts", window=window, lateness="1 second", strategy=strategy,
        shards=task.shards,
    )  # fmt: skip


def _spark_chain(spark: "SparkSession", task: Task) -> "DataFrame":
    """One join of Spark's own after the other.

    Spark takes one event time of a joined row on to the next join: that of ``a``. The others are
    plain columns from then on.
    """
    _watermarked_views(spark, task, task.streams)
    rows = "a"
    span = f"INTERVAL {task.window_seconds} SECONDS"
    for i, name in enumerate(task.streams[1:], start=1):
        x, before = ("a", "a.v a_v") if i == 1 else ("x", "x.a_v")
        joined = task.streams[1:i]  # besides a
        times = [f"{x}.ts", *(f"x.{n}_ts" for n in joined)]
        near = " AND ".join(f"{name}.ts BETWEEN {t} - {span} AND {t} + {span}" for t in times)
        kept = ", ".join([f"{x}.k, {x}.ts, {before}", *(f"x.{n}_ts, x.{n}_v" for n in joined)])
        rows = (
            f"SELECT {kept}, {name}.ts + INTERVAL 0 SECONDS {name}_ts, {name}.v {name}_v "
            f"FROM {rows if i == 1 else f'({rows}) x'} JOIN {name} ON {x}.k = {name}.k AND {near}"
        )
    return spark.sql(rows)


def _spark_chain_in_memory(spark: "SparkSession", task: Task) -> "DataFrame":
    _use_memory(spark)
    return _spark_chain(spark, task)


def _watermarked_views(spark: "SparkSession", task: Task, names: str = "ab") -> None:
    for name in names:
        rows = _stream(spark, task, name).withWatermark("ts", "1 second")
        rows.createOrReplaceTempView(name)


def _within(task: Task) -> str:
    span = f"INTERVAL {task.window_seconds} SECONDS"
    return f"b.ts BETWEEN a.ts - {span} AND a.ts + {span}"


def _scan_identity(spark: "SparkSession", task: Task) -> "DataFrame":
    rows = _stream(spark, task, "a").unionAll(_stream(spark, task, "b"))
    return rows.mapInArrow(lambda batches: batches, rows.schema)


def _shuffle_identity(spark: "SparkSession", task: Task) -> "DataFrame":
    rows = _stream(spark, task, "a").unionAll(_stream(spark, task, "b")).repartition(2, "k")
    return rows.mapInArrow(lambda batches: batches, rows.schema)


SYSTEMS: Final[dict[str, Callable[["SparkSession", Task], "DataFrame"]]] = {
    "streamjoin": _streamjoin,
    "streamjoin-band": _streamjoin_band,
    "spark-rocksdb": _spark_join,
    "spark-memory": _spark_in_memory,
    "spark-band": _spark_band,
    "streamjoin-plan": _streamjoin_plan,
    "streamjoin-mjoin": partial(_streamjoin_plan, strategy="mjoin"),
    "streamjoin-tree": partial(_streamjoin_plan, strategy="tree"),
    "spark-chain": _spark_chain,
    "spark-chain-memory": _spark_chain_in_memory,
    "shuffle-identity": _shuffle_identity,
    "scan-identity": _scan_identity,
}
