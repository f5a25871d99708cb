"""Real data, where its folder is: ``STREAMJOIN_DATA`` names it."""

import os
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
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


def ended(rows: pa.Table, time: str, **key: Any) -> pa.Table:
    """Rows with one more in a far future, so that the watermark passes all the others."""
    end = {**dict.fromkeys(rows.column_names), **key, time: datetime(2100, 1, 1)}
    return pa.concat_tables([rows, pa.Table.from_pylist([end], schema=rows.schema)])


def one_row(query: str) -> tuple[Any, ...]:
    row = duckdb.execute(query).fetchone()
    assert row is not None
    return tuple(row)


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
    for name, file in (("l", "trip_starts"), ("r", "trip_ends")):
        rows = pq.read_table(DATA / "citibike_jc" / f"{file}.parquet").slice(0, 100_000)
        write_batches(tmp_path / name, cut(rows, 4))
    seen = count(
        spark, tmp_path, on="bike_id", time="ts",
        window=("1 hour", "1 microsecond"), lateness="365 days",
    )  # fmt: skip
    left, right = (str(tmp_path / name / "*.parquet") for name in ("l", "r"))
    (n_pairs,) = one_row(
        f"SELECT count(*) FROM '{left}' a JOIN '{right}' b ON a.bike_id = b.bike_id "
        "AND b.ts <= a.ts + INTERVAL 1 HOUR AND a.ts <= b.ts + INTERVAL 1 MICROSECOND"
    )
    assert seen["pairs"] == n_pairs > 90_000


@pytest.mark.parametrize("how", ["left", "anti"])
def test_citibike_starts_without_an_end(spark: SparkSession, tmp_path: Path, how: str) -> None:
    """Starts with, or only those without, an end of the same bike within an hour."""
    for name, file, nobody in (("l", "trip_starts", -1), ("r", "trip_ends", -2)):
        rows = pq.read_table(DATA / "citibike_jc" / f"{file}.parquet").slice(0, 100_000)
        write_batches(tmp_path / name, cut(ended(rows, "ts", bike_id=nobody), 3))
    seen = count(spark, tmp_path, how=how, on="bike_id", time="ts", window=("1 hour", None))
    left, right = (str(tmp_path / name / "*.parquet") for name in ("l", "r"))
    n_pairs, n_alone = one_row(
        "SELECT count(b.bike_id), count(*) - count(b.bike_id) "
        f"FROM '{left}' a LEFT JOIN '{right}' b ON a.bike_id = b.bike_id "
        "AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 HOUR WHERE a.bike_id > 0"
    )
    assert seen["late_left"] == seen["late_right"] == 0
    assert seen["alone_left"] == n_alone > 1000
    assert seen["rows_out"] == (n_pairs + n_alone if how == "left" else n_alone)


def test_flights_with_the_weather_of_their_hour(spark: SparkSession, tmp_path: Path) -> None:
    """Each flight with the report of its airport and hour, or with nulls; flights only probe."""
    folder = DATA / "nycflights13"
    flights = pq.read_table(folder / "flights.parquet", columns=["seq", "origin", "sched_dep_ts"])
    weather = pq.read_table(folder / "weather.parquet", columns=["origin", "time_hour", "temp"])
    for name, rows, time in (("l", flights, "sched_dep_ts"), ("r", weather, "time_hour")):
        write_batches(tmp_path / name, cut(ended(rows.sort_by(time), time, origin=name), 3))
    seen = count(
        spark, tmp_path, how="left", on="origin", time=("sched_dep_ts", "time_hour"),
        window=(None, timedelta(hours=1, microseconds=-1)),
    )  # fmt: skip
    n_rows, n_pairs = one_row(
        f"SELECT count(*), count(w.origin) FROM '{folder / 'flights.parquet'}' f "
        f"LEFT JOIN '{folder / 'weather.parquet'}' w USING (origin, time_hour)"
    )
    assert (seen["pairs"], seen["alone_left"]) == (n_pairs, n_rows - n_pairs) == (335_220, 1_556)
    assert seen["rows_out"] == n_rows
    assert seen["late_left"] == seen["late_right"] == 0
