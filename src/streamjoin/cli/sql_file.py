"""Read a SQL file and check all of it, as far as that needs no Spark, before anything starts."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from streamjoin.cli.fields import Section
from streamjoin.cli.pipeline_file import S, Settings, section, spark_settings
from streamjoin.cli.places import Source, is_endless, needs_checkpoint, sink_model, source_model
from streamjoin.cli.sections import AVAILABLE_NOW, MetricsSection, RunSection, on_a_budget
from streamjoin.cli.table_file import load_toml
from streamjoin.durations import parse_duration
from streamjoin.errors import ConfigError
from streamjoin.windows import Rows

if TYPE_CHECKING:
    from streamjoin.sql_text.query_script import CreatedStream, Script

_BY_STATEMENT: Final = ("type", "ddl", "select", "options")
"""Keys that statements have words for; options of these names are Spark's."""
_PAIR_ID: Final = "pair_id"
_TRUTHS: Final = {"true": True, "false": False}
"""What text means for a key that may be a name, too."""


@dataclass(frozen=True, kw_only=True)
class SqlFile(Settings):
    """A SQL file; its query calls the streams itself."""

    script: "Script"

    def headline(self) -> str:
        """Say in one line what is joined."""
        query = self.script.query
        streams = ", ".join(source.stream for source in query.streams.sources)
        windows = [given.value for given in query.clauses.window]
        within = " / ".join(f"{w.n} rows" if isinstance(w, Rows) else w.lower() for w in windows)
        kind = f"{query.streams.how.capitalize()} join of {streams} by SQL"
        return f"{kind} within {within}{on_a_budget(query.clauses.budget)}"

    def _joined_with(self) -> dict[str, Any]:
        return {"query": self.script.query}

    def _arguments(self, checkpoint: str) -> dict[str, Any]:
        created = self.script.streams
        lateness = [stream.lateness for stream in created if stream.lateness is not None]
        folder = "hot_keys" if len(self.script.query.streams.sources) == 2 else "shared"
        return {
            "time": {stream.name: stream.time for stream in created if stream.time},
            # a join has one: the largest
            "lateness": max(lateness, key=lambda text: parse_duration(text, ""), default=None),
            folder: f"{checkpoint}_{folder}",
        }


def read(file: Path) -> Settings:
    """Read and check a file of any kind."""
    return load_sql(file) if file.suffix == ".sql" else load_toml(file)


def load_sql(file: Path) -> SqlFile:
    """Read and check a SQL file.

    Raises
    ------
    ConfigError
        With the file, line and column, what came and what is allowed.
    """
    from streamjoin.sql_text.query_plan import stream_name  # these load sqlglot
    from streamjoin.sql_text.query_script import read_script

    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise ConfigError(f"{file}: cannot be read: {reason}") from None
    script = read_script(text, str(file))
    names = [stream.name for stream in script.streams]
    for source in script.query.streams.sources:
        stream_name(script.query, source, names)
    target = script.target
    sources = {stream.name: _source(script, stream) for stream in script.streams}
    model = sink_model(target.format)
    table = {"type": target.format} | ({} if target.path is None else {"path": target.path})
    table |= _by_key(model, dict(target.options))
    sink = _checked(script, target.start, "INSERT INTO", model, table)
    run = RunSection(
        trigger=target.every or AVAILABLE_NOW,
        duration=target.duration,
        checkpoint=target.checkpoint,
    )
    try:
        spark = spark_settings(dict(script.settings))
    except ConfigError as error:
        raise _at(script, 0, error) from None
    for stream in script.streams:
        if is_endless(sources[stream.name]) and target.every is None:
            ends = "an option seconds, or INSERT INTO ... EVERY 2 SECONDS"
            raise script.text.error(stream.start, f"{stream.name} has no end; allowed: {ends}")
    if needs_checkpoint(sink) and target.checkpoint is None:
        why = f"a {target.format} sink has no place for it by itself"
        what = f"no CHECKPOINT; allowed: CHECKPOINT 'folder' ({why})"
        raise script.text.error(target.start, what)
    return SqlFile(
        file=file,
        sources=sources,
        sink=sink,
        run=run,
        metrics=MetricsSection(),
        spark=spark,
        script=script,
    )


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
