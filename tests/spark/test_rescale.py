"""A stopped query goes on with another number of partitions, and loses nothing."""

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import streamjoin as sj
from streamjoin.errors import ConfigError, StateError, StreamJoinError
from streamjoin.spark.operator import murmur3_long, shard_labels
from tests.spark.streams import drain, in_order, observed, read_back, read_stream, write_batches


def batches(first: int, last: int) -> list[pa.Table]:
    def one(i: int) -> pa.Table:
        rng = np.random.default_rng(i)
        t = np.sort(rng.integers(i * 1000, (i + 2) * 1000, 300))
        columns = {"k": rng.integers(0, 40, 300), "id": rng.integers(0, 10**9, 300)}
        return pa.table({**columns, "t": pa.array(t, pa.timestamp("us", "UTC"))})

    return [one(i) for i in range(first, last)]


def joined(spark: SparkSession, base: Path) -> DataFrame:
    left, right = (read_stream(spark, base / name) for name in ("l", "r"))
    return sj.join(left, right, on="k", time="t", window="3 ms", lateness="2 ms", shards=6)


def run(spark: SparkSession, base: Path, first: int, last: int) -> StreamingQuery:
    """Add files to both streams and go on with the query until it has read them."""
    base.mkdir(exist_ok=True)
    for side, name in enumerate(("l", "r")):
        write_batches(base / name, batches(2 * first + side, 2 * last + side)[::2], first=first)
    return drain(joined(spark, base), base / "ck", base / "out")


def partitions(query: StreamingQuery) -> list[int]:
    return [
        operator["numShufflePartitions"]
        for progress in query.recentProgress
        for operator in progress["stateOperators"]
    ]


@pytest.fixture
def quick_merge(spark: SparkSession) -> Any:
    """Merge the sink's log in every rescale of a query of one batch: gaps in it are noticed."""
    key = "spark.sql.streaming.fileSink.log.compactInterval"
    spark.conf.set(key, "2")
    yield
    spark.conf.unset(key)


@pytest.mark.slow
@pytest.mark.usefixtures("quick_merge")
@pytest.mark.parametrize(("version", "steps"), [("1", [4, 3]), ("2", [4])], ids=["v1", "v2"])
def test_more_and_fewer_partitions_give_the_same_rows(
    spark: SparkSession, tmp_path: Path, version: str, steps: list[int]
) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.streaming.stateStore.checkpointFormatVersion", version)
    base = tmp_path / "base"
    queries = [run(session, base, 0, 1)]
    for n, step in enumerate(steps, start=1):
        sj.rescale(spark, base / "ck", step, output=base / "out")
        sj.rescale(spark, str(base / "ck"), step, output=str(base / "out"))  # nothing left to do
        queries.append(run(session, base, n, n + 1))
    assert [partitions(query) for query in queries] == [[n] for n in [2, *steps]]
    numbers = [[progress["batchId"] for progress in query.recentProgress] for query in queries]
    assert numbers == [[0], [2], [4]][: len(queries)]
    for name in ("l", "r"):
        spark.read.parquet(str(base / name)).createOrReplaceTempView(name)
    wanted = spark.sql(
        "SELECT l.k, l.id id_left, l.t t_left, r.id id_right, r.t t_right FROM l JOIN r "
        "ON l.k = r.k AND abs(unix_micros(l.t) - unix_micros(r.t)) <= 3000"
    )
    rows = read_back(spark, base / "out")
    assert in_order(rows) == in_order([row.asDict() for row in wanted.collect()])
    assert sum(observed(query)["pairs"] for query in queries) == len(rows) > 1000


