"""The splits on Spark: the same streams as files, a stretch of stream time each."""

import os
import tempfile
from collections.abc import Sequence
from functools import reduce
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import streamjoin as sj
from papers.base import Context
from papers.kang.settings import Setting

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

WARM_BATCHES: Final = 2


def spark_output(context: Context, setting: Setting) -> dict[str, float] | None:
    """Results a second of each split on Spark, windows full; None where there is no Spark."""
    spark = context.spark.session()
    if spark is None:
        return None
    cuts = _cuts(setting)
    tables = setting.streams(cuts[-1], context.seeds[0]).tables()
    with tempfile.TemporaryDirectory(prefix="sj-repro-") as work:
        for name, table in zip("ab", tables, strict=True):
            _write(Path(work, name), table, cuts)
        query = _start(spark, Path(work), setting)
        query.awaitTermination()
    seconds = cuts[-1] - setting.warm
    return {split: _pairs(query, split) / seconds for split in setting.strategies}


def _cuts(setting: Setting) -> list[int]:
    """Ends of the batches in seconds: the windows fill in the first two."""
    measured = [setting.warm + n * setting.spark_every for n in range(setting.spark_batches + 1)]
    return [setting.warm // WARM_BATCHES, *measured]


def _write(folder: Path, table: pa.Table, cuts: Sequence[int]) -> None:
    """Write a file for each batch; Spark takes them in the order of their times."""
    folder.mkdir()
    times = table["t"].cast(pa.int64()).to_numpy()
    rows = np.searchsorted(times, np.array([0, *cuts]) * 1_000_000)
    for number, (first, last) in enumerate(pairwise(rows.tolist())):
        file = folder / f"{number:05}.parquet"
        pq.write_table(table.slice(first, last - first), file)
        os.utime(file, (number + 1, number + 1))


def _start(spark: "SparkSession", work: Path, setting: Setting) -> "StreamingQuery":
    """All splits as one query: what Spark itself does for each batch is then done once."""
    joined = [
        sj.join(
            *(_read(spark, work / name) for name in "ab"),
            shards=1,
            name=_counters(split),
            **setting.arguments(split),
        )
        for split in setting.strategies
    ]
    return (
        reduce(lambda one, two: one.union(two), joined)
        .writeStream.format("noop")
        .option("checkpointLocation", str(work / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )


def _read(spark: "SparkSession", folder: Path) -> "DataFrame":
    reader = spark.readStream.schema("k long, t timestamp_ntz")
    return reader.option("maxFilesPerTrigger", 1).parquet(str(folder))


def _pairs(query: "StreamingQuery", split: str) -> int:
    """Pairs of the batches in which the windows are full, as the join counts them."""
    batches: list[dict[str, Any]] = [p for p in query.recentProgress if p["numInputRows"]]
    seen = [p["observedMetrics"][_counters(split)]["counters"] for p in batches[WARM_BATCHES:]]
    return sum(int(counters["pairs"]) for counters in seen)


def _counters(split: str) -> str:
    """Name of a split's counters."""
    return "split_" + split.replace("/", "_").replace("-", "_")
