"""The process that is killed: a Spark session that runs one query after the other as it is told.

Orders come through standard input, a line of JSON each: the name of a scenario, the folder of its
run and addresses of servers; or an empty line to stop the query. What happens goes to a file, a
line of JSON each.
"""

import json
import os
import select
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession

from streamjoin.metrics.progress import Progress
from streamjoin.spark.failures import root_cause
from streamjoin.spark.session import start_session
from streamjoin.spark.status import follow
from tests.system.chaos import queries
from tests.system.chaos.scenarios import BY_NAME

CONF: Final = {
    "spark.driver.memory": "768m",
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.numRecentProgressUpdates": "1000",
}


class Teller:
    """Writes down what happens, so that it is there if the process is gone the next moment."""

    def __init__(self, file: Path) -> None:
        self._file = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def tell(self, what: str, **more: Any) -> None:
        """Write one line."""
        os.write(self._file, (json.dumps({"what": what, **more}) + "\n").encode())


def main(master: str, events: str, conf: str, environment: str) -> None:
    """Run a session until standard input ends.

    The environment is that of Java and of the Python workers alone: in Python's own `sleep`
    libfaketime has a mistake.
    """
    teller = Teller(Path(events))
    os.environ.update(json.loads(environment))
    spark = start_session("chaos", master=master, conf={**CONF, **json.loads(conf)})
    teller.tell("ready")
    for line in iter(sys.stdin.readline, ""):
        if line.strip():
            _run(spark, json.loads(line), teller)
    spark.stop()


def _run(spark: SparkSession, order: dict[str, Any], teller: Teller) -> None:
    def report(progress: Progress) -> None:
        metrics = progress.whole
        teller.tell(
            "batch",
            batch=progress.batch,
            rows_in=metrics.rows_in,
            rows_out=metrics.rows_out,
            left_out=metrics.left_out,
            comparisons=metrics.compared + metrics.skipped,
            ran=progress.rows_in > 0 or metrics.rows_in > 0,
        )

    try:
        scenario = BY_NAME[order["scenario"]]
        query = queries.start(spark, scenario, Path(order["base"]), order["at"])
        teller.tell("started")
        follow(query, report, _is_asked)
        teller.tell("stopped")
    except Exception as error:
        if _is_gone(spark):
            os._exit(1)  # nothing that Python would tidy up is there any more
        teller.tell("failed", cause=root_cause(error), text=str(error)[:20_000])


def _is_gone(spark: SparkSession) -> bool:
    """Whether the session's Java has ended."""
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    try:
        gateway.proc.wait(timeout=0.5)
    except subprocess.TimeoutExpired:
        return False
    return True


def _is_asked() -> bool:
    """Whether a line has come that says to stop, or nobody is left to say so."""
    if not select.select([sys.stdin], [], [], 0)[0]:
        return False
    sys.stdin.readline()
    return True


if __name__ == "__main__":
    main(*sys.argv[1:])
