"""Rows with the oddest values that Spark has: joined as Spark joins them, handed on unchanged."""

from collections import Counter
from collections.abc import Mapping
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import streamjoin as sj

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NOON = "TIMESTAMP'2024-01-01 12:00:00Z'"
ENDS = [
    "timestamp_micros(-9223372036854775808L + 1)",
    "TIMESTAMP'0001-01-01 00:00:00Z'",
    NOON,
    "TIMESTAMP'9999-12-31 23:59:59.999999Z'",
    "timestamp_micros(9223372036854775807L)",
    "CAST(NULL AS TIMESTAMP)",
]
KEYS = {
    "double": ["'NaN'", "'Infinity'", "'-Infinity'", "-0.0D", "0.0D", "4.9E-324D", "NULL"],
    "float": ["'NaN'", "'Infinity'", "-0.0F", "0.0F", "16777217", "NULL"],
    "string": ["''", "' '", "X'FF'", "X'C328'", "X'00'", "X'EDA080'", "NULL"],
    "binary": ["X''", "X'00'", "X'FF00'", "NULL"],
    "date": ["DATE'0001-01-01'", "date_from_unix_date(2147483647)", "DATE'9999-12-31'", "NULL"],
    "timestamp": ENDS,
    "decimal(38, 0)": ["99999999999999999999999999999999999999BD", "0", "NULL"],
    "boolean": ["true", "false", "NULL"],
}


def frame(spark: "SparkSession", values: list[str], kind: str, name: str = "k") -> "DataFrame":
    """Each value twice, with an id of its own; all at one time unless the values are times."""
    at = "" if name == "t" else f", {NOON} AS t"
    rows = (
        f"SELECT CAST({value} AS {kind}) AS {name}, {i} AS id{at}"
        for i, value in enumerate([*values, *values])
    )
    return spark.sql(" UNION ALL ".join(rows)).coalesce(1)  # not a task for each row


def own_join(rows: "DataFrame", condition: str) -> "DataFrame":
    """Spark's join of rows with themselves."""
    left, right = rows.alias("left"), rows.alias("right")
    return left.crossJoin(right).filter(condition).select("left.id", "right.id")


def by_ids(results: Mapping[str, "DataFrame"]) -> dict[str, Counter[tuple[int, int]]]:
    """Pairs of ids of each result, all of them found in one go."""
    labelled = [
        result.toDF("one", "other").selectExpr(f"{number} AS n", "one", "other")
        for number, result in enumerate(results.values())
    ]
    found = {name: Counter[tuple[int, int]]() for name in results}
    names = list(results)
    for row in reduce(lambda one, other: one.unionAll(other), labelled).collect():
        found[names[row.n]][row.one, row.other] += 1
    return found


def test_odd_keys_are_equal_where_spark_says_so(spark: "SparkSession") -> None:
    found, wanted = dict[str, "DataFrame"](), dict[str, "DataFrame"]()
    for kind, values in KEYS.items():
        rows = frame(spark, values, kind)
        joined = sj.join(rows, rows, on="k", time="t", window="1 second", name=kind)
        found[kind] = joined.select("id_left", "id_right")
        wanted[kind] = own_join(rows, "left.k = right.k")
    assert by_ids(found) == by_ids(wanted)


def test_times_at_the_ends_of_the_range_and_odd_numbers_in_conditions(
    spark: "SparkSession",
) -> None:
    rows = frame(spark, ENDS, "timestamp", "t").selectExpr("1 AS k", "id", "t")
    joined = sj.join(rows, rows, on="k", time="t", window="1000 days", ahead=None, name="times")
    found = {"times": joined.select("id_left", "id_right")}
    apart = "abs(CAST(unix_micros(left.t) AS DECIMAL(20, 0)) - unix_micros(right.t))"
    wanted = {"times": own_join(rows, f"{apart} <= 1000L * 86400000000L")}
    numbers = frame(spark, KEYS["double"], "double")
    for where in (
        "abs(left.k - right.k) <= 1.5", "left.k <= right.k", "left.k * 0 <=> right.k * 0",
    ):  # fmt: skip
        joined = sj.join(numbers, numbers, where=where, time="t", window="1 second", name=where)
        found[where] = joined.select("id_left", "id_right")
        wanted[where] = own_join(numbers, where)
    assert by_ids(found) == by_ids(wanted)


PAYLOADS = {
    "nothing": "CAST(NULL AS STRING)",
    "empty": "''",
    "not_utf8": "CAST(X'61FF62' AS STRING)",
    "large": "repeat('x', 10000000)",
    "nan": "double('NaN')",
    "first_day": "DATE'0001-01-01'",
    "last_day": "date_from_unix_date(2147483647)",
    "first_time": ENDS[0],
    "last_time": ENDS[4],
    "local": "TIMESTAMP_NTZ'9999-12-31 23:59:59.999999'",
    "nulls_in_a_map": "map('a', CAST(NULL AS INT), CAST(X'FF' AS STRING), 1)",
    "nulls_in_an_array": "array(CAST(NULL AS STRING), '')",
    "null_struct": "CAST(NULL AS STRUCT<x: INT>)",
}


@pytest.mark.parametrize("nested", [False, True])
def test_a_stream_hands_on_what_it_got(spark: "SparkSession", tmp_path: Path, nested: bool) -> None:
    kinds = ("nulls_in_a_map", "nulls_in_an_array", "null_struct")
    payloads = {name: text for name, text in PAYLOADS.items() if nested or name not in kinds}
    columns = [f"{text} AS {name}" for name, text in payloads.items()]
    rows = spark.range(2).selectExpr("id AS k", f"{NOON} AS t", *columns)
    wanted = _streamed(spark, tmp_path, rows, list(payloads))
    assert wanted == 2


def test_hundreds_of_columns(spark: "SparkSession", tmp_path: Path) -> None:
    names = [f"c{i}" for i in range(300)]
    columns = [f"IF(id = 0, NULL, id + {i}) AS {name}" for i, name in enumerate(names)]
    rows = spark.range(3).selectExpr("id AS k", f"{NOON} AS t", *columns)
    assert _streamed(spark, tmp_path, rows, names) == 3


def _streamed(spark: "SparkSession", folder: Path, rows: "DataFrame", names: list[str]) -> int:
    """Join a stream with its own keys; how many rows of the result are rows of the stream."""
    rows.write.parquet(str(folder / "in"))
    stream = spark.readStream.schema(rows.schema).parquet(str(folder / "in"))
    joined = sj.join(stream, stream.select("k", "t"), on="k", time="t", window="1 minute")
    query = (
        joined.writeStream.format("parquet")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(folder / "out"))
    )
    query.awaitTermination()
    maps = [name for name, kind in rows.dtypes if kind.startswith("map")]
    same = [f"map_entries({n}) AS {n}" if n in maps else n for n in ("k", *names)]
    both = [spark.read.parquet(str(folder / name)).selectExpr(*same) for name in ("in", "out")]
    return both[0].intersectAll(both[1]).count()
