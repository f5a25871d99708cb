"""What a pipeline file may say of places: streams to read, where results go, and tables."""

import os
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, field_validator

from streamjoin.cli.fields import (
    OPTIONS,
    Duration,
    Options,
    PositiveDuration,
    Section,
    allowed,
    check_variable,
    missing,
    own_words,
)

FILE_FORMATS: Final = ("parquet", "json", "csv")
SOURCE_TYPES: Final = "parquet, json, csv, kafka, generator or any Spark streaming format"
SINK_TYPES: Final = "parquet, kafka, postgres, console, noop or any Spark streaming format"
TABLE_TYPES: Final = "parquet, sql, postgres, generator"

SELECT: Any = allowed('a list of SQL expressions such as ["id", "price * 2 AS p"]', ())
PATH: Any = allowed("a folder", None, validate_default=True)
DATABASE: Final = 'an address such as "postgresql://user@host/database"'
URI_ENV: Any = allowed(
    "the name of an environment variable that has the address", None, min_length=1
)
URI: Any = allowed(DATABASE, None, repr=False, validate_default=True)
KEY: Any = allowed('a column such as "id", or a list of columns')
UNIQUE: Any = allowed("true or false: whether no key is in the table twice", False)
COPY: Any = allowed(
    "true or false: whether rows are copied beside the index, uncompressed", False, alias="copy"
)


def _files_have_a_path(what: str) -> AfterValidator:
    """Refuse a source or sink of files that names no folder."""

    def check(path: str | None, info: ValidationInfo) -> str | None:
        if path is None and info.data.get("type") in FILE_FORMATS:
            raise missing(what=f"{what} {info.data['type']} files")
        return path

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


class StreamSource(Section):
    """``[sources.NAME]`` with any other type: files, or any streaming format that Spark knows."""

    type: str = allowed(SOURCE_TYPES)
    path: Annotated[str | None, _files_have_a_path("the folder of the")] = PATH
    ddl: str | None = Field(
        None,
        alias="schema",
        description='the columns, such as "id BIGINT, at TIMESTAMP"',
        validate_default=True,
    )
    options: Options = OPTIONS
    max_files_per_trigger: int | None = allowed("a whole number, 1 or more", None, ge=1)
    select: tuple[str, ...] = SELECT

    @field_validator("ddl")
    @classmethod
    def _text_has_a_schema(cls, ddl: str | None, info: ValidationInfo) -> str | None:
        if ddl is None and info.data.get("type") in ("json", "csv"):
            raise missing(what='the columns, such as "id BIGINT, at TIMESTAMP"')
        return ddl


class SinkSection(Section):
    """``[sink]`` with files, or any format that Spark can write."""

    type: str = allowed(SINK_TYPES)
    path: Annotated[str | None, _files_have_a_path("a folder for the")] = PATH
    options: Options = OPTIONS
    pair_id: str | None = allowed(
        "the name of a column to add, for the pair id; or absent", None, min_length=1
    )


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
            words = f"got {name!r}; allowed: the key {key} in place of it"
            raise own_words(words)
    return options


KafkaOptions = Annotated[Options, AfterValidator(_no_keys)]


class KafkaSourceSection(Section):
    """``[sources.NAME]`` with ``type = "kafka"``: a topic whose values are JSON objects."""

    type: Literal["kafka"] = allowed(SOURCE_TYPES)
    servers: str = _SERVERS
    topic: str = _TOPIC
    ddl: str = Field(
        alias="schema",
        min_length=1,
        description='the columns of the JSON values, such as "id BIGINT, at TIMESTAMP"',
    )
    starting: Literal["earliest", "latest"] = allowed("earliest, latest", "earliest")
    max_rows_per_trigger: int | None = allowed("a whole number, 1 or more", None, ge=1)
    options: KafkaOptions = OPTIONS
    select: tuple[str, ...] = SELECT

    def spark_options(self) -> dict[str, Any]:
        """All of it as options of Spark's source."""
        most = self.max_rows_per_trigger
        return {
            **self.options,
            "kafka.bootstrap.servers": self.servers,
            "subscribe": self.topic,
            "startingOffsets": self.starting,
            **({} if most is None else {"maxOffsetsPerTrigger": most}),
        }


