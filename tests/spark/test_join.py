"""The join on real Spark streams: results, counters, columns, restarts."""

import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import streamjoin as sj
from streamjoin.spark.operator import murmur3_long, shard_labels
from tests.joins.test_window_join import expected, local_join
from tests.spark.streams import drain, in_order, observed, read_back, read_stream, write_batches
from tests.strategies import Scenario, scenarios, table

SLOW = settings(
    max_examples=4,
    deadline=None,
    phases=[Phase.generate],  # no shrinking: every example is a Spark query
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def spark_join(spark: SparkSession, scenario: Scenario, folder: Path) -> DataFrame:
    left, right = (
        read_stream(spark, write_batches(folder / name, [table(b[s]) for b in scenario.batches]))
        for s, name in enumerate(("left", "right"))
    )
    window_left, window_right = (timedelta(microseconds=w) for w in scenario.window)
    lateness = timedelta(microseconds=scenario.lateness)
    window = window_left, window_right
    return sj.join(left, right, on="k", time="t", window=window, lateness=lateness)


def ids(rows: list[dict[str, int]]) -> Counter[tuple[int, int]]:
    return Counter((row["id_left"], row["id_right"]) for row in rows)


@settings(SLOW, max_examples=2)  # every type of join has examples of its own
@given(scenario=scenarios())
def test_spark_equals_local_equals_the_oracle(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, scenario: Scenario
) -> None:
    folder = tmp_path_factory.mktemp("sj")
    query = drain(spark_join(spark, scenario, folder), folder / "ck", folder / "out")
    assert ids(read_back(spark, folder / "out")) == expected(scenario)
    local = local_join(scenario)
    for left, right in scenario.batches:
        local.push(table(left), table(right))
    seen = observed(query)
    for name in ("rows_left", "late_left", "late_right", "null_left", "null_right", "pairs"):
        assert seen.get(name, 0) == getattr(local.total, name), name
    assert seen.get("state_rows", 0) == local.total.state_rows


WINDOW: dict[str, Any] = {"on": "k", "time": "t", "window": ("1 ms", "2 ms"), "lateness": "2 ms"}


def random_stream() -> list[tuple[pa.Table, pa.Table]]:
    rng = np.random.default_rng(7)

    def batch(i: int) -> pa.Table:
        n = 400
        t = np.sort(rng.integers(i * 1000, (i + 2) * 1000, n))
        columns = {"k": rng.integers(0, 20, n), "id": rng.integers(0, 10**9, n)}
        return pa.table({**columns, "t": pa.array(t, pa.timestamp("us", "UTC"))})

    return [(batch(i), batch(i)) for i in range(3)]


@pytest.fixture(scope="module")
def recorded(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> tuple[DataFrame, DataFrame]:
    """Both sides of the random stream, read from files."""
    base = tmp_path_factory.mktemp("recorded")
    for side, name in enumerate(("l", "r")):
        write_batches(base / name, [b[side] for b in random_stream()])
    return read_stream(spark, base / "l"), read_stream(spark, base / "r")


@dataclass(frozen=True)
class Undisturbed:
    """Rows and counters of a query in which nothing goes wrong."""

    rows: list[dict[str, Any]]
    counters: dict[str, int]


@pytest.fixture(scope="module")
def undisturbed(
    spark: SparkSession,
    recorded: tuple[DataFrame, DataFrame],
    tmp_path_factory: pytest.TempPathFactory,
) -> Undisturbed:
    base = tmp_path_factory.mktemp("undisturbed")
    query = drain(sj.join(*recorded, **WINDOW), base / "ck", base / "out")
    found = read_back(spark, base / "out")
    assert len(found) > 1000
    return Undisturbed(in_order(found), observed(query))


def test_restart_at_every_batch_loses_and_repeats_nothing(
    spark: SparkSession, tmp_path: Path, undisturbed: Undisturbed
) -> None:
    for number, batch in enumerate(random_stream()):
        for side, name in enumerate(("l", "r")):
            write_batches(tmp_path / name, [batch[side]], first=number)
        left, right = (read_stream(spark, tmp_path / name) for name in ("l", "r"))
        drain(sj.join(left, right, **WINDOW), tmp_path / "ck", tmp_path / "out")
    assert in_order(read_back(spark, tmp_path / "out")) == undisturbed.rows


def test_copies_on_disk_are_only_copies(
    spark: SparkSession,
    tmp_path: Path,
    recorded: tuple[DataFrame, DataFrame],
    undisturbed: Undisturbed,
) -> None:
    """The local copies of basic windows may vanish between batches; the result stays the same."""
    work = Path(spark.conf.get("spark.local.dir") or "")

    def lose(batch: DataFrame, _: int) -> None:
        batch.write.mode("append").parquet(str(tmp_path / "out"))
        copies = list(work.rglob("streamjoin-*/*/*"))
        assert copies
        for copy in copies:
            copy.unlink()

    query = (
        sj.join(*recorded, **WINDOW)
        .writeStream.foreachBatch(lose)
        .option("checkpointLocation", str(tmp_path / "ck"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    assert observed(query) == undisturbed.counters
    assert in_order(read_back(spark, tmp_path / "out")) == undisturbed.rows


def test_late_rows_are_counted_in_the_progress(spark: SparkSession, tmp_path: Path) -> None:
    def rows(*times: int) -> pa.Table:
        return table([{"k": 1, "t": t, "id": t, "s": ""} for t in times])

    left = write_batches(tmp_path / "l", [rows(100), rows(10, 95, 120)])
    right = write_batches(tmp_path / "r", [rows(100), rows(11, 12, 120)])
    result = sj.join(
        read_stream(spark, left), read_stream(spark, right),
        on="k", time="t", window="1 second", lateness="10 microseconds", name="calls",
    )  # fmt: skip
    query = drain(result, tmp_path / "ck", tmp_path / "out")
    seen = observed(query, "calls")
    assert (seen["late_left"], seen["late_right"]) == (1, 2)
    assert seen["pairs"] == len(read_back(spark, tmp_path / "out")) == 6


def test_one_quiet_shard_holds_nothing_back(spark: SparkSession, tmp_path: Path) -> None:
    """Ticks tell every shard the time of the whole batch, so state leaves all of them."""

    def rows(t: int, keys: list[int]) -> pa.Table:
        return table([{"k": k, "t": t, "id": k, "s": ""} for k in keys])

    batches = [rows(0, list(range(50)))] + [rows(t, [1]) for t in (1000, 2000)]
    folders = [write_batches(tmp_path / name, batches) for name in ("l", "r")]
    left, right = (read_stream(spark, folder) for folder in folders)
    query = drain(
        sj.join(left, right, on="k", time="t", window="100 microseconds"),
        tmp_path / "ck", tmp_path / "out",
    )  # fmt: skip
    assert observed(query)["state_rows"] == 2


def test_a_failed_task_is_retried_with_the_same_rows(
    spark: SparkSession,
    tmp_path: Path,
    recorded: tuple[DataFrame, DataFrame],
    undisturbed: Undisturbed,
) -> None:
    """A task that fails after the join has handed out its rows is run again from the same state."""
    marks = tmp_path / "marks"
    marks.mkdir()

    def fail_once(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        yield from batches
        mark = marks / f"{context.stageId()}-{context.partitionId()}"
        if context.attemptNumber() == 0:
            mark.touch()
            msg = "the task fails once"
            raise RuntimeError(msg)

    result = sj.join(*recorded, **WINDOW)
    drain(result.mapInArrow(fail_once, result.schema), tmp_path / "ck", tmp_path / "out")
    assert len(list(marks.iterdir())) >= 6
    assert in_order(read_back(spark, tmp_path / "out")) == undisturbed.rows


def test_shards_have_partitions_of_their_own(spark: SparkSession) -> None:
    frame = spark.range(500).select(F.hash("id").alias("h"))
    assert [row.h for row in frame.collect()] == [murmur3_long(i) for i in range(500)]
    frame = spark.createDataFrame([(label,) for label in shard_labels(8)], "label long")
    assert [row.h for row in frame.select(F.hash("label").alias("h")).collect()] == list(range(8))


def test_a_dataframe_can_be_joined_with_itself(spark: SparkSession, tmp_path: Path) -> None:
    rows = table([{"k": i % 3, "t": i, "id": i, "s": ""} for i in range(9)])
    stream = read_stream(spark, write_batches(tmp_path / "in", [rows]))
    drain(sj.join(stream, stream, on="k", time="t", window="1 s"), tmp_path / "ck", tmp_path / "o")
    assert len(read_back(spark, tmp_path / "o")) == 27


def test_an_empty_stream_gives_nothing(spark: SparkSession, tmp_path: Path) -> None:
    empty = read_stream(spark, write_batches(tmp_path / "in", [table([])]))
    query = drain(
        sj.join(empty, empty, on="k", time="t", window="1 s"), tmp_path / "ck", tmp_path / "o"
    )
    assert observed(query).get("pairs", 0) == 0
    shutil.rmtree(tmp_path / "in")
