"""A scenario as a query of Spark; runs in the process that is killed."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

import streamjoin as sj
from tests.system.chaos.scenarios import WINDOW_SECONDS, Scenario

COLUMNS: Final = "x BIGINT, y STRING, t TIMESTAMP, id BIGINT"
MESSAGES_PER_TRIGGER: Final = 60


def start(
    spark: SparkSession, scenario: Scenario, base: Path, at: dict[str, str]
) -> StreamingQuery:
    """Start it, or let it go on from its checkpoint.

    Parameters
    ----------
    base
        Folder of the run: a folder of files for each stream, `checkpoint`, `out`, `fuses`.
    at
        Addresses of servers: "database", "broker".
    """
    streams = {name: _read(spark, scenario, base / name, at) for name in scenario.streams}
    first = scenario.streams[0]
    streams[first] = _with_fuse(streams[first], base / "fuses" / "before")
    out = _with_fuse(_joined(scenario, streams, base, at), base / "fuses" / "after")
    writer = out.writeStream.option("checkpointLocation", str(base / "checkpoint"))
    if scenario.sink == "postgres":
        sink = sj.postgres_sink(at["database"], "results")
        return writer.foreachBatch(sink).start()
    return writer.format("parquet").start(str(base / "out"))


def _read(spark: SparkSession, scenario: Scenario, folder: Path, at: dict[str, str]) -> DataFrame:
    if scenario.source == "files":
        reader = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1)
        return reader.parquet(str(folder))
    messages = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", at["broker"])
        .option("subscribe", f"{folder.parent.name}-{folder.name}")
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", MESSAGES_PER_TRIGGER)
        .load()
    )
    return messages.select(F.from_json(F.col("value").cast("string"), COLUMNS).alias("row")).select(
        "row.*"
    )


def _joined(
    scenario: Scenario, streams: dict[str, DataFrame], base: Path, at: dict[str, str]
) -> DataFrame:
    said: dict[str, Any] = {"on": scenario.on, **scenario.said}
    if scenario.kind == "table":
        if scenario.table == "postgres":
            table: Any = sj.sql_table(at["database"], "people", key="x", unique=True)
            return sj.table_join(streams["l"], table, **said)
        table = sj.parquet_table(base / "people", key="x", unique=True)
        return sj.table_join(streams["l"], table, index_folder=base / "index", **said)
    said |= {"time": "t", "window": f"{WINDOW_SECONDS} seconds", "lateness": "1 second"}
    if scenario.kind == "many":
        return sj.multi_join(streams, **said)
    return sj.join(streams["l"], streams["r"], hot_keys=str(base / "hot"), **said)


def _with_fuse(frame: DataFrame, fuse: Path) -> DataFrame:
    """The same rows; but whoever finds the file `fuse` takes it away, and fails in the middle."""

    def burn(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch.slice(0, batch.num_rows // 2)
            try:
                os.rename(fuse, f"{fuse}.burnt")
            except OSError:
                yield batch.slice(batch.num_rows // 2)
            else:
                msg = "this task was made to fail"
                raise RuntimeError(msg)

    return frame.mapInArrow(burn, frame.schema)
