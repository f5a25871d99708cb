"""Streams of files: one file of each side is one micro-batch, so a test decides the cuts."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from streamjoin.metrics.progress import DETAILS_FIELD


def write_batches(folder: Path, tables: Sequence[pa.Table], first: int = 0) -> Path:
    """Write tables as files that Spark takes in this order."""
    folder.mkdir(exist_ok=True)
    for number, table in enumerate(tables, first):
        path = folder / f"{number:05d}.parquet"
        pq.write_table(table, path)
        os.utime(path, (1_600_000_000 + number, 1_600_000_000 + number))
    return folder


def read_stream(spark: SparkSession, folder: Path, per_trigger: int = 1) -> DataFrame:
    """Stream over a folder of Parquet files."""
    schema = schema_of(min(folder.glob("*.parquet")))
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", per_trigger)
    return reader.parquet(str(folder))


def schema_of(file: Path) -> StructType:
    """What Spark would take a job to find out."""
    arrow = pq.read_schema(file)
    by_spark = (arrow.metadata or {}).get(b"org.apache.spark.sql.parquet.row.metadata")
    return StructType.fromJson(json.loads(by_spark)) if by_spark else from_arrow_schema(arrow)


def drain(result: DataFrame, checkpoint: Path, output: Path) -> StreamingQuery:
    """Run a query over all that is there, into Parquet files."""
    query = (
        result.writeStream.format("parquet")
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start(str(output))
    )
    query.awaitTermination()
    return query


def read_back(spark: SparkSession, output: Path) -> list[dict[str, Any]]:
    """Rows of a sink, as the sink's own log counts them."""
    return [row.asDict(recursive=True) for row in spark.read.parquet(str(output)).collect()]


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows in an order of their own, to compare results that come in any order."""
    return sorted(rows, key=lambda row: tuple(map(str, row.values())))


def counters_of(progress: Any, name: str = "streamjoin") -> dict[str, Any] | None:
    """Counters of one batch; None if there was no such join in it."""
    seen = progress["observedMetrics"].get(name)
    if seen is None:
        return None
    counters = seen["counters"]
    values = counters.asDict() if isinstance(counters, Row) else dict(counters)
    return {name: value for name, value in values.items() if name != DETAILS_FIELD}


def observed(query: StreamingQuery, name: str = "streamjoin") -> dict[str, int]:
    """Counters of all batches added up (state sizes: of the last batch); but not CPU time."""
    total: dict[str, int] = {}
    for progress in query.recentProgress:
        row = counters_of(progress, name)
        for key, value in (row or {}).items():
            if value is not None and key != "cpu_us":  # null in a batch without input
                total[key] = value + (0 if key.startswith("state") else total.get(key, 0))
    return total
