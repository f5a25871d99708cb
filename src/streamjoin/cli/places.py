"""What a file may say of streams to read and of where results go; each in Spark's words, too."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo

from streamjoin.cli.fields import (
    OPTIONS,
    Duration,
    Options,
    PositiveDuration,
    Section,
    allowed,
    check_variable,
    refuse,
    texts,
)
from streamjoin.durations import parse_duration
from streamjoin.errors import ConfigError

if TYPE_CHECKING:
    from streamjoin.spark import pipeline

FILE_FORMATS: Final = ("parquet", "json", "csv")
SOURCE_TYPES: Final = "parquet, json, csv, kafka, generator or any Spark streaming format"
SINK_TYPES: Final = "parquet, kafka, postgres, console, noop or any Spark streaming format"
TEMPORARY_SINKS: Final = ("console", "noop")
"""There is nothing to resume, so a checkpoint may go with the run."""

COLUMNS: Final = 'the columns, such as "id BIGINT, at TIMESTAMP"'
SELECT: Any = allowed('a list of SQL expressions such as ["id", "price * 2 AS p"]', ())
PATH: Any = allowed("a folder", None, validate_default=True)
DATABASE: Final = 'an address such as "postgresql://user@host/database"'
URI_ENV: Any = allowed("the name of an environment variable that has the address", None)
URI: Any = allowed(DATABASE, None, repr=False, validate_default=True)


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
        raise ConfigError.at(str(file), f"the path {path!r}", "one without NUL")
    if path is None or re.match(r"[a-z][a-z0-9+.-]+:", path):
        return path
    return str((file.parent / path).resolve())


def _seconds(duration: str) -> float:
    return parse_duration(duration, "duration") / 1e6


def _needed(formats: tuple[str, ...], what: str) -> AfterValidator:
    """Refuse a source or sink of some formats that leaves out a key."""

    def check(value: str | None, info: ValidationInfo) -> str | None:
        if value is None and info.data.get("type") in formats:
            refuse(f"missing; allowed: {what.format(info.data['type'])}")
        return value

    return AfterValidator(check)


class BurstSection(Section):
    """``burst = { at = "30 seconds", lasting = "20 seconds", times = 4 }``: when more rows come."""

    at: Duration = allowed('a duration such as "30 seconds"')
    lasting: PositiveDuration = allowed('a positive duration such as "20 seconds"')
    times: float = allowed("a number, more than 0, at most 1000", gt=0, le=1000)


class GeneratorSource(Section):
    """``[sources.NAME]`` with ``type = "generator"``: a built-in seeded stream."""

    type: Literal["generator"] = allowed("generator")
    workload: Literal["calls", "trades", "news", "alerts"] = allowed(
        "calls, trades, news, alerts", "calls"
    )
    rate: float = allowed("rows per second, more than 0", 1000.0, gt=0, le=1e9)
    keys: int = allowed("1 to 10000000", 10_000, ge=1, le=10_000_000)
    skew: float = allowed("Zipf exponent, 0 (uniform) to 10", 0.0, ge=0, le=10)
    seed: int = allowed("a whole number, 0 or more", 0, ge=0)
    seconds: float | None = allowed("seconds of data, more than 0; or absent", None, gt=0)
    disorder: Duration = allowed('a duration such as "500 ms"', "0 seconds")
    cycle: Duration = allowed('a duration such as "40 seconds"', "0 seconds")
    lag: Duration = allowed('a duration such as "12 seconds"', "0 seconds")
    backlog: PositiveDuration = allowed('a positive duration such as "2 seconds"', "10 seconds")
    burst: BurstSection | None = allowed(
        'a table { at = "30 seconds", lasting = "20 seconds", times = 4 }; or absent', None
    )
    select: tuple[str, ...] = SELECT

    def for_spark(self, file: Path, now: float) -> "pipeline.Source":
        """The stream, whose time begins at `now`."""
        from streamjoin.spark import generator, pipeline

        same = {"workload", "rate", "keys", "skew", "seed", "seconds"}
        options = self.model_dump(include=same, exclude_none=True) | {
            "start": now,
            "disorder_ms": round(1000 * _seconds(self.disorder)),
            "cycle_s": _seconds(self.cycle),
            "lag_s": _seconds(self.lag),
            "backlog_seconds": _seconds(self.backlog),
        }
        if self.burst is not None:
            options["burst_at_s"] = _seconds(self.burst.at)
            options["burst_lasting_s"] = _seconds(self.burst.lasting)
            options["burst_times"] = self.burst.times
        return pipeline.Source(generator.FORMAT, options=texts(options), select=self.select)


class StreamSource(Section):
    """``[sources.NAME]`` with any other type: files, or any streaming format that Spark knows."""

    type: str = allowed(SOURCE_TYPES)
    path: Annotated[str | None, _needed(FILE_FORMATS, "the folder of the {} files")] = PATH
    ddl: Annotated[str | None, _needed(("json", "csv"), COLUMNS)] = allowed(
        COLUMNS, None, alias="schema", validate_default=True
    )
    options: Options = OPTIONS
    max_files_per_trigger: int | None = allowed("a whole number, 1 or more", None, ge=1)
    select: tuple[str, ...] = SELECT

    def for_spark(self, file: Path, now: float) -> "pipeline.Source":
        """The stream."""
        from streamjoin.spark import pipeline

        options, most = texts(self.options), self.max_files_per_trigger
        if most is not None:
            options["maxFilesPerTrigger"] = str(most)
        return pipeline.Source(self.type, resolve(file, self.path), self.ddl, options, self.select)


class SinkSection(Section):
    """``[sink]`` with files, or any format that Spark can write."""

    type: str = allowed(SINK_TYPES)
    path: Annotated[str | None, _needed(FILE_FORMATS, "a folder for the {} files")] = PATH
    options: Options = OPTIONS
    pair_id: str | None = allowed(
        "the name of a column to add, for the pair id; or absent", None, min_length=1
    )

    def for_spark(self, file: Path) -> "pipeline.Sink":
        """The sink."""
        from streamjoin.spark import pipeline

        return pipeline.Sink(self.type, resolve(file, self.path), texts(self.options), self.pair_id)


_ADDRESS: Final = r"(\[[0-9a-fA-F:]+\]|[\w.-]+):\d{1,5}"
_SERVERS: Any = allowed(
    'an address such as "broker:9092", or several with commas between them',
    pattern=rf"^{_ADDRESS}(,{_ADDRESS})*$",
)
_TOPIC: Any = allowed(
    "the name of a topic: letters, digits, dots, underscores and hyphens",
    pattern=r"^[a-zA-Z0-9._-]{1,249}$",
)
_KEYS_OF_KAFKA: Final = {
    "kafka.bootstrap.servers": "servers",
    "subscribe": "topic",
    "subscribepattern": "topic",
    "assign": "topic",
    "topic": "topic",
    "startingoffsets": "starting",
    "maxoffsetspertrigger": "max_rows_per_trigger",
}
"""Options of Spark that are keys of their own here."""


def _no_keys(options: Mapping[str, Any]) -> Mapping[str, Any]:
    for name in options:
        key = _KEYS_OF_KAFKA.get(name.lower())
        if key is not None:
            refuse(f"got {name!r}; allowed: the key {key} in place of it")
    return options


KafkaOptions = Annotated[Options, AfterValidator(_no_keys)]


class KafkaSourceSection(Section):
    """``[sources.NAME]`` with ``type = "kafka"``: a topic whose values are JSON objects."""

    type: Literal["kafka"] = allowed(SOURCE_TYPES)
    servers: str = _SERVERS
    topic: str = _TOPIC
    ddl: str = allowed(
        'the columns of the JSON values, such as "id BIGINT, at TIMESTAMP"',
        alias="schema",
        min_length=1,
    )
    starting: Literal["earliest", "latest"] = allowed("earliest, latest", "earliest")
    max_rows_per_trigger: int | None = allowed("a whole number, 1 or more", None, ge=1)
    options: KafkaOptions = OPTIONS
    select: tuple[str, ...] = SELECT

    def for_spark(self, file: Path, now: float) -> "pipeline.Source":
        """The stream."""
        from streamjoin.spark import kafka

        most = self.max_rows_per_trigger
        options = {
            **self.options,
            "kafka.bootstrap.servers": self.servers,
            "subscribe": self.topic,
            "startingOffsets": self.starting,
            **({} if most is None else {"maxOffsetsPerTrigger": most}),
        }
        return kafka.KafkaSource(kafka.FORMAT, None, self.ddl, texts(options), self.select)


class KafkaSinkSection(Section):
    """``[sink]`` with ``type = "kafka"``: a message for each result."""

    type: Literal["kafka"] = allowed(SINK_TYPES)
    servers: str = _SERVERS
    topic: str = _TOPIC
    pair_id: bool = allowed(
        "true or false: whether the key of a message is its result's pair id", True, strict=True
    )
    options: KafkaOptions = OPTIONS

    path: ClassVar[None] = None

    def for_spark(self, file: Path) -> "pipeline.Sink":
        """The sink."""
        from streamjoin.spark import kafka

        own = {"kafka.bootstrap.servers": self.servers, "topic": self.topic}
        key = kafka.KEY if self.pair_id else None
        return kafka.KafkaSink(kafka.FORMAT, options=texts({**self.options, **own}), pair_id=key)


def only_address(*others: str) -> BeforeValidator:
    """Refuse an address beside one of these keys, and none at all; it is never shown."""

    def check(uri: object, info: ValidationInfo) -> object:
        if uri is not None and not isinstance(uri, str):
            refuse(f"got no text; allowed: {DATABASE}")
        given = [name for name in others if info.data.get(name, True) is not None]
        given += [] if uri is None else ["uri"]
        if len(given) != 1:
            got = " and ".join(given) or "no address"
            refuse(f"got {got}; allowed: one of {', '.join(('uri', *others))}")
        return uri

    return BeforeValidator(check)


UriEnv = Annotated[str, Field(min_length=1), AfterValidator(check_variable)] | None


class PostgresSinkSection(Section):
    """``[sink]`` with ``type = "postgres"``: a table of PostgreSQL.

    A password may be in an address, so no value of `uri` is ever shown.
    """

    type: Literal["postgres"] = allowed(SINK_TYPES)
    uri_env: UriEnv = URI_ENV
    uri: Annotated[str | None, only_address("uri_env")] = URI
    table: str = allowed(
        'the table\'s name in the database, such as "public.pairs"', pattern=r"^[^.]+(\.[^.]+)?$"
    )
    pair_id: Annotated[bool, Field(strict=True)] | Annotated[str, Field(min_length=1)] = allowed(
        "true, false, or the name of the column for the pair id", True
    )

    path: ClassVar[None] = None

    def for_spark(self, file: Path) -> "pipeline.BatchSink":
        """The sink."""
        from streamjoin.spark import pipeline
        from streamjoin.spark.sinks.postgres import postgres_sink

        address = self.uri or os.environ.get(self.uri_env or "", "")
        try:
            table = postgres_sink(address, self.table, self.pair_id)
        except ConfigError as error:
            raise ConfigError(f"{file}: key `sink.{str(error).replace(':', '`:', 1)}") from None
        return pipeline.BatchSink(table, f"table {self.table}")


Source = GeneratorSource | KafkaSourceSection | StreamSource
Sink = KafkaSinkSection | PostgresSinkSection | SinkSection


def source_model(kind: object) -> type[Source]:
    """What may be said of a source of a type."""
    models: dict[str, type[Source]] = {"generator": GeneratorSource, "kafka": KafkaSourceSection}
    return models.get(str(kind), StreamSource)


def sink_model(kind: object) -> type[Sink]:
    """What may be said of a sink of a type."""
    models: dict[str, type[Sink]] = {"kafka": KafkaSinkSection, "postgres": PostgresSinkSection}
    return models.get(str(kind), SinkSection)


def is_endless(source: Source) -> bool:
    """Whether a stream is being made up without an end."""
    return isinstance(source, GeneratorSource) and source.seconds is None


def needs_checkpoint(sink: Sink) -> bool:
    """Whether a checkpoint has to be kept, and has no place by itself."""
    return sink.path is None and sink.type not in TEMPORARY_SINKS
