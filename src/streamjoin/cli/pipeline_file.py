"""Files as settings of a run; first what all have, then a pipeline file of two streams.

All of a file is checked before anything starts.
"""

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from pydantic import ValidationError

from streamjoin.cli import places, sections
from streamjoin.cli.fields import Section, describe, option_text, unknown_name
from streamjoin.durations import format_duration, parse_duration
from streamjoin.errors import ConfigError
from streamjoin.windows import Rows

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from streamjoin.spark.pipeline import Pipeline

TABLES: Final = ("sources", "join", "sink", "run", "metrics", "spark", "table")
SPARK_NAMES: Final = ("master", "driver_memory")
COMPARABLE: Final = (
    "two generated sources without select, windows of time, a budget of cpu and shed selective"
)
NO_STREAMS: Final = ("postgres", "sql")
"""What somebody might take for a stream."""
_MADE_HERE: Final = ("window", "late_rows", "hot_keys", "budget", "shed", "utility", "ahead")

S = TypeVar("S", bound=Section)
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Settings(ABC):
    """A checked file."""

    file: Path
    sources: Mapping[str, places.Source]  # in the order of the join
    sink: places.Sink
    run: sections.RunSection
    metrics: sections.MetricsSection
    spark: Mapping[str, str]

    @abstractmethod
    def headline(self) -> str:
        """Say in one line what is joined."""

    @abstractmethod
    def _arguments(self, checkpoint: str) -> dict[str, Any]:
        """The arguments of the function that joins."""

    def _joined_with(self) -> dict[str, Any]:
        """What the pipeline has besides streams: a table or a query."""
        return {}

    def plan(self, now: float, scratch: Path) -> "Pipeline":
        """Make the pipeline.

        Parameters
        ----------
        now
            Event time at which generated streams begin, in seconds since 1970: the same for both.
        scratch
            Folder for a checkpoint that need not outlive the run.
        """
        from streamjoin.spark.pipeline import Pipeline

        path = places.resolve(self.file, self.sink.path)
        checkpoint = places.resolve(self.file, self.run.checkpoint)
        if checkpoint is None:
            checkpoint = f"{path}_checkpoint" if path else str(scratch / "checkpoint")
        trigger = None  # Spark knows no short names of units
        if self.run.trigger != sections.AVAILABLE_NOW:
            trigger = format_duration(parse_duration(self.run.trigger, "run.trigger"))
        return Pipeline(
            sink=self.sink.for_spark(self.file),
            arguments=self._arguments(checkpoint),
            streams={n: source.for_spark(self.file, now) for n, source in self.sources.items()},
            checkpoint=checkpoint,
            trigger=trigger,
            **self._joined_with(),
        )


@dataclass(frozen=True, kw_only=True)
class PipelineFile(Settings):
    """A pipeline file of two streams."""

    join: sections.JoinSection

    def headline(self) -> str:
        """Say in one line what is joined."""
        join = self.join
        within = " / ".join(w if isinstance(w, str) else f"{w.rows} rows" for w in join.windows)
        on = "" if join.on is None else f" on {join.on}"
        where = "" if join.where is None else f" where {join.where}"
        what = f"{join.how.capitalize()} join of {' with '.join(self.sources)}{on}{where}"
        return f"{what} within {within}{sections.on_a_budget(sections.as_budget(join.budget))}"

    def _arguments(self, checkpoint: str) -> dict[str, Any]:
        join, utility = self.join, cast("Any", self.join.utility)
        windows = [Rows(w.rows) if isinstance(w, sections.RowsWindow) else w for w in join.windows]
        if isinstance(utility, tuple):  # TOML has no null: a side without a column is empty text
            utility = tuple(name or None for name in utility)
        return {
            **join.model_dump(exclude={"left", "right", *_MADE_HERE}),
            "window": tuple(windows) if isinstance(join.window, tuple) else windows[0],
            "late_rows": places.resolve(self.file, join.late_rows),
            "hot_keys": f"{checkpoint}_hot_keys" if join.hot_keys else False,
            "budget": sections.as_budget(join.budget),
            "shed": list(join.shed) if isinstance(join.shed, tuple) else join.shed,
            "utility": utility,
            "ahead": None if join.ahead == "unlimited" else join.ahead,
        }

    def all_rows(self) -> float:
        """All rows that both streams will ever have; without end unless both are made up."""
        from streamjoin.spark.generator import stream_of

        rows = 0
        for source in self.sources.values():
            if not isinstance(source, places.GeneratorSource) or source.seconds is None:
                return math.inf
            options = source.for_spark(self.file, now=0.0).options
            rows += stream_of(options).pace.rows(source.seconds)
        return rows


def checked(file: Path, check: Callable[[Path, dict[str, Any]], T]) -> T:
    """Read a pipeline file and check it.

    Raises
    ------
    ConfigError
        With a line for each mistake of a table: the file, the key, what came and what is allowed.
    """
    try:
        document = _read(file)
        for name in document:
            expect(name in TABLES, name, unknown_name(name, TABLES))
        return check(file, document)
    except ConfigError as error:
        lines = str(error).splitlines()
        raise ConfigError("\n".join(f"{file}: {line}" for line in lines)) from None


