"""What each table of a pipeline file may say.

The description of a field is what a wrong value is answered with.
"""

from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from streamjoin.budget import Budget
from streamjoin.cli.options import OPTIONS, Options
from streamjoin.cli.problems import MISSING_HERE, own_words
from streamjoin.durations import parse_duration
from streamjoin.errors import ConfigError
from streamjoin.metrics.prometheus import address_of
from streamjoin.windows import Rows

FILE_FORMATS = ("parquet", "json", "csv")
SOURCE_TYPES = "parquet, json, csv, kafka, generator or any Spark streaming format"
SINK_TYPES = "parquet, kafka, postgres, console, noop or any Spark streaming format"
AVAILABLE_NOW = "available-now"


def _check_duration(text: str) -> str:
    if parse_duration(text, "duration") < 0:
        msg = "negative"
        raise ValueError(msg)
    return text


def _missing(*, what: str) -> PydanticCustomError:
    return PydanticCustomError(MISSING_HERE, "missing; allowed: {what}", {"what": what})


def _files_have_a_path(*, what: str) -> AfterValidator:
    """Refuse a source or sink of files that names no folder."""

    def check(path: str | None, info: ValidationInfo) -> str | None:
        if path is None and info.data.get("type") in FILE_FORMATS:
            raise _missing(what=f"{what} {info.data['type']} files")
        return path

    return AfterValidator(check)


def _check_positive(text: str) -> str:
    if parse_duration(text, "duration") <= 0:
        msg = "zero or negative"
        raise ValueError(msg)
    return text


def _check_size(text: str) -> str:
    Budget(memory=text)
    return text


Duration = Annotated[str, AfterValidator(_check_duration)]
PositiveDuration = Annotated[str, AfterValidator(_check_positive)]
PositiveNumber = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Share = Annotated[float, Field(gt=0, le=1, strict=True)]
Size = Annotated[str, AfterValidator(_check_size)]
Shed = Literal["selective", "drop"] | tuple[Literal["selective"], Literal["drop", "lag"]]
Algorithm = Literal["auto", "hash", "nested", "batch"]

PATH: Any = Field(None, description="a folder", validate_default=True)
SELECT: Any = Field(
    default=(), description='a list of SQL expressions such as ["id", "price * 2 AS p"]'
)


