"""Run a file, from reading it to the closing summary.

First what a run needs, made of its file: what to start, in which Spark, and what it writes down for
others: records, for the live page, and numbers, for Prometheus. Then the run itself. Ctrl-C and
SIGTERM: the first asks to stop, the second interrupts.
"""

import math
import re
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.console import Console

from streamjoin.cli.display import Display
from streamjoin.cli.fields import secret_names
from streamjoin.cli.pipeline_file import PipelineFile, Settings
from streamjoin.cli.places import KafkaSinkSection, KafkaSourceSection, resolve
from streamjoin.cli.sections import AVAILABLE_NOW
from streamjoin.cli.sql_file import read
from streamjoin.cli.totals import LeftOut, close
from streamjoin.dashboard import start_dashboard
from streamjoin.durations import parse_duration
from streamjoin.errors import ConfigError, EngineError, StateError, StreamJoinError
from streamjoin.metrics.prometheus import address_of, start_exporter
from streamjoin.metrics.recorder import OnRecord, Recorder, to_file
from streamjoin.metrics.records import Started

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from streamjoin.cli.comparison import Comparison
    from streamjoin.metrics.progress import Progress
    from streamjoin.spark.pipeline import Pipeline

INTERRUPTED: Final = 130
"""The exit code of a program that SIGINT ended."""
Port = Annotated[
    int | None,
    typer.Option("--port", help="Port of the page. Default: 8765, or the next that is free."),
]
File = Annotated[Path, typer.Argument(metavar="FILE", help="A pipeline file: *.toml or *.sql.")]
Handler = Callable[[int, FrameType | None], None] | signal.Handlers
_JARS: Final = "spark.jars"
_PACKAGES: Final = "spark.jars.packages"
_REDACTION: Final = "spark.sql.redaction.options.regex"
_CONNECTOR: Final = "spark-sql-kafka"


@dataclass(frozen=True)
class Job:
    """A run that can begin: its file, and what that means to Spark."""

    settings: Settings
    pipeline: "Pipeline"
    kept_checkpoint: str | None  # if it outlives the run
    records: Path | None  # the folder for what others may read; None if nobody does
    comparison: "Comparison | None"  # if the file asks for it

    @classmethod
    def make(cls, settings: Settings, scratch: Path, *, has_page: bool = False) -> "Job":
        """That of a file; for a page there are always records, if need be in the scratch folder."""
        pipeline = settings.plan(round(time.time()), scratch)
        is_kept = settings.sink.path or settings.run.checkpoint
        kept = pipeline.checkpoint if is_kept else None
        records = _records(settings, kept)
        if records is None and has_page:
            records = scratch / "metrics"
        return cls(settings, pipeline, kept, records, _comparison(settings, pipeline))

    @property
    def all_rows(self) -> float:
        """After how many rows all streams have ended; of most it is not known that they do."""
        settings = self.settings
        if not isinstance(settings, PipelineFile) or settings.run.trigger == AVAILABLE_NOW:
            return math.inf  # a query that takes all that is there ends by itself
        if self.kept_checkpoint is not None and Path(self.kept_checkpoint).exists():
            return math.inf  # some rows were read before
        return settings.all_rows()


def _comparison(settings: Settings, pipeline: "Pipeline") -> "Comparison | None":
    """What others would have found, if the file asks for it; refused where it cannot be known."""
    if not settings.run.compare:
        return None
    from streamjoin.cli.comparison import Comparison

    try:
        return Comparison.prepare(pipeline)
    except ConfigError as error:
        raise ConfigError(f"{settings.file}: key `run.compare`: got true, but {error}") from None


def _records(settings: Settings, kept_checkpoint: str | None) -> Path | None:
    """Where records go: where the file says, or with a checkpoint that is kept on this machine."""
    said = resolve(settings.file, settings.metrics.path)
    if said is not None and "://" in said:
        what = f"got {said!r}; allowed: a folder of this machine"
        raise ConfigError(f"{settings.file}: key `metrics.path`: {what}")
    folder = said or kept_checkpoint
    return None if folder is None or "://" in folder else Path(folder)


@contextmanager
def recorder(job: Job, console: Console) -> Iterator[Recorder]:
    """What takes in the batches of a run, for as long as Prometheus may fetch numbers."""
    file, prometheus = job.settings.file, job.settings.metrics.prometheus
    takers: list[OnRecord] = [] if job.records is None else [to_file(job.records)]
    if prometheus is None:
        yield Recorder(file.stem, takers)
        return
    try:
        host, port = address_of(prometheus)
        exporter = start_exporter(port, host)
    except ConfigError as error:
        what = str(error).removeprefix("port: ")
        raise ConfigError(f"{file}: key `metrics.prometheus`: {what}") from None
    with exporter:
        console.print(f"Numbers for Prometheus: {exporter.url}", soft_wrap=True)
        yield Recorder(file.stem, [*takers, exporter.see])


