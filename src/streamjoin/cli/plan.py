"""From a checked pipeline file to a pipeline in Spark's words."""

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from streamjoin.cli.kafka_sections import KafkaSinkSection, KafkaSourceSection
from streamjoin.cli.options import texts
from streamjoin.cli.pipeline_file import AnySink, PipelineFile, Source
from streamjoin.cli.postgres_sections import PostgresSinkSection
from streamjoin.cli.sections import (
    AVAILABLE_NOW,
    BurstSection,
    GeneratorSource,
    RowsWindow,
    RunSection,
    Window,
)
from streamjoin.durations import format_duration, parse_duration
from streamjoin.errors import ConfigError
from streamjoin.windows import Rows

if TYPE_CHECKING:
    from streamjoin.spark import pipeline
    from streamjoin.spark.sinks.postgres import PostgresSink

_MADE_HERE: Final = ("window", "late_rows", "hot_keys", "budget", "shed", "utility", "ahead")
_DURATIONS: Final = ("disorder", "cycle", "lag", "backlog")


def plan(settings: PipelineFile, now: float, scratch: Path) -> "pipeline.JoinPipeline":
    """Make the pipeline of a TOML file.

    Parameters
    ----------
    settings
        The file.
    now
        Event time at which generated streams begin, in seconds since 1970: the same for both.
    scratch
        Folder for a checkpoint that need not outlive the run.
    """
    from streamjoin.spark.pipeline import JoinPipeline

    where = destination(settings.file, settings.sink, settings.run, scratch)
    arguments = _join(settings, where["checkpoint"])
    return JoinPipeline(
        left=spark_source(settings.file, settings.left, now),
        right=spark_source(settings.file, settings.right, now),
        join=arguments,
        budget=arguments["budget"],
        shed=arguments["shed"],
        late_rows=arguments["late_rows"],
        **where,
    )


def destination(file: Path, sink: AnySink, run: RunSection, scratch: Path) -> dict[str, Any]:
    """Where results go and when: the sink, the checkpoint and the trigger of a pipeline."""
    path = resolve(file, sink.path)
    checkpoint = resolve(file, run.checkpoint)
    if checkpoint is None:
        checkpoint = f"{path}_checkpoint" if path else str(scratch / "checkpoint")
    return {
        "sink": _spark_sink(file, sink),
        "checkpoint": checkpoint,
        "trigger": None if run.trigger == AVAILABLE_NOW else _for_spark(run.trigger),
    }


def _spark_sink(file: Path, sink: AnySink) -> "pipeline.Sink | pipeline.BatchSink":
    """A sink of a file in Spark's words."""
    from streamjoin.spark.pipeline import BatchSink, Sink

    if isinstance(sink, PostgresSinkSection):
        return BatchSink(_postgres(file, sink), f"table {sink.table}")
    if isinstance(sink, KafkaSinkSection):
        from streamjoin.spark.kafka import FORMAT, KEY, KafkaSink

        key = KEY if sink.pair_id else None
        return KafkaSink(FORMAT, options=texts(sink.spark_options()), pair_id=key)
    return Sink(sink.type, resolve(file, sink.path), texts(sink.options), sink.pair_id)


def _postgres(file: Path, sink: PostgresSinkSection) -> "PostgresSink":
    from streamjoin.spark.sinks.postgres import postgres_sink

    try:
        return postgres_sink(sink.address, sink.table, sink.pair_id)
    except ConfigError as error:
        msg = f"{file}: key `sink.{str(error).replace(':', '`:', 1)}"
        raise ConfigError(msg) from None


def _join(settings: PipelineFile, checkpoint: str) -> dict[str, Any]:
    """The arguments of `streamjoin.join`."""
    join = settings.join
    window = join.window
    return {
        **join.model_dump(exclude={"left", "right", *_MADE_HERE}),
        "window": tuple(map(_window, window)) if isinstance(window, tuple) else _window(window),
        "late_rows": resolve(settings.file, join.late_rows),
        "hot_keys": f"{checkpoint}_hot_keys" if join.hot_keys else False,
        "budget": None if join.budget is None else join.budget.made(),
        "shed": list(join.shed) if isinstance(join.shed, tuple) else join.shed,
        "utility": _utility(join.utility),
        "ahead": None if join.ahead == "unlimited" else join.ahead,
    }


def _utility(utility: str | tuple[str, str] | None) -> str | tuple[str | None, str | None] | None:
    """TOML has no null: a side without a column is empty text."""
    if not isinstance(utility, tuple):
        return utility
    return utility[0] or None, utility[1] or None


def _window(window: Window) -> str | Rows:
    return Rows(window.rows) if isinstance(window, RowsWindow) else window


def _for_spark(duration: str) -> str:
    """Write a duration with the unit's full name: Spark knows no short ones."""
    return format_duration(parse_duration(duration, "run.trigger"))


def spark_source(file: Path, source: Source, now: float) -> "pipeline.Source":
    """A source of a file in Spark's words."""
    from streamjoin.spark.generator import FORMAT
    from streamjoin.spark.pipeline import Source as SparkSource

    if isinstance(source, GeneratorSource):
        made_here = {"type", "select", "burst", *_DURATIONS}
        options = source.model_dump(exclude=made_here, exclude_none=True)
        seconds = {name: _seconds(getattr(source, name)) for name in _DURATIONS}
        options |= {
            "start": now,
            "disorder_ms": round(1000 * seconds["disorder"]),
            "cycle_s": seconds["cycle"],
            "lag_s": seconds["lag"],
            "backlog_seconds": seconds["backlog"],
            **_burst(source.burst),
        }
        return SparkSource(FORMAT, options=texts(options), select=source.select)
    if isinstance(source, KafkaSourceSection):
        from streamjoin.spark import kafka

        options = texts(source.spark_options())
        return kafka.KafkaSource(kafka.FORMAT, None, source.ddl, options, source.select)
    options = texts(source.options)
    if source.max_files_per_trigger is not None:
        options["maxFilesPerTrigger"] = str(source.max_files_per_trigger)
    path = resolve(file, source.path)
    return SparkSource(source.type, path, source.ddl, options, source.select)


def all_rows(settings: PipelineFile) -> float:
    """All rows that a file's two streams will ever have; without end unless both are made up."""
    from streamjoin.spark.generator import stream_of

    rows = 0
    for source in (settings.left, settings.right):
        if not isinstance(source, GeneratorSource) or source.seconds is None:
            return math.inf
        options = spark_source(settings.file, source, now=0.0).options
        rows += stream_of(options).pace.rows(source.seconds)
    return rows


def _burst(burst: BurstSection | None) -> dict[str, float]:
    if burst is None:
        return {}
    times = {"burst_at_s": _seconds(burst.at), "burst_lasting_s": _seconds(burst.lasting)}
    return {**times, "burst_times": burst.times}


def _seconds(duration: str) -> float:
    return parse_duration(duration, "duration") / 1e6


def resolve(file: Path, path: str | None) -> str | None:
    """Read a path relative to the pipeline file's folder; addresses stay as they are.

    Examples
    --------
    >>> resolve(Path("/pipelines/p.toml"), "data/calls")
    '/pipelines/data/calls'
    >>> resolve(Path("p.toml"), "s3a://bucket/calls")
    's3a://bucket/calls'
    """
    if path is not None and "\0" in path:
        msg = f"{file}: got the path {path!r}; allowed: one without NUL"
        raise ConfigError(msg)
    if path is None or re.match(r"[a-z][a-z0-9+.-]+:", path):
        return path
    return str((file.parent / path).resolve())
