"""The splits on Spark: the same streams as files, a stretch of stream time each."""

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import streamjoin as sj
from streamjoin.repro.base import Context
from streamjoin.repro.kang.settings import Setting

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


def spark_output(context: Context, setting: Setting) -> dict[str, float] | None:
    """Results a second of each split on Spark, windows full; None where there is no Spark."""
    spark = context.spark.session()
    if spark is None:
        return None
    context.progress("all splits on Spark")
    seconds = setting.quick_seconds
    tables = setting.streams(setting.warm + seconds, context.seeds[0]).tables()
    with tempfile.TemporaryDirectory(prefix="sj-repro-") as work:
        for name, table in zip("ab", tables, strict=True):
            _write(Path(work, name), table, setting.spark_every)
        queries = {split: _start(spark, Path(work), setting, split) for split in setting.strategies}
        found = {}
        for split, query in queries.items():
            query.awaitTermination()
            found[split] = _pairs(query, setting.warm // setting.spark_every) / seconds
    return found


def _write(folder: Path, table: pa.Table, every: int) -> None:
    """Write a file for each batch; Spark takes them in the order of their times."""
    folder.mkdir()
    numbers = pc.divide(table["t"].cast(pa.int64()), every * 1_000_000)
    for number in range(pc.max(numbers).as_py() + 1):
        file = folder / f"{number:05}.parquet"
        pq.write_table(table.filter(pc.equal(numbers, number)), file)
        os.utime(file, (number + 1, number + 1))


def _start(spark: "SparkSession", work: Path, setting: Setting, split: str) -> "StreamingQuery":
    left, right = (_read(spark, work / name) for name in "ab")
    joined = sj.join(left, right, shards=1, **setting.arguments(split))
    return (
        joined.writeStream.format("noop")
        .option("checkpointLocation", str(work / split.replace("/", "-")))
        .trigger(availableNow=True)
        .start()
    )


def _read(spark: "SparkSession", folder: Path) -> "DataFrame":
    reader = spark.readStream.schema("k long, t timestamp_ntz")
    return reader.option("maxFilesPerTrigger", 1).parquet(str(folder))


def _pairs(query: "StreamingQuery", n_warm: int) -> int:
    """Pairs of the batches after the first ones, as the join counts them."""
    batches: list[dict[str, Any]] = [p for p in query.recentProgress if p["numInputRows"]]
    counters = [p["observedMetrics"]["streamjoin"] for p in batches[n_warm:]]
    return sum(int(counter["pairs"]) for counter in counters)