class Section(BaseModel):
    """A table of the file: no unknown keys, no change after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class BurstSection(Section):
    """``burst = { at = "30 seconds", lasting = "20 seconds", times = 4 }``: when more rows come."""

    at: Duration = Field(description='a duration such as "30 seconds"')
    lasting: PositiveDuration = Field(description='a positive duration such as "20 seconds"')
    times: float = Field(gt=0, le=1000, description="a number, more than 0, at most 1000")


class GeneratorSource(Section):
    """``[sources.NAME]`` with ``type = "generator"``: a built-in seeded stream."""

    type: Literal["generator"] = Field(description="generator")
    workload: Literal["calls", "trades", "news", "alerts"] = Field(
        "calls", description="calls, trades, news, alerts"
    )
    rate: float = Field(1000.0, gt=0, le=1e9, description="rows per second, more than 0")
    keys: int = Field(10_000, ge=1, le=10_000_000, description="1 to 10000000")
    skew: float = Field(0.0, ge=0, le=10, description="Zipf exponent, 0 (uniform) to 10")
    seed: int = Field(0, ge=0, description="a whole number, 0 or more")
    seconds: float | None = Field(None, gt=0, description="seconds of data, more than 0; or absent")
    disorder: Duration = Field("0 seconds", description='a duration such as "500 ms"')
    cycle: Duration = Field("0 seconds", description='a duration such as "40 seconds"')
    lag: Duration = Field("0 seconds", description='a duration such as "12 seconds"')
    backlog: PositiveDuration = Field(
        "10 seconds", description='a positive duration such as "2 seconds"'
    )
    burst: BurstSection | None = Field(
        None,
        description='a table { at = "30 seconds", lasting = "20 seconds", times = 4 }; or absent',
    )
    select: tuple[str, ...] = SELECT


class StreamSource(Section):
    """``[sources.NAME]`` with any other type: files, or any streaming format that Spark knows."""

    type: str = Field(description=SOURCE_TYPES)
    path: Annotated[str | None, _files_have_a_path(what="the folder of the")] = PATH
    ddl: str | None = Field(
        None,
        alias="schema",
        description='the columns, such as "id BIGINT, at TIMESTAMP"',
        validate_default=True,
    )
    options: Options = OPTIONS
    max_files_per_trigger: int | None = Field(None, ge=1, description="a whole number, 1 or more")
    select: tuple[str, ...] = SELECT

    @field_validator("ddl")
    @classmethod
    def _text_has_a_schema(cls, ddl: str | None, info: ValidationInfo) -> str | None:
        if ddl is None and info.data.get("type") in ("json", "csv"):
            raise _missing(what='the columns, such as "id BIGINT, at TIMESTAMP"')
        return ddl


class RowsWindow(Section):
    """``{ rows = 5000 }``: the last so many rows of a stream.

    A table, since its number stays a number: text would have to be told apart from a duration.
    """

    rows: int = Field(ge=1, strict=True, description="a whole number, 1 or more")


Window = Duration | RowsWindow


class BudgetSection(Section):
    """``budget = { cpu = 0.25, memory = "64 MB" }``: what the join may use."""

    cpu: Share | PositiveDuration | None = Field(
        None,
        description="a share of the cores above 0 and up to 1, or CPU time for each batch such as "
        '"200 ms"',
    )
    rate: Annotated[float, Field(gt=0, allow_inf_nan=False, strict=True)] | None = Field(
        None, description="a positive number of rows per second"
    )
    memory: Size | RowsWindow | None = Field(
        None, description='a size such as "64 MB", or a number of rows { rows = 100000 }'
    )

    @model_validator(mode="after")
    def _fit_together(self) -> "BudgetSection":
        try:
            self.made()
        except ConfigError as error:
            words = str(error).removeprefix("budget: ")
            raise own_words(words) from None
        return self

    def made(self) -> Budget:
        """The budget as the library has it."""
        memory = Rows(self.memory.rows) if isinstance(self.memory, RowsWindow) else self.memory
        return Budget(cpu=self.cpu, rate=self.rate, memory=memory)


class JoinSection(Section):
    """``[join]``: the arguments of `streamjoin.join`."""

    left: str | None = Field(None, description="name of a source; the first if absent")
    right: str | None = Field(None, description="name of a source; the second if absent")
    on: str | list[str | tuple[str, str]] | None = Field(
        None,
        description='a column, a list of columns, a list of pairs [["left", "right"]]; or absent',
    )
    where: str | None = Field(
        None,
        min_length=1,
        description='SQL over left.x and right.y, such as "abs(left.x - right.x) <= 5"; or absent',
    )
    how: Literal["inner", "left", "right", "full", "semi", "anti", "asof"] = Field(
        "inner", description="inner, left, right, full, semi, anti, asof"
    )
    direction: Literal["backward", "nearest"] = Field(
        "backward", description='backward, nearest (of how = "asof")'
    )
    time: str | tuple[str, str] = Field(description='a column, or a pair ["left", "right"]')
    window: Window | tuple[Window, Window] = Field(
        description='a duration such as "10 minutes", a number of rows { rows = 5000 }, '
        'or a pair such as ["10 minutes", "0 seconds"]'
    )
    lateness: Duration = Field("0 seconds", description='a duration such as "30 seconds"')
    idle_timeout: PositiveDuration | None = Field(
        None, description='a positive duration such as "5 minutes"; or absent'
    )
    ahead: PositiveDuration | Literal["unlimited"] = Field(
        "1 day", description='a positive duration such as "1 minute", or "unlimited"'
    )
    late_rows: str | None = Field(
        None, min_length=1, description="a folder for late rows; or absent"
    )
    hot_keys: bool = Field(
        True, description="true or false: whether a key with very many rows is spread over shards"
    )
    rates: tuple[PositiveNumber, PositiveNumber] | None = Field(
        None, description="a pair of positive numbers such as [10, 1]; or absent"
    )
    freshness: Duration | tuple[Duration, Duration] | None = Field(
        None, description='a duration such as "12 minutes", or a pair of them; or absent'
    )
    budget: BudgetSection | None = Field(
        None,
        description='a table such as { cpu = 0.25, memory = "64 MB" } or { rate = 9 }; or absent',
    )
    shed: Shed | None = Field(
        None,
        description='selective, drop, or ["selective", "lag"] for batches that take longer rather '
        "than to turn rows away; or absent",
    )
    split: Literal[
        "best", "ra", "ra+tc", "ra+jd", "ra+tc+jd",
        "equal", "rate", "inverse-rate", "window", "inverse-window", "slower", "faster",
        "left/left", "left/right", "right/left", "right/right",
    ] = Field(
        "best",
        description="best; where comparisons are chosen also ra, ra+tc, ra+jd, ra+tc+jd; where "
        "rows are dropped equal, of cpu or rate rate, inverse-rate, window, inverse-window, of "
        "memory slower, faster, rate, inverse-rate, of both left/left, left/right, right/left, "
        "right/right",
    )  # fmt: skip
    utility: str | tuple[str, str] | None = Field(
        None,
        description='a column of numbers, or a pair ["left", "right"] with "" for a side without '
        "one; or absent",
    )
    weights: bool = Field(False, description="true or false: whether a column _weight is added")
    algorithm: Algorithm | tuple[Algorithm, Algorithm] = Field(
        "auto", description='auto, hash, nested, batch, or a pair such as ["hash", "auto"]'
    )
    invalidation: Literal["active", "lazy"] = Field("active", description="active, lazy")
    suffixes: tuple[str, str] = Field(
        ("_left", "_right"), description='a pair such as ["_left", "_right"]'
    )
    shards: int | None = Field(None, ge=1, description="a whole number, 1 or more; or absent")


class SinkSection(Section):
    """``[sink]`` with files, or any format that Spark can write."""

    type: str = Field(description=SINK_TYPES)
    path: Annotated[str | None, _files_have_a_path(what="a folder for the")] = PATH
    options: Options = OPTIONS
    pair_id: str | None = Field(
        None, min_length=1, description="the name of a column to add, for the pair id; or absent"
    )


class RunSection(Section):
    """``[run]``: when to run, for how long, and where to remember how far it came."""

    trigger: str = Field(
        AVAILABLE_NOW, description='"available-now" or a duration such as "2 seconds"'
    )
    duration: Duration | None = Field(
        None, description='a duration such as "60 seconds"; or absent'
    )
    checkpoint: str | None = Field(None, description="a folder; or absent")
    compare: bool = Field(
        False,
        strict=True,
        description="true or false: whether the summary says what others would have found",
    )

    @field_validator("trigger")
    @classmethod
    def _known_trigger(cls, trigger: str) -> str:
        return trigger if trigger == AVAILABLE_NOW else _check_duration(trigger)


class MetricsSection(Section):
    """``[metrics]``: what is written down of the run for others to read."""

    path: str | None = Field(None, min_length=1, description="a folder; or absent")
    prometheus: int | str | None = Field(
        None, union_mode="left_to_right", description='a port, or "host:port"; or absent'
    )

    @field_validator("prometheus", mode="before")
    @classmethod
    def _an_address(cls, prometheus: object) -> object:
        if isinstance(prometheus, int | str):
            address_of(prometheus)
        return prometheus
