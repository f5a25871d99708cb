"""Outer and semi joins give what Spark's own stream-stream join gives on the same files."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import streamjoin as sj
from tests.spark.streams import drain, in_order, read_back, read_stream, write_batches

WINDOW = ("1 second", "2 seconds")
LATENESS = "4 seconds"  # more than the disorder of `stream`: nothing is late, here or there
SPAN_MS, N_BATCHES, N_ROWS = 2000, 2, 150
SCHEMA = pa.schema(
    {"k": pa.int64(), "t": pa.timestamp("us", "UTC"), "x": pa.int64(), "i": pa.int64()}
)


def stream(side: int) -> list[pa.Table]:
    """Batches with disorder, ties, null keys and keys that only one side has, and then the end.

    The last batch is a row far ahead, so that the watermark passes all others. It has no nulls:
    Spark filters those that cannot match before it takes the watermark.
    """
    rng = np.random.default_rng(side)
    batches = []
    for i in range(N_BATCHES):
        times = rng.integers(i * SPAN_MS, (i + 2) * SPAN_MS, N_ROWS)
        keys = [k if k < 60 else None for k in rng.integers(10 * side, 62, N_ROWS).tolist()]
        numbers = [x if x < 9 else None for x in rng.integers(0, 10, N_ROWS).tolist()]
        ids = (1000 * side + i * N_ROWS + np.arange(N_ROWS)).tolist()
        batches.append(rows(keys, times.tolist(), numbers, ids))
    return [*batches, rows([-1 - side], [3_600_000], [0], [-1])]


def rows(
    keys: list[int | None], times_ms: list[int], numbers: list[int | None], ids: list[int]
) -> pa.Table:
    """A table; whole milliseconds, as Spark's watermark, or the two would pass different rows."""
    columns = keys, [t * 1000 for t in times_ms], numbers, ids
    arrays = [pa.array(c, field.type) for c, field in zip(columns, SCHEMA, strict=True)]
    return pa.table(arrays, schema=SCHEMA)


def spark_own(left: DataFrame, right: DataFrame, how: str, where: str) -> DataFrame:
    sides = [
        frame.withWatermark("t", LATENESS).alias(name)
        for name, frame in (("left", left), ("right", right))
    ]
    condition = (
        f"left.k = right.k AND {where} AND "
        f"right.t BETWEEN left.t - INTERVAL {WINDOW[1]} AND left.t + INTERVAL {WINDOW[0]}"
    )
    joined = sides[0].join(sides[1], F.expr(condition), how)
    if how == "semi":
        return joined
    others = (f"{side}.{column} {column}_{side}" for side in ("left", "right") for column in "txi")
    return joined.selectExpr("coalesce(left.k, right.k) k", *others)


@pytest.mark.parametrize(
    ("how", "where"),
    [
        ("left", "true"),
        ("right", "left.x < right.x"),
        ("full", "left.x < right.x"),
        ("semi", "left.x < right.x"),
    ],
)
def test_the_same_rows(spark: SparkSession, tmp_path: Path, how: str, where: str) -> None:
    left, right = (
        read_stream(spark, write_batches(tmp_path / name, stream(side)))
        for side, name in enumerate(("l", "r"))
    )
    if how == "full":  # Spark 4.3 joins null keys with each other here, and only here
        left, right = left.na.drop(subset="k"), right.na.drop(subset="k")
    ours = sj.join(
        left, right, on="k", where=None if where == "true" else where,
        how=how, time="t", window=WINDOW, lateness=LATENESS,
    )  # fmt: skip
    theirs = spark_own(left, right, how, where)
    assert ours.columns == theirs.columns
    labelled = [
        result.withColumn("of", F.lit(name)) for name, result in (("us", ours), ("them", theirs))
    ]
    drain(labelled[0].unionAll(labelled[1]), tmp_path / "ck", tmp_path / "out")
    rows: dict[str, list[dict[str, Any]]] = {"us": [], "them": []}
    for row in read_back(spark, tmp_path / "out"):
        rows[row.pop("of")].append(row)
    found, wanted = (in_order(of) for of in rows.values())
    assert found == wanted
    assert len(found) > 100
