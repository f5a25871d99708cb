"""Run one system over recorded streams in a process of its own, and time its micro-batches.

Each system gets a fresh Spark with the same machine, memory and settings, the same files, one file
set per micro-batch, and a sink that drops everything. ``python -m benchmarks.systems`` with a
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
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from benchmarks.queries import SYSTEMS, Task
from streamjoin.errors import EngineError
from streamjoin.spark.session import STATE_STORE, start_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["SETTINGS", "Task", "Timing", "agree", "execute", "in_process", "measure", "start"]

SETTINGS: Final = {
    "spark.driver.memory": "6g",
    f"{STATE_STORE}rocksdb.trackTotalNumberOfRows": "false",  # counting costs a look-up a write
    "spark.sql.streaming.join.stateFormatVersion": "4",  # the fastest of Spark's own formats
}


@dataclass(frozen=True)
class Timing:
    """What a run gave: rows in, seconds and results of each batch, and the state at its end.

    `alone` are those of our results that have no partner, `cpu_us` CPU time of our join itself.
    """

    rows: list[int]
    seconds: list[float]
    results: list[int]
    alone: list[int]
    cpu_us: list[int]
    state_rows: int
    state_bytes: int

    def rows_per_second(self, cold: int) -> float:
        """Input rows over seconds of the median batch after the first `cold` ones."""
        return self.rows[-1] / median(self.seconds[cold:])


def measure(task: Task) -> Timing:
    """Run a task in a new process, and leave nothing of it behind."""
    return Timing(**in_process("benchmarks.systems", asdict(task), task.system))


def in_process(module: str, document: dict[str, Any], name: str) -> dict[str, Any]:
    """Run a module that reads a JSON document and prints one, in a process of its own.

    Output goes through files: a JVM that outlives its Python would hold a pipe open.
    """
    with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryFile("w+") as complained:
        process = subprocess.Popen(
            [sys.executable, "-m", module],
            stdin=subprocess.PIPE,
            stdout=said,
            stderr=complained,
            text=True,
            start_new_session=True,
        )
        process.communicate(json.dumps(document))
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        said.seek(0)
        complained.seek(0)
        if process.returncode != 0:
            lines = complained.read().strip().splitlines() or ["no message"]
            raise EngineError(f"bench: {name} failed: {lines[-1]}")
        found: dict[str, Any] = json.loads(said.read().splitlines()[-1])
        return found


def agree(results: Mapping[str, Sequence[int]]) -> None:
    """Refuse systems that differ in the number of results, all batches together that all had."""
    n = min(map(len, results.values()))
    totals = {system: sum(found[:n]) for system, found in results.items()}
    if len(set(totals.values())) > 1:
        raise EngineError(f"bench: the joins disagree on the number of results: {totals}")


def start(system: str, work: Path) -> "SparkSession":
    """The Spark that systems run in, with a folder of its own."""
    conf = {**SETTINGS, "spark.sql.streaming.checkpointLocation": str(work)}
    return start_session(system, master="local[2]", conf=conf, log=work / "log")


def execute(spark: "SparkSession", task: Task, checkpoint: Path) -> Timing:
    """Run a system over all files that are there and that the checkpoint does not know yet."""
    query = (
        SYSTEMS[task.system](spark, task)
        .writeStream.format("noop")
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    batches: list[dict[str, Any]] = [p for p in query.recentProgress if p["numInputRows"]]
    seen = [p["observedMetrics"].get("streamjoin") for p in batches]
    counters = [each and each["counters"] for each in seen]
    last = counters[-1]
    operators = batches[-1]["stateOperators"]
    return Timing(
        rows=[p["numInputRows"] for p in batches],
        seconds=[p["durationMs"]["triggerExecution"] / 1000 for p in batches],
        results=[p["sink"]["numOutputRows"] for p in batches],
        alone=[
            c["alone_left"] + c["alone_right"] if c and "alone_left" in c else 0 for c in counters
        ],
        cpu_us=[c["cpu_us"] if c else 0 for c in counters],
        state_rows=_remembered(last) if last else sum(o["numRowsTotal"] for o in operators),
        state_bytes=last["state_bytes"] if last else sum(o["memoryUsedBytes"] for o in operators),
    )


def _remembered(counters: dict[str, Any]) -> int:
    """Rows of streams, and tuples of joins where there are several."""
    return int(counters["state_rows"] + counters.get("intermediate_rows", 0))


def _main() -> None:
    task = Task(**json.loads(sys.stdin.read()))
    work = Path(tempfile.mkdtemp(prefix="sj-bench-"))
    try:
        timing = execute(start(task.system, work), task, work / "checkpoint")
        sys.stdout.write(json.dumps(asdict(timing)) + "\n")
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    _main()
