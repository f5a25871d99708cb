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
from streamjoin.cli.left_out import LeftOut
from streamjoin.cli.pipeline_file import PipelineFile
from streamjoin.cli.sections import JoinSection
from streamjoin.cli.session import start
from streamjoin.cli.sql_file import Settings, plan_of, read
from streamjoin.cli.table_file import TableFile
from streamjoin.durations import parse_duration
from streamjoin.errors import EngineError, StreamJoinError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from streamjoin.spark.pipeline import Pipeline


def run_command(file: Path) -> None:
    """Run the pipeline of a file and show how it goes."""
    settings = read(file)
    # A pipe or a file has no width of its own; 80 columns would fold the paths of the summary.
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 120)
    with tempfile.TemporaryDirectory(prefix="streamjoin-") as folder:
        scratch = Path(folder)
        pipeline = plan_of(settings, round(time.time()), scratch)
        console.print(_headline(settings), markup=False)
        with console.status("Starting Spark ..."):
            spark = start(settings, scratch)
        try:
            _run(spark, settings, pipeline, console)
        finally:
            spark.stop()


def _headline(settings: Settings) -> str:
    if isinstance(settings, PipelineFile):
        return headline(settings.names, settings.join)
    return settings.headline()


def headline(names: tuple[str, str], join: JoinSection) -> str:
    """Say in one line what is joined.

    Examples
    --------
    >>> join = JoinSection(on="k", how="left", time="t", window=("10 s", {"rows": 5}))
    >>> headline(("calls", "trades"), join)
    'Left join of calls with trades on k within 10 s / 5 rows'
    >>> join = JoinSection(on="k", time="t", window="10 s", budget={"rate": 1000})
    >>> headline(("calls", "trades"), join)
    'Inner join of calls with trades on k within 10 s, on a budget of 1,000 tuples/s'
    """
    windows = join.window if isinstance(join.window, tuple) else (join.window,)
    within = " / ".join(w if isinstance(w, str) else f"{w.rows} rows" for w in windows)
    on = "" if join.on is None else f" on {join.on}"
    where = "" if join.where is None else f" where {join.where}"
    budget = "" if join.budget is None else f", on a budget of {join.budget.made().describe()}"
    what = f"{join.how.capitalize()} join of {names[0]} with {names[1]}"
    return f"{what}{on}{where} within {within}{budget}"


def _run(spark: "SparkSession", settings: Settings, pipeline: "Pipeline", console: Console) -> None:
    from streamjoin.spark.failures import root_cause
    from streamjoin.spark.watch import follow

    duration = settings.run.duration
    seconds = parse_duration(duration, "run.duration") / 1e6 if duration else math.inf
    has_table = isinstance(settings, TableFile)  # such a join leaves nothing out
    budget = None if has_table else pipeline.budget
    left_out = LeftOut(budget, pipeline.shed, is_many=pipeline.is_many)
    display = Display(console, left_out, has_table=has_table)
    with _signals() as stopped, display:
        try:
            query = pipeline.start(spark)
            follow(query, display.add, lambda: bool(stopped), seconds)
        except StreamJoinError:
            raise
        except Exception as error:
            raise EngineError(root_cause(error)) from error
    kept = pipeline.checkpoint if settings.sink.path or settings.run.checkpoint else None
    places = pipeline.sink.path, kept, pipeline.late_rows
    near = (place and _near(place) for place in places)
    console.print(summary(display.totals, *near, left_out=left_out))


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