@pytest.fixture(scope="module")
def stopped(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Checkpoint and output of a query that ran two batches in two partitions."""
    base = tmp_path_factory.mktemp("stopped") / "base"
    run(spark, base, 0, 2)
    return base


@pytest.fixture
def base(stopped: Path, tmp_path: Path) -> Path:
    shutil.copytree(stopped, tmp_path / "base")
    return tmp_path / "base"


def edit(path: Path, change: Callable[[str], str] | None) -> None:
    """Change or remove a file of a checkpoint, and the checksum beside it."""
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    if change is None:
        path.unlink()
    else:
        path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")


def test_a_rescale_that_was_cut_short_is_finished_by_the_next(
    spark: SparkSession, base: Path
) -> None:
    sj.rescale(spark, base / "ck", 4, output=None)
    edit(base / "ck" / "commits" / "2", None)
    with pytest.raises(StateError, match=r"^partitions: got 3; allowed: 4, since an earlier"):
        sj.rescale(spark, base / "ck", 3, output=base / "out")
    sj.rescale(spark, base / "ck", 4, output=base / "out")
    assert (base / "ck" / "commits" / "2").exists()
    assert (base / "out" / "_spark_metadata" / "2").read_text(encoding="utf-8") == "v1"


def other_provider(text: str) -> str:
    return text.replace("RocksDBStateStoreProvider", "OtherProvider")


REFUSED: list[tuple[str, Callable[[Path], object], dict[str, Any], str]] = [
    ("zero", lambda base: None, {"partitions": 0}, "partitions: got 0; allowed: a whole number"),
    ("text", lambda base: None, {"partitions": "4"}, "partitions: got '4'; allowed: a whole"),
    (
        "sink",
        lambda base: None,
        {"output": "nowhere"},
        "output: got 'nowhere'; allowed: the",
    ),
    ("nothing", lambda base: shutil.rmtree(base / "ck"), {}, "checkpoint: got .*; allowed: the ch"),
    (
        "new",
        lambda base: shutil.rmtree(base / "ck" / "commits"),
        {},
        "checkpoint: got .*ck'; allowed: the checkpointLocation of a query that has finished a",
    ),
    (
        "begun",
        lambda base: edit(base / "ck" / "commits" / "1", None),
        {},
        "checkpoint: batch 1 was begun and not finished; start the query once more",
    ),
    (
        "provider",
        lambda base: edit(base / "ck" / "offsets" / "1", other_provider),
        {},
        r"checkpoint: its state is in \S*OtherProvider; allowed: \S*RocksDBStateStoreProvider",
    ),
]


@pytest.mark.parametrize(
    ("damage", "change", "sentence"), [case[1:] for case in REFUSED], ids=[c[0] for c in REFUSED]
)
def test_what_cannot_be_rescaled_is_refused_untouched(
    spark: SparkSession,
    base: Path,
    damage: Callable[[Path], object],
    change: dict[str, Any],
    sentence: str,
) -> None:
    damage(base)
    before = sorted(base.rglob("*"))
    with pytest.raises(StreamJoinError, match=f"^{sentence}"):
        sj.rescale(
            spark, base / "ck", **{"partitions": 4, "output": base / "out", **change}
        )  # fmt: skip
    assert sorted(base.rglob("*")) == before


def test_the_output_of_another_query_is_refused(spark: SparkSession, base: Path) -> None:
    """An entry there would make that query skip a batch."""
    log = base / "out" / "_spark_metadata"
    (log / "1").rename(log / "7")
    with pytest.raises(ConfigError, match=r"^output: got .*out'; allowed: the folder that the qu"):
        sj.rescale(spark, base / "ck", 4, output=base / "out")


def test_a_running_query_is_refused(spark: SparkSession, stopped: Path, base: Path) -> None:
    query = (
        joined(spark, stopped)
        .writeStream.format("parquet")
        .option("checkpointLocation", str(base / "ck"))
        .start(str(base / "out"))
    )
    try:
        with pytest.raises(StateError, match=rf"^checkpoint: its query {query.id} is running"):
            sj.rescale(spark, base / "ck", 4, output=base / "out")
    finally:
        query.stop()


def test_shards_take_turns_on_any_number_of_partitions() -> None:
    for n_shards in (1, 2, 3, 8, 12, 64):
        labels = shard_labels(n_shards)
        assert labels == shard_labels(64)[:n_shards]
        for n_partitions in range(1, 70):
            used = Counter(murmur3_long(label) % n_partitions for label in labels)
            assert len(used) == min(n_shards, n_partitions)
            assert max(used.values()) - min(used.values()) <= 1
