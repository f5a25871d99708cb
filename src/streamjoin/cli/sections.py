"""What a pipeline file may say of the join, of the run, and of what is written down."""

from typing import Annotated, Final, Literal

from pydantic import Field, field_validator, model_validator

from streamjoin.budget import Budget
from streamjoin.cli.fields import (
    Duration,
    PositiveDuration,
    Section,
    Size,
    allowed,
    refuse,
)
from streamjoin.errors import ConfigError
from streamjoin.metrics.prometheus import address_of
from streamjoin.windows import Rows

AVAILABLE_NOW: Final = "available-now"
PositiveNumber = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Share = Annotated[float, Field(gt=0, le=1, strict=True)]
FrontShare = Annotated[float, Field(ge=0, lt=1, strict=True)]
Shed = Literal["selective", "drop"] | tuple[Literal["selective"], Literal["drop", "lag"]]
Algorithm = Literal["auto", "hash", "nested", "batch"]


class RowsWindow(Section):
    """``{ rows = 5000 }``: the last so many rows of a stream.

    A table, since its number stays a number: text would have to be told apart from a duration.
    """

    rows: int = allowed("a whole number, 1 or more", ge=1, strict=True)


Window = Duration | RowsWindow


class BudgetSection(Section):
    """``budget = { cpu = 0.25, memory = "64 MB" }``: what the join may use."""

    cpu: Share | PositiveDuration | None = allowed(
        'a share of the cores above 0 and up to 1, or CPU time for each batch such as "200 ms"',
        None,
    )
    rate: Annotated[float, Field(gt=0, allow_inf_nan=False, strict=True)] | None = allowed(
        "a positive number of rows per second", None
    )
    memory: Size | RowsWindow | None = allowed(
        'a size such as "64 MB", or a number of rows { rows = 100000 }', None
    )

    @model_validator(mode="after")
    def _fit_together(self) -> "BudgetSection":
        try:
            self.made()
        except ConfigError as error:
            refuse(str(error).removeprefix("budget: "))
        return self

    def made(self) -> Budget:
        """The budget as the library has it."""
        memory = Rows(self.memory.rows) if isinstance(self.memory, RowsWindow) else self.memory
        return Budget(cpu=self.cpu, rate=self.rate, memory=memory)


def as_budget(section: BudgetSection | None) -> Budget | None:
    """The budget of a join as the library has it."""
    return None if section is None else section.made()


def on_a_budget(budget: Budget | None) -> str:
    """How a line goes on that says what is joined."""
    return "" if budget is None else f", on a budget of {budget.describe()}"


class JoinSection(Section):
    """``[join]``: the arguments of `streamjoin.join`."""

    left: str | None = allowed("name of a source; the first if absent", None)
    right: str | None = allowed("name of a source; the second if absent", None)
    on: str | list[str | tuple[str, str]] | None = allowed(
        'a column, a list of columns, a list of pairs [["left", "right"]]; or absent', None
    )
    where: str | None = allowed(
        'SQL over left.x and right.y, such as "abs(left.x - right.x) <= 5"; or absent',
        None,
        min_length=1,
    )
    how: Literal["inner", "left", "right", "full", "semi", "anti", "asof"] = allowed(
        "inner, left, right, full, semi, anti, asof", "inner"
    )
    direction: Literal["backward", "nearest"] = allowed(
        'backward, nearest (of how = "asof")', "backward"
    )
    time: str | tuple[str, str] = allowed('a column, or a pair ["left", "right"]')
    window: Window | tuple[Window, Window] = allowed(
        'a duration such as "10 minutes", a number of rows { rows = 5000 }, '
        'or a pair such as ["10 minutes", "0 seconds"]'
    )
    lateness: Duration = allowed('a duration such as "30 seconds"', "0 seconds")
    idle_timeout: PositiveDuration | None = allowed(
        'a positive duration such as "5 minutes"; or absent', None
    )
    ahead: PositiveDuration | Literal["unlimited"] = allowed(
        'a positive duration such as "1 minute", or "unlimited"', "1 day"
    )
    late_rows: str | None = allowed("a folder for late rows; or absent", None, min_length=1)
    hot_keys: bool = allowed(
        "true or false: whether a key with very many rows is spread over shards", True
    )
    rates: tuple[PositiveNumber, PositiveNumber] | None = allowed(
        "a pair of positive numbers such as [10, 1]; or absent", None
    )
    freshness: Duration | tuple[Duration, Duration] | None = allowed(
        'a duration such as "12 minutes", or a pair of them; or absent', None
    )
    budget: BudgetSection | None = allowed(
        'a table such as { cpu = 0.25, memory = "64 MB" } or { rate = 9 }; or absent', None
    )
    shed: Shed | None = allowed(
        'selective, drop, or ["selective", "lag"] for batches that take longer rather '
        "than to turn rows away; or absent",
        None,
    )
    split: Literal[
        "best", "ra", "ra+tc", "ra+jd", "ra+tc+jd",
        "equal", "rate", "inverse-rate", "window", "inverse-window", "slower", "faster",
        "left/left", "left/right", "right/left", "right/right",
    ] = allowed(
        "best; where comparisons are chosen also ra, ra+tc, ra+jd, ra+tc+jd; where "
        "rows are dropped equal, of cpu or rate rate, inverse-rate, window, inverse-window, of "
        "memory slower, faster, rate, inverse-rate, of both left/left, left/right, right/left, "
        "right/right",
        "best",
    )  # fmt: skip
    utility: str | tuple[str, str] | None = allowed(
        'a column of numbers, or a pair ["left", "right"] with "" for a side without '
        "one; or absent",
        None,
    )
    weights: bool = allowed("true or false: whether a column _weight is added", False)
    algorithm: Algorithm | tuple[Algorithm, Algorithm] = allowed(
        'auto, hash, nested, batch, or a pair such as ["hash", "auto"]', "auto"
    )
    invalidation: Literal["active", "lazy"] = allowed("active, lazy", "active")
    suffixes: tuple[str, str] = allowed('a pair such as ["_left", "_right"]', ("_left", "_right"))
    shards: int | None = allowed("a whole number, 1 or more; or absent", None, ge=1)

    @property
    def windows(self) -> tuple[Window, ...]:
        """One of both streams, or one of each."""
        return self.window if isinstance(self.window, tuple) else (self.window,)