def _read(file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as stream:
            return tomllib.load(stream)
    except OSError as error:
        msg = f"cannot be read: {error.strerror}"
    except (ValueError, RecursionError) as error:  # not TOML, not UTF-8, too long or too deep
        msg = f"is not TOML: {error}"
    raise ConfigError(msg)


def check(file: Path, document: dict[str, Any]) -> PipelineFile:
    """Check the contents of a file of two streams."""
    tables = document.get("sources")
    two = "two tables, such as [sources.calls] and [sources.trades]"
    sources = checked_sources(tables, 2, _kind_of(tables), two)
    join = section("join", sections.JoinSection, document.get("join", {}))
    left, right = join.left or next(iter(sources)), join.right or list(sources)[1]
    for key, name in (("left", left), ("right", right)):
        expect(name in sources, f"join.{key}", f"got {name!r}; allowed: {', '.join(sources)}")
    expect(left != right, "join.right", f"got {right!r} for both sides; allowed: two sources")
    common = outcome(document, sources)
    sides = {name: sources[name] for name in (left, right)}
    made = PipelineFile(file=file, sources=sides, join=join, **common)
    if made.run.compare:
        _check_comparable(made)
    return made


def outcome(document: dict[str, Any], sources: Mapping[str, places.Source]) -> dict[str, Any]:
    """Where results go, when, what is told of it, and in which Spark: the same for all files."""
    table = document.get("sink", {})
    sink = section("sink", places.sink_model(type_of(table)), table)
    run = section("run", sections.RunSection, document.get("run", {}))
    for name, source in sources.items():
        what = f'missing; allowed: seconds of data, as run.trigger is "{sections.AVAILABLE_NOW}"'
        ends = not places.is_endless(source) or run.trigger != sections.AVAILABLE_NOW
        expect(ends, f"sources.{name}.seconds", what)
    what = f"missing; allowed: a folder (a {sink.type} sink has no place for it by itself)"
    expect(not places.needs_checkpoint(sink) or run.checkpoint is not None, "run.checkpoint", what)
    what = f"got true; allowed with: {COMPARABLE}"
    expect(not run.compare or len(sources) == 2, "run.compare", what)
    return {
        "sink": sink,
        "run": run,
        "metrics": section("metrics", sections.MetricsSection, document.get("metrics", {})),
        "spark": spark_settings(document.get("spark", {})),
    }


def expect(holds: bool, key: str, what: str) -> None:
    """Refuse a file, unless something holds."""
    if not holds:
        raise ConfigError(f"key `{key}`: {what}")


def section(name: str, model: type[S], table: Any) -> S:
    """Check a table of a file; a line for each mistake."""
    expect(isinstance(table, dict), name, f"got {_kind_of(table)}; allowed: a table [{name}]")
    try:
        return model(**table)
    except ValidationError as error:
        raise ConfigError("\n".join(describe(name, error, model))) from None


def _kind_of(value: object) -> str:
    """What is said of a value that is no table; it is not shown: it may be an address."""
    return "nothing" if value is None else f"a value of type {type(value).__name__}"


def type_of(table: Any) -> Any:
    """The type that a table of a file names."""
    return table.get("type") if isinstance(table, dict) else None


def checked_sources(tables: Any, n: int, got: str, what: str) -> dict[str, places.Source]:
    """Check ``[sources]``, which has so many tables; `got` and `what` are for what has not."""
    expect(isinstance(tables, dict), "sources", f"got {got}; allowed: {what}")
    names = ", ".join(tables)
    expect(len(tables) == n, "sources", f"got {len(tables)} ({names}); allowed: {what}")
    return {name: _source(name, table) for name, table in tables.items()}


def _source(name: str, table: Any) -> places.Source:
    kind = type_of(table)
    what = f"got {kind!r}; allowed: {places.SOURCE_TYPES} (a table of a database goes into [table])"
    expect(kind not in NO_STREAMS, f"sources.{name}.type", what)
    return section(f"sources.{name}", places.source_model(kind), table)


def _check_comparable(made: PipelineFile) -> None:
    """Refuse to compare a run whose rows cannot be made again, or that leaves out nothing."""
    sources = made.sources.values()
    generated = all(isinstance(one, places.GeneratorSource) and not one.select for one in sources)
    budget, shed = made.join.budget, made.join.shed
    chooses = budget is not None and budget.cpu is not None and shed != "drop"
    fits = generated and chooses and all(isinstance(one, str) for one in made.join.windows)
    expect(fits, "run.compare", f"got true; allowed with: {COMPARABLE}")
    begins_anew = made.sink.type in places.TEMPORARY_SINKS and made.sink.path is None
    whole = "a console or noop sink and no checkpoint, so that a run is whole"
    is_whole = begins_anew and made.run.checkpoint is None
    expect(is_whole, "run.compare", f"got true; allowed with: {whole}")


def spark_settings(table: Any) -> dict[str, str]:
    """Flatten ``[spark]``: TOML reads the dots of a bare ``spark.sql.x = 1`` as nested tables."""
    expect(isinstance(table, dict), "spark", f"got {_kind_of(table)}; allowed: a table [spark]")
    settings = dict(_flatten("", table))
    for name in settings:
        known = name in SPARK_NAMES or name.startswith("spark.")
        what = f"unknown; allowed: {', '.join(SPARK_NAMES)} or any Spark setting (spark.*)"
        expect(known, f"spark.{name}", what)
    return settings


def _flatten(prefix: str, table: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flatten(f"{prefix}{name}.", value)
        else:
            yield f"{prefix}{name}", option_text(value)
