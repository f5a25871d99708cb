"""One run of the benchmark of scale, in a process of its own.

``python -m benchmarks.scale_runs`` reads a JSON `Plan` and prints a JSON list of numbers: for
each query the seconds of its batches, and for jobs of empty tasks the driver's CPU time.
"""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from benchmarks.queries import Task
from benchmarks.systems import SETTINGS, execute
from streamjoin.errors import EngineError
from streamjoin.spark.session import start_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ONE_TASK_A_FILE = str(128 << 20)
_SECONDS = 60
"""That executors may take to come."""


@dataclass(frozen=True)
class Plan:
    """What to run, one after the other: joins, then jobs of so many tasks that do nothing.

    If `executors` are said, there must be so many before anything runs.
    """

    master: str
    conf: dict[str, str]
    tasks: list[Task]
    empty_tasks: list[int] = field(default_factory=list)
    executors: int | None = None

    @classmethod
    def of(cls, document: dict[str, Any]) -> "Plan":
        """From its JSON form."""
        return cls(tasks=[Task(**task) for task in document.pop("tasks")], **document)


def run_plan(plan: Plan, work: Path) -> dict[str, Any]:
    """Run it, and end its Spark."""
    conf = {
        **SETTINGS,
        "spark.driver.memory": "2g",
        "spark.sql.streaming.checkpointLocation": str(work),
        "spark.sql.files.openCostInBytes": ONE_TASK_A_FILE,
        **plan.conf,
    }
    spark = start_session("scale", master=plan.master, conf=conf, log=work / "log")
    try:
        if plan.executors is not None:
            _await_executors(spark, plan.executors)
        timings = [
            asdict(_run(spark, task, work / str(number))) for number, task in enumerate(plan.tasks)
        ]
        return {"timings": timings, "driver_cpu": _driver_cpu(spark, plan.empty_tasks)}
    finally:
        spark.stop()


def _await_executors(spark: "SparkSession", n: int) -> None:
    """Wait for all of them: state that is once on one of them stays there."""
    until = monotonic() + _SECONDS
    # the driver is among those that have memory for blocks
    while (found := spark._jsc.sc().getExecutorMemoryStatus().size() - 1) != n:
        if monotonic() > until:
            raise EngineError(f"bench: got {found} executors after {_SECONDS} s; needed: {n}")
        sleep(0.1)


def _run(spark: "SparkSession", task: Task, checkpoint: Path) -> Any:
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", str(task.shards))  # one task each
    return execute(session, task, checkpoint)


def _driver_cpu(spark: "SparkSession", sizes: Sequence[int]) -> list[float]:
    """Seconds of CPU that the driver's Java takes for a job of so many empty tasks."""
    java = int(spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid())  # type: ignore[union-attr]
    found = []
    for size in [max(sizes), *sizes] if sizes else []:  # the first time compiles
        before = _cpu_seconds(java)
        spark.range(0, size, 1, size).write.format("noop").mode("overwrite").save()
        sleep(0.2)  # it tells its listeners in the end
        found.append(_cpu_seconds(java) - before)
    return found[1:]


def _cpu_seconds(pid: int) -> float:
    """CPU time of a process so far."""
    after_name = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")


def _main() -> None:
    plan = Plan.of(json.loads(sys.stdin.read()))
    work = Path(tempfile.mkdtemp(prefix="sj-bench-"))
    try:
        sys.stdout.write(json.dumps(run_plan(plan, work)) + "\n")
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    _main()
