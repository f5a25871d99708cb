"""What a run writes down for others: records for the live page, numbers for Prometheus."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console

from streamjoin.cli.explain import names_of
from streamjoin.cli.job import Job
from streamjoin.cli.sections import AVAILABLE_NOW
from streamjoin.durations import parse_duration
from streamjoin.errors import ConfigError
from streamjoin.metrics.prometheus import address_of, start_exporter
from streamjoin.metrics.recorder import OnRecord, Recorder, to_file
from streamjoin.metrics.records import Started

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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
        msg = f"{file}: key `metrics.prometheus`: {str(error).removeprefix('port: ')}"
        raise ConfigError(msg) from None
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
    at, trigger = round(time.time(), 3), job.settings.run.trigger
    seconds = None if trigger == AVAILABLE_NOW else parse_duration(trigger, "run.trigger") / 1e6
    plan, drawing = ("", "") if job.records is None else _explained(spark, job)
    return Started(
        query=job.settings.file.stem,
        run=run,
        at=at,
        plan=plan,
        drawing=drawing,
        trigger=seconds,
        budget="" if job.pipeline.budget is None else job.pipeline.budget.describe(),
    )


def _explained(spark: "SparkSession", job: Job) -> tuple[str, str]:
    """What the query does, in words and drawn; its first batch runs meanwhile."""
    from streamjoin.spark.explain import explain_pipeline
    from streamjoin.spark.secrets import hide

    try:
        explanation = explain_pipeline(job.pipeline, spark, names_of(job.settings))
        return str(explanation), explanation.to_svg()
    except Exception as error:  # no reason to end a query that runs
        return hide(f"not explained: {error}"), ""
