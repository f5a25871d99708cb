"""All that a run needs, made of its file before Spark starts, and what it writes down for others.

Others read records, for the live page, and numbers, for Prometheus.
"""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from streamjoin.cli.pipeline_file import PipelineFile
from streamjoin.cli.plan import resolve
from streamjoin.cli.sections import AVAILABLE_NOW
from streamjoin.cli.sql_file import Settings
from streamjoin.cli.table_file import TableFile
from streamjoin.cli.totals import LeftOut
from streamjoin.durations import parse_duration
from streamjoin.errors import ConfigError
from streamjoin.metrics.prometheus import address_of, start_exporter
from streamjoin.metrics.recorder import OnRecord, Recorder, to_file
from streamjoin.metrics.records import Started

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from streamjoin.cli.comparison import Comparison
    from streamjoin.spark.pipeline import Pipeline


@dataclass(frozen=True)
class Job:
    """A run that can begin: its file, and what that means to Spark."""

    settings: Settings
    pipeline: "Pipeline"
    records: Path | None = None  # the folder for what others may read; None if nobody does
    comparison: "Comparison | None" = None  # if the file asks for it

    @classmethod
    def make(cls, settings: Settings, scratch: Path, *, has_page: bool = False) -> "Job":
        """That of a file; for a page there are always records, if need be in the scratch folder."""
        pipeline = settings.plan(round(time.time()), scratch)
        records = _records(settings, pipeline)
        if records is None and has_page:
            records = scratch / "metrics"
        return cls(settings, pipeline, records, _comparison(settings, pipeline))

    @property
    def names(self) -> dict[str, str]:
        """What the file calls the streams that the join calls left and right."""
        names = self.settings.names
        return dict(zip(("left", "right"), names, strict=True)) if len(names) == 2 else {}

    @property
    def all_rows(self) -> float:
        """After how many rows all streams have ended; of most it is not known that they do."""
        settings = self.settings
        if not isinstance(settings, PipelineFile) or settings.run.trigger == AVAILABLE_NOW:
            return math.inf  # a query that takes all that is there ends by itself
        if self.kept_checkpoint is not None and Path(self.kept_checkpoint).exists():
            return math.inf  # some rows were read before
        return settings.all_rows()

    @property
    def left_out(self) -> LeftOut:
        """What there is to show of its budget; a join with a table leaves nothing out."""
        budget = None if isinstance(self.settings, TableFile) else self.pipeline.budget
        return LeftOut(budget, self.pipeline.shed, is_many=self.pipeline.is_many)

    @property
    def kept_checkpoint(self) -> str | None:
        """The checkpoint, if it outlives the run."""
        return _kept(self.settings, self.pipeline)


def _comparison(settings: Settings, pipeline: "Pipeline") -> "Comparison | None":
    """What others would have found, if the file asks for it; refused where it cannot be known."""
    if not settings.run.compare:
        return None
    from streamjoin.cli.comparison import Comparison
    from streamjoin.spark.pipeline import JoinPipeline

    assert isinstance(pipeline, JoinPipeline)  # no other file may ask for it
    try:
        return Comparison.prepare(pipeline)
    except ConfigError as error:
        raise ConfigError(f"{settings.file}: key `run.compare`: got true, but {error}") from None


def _kept(settings: Settings, pipeline: "Pipeline") -> str | None:
    return pipeline.checkpoint if settings.sink.path or settings.run.checkpoint else None


def _records(settings: Settings, pipeline: "Pipeline") -> Path | None:
    """Where records go: where the file says, or with a checkpoint that is kept on this machine."""
    said = resolve(settings.file, settings.metrics.path)
    if said is not None and "://" in said:
        what = f"got {said!r}; allowed: a folder of this machine"
        raise ConfigError(f"{settings.file}: key `metrics.path`: {what}")
    folder = said or _kept(settings, pipeline)
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
        raise ConfigError(
            f"{file}: key `metrics.prometheus`: {str(error).removeprefix('port: ')}"
        ) from None
    with exporter:
        console.print(f"Numbers for Prometheus: {exporter.url}", soft_wrap=True)
        yield Recorder(file.stem, [*takers, exporter.see])


@contextmanager
def recorded(recording: Recorder, spark: "SparkSession", job: Job, run: str) -> Iterator[None]:
    """Record the begin and the end of a query, given the id of its run."""
    from streamjoin.spark.failures import root_cause

    recording.start(_started(spark, job, run))
    try:
        yield
    except KeyboardInterrupt:
        recording.end("interrupted")
        raise
    except Exception as error:
        recording.end(root_cause(error))
        raise
    recording.end()


def _started(spark: "SparkSession", job: Job, run: str) -> Started:
    at, trigger, budget = round(time.time(), 3), job.settings.run.trigger, job.pipeline.budget
    plan, drawing = ("", "") if job.records is None else _explained(spark, job)
    return Started(
        query=job.settings.file.stem,
        run=run,
        at=at,
        plan=plan,
        drawing=drawing,
        trigger=None if trigger == AVAILABLE_NOW else parse_duration(trigger, "run.trigger") / 1e6,
        budget="" if budget is None else budget.describe(),
    )


def _explained(spark: "SparkSession", job: Job) -> tuple[str, str]:
    """What the query does, in words and drawn; its first batch runs meanwhile."""
    from streamjoin.spark.explain import explain_pipeline
    from streamjoin.spark.failures import hide

    try:
        explanation = explain_pipeline(job.pipeline, spark, job.settings.names)
        return str(explanation), explanation.to_svg()
    except Exception as error:  # no reason to end a query that runs
        return hide(f"not explained: {error}"), ""
