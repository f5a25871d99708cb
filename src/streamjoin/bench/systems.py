"""Run one system over recorded streams in a process of its own, and time its micro-batches.

Each system gets a fresh Spark with the same machine, memory and settings, the same files, one file
set per micro-batch, and a sink that drops everything. ``python -m streamjoin.bench.systems`` with a
JSON `Task` on standard input prints a JSON `Timing`; `measure` does so from here.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from streamjoin.errors import EngineError
from streamjoin.spark.frames import join
from streamjoin.spark.session import start_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_STATE: Final = "spark.sql.streaming.stateStore."
_SETTINGS: Final = {
    "spark.driver.memory": "6g",
    f"{_STATE}rocksdb.trackTotalNumberOfRows": "false",  # counting costs a look-up a write
    "spark.sql.streaming.join.stateFormatVersion": "4",  # the fastest of Spark's own formats
}
_IN_MEMORY: Final = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
_SCHEMA: Final = "ts timestamp, k long, v double"


@dataclass(frozen=True)
class Task:
    """What to run: a system over the files of a folder, so many files of each side a batch."""

    system: str
    folder: str
    files_per_batch: int
    window_seconds: int


@dataclass(frozen=True)
class Timing:
    """What a run gave: rows in, seconds and results of each batch, and the state at its end."""

    rows: list[int]
    seconds: list[float]
    results: list[int]
    state_rows: int
    state_bytes: int

    def rows_per_second(self, cold: int) -> float:
        """Input rows over seconds of the median batch after the first `cold` ones."""
        return self.rows[-1] / median(self.seconds[cold:])


def measure(task: Task) -> Timing:
    """Run a task in a new process, and leave nothing of it behind.

    Output goes through files: a JVM that outlives its Python would hold a pipe open.
    """
    command = [sys.executable, "-m", "streamjoin.bench.systems"]
    with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryFile("w+") as complained:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=said,
            stderr=complained,
            text=True,
            start_new_session=True,
        )
        process.communicate(json.dumps(asdict(task)))
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        said.seek(0)
        complained.seek(0)
        if process.returncode != 0:
            lines = complained.read().strip().splitlines() or ["no message"]
            msg = f"bench: {task.system} failed: {lines[-1]}"
            raise EngineError(msg)
        return Timing(**json.loads(said.read().splitlines()[-1]))


def _stream(spark: "SparkSession", task: Task, name: str) -> "DataFrame":
    reader = spark.readStream.schema(_SCHEMA).option("maxFilesPerTrigger", task.files_per_batch)
    return reader.parquet(str(Path(task.folder) / name))


def _streamjoin(spark: "SparkSession", task: Task) -> "DataFrame":
    left, right = (_stream(spark, task, name) for name in "ab")
    window = f"{task.window_seconds} seconds"
    return join(left, right, on="k", time="ts", window=window, lateness="1 second")


def _spark_join(spark: "SparkSession", task: Task) -> "DataFrame":
    for name in "ab":
        rows = _stream(spark, task, name).withWatermark("ts", "1 second")
        rows.createOrReplaceTempView(name)
    span = f"INTERVAL {task.window_seconds} SECONDS"
    return spark.sql(
        "SELECT a.k, a.ts ts_left, a.v v_left, b.ts ts_right, b.v v_right FROM a JOIN b "
        f"ON a.k = b.k AND b.ts BETWEEN a.ts - {span} AND a.ts + {span}"
    )


def _spark_in_memory(spark: "SparkSession", task: Task) -> "DataFrame":
    spark.conf.set(f"{_STATE}providerClass", _IN_MEMORY)
    spark.conf.set("spark.sql.streaming.join.stateFormatVersion", "2")  # the newest that it has
    return _spark_join(spark, task)


def _scan_identity(spark: "SparkSession", task: Task) -> "DataFrame":
    rows = _stream(spark, task, "a").unionAll(_stream(spark, task, "b"))
    return rows.mapInArrow(lambda batches: batches, rows.schema)


def _shuffle_identity(spark: "SparkSession", task: Task) -> "DataFrame":
    rows = _stream(spark, task, "a").unionAll(_stream(spark, task, "b")).repartition(2, "k")
    return rows.mapInArrow(lambda batches: batches, rows.schema)


SYSTEMS: Final[dict[str, Callable[["SparkSession", Task], "DataFrame"]]] = {
    "streamjoin": _streamjoin,
    "spark-rocksdb": _spark_join,
    "spark-memory": _spark_in_memory,
    "shuffle-identity": _shuffle_identity,
    "scan-identity": _scan_identity,
}


def _execute(task: Task, work: Path) -> Timing:
    spark = start_session(task.system, master="local[2]", conf=_SETTINGS, log=work / "log")
    query = (
        SYSTEMS[task.system](spark, task)
        .writeStream.format("noop")
        .option("checkpointLocation", str(work / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    batches: list[dict[str, Any]] = [p for p in query.recentProgress if p["numInputRows"]]
    seen = batches[-1]["observedMetrics"].get("streamjoin")
    operators = batches[-1]["stateOperators"]
    return Timing(
        rows=[p["numInputRows"] for p in batches],
        seconds=[p["durationMs"]["triggerExecution"] / 1000 for p in batches],
        results=[p["sink"]["numOutputRows"] for p in batches],
        state_rows=seen["state_rows"] if seen else sum(o["numRowsTotal"] for o in operators),
        state_bytes=seen["state_bytes"] if seen else sum(o["memoryUsedBytes"] for o in operators),
    )


def _main() -> None:
    task = Task(**json.loads(sys.stdin.read()))
    work = Path(tempfile.mkdtemp(prefix="sj-bench-"))
    try:
        sys.stdout.write(json.dumps(asdict(_execute(task, work))) + "\n")
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    _main()
