"""Several joins in one query, joins beside Spark's own operators, several queries at once."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import streamjoin as sj
from streamjoin.errors import ConfigError
from tests.spark.streams import drain, observed, read_stream, write_batches

SECOND = 1_000_000
WITHIN_3 = "abs(unix_micros(a.t) - unix_micros(b.t)) <= 3000000"
JOIN: dict[str, Any] = {
    "on": "k", "time": "t", "window": "3 seconds", "lateness": "1 second",
}  # fmt: skip


def batches(seed: int, n: int = 3) -> list[pa.Table]:
    """Of 15 seconds each."""
    rng = np.random.default_rng(seed)

    def one(i: int) -> pa.Table:
        times = np.sort(rng.integers(i * 15 * SECOND, (i + 1) * 15 * SECOND, 75))
        ids = np.arange(75) + 1000 * seed + 75 * i
        columns = {"k": rng.integers(0, 8, 75), "id": ids}
        return pa.table({**columns, "t": pa.array(times, pa.timestamp("us", "UTC"))})

    return [one(i) for i in range(n)]


@pytest.fixture
def streams(spark: SparkSession, tmp_path: Path) -> dict[str, DataFrame]:
    """Streams a, b and c; views of the same names hold all their rows."""
    for seed, name in enumerate("abc", start=1):
        write_batches(tmp_path / name, batches(seed))
        spark.read.parquet(str(tmp_path / name)).createOrReplaceTempView(name)
    return {name: read_stream(spark, tmp_path / name) for name in "abc"}


def rows(frame: DataFrame) -> Counter[tuple[Any, ...]]:
    return Counter(map(tuple, frame.collect()))


def chain(streams: dict[str, DataFrame], name: str = "second") -> DataFrame:
    """Join c with what the join of a and b gives, a filter in between.

    A row of the first join may be as far behind as its older part: window and lateness.
    """
    first = sj.join(streams["a"], streams["b"], name="first", **JOIN)
    pairs = first.selectExpr("k", "id_left a", "id_right b", "t_left t").filter("(a + b) % 3 > 0")
    return sj.join(
        pairs, streams["c"], on="k", time="t", window="2 seconds", lateness="15 seconds", name=name
    )


def test_a_join_after_a_join_into_foreach_batch(
    spark: SparkSession, tmp_path: Path, streams: dict[str, DataFrame]
) -> None:
    found: Counter[tuple[Any, ...]] = Counter()

    def collect(batch: DataFrame, _: int) -> None:
        found.update(rows(batch.select("k", "a", "b", "id")))

    query = (
        chain(streams)
        .writeStream.foreachBatch(collect)
        .option("checkpointLocation", str(tmp_path / "ck"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    wanted = spark.sql(
        f"SELECT a.k, a.id, b.id, c.id FROM a JOIN b ON a.k = b.k AND {WITHIN_3} "
        "JOIN c ON c.k = a.k AND abs(unix_micros(a.t) - unix_micros(c.t)) <= 2000000 "
        "WHERE (a.id + b.id) % 3 > 0"
    )
    assert found == rows(wanted)
    assert observed(query, "second")["pairs"] == found.total() > 100
    assert observed(query, "first")["pairs"] > 100


def test_two_joins_of_one_name_are_refused(streams: dict[str, DataFrame]) -> None:
    with pytest.raises(ConfigError, match=r"^name: 'first' is the name of a join before this one"):
        chain(streams, name="first")


@pytest.mark.parametrize("names", [("orders", "orders 2"), ("orders 2", "orders")])
def test_a_name_that_looks_like_a_part_of_another_join_is_refused(
    streams: dict[str, DataFrame], names: tuple[str, str]
) -> None:
    """The counters of the two would be added up."""
    said: dict[str, Any] = {"on": "k", "time": "t", "window": "1 second"}
    first = sj.join(streams["a"], streams["b"], **said, name=names[0])
    last = first.select("k", first[next(c for c in first.columns if c.startswith("t"))].alias("t"))
    with pytest.raises(ConfigError, match=rf"^name: '{names[1]}' beside '{names[0]}' of a join"):
        sj.join(last, streams["c"], **said, name=names[1])


def test_spark_aggregates_what_a_join_gives(
    spark: SparkSession, tmp_path: Path, streams: dict[str, DataFrame]
) -> None:
    """The watermark of Spark's aggregation is said after the join, and nowhere before it."""
    joined = sj.join(streams["a"], streams["b"], **JOIN)
    counts = (
        joined.withWatermark("t_left", "5 seconds")
        .groupBy(F.window("t_left", "5 seconds"), "k")
        .count()
        .select("window.start", "k", "count")
    )
    drain(counts, tmp_path / "ck", tmp_path / "out")
    wanted = spark.sql(
        "SELECT window(a.t, '5 seconds').start AS start, a.k, count(*) FROM a JOIN b "
        f"ON a.k = b.k AND {WITHIN_3} GROUP BY 1, 2"
    )
    found, all_counts = rows(spark.read.parquet(str(tmp_path / "out"))), rows(wanted)
    assert found <= all_counts  # the last windows are still open
    done = {row for row in all_counts if row[0].timestamp() < 25}
    assert done <= set(found)


def test_a_join_takes_what_spark_has_aggregated(
    spark: SparkSession, tmp_path: Path, streams: dict[str, DataFrame]
) -> None:
    counts = (
        streams["a"]
        .withWatermark("t", "1 second")
        .groupBy(F.window("t", "5 seconds"), "k")
        .count()
        .selectExpr("k", "window.start AS t", "count AS n")
    )
    joined = sj.join(
        counts, streams["b"], on="k", time="t", window=("5 seconds", None), lateness="30 seconds"
    )
    drain(joined, tmp_path / "ck", tmp_path / "out")
    wanted = spark.sql(
        "WITH g AS (SELECT k, window(t, '5 seconds').start AS t, count(*) n FROM a GROUP BY 1, 2) "
        "SELECT g.k, g.t, g.n, b.id FROM g JOIN b ON g.k = b.k "
        "AND b.t BETWEEN g.t AND g.t + INTERVAL 5 SECONDS"
    )
    found = rows(spark.read.parquet(str(tmp_path / "out")).select("k", "t_left", "n", "id"))
    assert found <= rows(wanted)
    assert {row for row in rows(wanted) if row[1].timestamp() < 25} <= set(found)


def test_one_frame_as_two_queries_at_once(
    spark: SparkSession, tmp_path: Path, streams: dict[str, DataFrame]
) -> None:
    """Each query has its own state and its own local copies."""
    joined = sj.join(streams["a"], streams["b"], **JOIN)
    queries = [
        joined.writeStream.format("parquet")
        .option("checkpointLocation", str(tmp_path / f"ck{n}"))
        .trigger(availableNow=True)
        .start(str(tmp_path / f"out{n}"))
        for n in range(2)
    ]
    for query in queries:
        query.awaitTermination()
    wanted = rows(spark.sql(f"SELECT a.id, b.id FROM a JOIN b ON a.k = b.k AND {WITHIN_3}"))
    for n in range(2):
        found = spark.read.parquet(str(tmp_path / f"out{n}")).select("id_left", "id_right")
        assert rows(found) == wanted