class TableJoinSection(Section):
    """``[join]`` beside ``[table]``: the arguments of `streamjoin.table_join`."""

    on: str | list[str] | dict[str, str] = allowed(
        "a column of the stream, a list of columns, or a table such as "
        "{ customer = \"id\" } from the stream's columns to the table's"
    )
    how: Literal["inner", "left"] = allowed("inner, left", "inner")
    columns: list[str] | dict[str, str] | None = allowed(
        'a list of the table\'s columns such as ["name"], or a table such as '
        '{ name = "customer_name" }; or absent',
        None,
    )
    budget: BudgetSection | None = allowed('a table such as { memory = "256 MB" }; or absent', None)
    algorithm: Literal[
        "auto", "inlj", "cinlj", "meshjoin", "cmeshjoin", "hybridjoin", "chybridjoin"
    ] = allowed("auto, inlj, cinlj, meshjoin, cmeshjoin, hybridjoin, chybridjoin", "auto")
    shed: Literal["considering", "upfront"] = allowed("considering, upfront", "considering")
    front_share: FrontShare | None = allowed(
        "a part of the memory, 0 or more and less than 1; or absent", None
    )
    max_wait: Duration | None = allowed('a duration such as "10 seconds"; or absent', None)
    refresh: Literal["never"] | Duration = allowed(
        'a duration such as "1 minute", or "never"', "1 minute"
    )
    on_failure: Literal["fail", "stale"] = allowed("fail, stale", "fail")
    max_staleness: Duration = allowed('a duration such as "10 minutes"', "10 minutes")
    index_folder: str | None = allowed("a folder on this machine; or absent", None, min_length=1)
    shards: int | None = allowed("a whole number, 1 or more; or absent", None, ge=1)

    @field_validator("budget")
    @classmethod
    def _is_of_bytes(cls, budget: BudgetSection | None) -> BudgetSection | None:
        if budget is not None and (budget.rate or not isinstance(budget.memory, str)):
            said = budget.made().describe()
            refuse(f'got {said}; allowed with a table: memory = "256 MB" and the like, and cpu')
        return budget


class RunSection(Section):
    """``[run]``: when to run, for how long, and where to remember how far it came."""

    trigger: Literal["available-now"] | Duration = allowed(
        '"available-now" or a duration such as "2 seconds"', AVAILABLE_NOW
    )
    duration: Duration | None = allowed('a duration such as "60 seconds"; or absent', None)
    checkpoint: str | None = allowed("a folder; or absent", None)
    compare: bool = allowed(
        "true or false: whether the summary says what others would have found", False, strict=True
    )


class MetricsSection(Section):
    """``[metrics]``: what is written down of the run for others to read."""

    path: str | None = allowed("a folder; or absent", None, min_length=1)
    prometheus: int | str | None = allowed(
        'a port, or "host:port"; or absent', None, union_mode="left_to_right"
    )

    @field_validator("prometheus", mode="before")
    @classmethod
    def _an_address(cls, prometheus: object) -> object:
        if isinstance(prometheus, int | str):
            address_of(prometheus)
        return prometheus
