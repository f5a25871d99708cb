"""The column that names a result: the same for equal rows, and for no others."""

import math
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import streamjoin as sj
from streamjoin.errors import ConfigError, DataError


def ids(frame: DataFrame) -> list[str]:
    return [row.pair_id for row in sj.with_pair_id(frame).collect()]


DIFFERENT: list[tuple[str, list[tuple[Any, ...]]]] = [
    ("a INT, b INT", [(None, 1), (1, None), (None, None), (1, 1), (0, 1), (1, 0)]),
    ("a STRING, b STRING", [("", None), (None, ""), ("", ""), ("ab", ""), ("a", "b"), ("", "ab")]),
    (
        "a ARRAY<INT>, b ARRAY<INT>",
        [
            ([1], [2, 3]), ([1, 2], [3]), ([None, 1], []), ([1, None], []), ([1], [None]),
            ([], []), (None, []), ([], None), ([None], []),
        ],
    ),
    (
        "m MAP<STRING, INT>",
        [({"a": 1, "b": None},), ({"a": None, "b": 1},), ({"a": 1},), ({},), (None,)],
    ),
    (
        "s STRUCT<x: INT, y: ARRAY<STRUCT<z: STRING>>>",
        [((1, None),), ((None, []),), ((None, [None]),), ((None, [(None,)]),), ((None, None),),
         (None,)],
    ),
    ("d DOUBLE", [(0.0,), (math.nan,), (math.inf,), (None,)]),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "rows"), DIFFERENT)
def test_rows_that_differ_have_ids_that_differ(
    spark: SparkSession, schema: str, rows: list[tuple[Any, ...]]
) -> None:
    found = ids(spark.createDataFrame(rows, schema))
    assert len(set(found)) == len(rows)
    assert all(len(one) == 32 and set(one) <= set("0123456789abcdef") for one in found)


def test_values_that_spark_takes_for_equal_have_one_id(spark: SparkSession) -> None:
    zeros = spark.createDataFrame([(0.0,), (-0.0,)], "d DOUBLE")
    assert len(set(ids(zeros))) == 1
    maps = spark.sql("SELECT map('a', 1, 'b', 2) AS m UNION ALL SELECT map('b', 2, 'a', 1)")
    assert len(set(ids(maps))) == 1


def test_ids_are_what_they_were(spark: SparkSession) -> None:
    # Results that were stored with their ids by an earlier version must not be taken for new ones.
    row = spark.sql(
        "SELECT 7 AS k, 1.5D AS price, 'GOOG' AS symbol, DATE '2026-01-02' AS day, "
        "TIMESTAMP '2026-01-02 03:04:05.000006' AS at, 12.34BD AS cost, array(1, NULL) AS list, "
        "map('x', 1, 'y', 2) AS words, named_struct('a', NULL, 'b', X'00FF') AS pair, "
        "CAST(NULL AS STRING) AS none, CAST(NULL AS ARRAY<INT>) AS no_list, "
        "CAST(NULL AS MAP<STRING, INT>) AS no_words, array(CAST(NULL AS ARRAY<INT>)) AS lists"
    )
    golden = "db39bff8008c8bf385029bc0d45df718"
    assert ids(row) == [golden]
    assert ids(row.drop(*row.columns[-3:])) == ["4126a9a0c3c66bfb71f9ca15df738182"]
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    session.conf.set("spark.sql.codegen.wholeStage", "false")
    session.conf.set("spark.sql.ansi.enabled", "false")
    elsewhere = session.sql(
        "SELECT 7 AS k, 1.5D AS price, 'GOOG' AS symbol, DATE '2026-01-02' AS day, "
        "TIMESTAMP '2026-01-02 12:04:05.000006' AS at, 12.34BD AS cost, array(1, NULL) AS list, "
        "map('y', 2, 'x', 1) AS words, named_struct('a', NULL, 'b', X'00FF') AS pair, "
        "CAST(NULL AS STRING) AS none, CAST(NULL AS ARRAY<INT>) AS no_list, "
        "CAST(NULL AS MAP<STRING, INT>) AS no_words, array(CAST(NULL AS ARRAY<INT>)) AS lists"
    )
    assert ids(elsewhere) == [golden]


def test_a_million_rows_have_a_million_ids(spark: SparkSession) -> None:
    """With generated code, as users have it: the session of the tests interprets."""
    session = spark.newSession()
    session.conf.set("spark.sql.codegen.wholeStage", "true")
    session.conf.set("spark.sql.codegen.factoryMode", "FALLBACK")
    rows = session.range(1_000_000).select(
        (F.col("id") % 1000).alias("a"), F.floor(F.col("id") / 1000)
    )
    assert sj.with_pair_id(rows).select("pair_id").distinct().count() == 1_000_000


def test_a_weight_is_no_part_of_a_result(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(1, 2.0), (1, 3.0)], "k INT, _weight DOUBLE")
    assert len(set(ids(rows))) == 1
    assert ids(rows)[0] == ids(rows.select("k"))[0]


def test_other_names(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(1,)], "`a.b``c` INT")
    assert sj.with_pair_id(rows, "the id").columns == ["a.b`c", "the id"]


def test_refusals(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(1,)], "Pair_Id INT")
    with pytest.raises(ConfigError, match=r"^name: got 'pair_id', which is a column; allowed: "):
        sj.with_pair_id(rows)
    with pytest.raises(DataError, match=r"^frame: column 'k' is there more than once; allowed: d"):
        sj.with_pair_id(spark.sql("SELECT 1 AS k, 2 AS k"))
    variants = spark.sql("SELECT array(parse_json('1')) AS v")
    with pytest.raises(DataError, match=r"^frame: column 'v' has variants, which cannot be comp"):
        sj.with_pair_id(variants)
