"""Read a pipeline file of two streams, check all of it before anything starts, and plan it."""

import math
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from pydantic import ValidationError

from streamjoin.cli import places, sections
from streamjoin.cli.fields import Section, describe, option_text, unknown_name
from streamjoin.cli.plan import destination, resolve, spark_source
from streamjoin.errors import ConfigError
from streamjoin.windows import Rows

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from streamjoin.spark.pipeline import JoinPipeline

TABLES: Final = ("sources", "join", "sink", "run", "metrics", "spark", "table")
TEMPORARY_SINKS: Final = ("console", "noop")
"""There is nothing to resume, so a checkpoint may go with the run."""
SPARK_NAMES: Final = ("master", "driver_memory")
COMPARABLE: Final = (
    "two generated sources without select, windows of time, a budget of cpu and shed selective"
)
NO_STREAMS: Final = ("postgres", "sql")
"""What somebody might take for a stream."""
_MADE_HERE: Final = ("window", "late_rows", "hot_keys", "budget", "shed", "utility", "ahead")

S = TypeVar("S", bound=Section)
T = TypeVar("T")


@dataclass(frozen=True)
class PipelineFile:
    """A checked pipeline file of two streams."""

    file: Path
    names: tuple[str, ...]
    left: places.Source
    right: places.Source
    join: sections.JoinSection
    sink: places.Sink
    run: sections.RunSection
    metrics: sections.MetricsSection
    spark: Mapping[str, str]

    @property
    def endpoints(self) -> tuple[places.Source | places.Sink, ...]:
        """What is read, and where results go."""
        return self.left, self.right, self.sink

    def headline(self) -> str:
        """Say in one line what is joined."""
        return headline(self.names, self.join)

    def plan(self, now: float, scratch: Path) -> "JoinPipeline":
        """Make the pipeline.

        Parameters
        ----------
        now
            Event time at which generated streams begin, in seconds since 1970: the same for both.
        scratch
            Folder for a checkpoint that need not outlive the run.
        """
        from streamjoin.spark.pipeline import JoinPipeline

        where = destination(self.file, self.sink, self.run, scratch)
        arguments = self._arguments(where["checkpoint"])
        return JoinPipeline(
            left=spark_source(self.file, self.left, now),
            right=spark_source(self.file, self.right, now),
            join=arguments,
            budget=arguments["budget"],
            shed=arguments["shed"],
            late_rows=arguments["late_rows"],
            **where,
        )

    def _arguments(self, checkpoint: str) -> dict[str, Any]:
        """The arguments of `streamjoin.join`."""
        join, utility = self.join, cast("Any", self.join.utility)
        windows = [Rows(w.rows) if isinstance(w, sections.RowsWindow) else w for w in join.windows]
        if isinstance(utility, tuple):  # TOML has no null: a side without a column is empty text
            utility = tuple(name or None for name in utility)
        return {
            **join.model_dump(exclude={"left", "right", *_MADE_HERE}),
            "window": tuple(windows) if isinstance(join.window, tuple) else windows[0],
            "late_rows": resolve(self.file, join.late_rows),
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
        for source in (self.left, self.right):
            if not isinstance(source, places.GeneratorSource) or source.seconds is None:
                return math.inf
            options = spark_source(self.file, source, now=0.0).options
            rows += stream_of(options).pace.rows(source.seconds)
        return rows


def headline(names: tuple[str, ...], join: sections.JoinSection) -> str:
    """Say in one line what is joined.

    Examples
    --------
    >>> join = sections.JoinSection(on="k", how="left", time="t", window=("10 s", {"rows": 5}))
    >>> headline(("calls", "trades"), join)
    'Left join of calls with trades on k within 10 s / 5 rows'
    >>> join = sections.JoinSection(on="k", time="t", window="10 s", budget={"rate": 1000})
    >>> headline(("calls", "trades"), join)
    'Inner join of calls with trades on k within 10 s, on a budget of 1,000 tuples/s'
    """
    within = " / ".join(w if isinstance(w, str) else f"{w.rows} rows" for w in join.windows)
    on = "" if join.on is None else f" on {join.on}"
    where = "" if join.where is None else f" where {join.where}"
    what = f"{join.how.capitalize()} join of {' with '.join(names)}"
    return (
        f"{what}{on}{where} within {within}{sections.on_a_budget(sections.as_budget(join.budget))}"
    )


def load(file: Path) -> PipelineFile:
    """Read and check a pipeline file of two streams."""
    return checked(file, check)


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
    sources = _sources(document.get("sources"))
    join = section("join", sections.JoinSection, document.get("join", {}))
    names = _sides(join, list(sources))
    left, right = (sources[name] for name in names)
    made = PipelineFile(file, names, left, right, join, **outcome(document, sources))
    if made.run.compare:
        _check_comparable(made)
    return made


def outcome(document: dict[str, Any], sources: Mapping[str, places.Source]) -> dict[str, Any]:
    """Where results go, when, what is told of it, and in which Spark: the same for all files."""
    sink = document.get("sink", {})
    where = section("sink", sink_model(kind_named(sink)), sink)
    run = section("run", sections.RunSection, document.get("run", {}))
    _check_ending(run, sources)
    needed = where.path is None and where.type not in TEMPORARY_SINKS
    what = f"missing; allowed: a folder (a {where.type} sink has no place for it by itself)"
    expect(not needed or run.checkpoint is not None, "run.checkpoint", what)
    what = f"got true; allowed with: {COMPARABLE}"
    expect(not run.compare or len(sources) == 2, "run.compare", what)
    return {
        "sink": where,
        "run": run,
        "metrics": section("metrics", sections.MetricsSection, document.get("metrics", {})),
        "spark": spark_settings(document.get("spark", {})),
    }


def expect(holds: bool, key: str, what: str) -> None:
    """Refuse a file, unless something holds."""
    if not holds:
        raise ConfigError(f"key `{key}`: {what}")


def _no_table(value: object, what: str) -> str:
    """What is wrong with a value that is no table; it is not shown: it may be an address."""
    got = "nothing" if value is None else f"a value of type {type(value).__name__}"
    return f"got {got}; allowed: {what}"


def section(name: str, model: type[S], table: Any) -> S:
    """Check a table of a file; a line for each mistake."""
    expect(isinstance(table, dict), name, _no_table(table, f"a table [{name}]"))
    try:
        return model(**table)
    except ValidationError as error:
        raise ConfigError("\n".join(describe(name, error, model))) from None


def _sources(tables: Any) -> dict[str, places.Source]:
    two = "two tables, such as [sources.calls] and [sources.trades]"
    expect(isinstance(tables, dict), "sources", _no_table(tables, two))
    expect(len(tables) == 2, "sources", f"got {len(tables)} ({', '.join(tables)}); allowed: {two}")
    return {name: source(name, table) for name, table in tables.items()}


def kind_named(table: Any) -> Any:
    """The type that a table of a file names."""
    return table.get("type") if isinstance(table, dict) else None


def source(name: str, table: Any) -> places.Source:
    """Check a table ``[sources.NAME]``."""
    kind = kind_named(table)
    what = f"got {kind!r}; allowed: {places.SOURCE_TYPES} (a table of a database goes into [table])"
    expect(kind not in NO_STREAMS, f"sources.{name}.type", what)
    return section(f"sources.{name}", source_model(kind), table)


def source_model(kind: object) -> type[places.Source]:
    """What may be said of a source of a type."""
    if kind == "generator":
        return places.GeneratorSource
    return places.KafkaSourceSection if kind == "kafka" else places.StreamSource


def sink_model(kind: object) -> type[places.Sink]:
    """What may be said of a sink of a type."""
    if kind == "kafka":
        return places.KafkaSinkSection
    return places.PostgresSinkSection if kind == "postgres" else places.SinkSection


def _sides(join: sections.JoinSection, names: list[str]) -> tuple[str, str]:
    left, right = join.left or names[0], join.right or names[1]
    for key, name in (("left", left), ("right", right)):
        expect(name in names, f"join.{key}", f"got {name!r}; allowed: {', '.join(names)}")
    expect(left != right, "join.right", f"got {right!r} for both sides; allowed: two sources")
    return left, right


def _check_ending(run: sections.RunSection, sources: Mapping[str, places.Source]) -> None:
    """Refuse to take all that is available of a stream that is being made up without an end."""
    for name, source in sources.items():
        what = f'missing; allowed: seconds of data, as run.trigger is "{sections.AVAILABLE_NOW}"'
        ends = not is_endless(source) or run.trigger != sections.AVAILABLE_NOW
        expect(ends, f"sources.{name}.seconds", what)


def is_endless(source: places.Source) -> bool:
    """Whether a stream is being made up without an end."""
    return isinstance(source, places.GeneratorSource) and source.seconds is None


def _check_comparable(made: PipelineFile) -> None:
    """Refuse to compare a run whose rows cannot be made again, or that leaves out nothing."""
    sources = (made.left, made.right)
    generated = all(isinstance(one, places.GeneratorSource) and not one.select for one in sources)
    budget, shed = made.join.budget, made.join.shed
    chooses = budget is not None and budget.cpu is not None and shed != "drop"
    fits = generated and chooses and all(isinstance(one, str) for one in made.join.windows)
    expect(fits, "run.compare", f"got true; allowed with: {COMPARABLE}")
    begins_anew = made.sink.type in TEMPORARY_SINKS and made.sink.path is None
    what = (
        "got true; allowed with: a console or noop sink and no checkpoint, so that a run is whole"
    )
    expect(begins_anew and made.run.checkpoint is None, "run.compare", what)


def spark_settings(table: Any) -> dict[str, str]:
    """Flatten ``[spark]``: TOML reads the dots of a bare ``spark.sql.x = 1`` as nested tables."""
    expect(isinstance(table, dict), "spark", _no_table(table, "a table [spark]"))
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
