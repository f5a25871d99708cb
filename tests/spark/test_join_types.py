"""Keys and payloads of every type, against Spark's own batch join."""

from collections import Counter
from collections.abc import Mapping
from functools import reduce
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import streamjoin as sj
from tests.spark.streams import drain, read_stream

ROWS = """
SELECT CAST(id AS INT) id, {time} t,
  CAST(id % 3 AS TINYINT) k_byte, CAST(id % 3 AS INT) k_int,
  id % 2 = 0 k_bool, DATE '2020-01-01' + CAST(id % 3 AS INT) k_date,
  TIMESTAMP_SECONDS(id % 3) k_ts, TIMESTAMP_NTZ '2020-01-01 00:00:00' k_ntz,
  CASE WHEN id % 5 = 0 THEN NULL ELSE concat('key ', id % 3) END k_str,
  CAST(concat('b', id % 3) AS BINARY) k_bin, CAST(id % 3 AS DECIMAL(30, 2)) k_dec,
  CAST(CASE id % 3 WHEN 0 THEN 0.0 WHEN 1 THEN -0.0 ELSE 2.5 END AS FLOAT) k_float,
  named_struct('a', CASE WHEN id % 2 = 0 THEN id % 3 END, 'b', array(concat('x', id % 2))) k_struct,
  array(id % 3, NULL) k_array
FROM RANGE(0, 40)
"""
KEYS = [
    "k_byte", "k_int", "k_bool", "k_date", "k_ts", "k_ntz", "k_str", "k_bin", "k_dec", "k_float",
    "k_struct", "k_array",
]  # fmt: skip
STREAMED = ("k_str", "k_dec", "k_struct")
PAYLOAD = """
SELECT CAST(id AS INT) id, id % 3 k, {time} t,
  CASE WHEN id % 4 > 0 THEN array(id, NULL, 3) END p_array,
  CASE WHEN id % 4 > 0 THEN map('a', array(id), 'b', NULL) END p_map,
  CASE WHEN id % 4 > 0 THEN named_struct('x', id, 'y', map(1, TIMESTAMP_SECONDS(id))) END p_struct,
  CAST(concat('b', id) AS BINARY) p_bin, CAST(id / 3 AS DECIMAL(20, 5)) p_dec,
  CASE WHEN id % 2 = 0 THEN CAST(id AS INT) END p_null_int, CAST(id AS FLOAT) p_float,
  id % 2 = 0 p_bool, DATE '1950-01-01' + CAST(id AS INT) p_date,
  TIMESTAMP '0001-02-03 04:05:06.789' p_old, TIMESTAMP_NTZ '9999-12-31 23:59:59.999999' p_far,
  CASE WHEN id % 2 = 0 THEN repeat('ü', CAST(id AS INT)) END p_str, CAST(id AS TINYINT) p_byte,
  INTERVAL '1' DAY * id p_interval
FROM RANGE(0, 12)
"""
TIMES = {
    "timestamp": "TIMESTAMP_SECONDS(1000 + id)",
    "timestamp_ntz": "TIMESTAMP_NTZ '2020-01-01 00:00:00' + INTERVAL '1' SECOND * id",
}


def both(spark: SparkSession, query: str, folder: Path) -> tuple[DataFrame, DataFrame]:
    spark.sql(query).coalesce(1).write.parquet(str(folder))
    return spark.read.parquet(str(folder)), read_stream(spark, folder)


def own_join(frame: DataFrame, key: str) -> DataFrame:
    """Spark's batch join with the window written out."""
    left, right = frame.alias("a"), frame.alias("b")
    condition = (
        f"a.{key} = b.{key} AND b.t <= a.t + INTERVAL 10 SECONDS "
        "AND a.t <= b.t + INTERVAL 4 SECONDS"
    )
    others = [c for c in frame.columns if c != key]
    columns = [f"a.{key}"] + [f"{s}.{c} {c}_{n}" for s, n in (("a", "left"), ("b", "right"))
                              for c in others]  # fmt: skip
    return left.join(right, F.expr(condition)).selectExpr(*columns)


