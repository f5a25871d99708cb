import json
import logging
import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F

import streamjoin as sj
from streamjoin.spark.generator import FORMAT, register_generator
from streamjoin.spark.log_shedding import SheddingListener
from streamjoin.spark.watch import BatchProgress, follow, read_progress

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


def test_follow_ends_after_the_stated_seconds_and_a_listener_hears_of_it(
    spark: "SparkSession", tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    batches: list[BatchProgress] = []
    listener = sj.log_shedding(spark)
    query = start(spark, tmp_path)
    follow(query, batches.append, lambda: False, seconds=1.0)
    assert not query.isActive
    assert batches
    end = time.monotonic() + 60
    while not caplog.records and time.monotonic() < end:
        time.sleep(0.05)
    spark.streams.removeListener(listener)
    assert "turning away 1 of " in caplog.records[0].message


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


def test_partial_results_are_no_late_rows() -> None:
    first = {"late_a": 2, "late_b": 0, "null_a": 4, "idle_late_a": 1, "results": 9, "rows_a": 9}
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
    assert (found.late, found.idle_late, found.null, found.rows_out) == (3, 1, 4, 5)
    assert (found.counters.rows_left, found.counters.compared_left) == (8, 5)


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


def test_what_a_budget_leaves_out_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    listener = SheddingListener()
    exact = {"rows_left": 9, "rows_right": 9, "compared_left": 8}
    part = {**exact, "selective": 1, "skipped_left": 24}
    caplog.set_level(logging.INFO, "streamjoin")
    for batch, counters in enumerate([part, part, exact, exact, exact]):
        document = {
            "runId": "r",
            "batchId": batch,
            "durationMs": {"addBatch": 1},
            "observedMetrics": {"second": {"counters": counters}, "rows": {"n": 3}},
        }
        for durations in ({}, {"addBatch": 1}):
            progress = SimpleNamespace(json=json.dumps({**document, "durationMs": durations}))
            listener.onQueryProgress(SimpleNamespace(progress=progress))  # type: ignore[arg-type]
    assert [(record.levelname, record.message) for record in caplog.records] == [
        (
            "WARNING",
            "second: batch 0: load 4x the budget, "
            "probing 25 % of the left and 100 % of the right window",
        ),
        ("INFO", "second: batch 4: exact again"),
    ]
