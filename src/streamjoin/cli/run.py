"""Run a pipeline file, from reading it to the closing summary.

Ctrl-C and SIGTERM: the first asks to stop, the second interrupts.
"""

import math
import re
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Final

import typer
from rich.console import Console

from streamjoin.cli.display import Display
from streamjoin.cli.job import Job, recorded, recorder
from streamjoin.cli.session import start
from streamjoin.cli.sql_file import Settings, read
from streamjoin.cli.summary import close
from streamjoin.cli.table_file import TableFile
from streamjoin.dashboard import start_dashboard
from streamjoin.durations import parse_duration
from streamjoin.errors import ConfigError, EngineError, StateError, StreamJoinError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from streamjoin.metrics.progress import Progress
    from streamjoin.metrics.recorder import Recorder

INTERRUPTED: Final = 130
"""The exit code of a program that SIGINT ended."""
Handler = Callable[[int, FrameType | None], None] | signal.Handlers


def run_command(
    file: Path, *, dashboard: bool = False, port: int | None = None, master: str | None = None
) -> None:
    """Run the pipeline of a file and show how it goes.

    Parameters
    ----------
    file
        The file.
    dashboard, port
        Whether a live page is served too, and at which port; one that is free if absent.
    master
        Where Spark runs, whatever the file and the environment say.
    """
    if port is not None and not dashboard:
        raise ConfigError.at("--port", port, "with --dashboard only")
    settings = read(file)
    if master is not None:
        settings = replace(settings, spark=_at(master, settings.spark))
    # A pipe or a file has no width of its own; 80 columns would fold the paths of the summary.
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 120)
    try:
        with tempfile.TemporaryDirectory(prefix="streamjoin-") as folder:
            _run_in(Path(folder), settings, console, dashboard, port)
    except KeyboardInterrupt:
        print("streamjoin: interrupted", file=sys.stderr)  # noqa: T201  # as errors are said
        raise typer.Exit(INTERRUPTED) from None


def _at(master: str, spark: Mapping[str, str]) -> dict[str, str]:
    """Spark's settings with this master."""
    if not re.fullmatch(r"local(\[.*\])?|spark://.*|k8s://.*|yarn", master):
        raise ConfigError.at(
            "--master", repr(master), "local[N], spark://HOST:PORT, yarn or k8s://https://HOST:PORT"
        )
    return {key: value for key, value in spark.items() if key != "spark.master"} | {
        "master": master
    }


def _run_in(
    scratch: Path, settings: Settings, console: Console, dashboard: bool, port: int | None
) -> None:
    job = Job.make(settings, scratch, has_page=dashboard)
    console.print(settings.headline(), markup=False)
    with ExitStack() as stack:
        if dashboard and job.records is not None:
            page = stack.enter_context(start_dashboard([job.records], port=port))
            console.print(f"Live page: {page.url}", soft_wrap=True)
        recording = stack.enter_context(recorder(job, console))
        with console.status("Starting Spark ..."):
            spark = start(settings, scratch)
        job = Job.make(settings, scratch, has_page=dashboard)  # generated streams begin now
        try:
            display = _run(spark, job, console, recording)
        finally:
            with _handling(signal.SIG_IGN):  # no signal while that takes a moment
                spark.stop()
        close(job, display)
        if dashboard and console.is_terminal:
            console.print("The page stays until Ctrl-C.")
            with suppress(KeyboardInterrupt):
                threading.Event().wait()


def _run(spark: "SparkSession", job: Job, console: Console, recording: "Recorder") -> Display:
    from streamjoin.spark.status import follow

    duration, most = job.settings.run.duration, job.all_rows
    seconds = parse_duration(duration, "run.duration") / 1e6 if duration else math.inf
    has_table = isinstance(job.settings, TableFile)
    display = Display(console, job.left_out, has_table=has_table, names=job.names)

    def see(progress: "Progress") -> None:
        display.add(progress, recording.see(progress.joins))
        if job.comparison is not None:
            job.comparison.add(progress.whole)

    def should_stop() -> bool:
        display.is_stopping = bool(stopped)
        return bool(stopped) or display.totals.rows_in >= most

    with signals() as stopped, display, _in_a_sentence(job.pipeline.checkpoint):
        query = job.pipeline.start(spark)
        with recorded(recording, spark, job, str(query.runId)):
            follow(query, see, should_stop, seconds)
    return display


@contextmanager
def signals() -> Iterator[list[int]]:
    """Collect signals instead of dying of them; a second one does interrupt."""
    caught: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        if caught:
            raise KeyboardInterrupt
        caught.append(number)

    with _handling(note):
        yield caught


@contextmanager
def _handling(handler: Handler) -> Iterator[None]:
    """Let this answer signals meanwhile."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


@contextmanager
def _in_a_sentence(checkpoint: str) -> Iterator[None]:
    """Say what Spark's error comes from."""
    from streamjoin.spark.checkpoint import damage
    from streamjoin.spark.failures import root_cause

    try:
        yield
    except StreamJoinError:
        raise
    except Exception as error:
        damaged = damage(checkpoint)
        if damaged is not None:
            raise StateError(damaged) from error
        raise EngineError(root_cause(error)) from error
