"""What the Spark layer refuses: frames, settings, and checkpoints of other joins."""

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import streamjoin as sj
from streamjoin.errors import ConfigError, DataError, EngineError
from streamjoin.spark import requirements
from tests.spark.streams import drain, read_stream, write_batches
from tests.strategies import table

GOOD: dict[str, Any] = {"on": "k", "time": "t", "window": "1 second"}


def rows(*times: int) -> pa.Table:
    return table([{"k": t % 2, "t": t, "id": t, "s": "x"} for t in times])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_batches(tmp_path / "in", [rows(1, 2, 3)])


def test_frames_of_two_kinds_are_refused(spark: SparkSession, folder: Path) -> None:
    stream, batch = read_stream(spark, folder), spark.read.parquet(str(folder))
    with pytest.raises(
        ConfigError, match=r"^right: got a batch DataFrame with a streaming one; allowed: both"
    ):
        sj.join(stream, batch, **GOOD)
    with pytest.raises(ConfigError, match=r"^left: got list; allowed: a DataFrame"):
        sj.join([], stream, **GOOD)  # type: ignore[arg-type]  # wrong on purpose


def test_types_that_arrow_has_not_are_refused(spark: SparkSession, folder: Path) -> None:
    stream = read_stream(spark, folder)
    months = stream.selectExpr("k", "t", "make_ym_interval(1, 2) AS i")
    with pytest.raises(
        DataError, match=r"^left: column 'i' has type interval year to month, which"
    ):
        sj.join(months, stream, **GOOD)


def test_collated_keys_are_refused(spark: SparkSession, folder: Path) -> None:
    stream = read_stream(spark, folder).selectExpr("array(s COLLATE UTF8_LCASE) AS k", "t")
    with pytest.raises(DataError, match=r"^on: 'k' has collation UTF8_LCASE; allowed"):
        sj.join(stream, stream, **GOOD)


@pytest.mark.parametrize("shards", [0, -1, 5000, "2", True, 1.5])
def test_wrong_shards(spark: SparkSession, folder: Path, shards: Any) -> None:
    stream = read_stream(spark, folder)
    with pytest.raises(
        ConfigError, match=r"^shards: got .*; allowed: a whole number from 1 to 4096"
    ):
        sj.join(stream, stream, shards=shards, **GOOD)


def test_another_state_store_is_refused(spark: SparkSession, folder: Path) -> None:
    key = "spark.sql.streaming.stateStore.providerClass"
    kept = spark.conf.get(key)
    spark.conf.set(key, "org.example.Other")
    try:
        stream = read_stream(spark, folder)
        with pytest.raises(
            ConfigError, match=rf"^{key}: got 'org.example.Other'; allowed: .*Rocks"
        ):
            sj.join(stream, stream, **GOOD)
    finally:
        spark.conf.set(key, str(kept))


def test_settings_left_open_are_made(spark: SparkSession, folder: Path) -> None:
    session = spark.newSession()
    for key in list(session.conf.getAll):
        if "stateStore" in key or "shuffle.partitions" in key:
            session.conf.unset(key)
    stream = read_stream(session, folder)
    sj.join(stream, stream, **GOOD)
    made = session.conf.getAll
    assert made["spark.sql.shuffle.partitions"] == "2"
    provider = made["spark.sql.streaming.stateStore.providerClass"]
    assert provider.endswith("RocksDBStateStoreProvider")


def test_an_old_spark_is_refused() -> None:
    with pytest.raises(EngineError, match=r"^Spark: got version 4\.1\.1; allowed: 4\.2 or newer"):
        requirements._check_version("4.1.1")
    requirements._check_version("4.10.0.dev1")


CHANGES: list[tuple[dict[str, Any], str]] = [
    ({"window": ("1 second", "2 seconds")}, "right window was '1 second' and is now '2 seconds'"),
    ({"on": "id"}, "left key was 'k' and is now 'id'"),
    ({"shards": 1}, "shards was '2 by key' and is now '1 by key'"),
]


@pytest.fixture(scope="module")
def stopped(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Checkpoint of a query that has read one of two files."""
    base = tmp_path_factory.mktemp("stopped")
    write_batches(base / "in", [rows(1, 2, 3)])
    stream = read_stream(spark, base / "in")
    drain(sj.join(stream, stream, **GOOD), base / "ck", base / "out")
    write_batches(base / "in", [rows(4, 5)], first=1)
    return base


@pytest.fixture
def stream(spark: SparkSession, stopped: Path, tmp_path: Path) -> DataFrame:
    """The stream of that query; its checkpoint is copied for each test."""
    shutil.copytree(stopped / "ck", tmp_path / "ck")
    return read_stream(spark, stopped / "in")


@pytest.mark.parametrize(("change", "sentence"), CHANGES, ids=["window", "key", "shards"])
def test_the_checkpoint_of_another_join_is_refused(
    stream: DataFrame, tmp_path: Path, change: dict[str, Any], sentence: str
) -> None:
    other = sj.join(stream, stream, **{**GOOD, **change})
    with pytest.raises(StreamingQueryException) as refused:
        drain(other, tmp_path / "ck", tmp_path / "out2")
    assert f"the checkpoint was written by another join: {sentence}" in str(refused.value)
    assert "go on with the old settings or use a new checkpoint folder" in str(refused.value)


def test_a_checkpoint_of_another_schema_is_refused(stream: DataFrame, tmp_path: Path) -> None:
    narrow = stream.select("k", "t")
    with pytest.raises(StreamingQueryException, match="left schema was 'k int64, t timestamp"):
        drain(sj.join(narrow, narrow, **GOOD), tmp_path / "ck", tmp_path / "out2")


def test_another_setting_of_partitions_changes_nothing(
    spark: SparkSession, stream: DataFrame, stopped: Path, tmp_path: Path
) -> None:
    """Spark keeps the number that a checkpoint began with, and shards do not depend on it."""
    spark.conf.set("spark.sql.shuffle.partitions", "6")
    try:
        drain(sj.join(stream, stream, **GOOD), tmp_path / "ck", tmp_path / "out")
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "2")
    assert spark.read.parquet(str(stopped / "out"), str(tmp_path / "out")).count() == 9 + 4


def test_lateness_may_change_between_runs(
    spark: SparkSession, stream: DataFrame, stopped: Path, tmp_path: Path
) -> None:
    more = sj.join(stream, stream, lateness="1 hour", **GOOD)
    drain(more, tmp_path / "ck", tmp_path / "out")
    written = spark.read.parquet(str(stopped / "out"), str(tmp_path / "out"))
    assert written.count() == 4 + 1 + 9 - 1
