"""Real data, where its folder is: ``STREAMJOIN_DATA`` names it."""

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import streamjoin as sj
from tests.spark.streams import observed, read_stream, write_batches

DATA = Path(os.environ.get("STREAMJOIN_DATA", "/nonexistent"))
pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not DATA.is_dir(), reason="STREAMJOIN_DATA names no folder"),
]


def cut(table: pa.Table, n: int) -> list[pa.Table]:
    size = -(-len(table) // n)
    return [table.slice(i * size, size) for i in range(n)]


def count(spark: SparkSession, tmp_path: Path, **arguments: Any) -> dict[str, int]:
    left, right = (read_stream(spark, tmp_path / name) for name in ("l", "r"))
    query = (
        sj.join(left, right, **arguments)
        .writeStream.format("noop")
        .option("checkpointLocation", str(tmp_path / "ck"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return observed(query)


def test_sse_trades_and_orders(spark: SparkSession, tmp_path: Path) -> None:
    """The number of pairs that the benchmark these files come from states for the whole span."""
    for name, file in (("l", "trades"), ("r", "orders")):
        rows = pq.read_table(DATA / "sse_stock" / f"{file}_1000ms.parquet")
        times = pc.multiply(rows["ts_ms"].cast(pa.int64()), 1000).cast(pa.timestamp("us", "UTC"))
        write_batches(tmp_path / name, cut(rows.append_column("ts", times), 3))
    seen = count(spark, tmp_path, on="key", time="ts", window="2 seconds", lateness="2 seconds")
    assert seen["pairs"] == 15_598_112
    assert (seen["rows_left"], seen["rows_right"]) == (60_527, 77_227)
    assert seen["late_left"] == seen["late_right"] == 0


def test_citibike_starts_and_ends_by_bike(spark: SparkSession, tmp_path: Path) -> None:
    """Starts with ends of the same bike within an hour, against DuckDB."""
    import duckdb

    for name, file in (("l", "trip_starts"), ("r", "trip_ends")):
        rows = pq.read_table(DATA / "citibike_jc" / f"{file}.parquet").slice(0, 100_000)
        write_batches(tmp_path / name, cut(rows, 4))
    seen = count(
        spark, tmp_path, on="bike_id", time="ts",
        window=("1 hour", "1 microsecond"), lateness="365 days",
    )  # fmt: skip
    left, right = (str(tmp_path / name / "*.parquet") for name in ("l", "r"))
    row = duckdb.execute(
        f"SELECT count(*) FROM '{left}' a JOIN '{right}' b ON a.bike_id = b.bike_id "
        "AND b.ts <= a.ts + INTERVAL 1 HOUR AND a.ts <= b.ts + INTERVAL 1 MICROSECOND"
    ).fetchone()
    assert row is not None
    assert seen["pairs"] == row[0] > 90_000