class KafkaSinkSection(Section):
    """``[sink]`` with ``type = "kafka"``: a message for each result."""

    type: Literal["kafka"] = allowed(SINK_TYPES)
    servers: str = _SERVERS
    topic: str = _TOPIC
    pair_id: bool = allowed(
        "true or false: whether the key of a message is its result's pair id", True, strict=True
    )
    options: KafkaOptions = OPTIONS

    @property
    def path(self) -> None:
        """A topic has none."""

    def spark_options(self) -> dict[str, Any]:
        """All of it as options of Spark's sink."""
        own = {"kafka.bootstrap.servers": self.servers, "topic": self.topic}
        return {**self.options, **own}


def _is_set(name: str | None) -> str | None:
    return name if name is None else check_variable(name)


def only_address(*others: str) -> BeforeValidator:
    """Refuse an address beside one of these keys, and none at all; it is never shown."""

    def check(uri: object, info: ValidationInfo) -> object:
        if uri is not None and not isinstance(uri, str):
            words = f"got no text; allowed: {DATABASE}"
            raise own_words(words)
        given = [name for name in others if info.data.get(name, True) is not None]
        given += [] if uri is None else ["uri"]
        if len(given) != 1:
            got = " and ".join(given) or "no address"
            words = f"got {got}; allowed: one of {', '.join(('uri', *others))}"
            raise own_words(words)
        return uri

    return BeforeValidator(check)


UriEnv = Annotated[str | None, AfterValidator(_is_set)]


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

    @property
    def path(self) -> None:
        """A table has none."""

    @property
    def address(self) -> str:
        """The address, from wherever it comes."""
        return self.uri or os.environ.get(self.uri_env or "", "")


class ParquetSection(Section):
    """``[table]`` with ``type = "parquet"``: a folder of Parquet files."""

    type: Literal["parquet"] = allowed(TABLE_TYPES)
    path: str = allowed("a folder of Parquet files, or a file", min_length=1)
    key: str | list[str] = KEY
    unique: bool = UNIQUE
    is_copied: bool = COPY

    @property
    def name(self) -> str:
        """What the table is called on the screen."""
        return self.path.rstrip("/").rpartition("/")[2] or self.path


class SqlSection(Section):
    """``[table]`` with ``type = "sql"`` or ``"postgres"``: a table in a database.

    A password may be in an address, so no value of `uri` is ever shown.
    """

    type: Literal["sql", "postgres"] = allowed(TABLE_TYPES)
    uri_env: UriEnv = URI_ENV
    path: str | None = allowed("the file of an SQLite database", None, min_length=1)
    uri: Annotated[str | None, only_address("uri_env", "path")] = URI
    table: str = allowed("the table's name in the database", min_length=1)
    key: str | list[str] = KEY
    unique: bool = UNIQUE
    version: str | None = allowed('SQL such as "max(updated_at)"; or absent', None, min_length=1)
    rows_per_partition: int = allowed("a whole number, 1 or more", 10_000, ge=1)

    @property
    def name(self) -> str:
        """What the table is called on the screen."""
        return self.table


class GeneratorTableSection(Section):
    """``[table]`` with ``type = "generator"``: made-up people, in Parquet files that are kept."""

    type: Literal["generator"] = allowed(TABLE_TYPES)
    path: str = allowed("a folder for the Parquet files", min_length=1)
    rows: int = allowed("1 to 100000000", 100_000, ge=1, le=100_000_000)
    seed: int = allowed("a whole number, 0 or more", 0, ge=0)
    is_copied: bool = COPY

    @property
    def name(self) -> str:
        """What the table is called on the screen."""
        return "people"


Source = GeneratorSource | KafkaSourceSection | StreamSource
Sink = KafkaSinkSection | PostgresSinkSection | SinkSection
TableSection = ParquetSection | SqlSection | GeneratorTableSection
