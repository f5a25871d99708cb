"""Places of a checked pipeline file in Spark's words: sources, sinks, paths."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from streamjoin.cli import places, sections
from streamjoin.cli.fields import texts
from streamjoin.durations import format_duration, parse_duration
from streamjoin.errors import ConfigError

if TYPE_CHECKING:
    from streamjoin.spark import pipeline

_DURATIONS: Final = ("disorder", "cycle", "lag", "backlog")


def destination(
    file: Path, sink: places.Sink, run: sections.RunSection, scratch: Path
) -> dict[str, Any]:
    """Where results go and when: the sink, the checkpoint and the trigger of a pipeline.

    A checkpoint that need not outlive the run is in the scratch folder.
    """
    path = resolve(file, sink.path)
    checkpoint = resolve(file, run.checkpoint)
    if checkpoint is None:
        checkpoint = f"{path}_checkpoint" if path else str(scratch / "checkpoint")
    trigger = None  # Spark knows no short names of units
    if run.trigger != sections.AVAILABLE_NOW:
        trigger = format_duration(parse_duration(run.trigger, "run.trigger"))
    return {"sink": _spark_sink(file, sink), "checkpoint": checkpoint, "trigger": trigger}


def _spark_sink(file: Path, sink: places.Sink) -> "pipeline.Sink | pipeline.BatchSink":
    from streamjoin.spark import pipeline

    if isinstance(sink, places.PostgresSinkSection):
        from streamjoin.spark.sinks.postgres import postgres_sink

        try:
            table = postgres_sink(sink.address, sink.table, sink.pair_id)
        except ConfigError as error:
            raise ConfigError(f"{file}: key `sink.{str(error).replace(':', '`:', 1)}") from None
        return pipeline.BatchSink(table, f"table {sink.table}")
    if isinstance(sink, places.KafkaSinkSection):
        from streamjoin.spark.kafka import FORMAT, KEY, KafkaSink

        key = KEY if sink.pair_id else None
        return KafkaSink(FORMAT, options=texts(sink.spark_options()), pair_id=key)
    return pipeline.Sink(sink.type, resolve(file, sink.path), texts(sink.options), sink.pair_id)


def spark_source(file: Path, source: places.Source, now: float) -> "pipeline.Source":
    """A source of a file; `now` is where the time of generated streams begins."""
    from streamjoin.spark import pipeline

    if isinstance(source, places.GeneratorSource):
        from streamjoin.spark.generator import FORMAT

        options = source.model_dump(
            exclude={"type", "select", "burst", *_DURATIONS}, exclude_none=True
        )
        seconds = {name: _seconds(getattr(source, name)) for name in _DURATIONS}
        options |= {
            "start": now,
            "disorder_ms": round(1000 * seconds["disorder"]),
            "cycle_s": seconds["cycle"],
            "lag_s": seconds["lag"],
            "backlog_seconds": seconds["backlog"],
            **_burst(source.burst),
        }
        return pipeline.Source(FORMAT, options=texts(options), select=source.select)
    if isinstance(source, places.KafkaSourceSection):
        from streamjoin.spark import kafka

        options = texts(source.spark_options())
        return kafka.KafkaSource(kafka.FORMAT, None, source.ddl, options, source.select)
    options = texts(source.options)
    if source.max_files_per_trigger is not None:
        options["maxFilesPerTrigger"] = str(source.max_files_per_trigger)
    path = resolve(file, source.path)
    return pipeline.Source(source.type, path, source.ddl, options, source.select)


def _burst(burst: places.BurstSection | None) -> dict[str, float]:
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
        raise ConfigError.at(file, f"the path {path!r}", "one without NUL")
    if path is None or re.match(r"[a-z][a-z0-9+.-]+:", path):
        return path
    return str((file.parent / path).resolve())
