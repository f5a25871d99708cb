"""What the documents take for granted: small streams in folders, by the names they use."""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

START_US = 1_767_268_800_000_000  # 2026-01-01 12:00:00 UTC


def at(*minutes: float) -> pa.Array:
    """Times after noon."""
    return pa.array([START_US + int(m * 60_000_000) for m in minutes], pa.timestamp("us", "UTC"))


def prices(*volumes: int) -> pa.Table:
    symbols = ["GOOG", "MSFT", "GOOG"]
    return pa.table(
        {"symbol": symbols, "price": [9.0, 8.0, 7.0], "volume": volumes, "ts": at(0, 1, 2)}
    )


TABLES: Mapping[str, pa.Table] = {
    "calls": pa.table({"person": [1, 2, 3], "called_at": at(0, 1, 5), "caller": [7, 8, 9]}),
    "trades": pa.table({"person": [1, 2, 1], "traded_at": at(2, 30, 4), "price": [9.5, 20.0, 9.7]}),
    "orders": pa.table(
        {
            "number": [10, 11, 12, 13],
            "customer": [2, 1, 2, 7],
            "price": [5.0, 8.0, 2.0, 9.0],
            "ts": at(0, 1, 2, 3),
        }
    ),
    "payments": pa.table({"number": [10, 11], "amount": [4.0, 8.0], "ts": at(1, 2)}),
    "parcels": pa.table({"number": [10, 12], "id": [1, 2], "ts": at(3, 4)}),
    "customers": pa.table(
        {"id": [1, 2, 3], "name": ["Ada", "Ben", "Cleo"], "city": ["Cork", "Delft", "Faro"]}
    ),
    "nyc": prices(10, 20, 30),
    "tokyo": prices(15, 25, 5),
}
NO_STREAMS = ("customers",)


def write(folder: Path) -> None:
    """Write all of them, in folders of their names and once more below ``data``."""
    for name, table in TABLES.items():
        for place in (folder / name, folder / "data" / name):
            place.mkdir(parents=True)
            pq.write_table(table, place / "1.parquet")


def read(spark: SparkSession, folder: Path) -> dict[str, DataFrame]:
    """Streams over the folders, by name."""
    names = [name for name in TABLES if name not in NO_STREAMS]
    schemas = {name: spark.createDataFrame(TABLES[name]).schema for name in names}
    return {
        name: spark.readStream.schema(schema).parquet(str(folder / name))
        for name, schema in schemas.items()
    }
