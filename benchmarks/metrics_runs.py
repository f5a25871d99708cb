"""One run of the benchmark of metrics on Spark, in a process of its own.

``python -m benchmarks.metrics_runs`` reads a JSON `Plan` and prints a JSON `Timing`.
"""

import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Event, Thread
from urllib.request import urlopen

from benchmarks.systems import SETTINGS, Task, Timing, execute
from streamjoin.spark.recording import record
from streamjoin.spark.session import start_session

SCRAPES_SECONDS = 1.0


@dataclass(frozen=True)
class Plan:
    """What to run: the join over the files of a folder, with everything measured or nothing."""

    folder: str
    window_seconds: float
    is_on: bool


def run_plan(plan: Plan, work: Path) -> Timing:
    """Join all files; with records beside the checkpoint and an exporter that is asked, or not."""
    conf = {**SETTINGS, "spark.sql.streaming.checkpointLocation": str(work)}
    if not plan.is_on:
        conf["spark.python.daemon.module"] = "benchmarks.metrics_off"
    spark = start_session("metrics", master="local[2]", conf=conf, log=work / "log")
    task = Task("streamjoin", plan.folder, 1, plan.window_seconds)
    with record(spark, prometheus=0, log=False) if plan.is_on else nullcontext() as recording:
        url = None if recording is None else recording.prometheus_url
        with scraped(url):
            return execute(spark, task, work / "checkpoint")


@contextmanager
def scraped(url: str | None) -> Iterator[None]:
    """Fetch an address again and again, as Prometheus would; None for no address."""
    done = Event()

    def scrape(url: str) -> None:
        while not done.wait(SCRAPES_SECONDS):
            with urlopen(url) as answer:
                answer.read()

    thread = Thread(target=scrape, args=(url,), daemon=True) if url else None
    if thread:
        thread.start()
    yield
    done.set()
    if thread:
        thread.join()


def _main() -> None:
    plan = Plan(**json.loads(sys.stdin.read()))
    work = Path(tempfile.mkdtemp(prefix="sj-bench-"))
    try:
        sys.stdout.write(json.dumps(asdict(run_plan(plan, work))) + "\n")
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    _main()
