import time
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from streamjoin.spark.generator import FORMAT, register_generator
from streamjoin.spark.watch import BatchProgress, follow, read_progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


def start(spark: "SparkSession", folder: Path) -> "StreamingQuery":
    register_generator(spark)
    frame = spark.readStream.format(FORMAT).option("rate", 2000).load()
    counters = F.struct(
        F.count(F.lit(1)).alias("rows_out"),
        F.max(F.lit(3)).cast("long").alias("late_left"),
        F.max(F.lit(9)).cast("long").alias("state_rows"),
    )
    counted = frame.observe("streamjoin", counters.alias("counters"))
    writer = counted.writeStream.format("parquet").option("checkpointLocation", str(folder / "ck"))
    return writer.trigger(processingTime="300 milliseconds").start(str(folder / "out"))


def test_follow_reports_every_batch_once_and_stops_between_batches(
    spark: "SparkSession", tmp_path: Path
) -> None:
    batches: list[BatchProgress] = []
    query = start(spark, tmp_path)
    end = time.monotonic() + 60
    follow(query, batches.append, lambda: len(batches) >= 3 or time.monotonic() > end)
    assert not query.isActive
    assert query.exception() is None
    assert [batch.batch for batch in batches] == list(range(len(batches)))
    written = spark.read.parquet(str(tmp_path / "out")).count()
    assert written == sum(batch.rows_in for batch in batches) > 0
    busy = [batch for batch in batches if batch.rows_in]
    assert all(batch.rows_out == batch.rows_in for batch in busy)
    assert all((batch.late, batch.state_rows) == (3, 9) for batch in busy)


def test_follow_ends_after_the_stated_seconds(spark: "SparkSession", tmp_path: Path) -> None:
    batches: list[BatchProgress] = []
    query = start(spark, tmp_path)
    follow(query, batches.append, lambda: False, seconds=1.0)
    assert not query.isActive
    assert batches


def test_progress_with_all_counters() -> None:
    counters = {"dropped_left": 3, "cut_right": None, "pairs": 6, "missed": 2, "missed_variance": 1}
    document = {
        "batchId": 0,
        "timestamp": "2026-01-01T00:00:01.500Z",
        "sources": [{"numInputRows": 2}],
        "durationMs": {},
        "sink": {},
        "observedMetrics": {"streamjoin": {"counters": counters}},
    }
    found = read_progress(document).counters
    assert (found.dropped_left, found.cut_right, found.recall) == (3, 0, 0.75)


def test_progress_without_counters() -> None:
    progress = read_progress(
        {
            "batchId": 0,
            "timestamp": "2026-01-01T00:00:01.500Z",
            "sources": [{"numInputRows": 2}, {"numInputRows": 3}],
            "durationMs": {"triggerExecution": 10},
            "sink": {"numOutputRows": 4},
        }
    )
    assert progress == BatchProgress(0, 1767225601.5, 0.01, rows_in=5, rows_out=4)
