"""Run a pipeline file, from reading it to the closing summary."""

import math
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from rich.console import Console

from streamjoin.cli.display import Display, summary
from streamjoin.cli.pipeline_file import PipelineFile, load
from streamjoin.cli.plan import plan
from streamjoin.durations import parse_duration
from streamjoin.errors import EngineError, StreamJoinError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from streamjoin.spark.pipeline import Pipeline


def run_command(file: Path) -> None:
    """Run the pipeline of a file and show how it goes."""
    settings = load(file)
    # A pipe or a file has no width of its own; 80 columns would fold the paths of the summary.
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 120)
    with tempfile.TemporaryDirectory(prefix="streamjoin-") as folder:
        scratch = Path(folder)
        pipeline = plan(settings, round(time.time()), scratch)
        console.print(_headline(settings), markup=False)
        spark = _start(settings, console, scratch)
        try:
            _run(spark, settings, pipeline, console)
        finally:
            spark.stop()


def _headline(settings: PipelineFile) -> str:
    join = settings.join
    both = join.window if isinstance(join.window, str) else " / ".join(join.window)
    left, right = settings.names
    return f"Joining {left} with {right} on {join.on} within {both}"


def _start(settings: PipelineFile, console: Console, scratch: Path) -> "SparkSession":
    from streamjoin.spark.generator import register_generator
    from streamjoin.spark.session import start_session

    conf = dict(settings.spark)
    master = conf.pop("master", None)
    if "driver_memory" in conf:
        conf["spark.driver.memory"] = conf.pop("driver_memory")
    with console.status("Starting Spark ..."):
        # Java's chatter would tear the live table apart; what matters arrives as an exception.
        spark = start_session(
            f"streamjoin {settings.file.name}", master=master, conf=conf, log=scratch / "spark.log"
        )
        register_generator(spark)
    return spark


def _run(
    spark: "SparkSession", settings: PipelineFile, pipeline: "Pipeline", console: Console
) -> None:
    from streamjoin.spark.failures import root_cause
    from streamjoin.spark.watch import follow

    duration = settings.run.duration
    seconds = parse_duration(duration, "run.duration") / 1e6 if duration else math.inf
    with _signals() as stopped, Display(console) as display:
        try:
            query = pipeline.start(spark)
            follow(query, display.add, lambda: bool(stopped), seconds)
        except StreamJoinError:
            raise
        except Exception as error:
            raise EngineError(root_cause(error)) from error
    kept = pipeline.checkpoint if settings.sink.path or settings.run.checkpoint else None
    results = pipeline.sink.path
    console.print(summary(display.totals, results and _near(results), kept and _near(kept)))


@contextmanager
def _signals() -> Iterator[list[int]]:
    """Collect SIGINT and SIGTERM instead of dying of them; a second one does interrupt."""
    caught: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        if caught:
            raise KeyboardInterrupt
        caught.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield caught
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _near(path: str) -> str:
    """Write a path below the current folder as the user would type it."""
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except ValueError:
        return path