@contextmanager
def recorded(recording: Recorder, spark: "SparkSession", job: Job, run: str) -> Iterator[None]:
    """Record the begin and the end of a query, given the id of its run."""
    from streamjoin.spark.failures import root_cause

    at, trigger, budget = round(time.time(), 3), job.settings.run.trigger, job.pipeline.budget
    plan, drawing = ("", "") if job.records is None else _explained(spark, job)
    started = Started(
        query=job.settings.file.stem,
        run=run,
        at=at,
        plan=plan,
        drawing=drawing,
        trigger=None if trigger == AVAILABLE_NOW else parse_duration(trigger, "run.trigger") / 1e6,
        budget="" if budget is None else budget.describe(),
    )
    recording.tell(started)
    try:
        yield
    except KeyboardInterrupt:
        recording.end("interrupted")
        raise
    except Exception as error:
        recording.end(root_cause(error))
        raise
    recording.end()


def _explained(spark: "SparkSession", job: Job) -> tuple[str, str]:
    """What the query does, in words and drawn; its first batch runs meanwhile."""
    from streamjoin.spark.explain import explain_pipeline
    from streamjoin.spark.failures import hide

    try:
        explanation = explain_pipeline(job.pipeline, spark)
        return str(explanation), explanation.to_svg()
    except Exception as error:  # no reason to end a query that runs
        return hide(f"not explained: {error}"), ""


def spark_needs(settings: Settings) -> dict[str, str]:
    """Spark's settings of a file, and with them what its sources and sinks need."""
    spark, places = dict(settings.spark), [*settings.sources.values(), settings.sink]
    if any(isinstance(place, KafkaSourceSection | KafkaSinkSection) for place in places):
        spark |= _with_connector(spark)
    secrets = {name for place in places for name in secret_names(getattr(place, "options", {}))}
    if secrets:
        # Spark writes the options of some formats into its plans: not the values of these, nor of
        # those that the file names for it itself, or Spark by default.
        said = spark.get(_REDACTION)
        first = "(?i)url" if said is None else f"(?:{said})"
        spark[_REDACTION] = f"{first}|(?i:{'|'.join(map(re.escape, sorted(secrets)))})"
    return spark


def _with_connector(spark: Mapping[str, str]) -> dict[str, str]:
    """The jars that `make jars` has got, unless the file names such ones."""
    from streamjoin.spark.kafka import connector_jars

    named, jars = spark.get(_JARS, ""), connector_jars()
    if not jars or _CONNECTOR in named + spark.get(_PACKAGES, ""):
        return {}
    return {_JARS: ",".join([*filter(None, [named]), *map(str, jars)])}


def start(settings: Settings, scratch: Path) -> "SparkSession":
    """Start Spark, quietly, with the file's settings and the generator of made-up streams.

    Java's chatter, which would tear a live table apart, goes to the scratch folder; what matters
    arrives as an exception.
    """
    from streamjoin.spark.failures import hush
    from streamjoin.spark.generator import register_generator
    from streamjoin.spark.session import start_session

    conf = spark_needs(settings)
    named = conf.pop("spark.master", None)
    master = conf.pop("master", named)
    if "driver_memory" in conf:
        conf["spark.driver.memory"] = conf.pop("driver_memory")
    spark = start_session(
        f"streamjoin {settings.file.name}", master=master, conf=conf, log=scratch / "spark.log"
    )
    hush()
    register_generator(spark)
    return spark


@contextmanager
def borrowed(settings: Settings) -> Iterator["SparkSession"]:
    """A session in the Spark that runs in this process; if none does, one that ends afterwards."""
    from streamjoin.spark.generator import register_generator
    from streamjoin.spark.pipeline import session_beside

    beside = session_beside(spark_needs(settings))
    if beside is not None:
        register_generator(beside)
        yield beside
        return
    with tempfile.TemporaryDirectory(prefix="streamjoin-") as folder:
        spark = start(settings, Path(folder))
        try:
            yield spark
        finally:
            spark.stop()


def run_command(
    file: File,
    dashboard: Annotated[
        bool, typer.Option("--dashboard", help="Serve a live page of it, too.")
    ] = False,
    port: Port = None,
    master: Annotated[
        str | None,
        typer.Option("--master", metavar="URL", help="Where Spark runs; wins over the file's."),
    ] = None,
) -> None:
    """Run the pipeline of a file until it ends, its duration is over, or Ctrl-C."""
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
        masters = "local[N], spark://HOST:PORT, yarn or k8s://https://HOST:PORT"
        raise ConfigError.at("--master", repr(master), masters)
    others = {key: value for key, value in spark.items() if key != "spark.master"}
    return {**others, "master": master}


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


def _run(spark: "SparkSession", job: Job, console: Console, recording: Recorder) -> Display:
    from streamjoin.spark.status import follow

    duration, most = job.settings.run.duration, job.all_rows
    seconds = parse_duration(duration, "run.duration") / 1e6 if duration else math.inf
    display = _display(job, console)

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


def _display(job: Job, console: Console) -> Display:
    """What shows the batches; of a join with a table nothing is left out."""
    settings, pipeline, has_table = job.settings, job.pipeline, job.pipeline.table is not None
    budget, shed = None if has_table else pipeline.budget, pipeline.arguments.get("shed")
    is_of_two = isinstance(settings, PipelineFile)
    names = dict(zip(("left", "right"), settings.sources, strict=True)) if is_of_two else {}
    left_out = LeftOut(budget, shed, is_many=pipeline.is_many)
    return Display(console, left_out, has_table=has_table, names=names)


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