def same_rows(found: DataFrame, wanted: DataFrame) -> int:
    assert found.schema.simpleString() == wanted.schema.simpleString()
    one, two = (sorted(map(repr, frame.collect())) for frame in (found, wanted))
    assert one == two
    return len(one)


@pytest.mark.parametrize("time", TIMES)
def test_keys_of_every_type(spark: SparkSession, tmp_path: Path, time: str) -> None:
    """All as tables, which are packed and joined alike, but some as streams, which take long."""
    batch, stream = both(spark, ROWS.format(time=TIMES[time]), tmp_path / "in")
    keys = KEYS if time == "timestamp" else KEYS[-2:]
    found, wanted = dict[str, DataFrame](), dict[str, DataFrame]()
    for key in keys:
        columns = ["id", "t", key]
        rows = (stream if key in STREAMED else batch).select(columns)
        found[key] = sj.join(
            rows, rows, on=key, time="t", window=("10 seconds", "4 seconds"), name=key
        )
        wanted[key] = own_join(batch.select(columns), key)
        assert found[key].schema.simpleString() == wanted[key].schema.simpleString()
    streamed = labelled({key: found[key] for key in keys if key in STREAMED})
    drain(streamed, tmp_path / "ck", tmp_path / "out")
    at_once = labelled({key: found[key] for key in keys if key not in STREAMED})
    ours = at_once.unionAll(spark.read.parquet(str(tmp_path / "out"))).collect()
    assert Counter(map(repr, ours)) == Counter(map(repr, labelled(wanted).collect()))
    assert {row.key for row in ours} == set(keys)


def labelled(frames: Mapping[str, DataFrame]) -> DataFrame:
    """All rows of some frames: the name of each frame, and the row's values as texts."""

    def one(name: str, frame: DataFrame) -> DataFrame:
        texts = F.array(*(F.col(column).cast("string") for column in frame.columns))
        return frame.select(F.lit(name).alias("key"), texts.alias("row"))

    return reduce(DataFrame.unionAll, [one(*each) for each in frames.items()])


@pytest.mark.parametrize(
    ("time", "zone"), [("timestamp_ntz", "UTC"), ("timestamp", "America/New_York")]
)
def test_payloads_of_every_type(spark: SparkSession, tmp_path: Path, time: str, zone: str) -> None:
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        batch, stream = both(spark, PAYLOAD.format(time=TIMES[time]), tmp_path / "in")
        flat = [c for c in batch.columns if c not in ("p_array", "p_map", "p_struct")]
        for n, columns in enumerate((batch.columns, flat)):
            joined = sj.join(
                stream.select(columns), stream.select(columns),
                on="k", time="t", window=("10 seconds", "4 seconds"),
            )  # fmt: skip
            drain(joined, tmp_path / f"ck{n}", tmp_path / f"out{n}")
            found = spark.read.parquet(str(tmp_path / f"out{n}"))
            assert same_rows(found, own_join(batch.select(columns), "k")) == 39
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_several_keys_with_different_names(spark: SparkSession, tmp_path: Path) -> None:
    rows = "SELECT id % 2 a, concat('x', id % 3) b, TIMESTAMP_SECONDS(id) t FROM RANGE(0, 24)"
    _, stream = both(spark, rows, tmp_path / "in")
    renamed = stream.select(stream.a.cast("int").alias("A2"), "b", "t")
    joined = sj.join(stream, renamed, on=[("a", "A2"), "b"], time="t", window="1 hour")
    assert joined.columns == ["b", "a", "t_left", "A2", "t_right"]
    drain(joined, tmp_path / "ck", tmp_path / "out")
    found = spark.read.parquet(str(tmp_path / "out"))
    assert found.count() == 24 * 4
    assert found.filter("a <> A2").count() == 0
