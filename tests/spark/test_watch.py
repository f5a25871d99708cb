import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F

from streamjoin.metrics import Details
from streamjoin.metrics.progress import Progress, read_progress
from streamjoin.spark.generator import FORMAT, register_generator
from streamjoin.spark.status import follow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


def start(spark: "SparkSession", folder: Path) -> "StreamingQuery":
    register_generator(spark)
    frame = spark.readStream.format(FORMAT).option("rate", 2000).load()
    counters = F.struct(
        F.count(F.lit(1)).alias("rows_out"),
        F.count(F.lit(1)).alias("rows_left"),
        F.max(F.lit(3)).cast("long").alias("late_left"),
        F.max(F.lit(1)).cast("long").alias("dropped_left"),
        F.max(F.lit(9)).cast("long").alias("state_rows"),
    )
    counted = frame.observe("streamjoin", counters.alias("counters"))
    writer = counted.writeStream.format("parquet").option("checkpointLocation", str(folder / "ck"))
    return writer.trigger(processingTime="300 milliseconds").start(str(folder / "out"))


def test_follow_reports_every_batch_once_and_stops_between_batches(
    spark: "SparkSession", tmp_path: Path
) -> None:
    batches: list[Progress] = []
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
    assert all((batch.whole.late, batch.whole.state_rows) == (3, 9) for batch in busy)


def test_follow_ends_after_the_stated_seconds(spark: "SparkSession", tmp_path: Path) -> None:
    batches: list[Progress] = []
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
    found = read_progress(document).whole
    assert (found.inputs[0].dropped, found.inputs[1].cut, found.recall) == (3, 0, 0.75)


def test_partial_results_are_no_late_rows() -> None:
    first = {"late_a": 2, "late_b": 0, "null_a": 4, "idle_late_a": 1, "results": 9, "rows_a": 9,
             "rows_b": 0}  # fmt: skip
    last = {"late_a+b": 7, "idle_late_a+b": 7, "null_a+b": 6, "late_c": 1, "results": 5,
            "rows_c": 8, "rows_a+b": 9, "probed_a+b": 3, "probed_c": 2, "rows_out": 5}  # fmt: skip
    found = read_progress(
        {
            "batchId": 0,
            "timestamp": "2026-01-01T00:00:01.500Z",
            "sources": [{"numInputRows": 2}],
            "durationMs": {},
            "sink": {},
            "observedMetrics": {
                "streamjoin 1": {"counters": first},
                "streamjoin": {"counters": last},
            },
        }
    )
    (join,) = found.joins
    assert (join.name, join.kind, join.rows_in) == ("streamjoin", "plan", 17)
    assert [one.name for one in join.inputs] == ["a", "b", "c", "intermediate"]
    assert (join.late, join.inputs[0].idle_late, join.null, join.rows_out) == (3, 1, 4, 5)
    assert (join.inputs[2].compared, join.inputs[3].compared) == (2, 3)


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
    assert progress == Progress(0, 1767225601.5, 0.01, rows_in=5, rows_out=4)


def test_several_joins_and_operators_are_added_up_as_they_are() -> None:
    first = {"results": 9, "rows_a": 9, "intermediate_rows": 100, "probed_intermediate": 1}
    last = {"results": 5, "rows_c": 8, "rows_a+b": 9, "intermediate_rows": 7, "rows_out": 5}
    other = {"pairs": 3, "rows_out": 3, "rows_left": 2}
    found = read_progress(
        {
            "batchId": 0,
            "timestamp": "2026-01-01T00:00:01.500Z",
            "sources": [],
            "durationMs": {},
            "sink": {"numOutputRows": 2},
            "observedMetrics": {
                "many 1": {"counters": first},
                "many": {"counters": last},
                "before 1": {"counters": other},
            },
        }
    )
    assert [one.name for one in found.joins] == ["many", "before 1"]
    between = {one.name: one for one in found.joins[0].inputs}["intermediate"]
    assert between.state_rows == 107
    assert found.rows_out == 2  # what the sink counts: which join is the last is not told


@pytest.mark.parametrize(("text", "is_known"), [("newest", True), ("other", False)])
def test_the_age_of_the_newest_row(text: str, is_known: bool) -> None:
    told = Details(newest=1767225600_000_000) if text == "newest" else Details()
    counters = {"pairs": 1, "details": [told.to_json()]}
    found = read_progress(
        {
            "batchId": 0,
            "timestamp": "2026-01-01T00:00:01.500Z",
            "sources": [],
            "durationMs": {"triggerExecution": 500},
            "sink": {},
            "observedMetrics": {"streamjoin": {"counters": counters}},
        }
    )
    assert found.whole.behind == (2.0 if is_known else None)
