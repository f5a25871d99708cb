"""Read a SQL file and check all of it, as far as that needs no Spark, before anything starts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from streamjoin.cli.pipeline_file import (
    TEMPORARY_SINKS,
    AnySink,
    PipelineFile,
    S,
    Source,
    section,
    sink_model,
    source_model,
    spark_settings,
)
from streamjoin.cli.plan import destination, plan, spark_source
from streamjoin.cli.sections import (
    AVAILABLE_NOW,
    GeneratorSource,
    MetricsSection,
    RunSection,
    Section,
)
from streamjoin.cli.table_file import TableFile, load_toml
from streamjoin.durations import parse_duration
from streamjoin.errors import ConfigError
from streamjoin.windows import Rows

if TYPE_CHECKING:
    from streamjoin.spark.pipeline import Pipeline, SqlPipeline
    from streamjoin.spark.sql import CreatedStream, Script


@dataclass(frozen=True)
class SqlFile:
    """A checked SQL file."""

    file: Path
    script: "Script"
    sources: Mapping[str, Source]
    sink: AnySink
    run: RunSection
    metrics: MetricsSection
    spark: Mapping[str, str]

    def headline(self) -> str:
        """Say in one line what is joined."""
        query = self.script.query
        streams = [s.stream for s in query.streams.sources]
        windows = [given.value for given in query.clauses.window]
        within = " / ".join(f"{w.n} rows" if isinstance(w, Rows) else w.lower() for w in windows)
        budget = query.clauses.budget
        limit = "" if budget is None else f", on a budget of {budget.describe()}"
        kind = query.streams.how.capitalize()
        return f"{kind} join of {', '.join(streams)} by SQL within {within}{limit}"

    def plan(self, now: float, scratch: Path) -> "SqlPipeline":
        """Make the pipeline; see `streamjoin.cli.plan`."""
        from streamjoin.spark.pipeline import SqlPipeline

        where = destination(self.file, self.sink, self.run, scratch)
        created = self.script.streams
        settings: dict[str, Any] = {
            "time": {stream.name: stream.time for stream in created if stream.time},
            "lateness": _latest(created),
        }
        folder = "hot_keys" if len(self.script.query.streams.sources) == 2 else "shared"
        settings[folder] = f"{where['checkpoint']}_{folder}"
        return SqlPipeline(
            streams={n: spark_source(self.file, source, now) for n, source in self.sources.items()},
            query=self.script.query,
            settings=settings,
            budget=self.script.query.clauses.budget,
            **where,
        )


_BY_STATEMENT: Final = ("type", "ddl", "select", "options")
"""Keys that statements have words for; options of these names are Spark's."""
_PAIR_ID: Final = "pair_id"
_TRUTHS: Final = {"true": True, "false": False}
"""What text means for a key that may be a name, too."""

Settings = PipelineFile | TableFile | SqlFile


def read(file: Path) -> Settings:
    """Read and check a file of any kind."""
    return load_sql(file) if file.suffix == ".sql" else load_toml(file)


def plan_of(settings: Settings, now: float, scratch: Path) -> "Pipeline":
    """Make the pipeline of a file of any kind."""
    if isinstance(settings, PipelineFile):
        return plan(settings, now, scratch)
    return settings.plan(now, scratch)


def load_sql(file: Path) -> SqlFile:
    """Read and check a SQL file.

    Raises
    ------
    ConfigError
        With the file, line and column, what came and what is allowed.
    """
    from streamjoin.spark.sql import read_script

    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        msg = f"{file}: cannot be read: {reason}"
        raise ConfigError(msg) from None
    script = read_script(text, str(file))
    _check_streams(script)
    target = script.target
    sources = {stream.name: _source(script, stream) for stream in script.streams}
    sink = sink_model(target.format)
    said = {"type": target.format} | ({} if target.path is None else {"path": target.path})
    said |= _by_key(sink, dict(target.options))
    found = SqlFile(
        file=file,
        script=script,
        sources=sources,
        sink=_checked(script, target.start, "INSERT INTO", sink, said),
        run=RunSection(
            trigger=target.every or AVAILABLE_NOW,
            duration=target.duration,
            checkpoint=target.checkpoint,
            compare=False,
        ),
        metrics=MetricsSection(path=None, prometheus=None),
        spark=_settings(script),
    )
    _check_ending(found)
    return found


def _source(script: "Script", stream: "CreatedStream") -> Source:
    model = source_model(stream.format)
    values: dict[str, Any] = {"type": stream.format, "select": stream.select}
    if "ddl" in model.model_fields:
        values["schema"] = stream.schema
    values |= _by_key(model, dict(stream.options))
    return _checked(script, stream.start, stream.name, model, values)


def _by_key(model: type[Section], options: dict[str, Any]) -> dict[str, Any]:
    """Options under the keys that a pipeline file has for them; the others are Spark's."""
    if _PAIR_ID in options:
        options[_PAIR_ID] = _TRUTHS.get(str(options[_PAIR_ID]).lower(), options[_PAIR_ID])
    if "options" not in model.model_fields:
        return options
    keys = [name for name in model.model_fields if name in options and name not in _BY_STATEMENT]
    return {**{name: options.pop(name) for name in keys}, "options": options}


def _checked(script: "Script", start: int, name: str, model: type[S], table: dict[str, Any]) -> S:
    try:
        return section(name, model, table)
    except ConfigError as error:
        raise _at(script, start, error) from None


def _at(script: "Script", start: int, error: ConfigError) -> ConfigError:
    lines = [str(script.text.error(start, line)) for line in str(error).splitlines()]
    return ConfigError("\n".join(lines))


def _settings(script: "Script") -> dict[str, str]:
    try:
        return spark_settings(dict(script.settings))
    except ConfigError as error:
        raise _at(script, 0, error) from None


def _check_streams(script: "Script") -> None:
    from streamjoin.spark.sql import stream_name

    names = [stream.name for stream in script.streams]
    for source in script.query.streams.sources:
        stream_name(script.query, source, names)


def _check_ending(found: SqlFile) -> None:
    """Refuse a stream without an end that is to be taken up to its end, and a lost checkpoint."""
    script, target = found.script, found.script.target
    for stream in script.streams:
        source = found.sources[stream.name]
        endless = isinstance(source, GeneratorSource) and source.seconds is None
        if endless and target.every is None:
            what = (
                f"{stream.name} has no end; allowed: an option seconds, or INSERT INTO ... EVERY 2 "
                "SECONDS"
            )
            raise script.text.error(stream.start, what)
    lost = found.sink.path is None and target.format not in TEMPORARY_SINKS
    if lost and target.checkpoint is None:
        what = (
            "no CHECKPOINT; allowed: CHECKPOINT 'folder' "
            f"(a {target.format} sink has no place for it by itself)"
        )
        raise script.text.error(target.start, what)


def _latest(created: Sequence["CreatedStream"]) -> str | None:
    """The largest of the streams' latenesses: a join has one."""
    said = [stream.lateness for stream in created if stream.lateness is not None]
    return max(said, key=lambda text: parse_duration(text, "LATENESS"), default=None)
