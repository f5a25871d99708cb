"""A pipeline file that joins a stream with a table, and its pipeline."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from streamjoin.cli import places, sections
from streamjoin.cli.pipeline_file import (
    PipelineFile,
    check,
    checked,
    expect,
    kind_named,
    outcome,
    section,
    source,
)
from streamjoin.cli.plan import destination, resolve, spark_source
from streamjoin.errors import ConfigError, StreamJoinError

if TYPE_CHECKING:
    from streamjoin.spark.pipeline import TablePipeline
    from streamjoin.tables.base import Table

NEVER: Final = "never"
MODELS: Final[Mapping[str | None, type[places.TableSection]]] = {
    "parquet": places.ParquetSection,
    "sql": places.SqlSection,
    "postgres": places.SqlSection,
    "generator": places.GeneratorTableSection,
}
ARGUMENTS: Final = ("path", "uri", "table", "key")
"""Names with which the library's errors begin, and which are keys of the file too."""


@dataclass(frozen=True)
class TableFile:
    """A checked pipeline file of a stream and a table."""

    file: Path
    stream_name: str
    stream: places.Source
    table: places.TableSection
    join: sections.TableJoinSection
    sink: places.Sink
    run: sections.RunSection
    metrics: sections.MetricsSection
    spark: Mapping[str, str]

    @property
    def names(self) -> tuple[str, ...]:
        """What the file calls its stream."""
        return (self.stream_name,)

    @property
    def endpoints(self) -> tuple[places.Source | places.Sink, ...]:
        """What is read, and where results go."""
        return self.stream, self.sink

    def headline(self) -> str:
        """Say in one line what is joined."""
        on = dict(self.join.on) if isinstance(self.join.on, dict) else self.join.on
        kind = f"{self.join.how.capitalize()} join of {self.stream_name} with the table"
        limit = sections.on_a_budget(sections.as_budget(self.join.budget))
        return f"{kind} {self.table.name} on {on}{limit}"

    def plan(self, now: float, scratch: Path) -> "TablePipeline":
        """Make the pipeline; see `PipelineFile.plan`."""
        from streamjoin.spark.pipeline import TablePipeline

        where = destination(self.file, self.sink, self.run, scratch)
        return TablePipeline(
            stream=spark_source(self.file, self.stream, now),
            table=self._opened(),
            join=self._arguments(where["checkpoint"]),
            budget=sections.as_budget(self.join.budget),
            **where,
        )

    def _opened(self) -> "Table":
        """The table, which must be there."""
        try:
            return make_table(self.file, self.table)
        except StreamJoinError as error:
            name, _, rest = str(error).partition(": ")
            what = f"key `table.{name}`: {rest}" if name in ARGUMENTS else str(error)
            raise type(error)(f"{self.file}: {what}") from None

    def _arguments(self, checkpoint: str) -> dict[str, Any]:
        """The arguments of `streamjoin.table_join`."""
        join = self.join
        return {
            **join.model_dump(exclude={"budget", "refresh", "index_folder"}),
            "budget": sections.as_budget(join.budget),
            "refresh": None if join.refresh == NEVER else join.refresh,
            "index_folder": resolve(self.file, join.index_folder) or _beside(checkpoint),
        }


def _beside(checkpoint: str) -> str | None:
    """Where the index of the table is: on a disk of this machine, where the checkpoint may not be.

    Examples
    --------
    >>> _beside("/data/out_checkpoint"), _beside("s3a://bucket/out_checkpoint")
    ('/data/out_checkpoint_index', None)
    """
    return None if "://" in checkpoint else f"{checkpoint}_index"


def load_toml(file: Path) -> PipelineFile | TableFile:
    """Read and check a pipeline file: of two streams, or of one and a ``[table]``."""
    return checked(file, _check)


def _check(file: Path, document: dict[str, Any]) -> PipelineFile | TableFile:
    if "table" not in document:
        return check(file, document)
    sources = document.get("sources")
    one = "allowed: one table, such as [sources.orders], beside [table]"
    expect(isinstance(sources, dict), "sources", f"got {sources!r}; {one}")
    assert isinstance(sources, dict)
    expect(len(sources) == 1, "sources", f"got {len(sources)} ({', '.join(sources)}); {one}")
    ((name, stream),) = ((name, source(name, table)) for name, table in sources.items())
    table = _table(document["table"])
    join = section("join", sections.TableJoinSection, document.get("join", {}))
    return TableFile(file, name, stream, table, join, **outcome(document, {name: stream}))


def _table(table: Any) -> places.TableSection:
    kind = kind_named(table)
    known = not isinstance(table, dict) or (isinstance(kind, str) and kind in MODELS)
    expect(known, "table.type", f"got {kind!r}; allowed: {places.TABLE_TYPES}")
    return section("table", MODELS.get(kind, places.ParquetSection), table)


def make_table(file: Path, table: places.TableSection) -> "Table":
    """The table that a file names."""
    from streamjoin.tables.parquet import parquet_table

    path = resolve(file, table.path)
    if isinstance(table, places.GeneratorTableSection):
        from streamjoin.workloads.payloads import write_people

        folder = Path(str(path))
        try:
            write_people(folder, table.rows, table.seed)
        except OSError as error:
            what = f"which cannot be written ({error.strerror}); allowed: a folder"
            expect(False, "table.path", f"got {table.path!r}, {what}")
        return parquet_table(folder, "person", unique=True, copy=table.is_copied)
    key = table.key if isinstance(table.key, str) else tuple(table.key)
    if isinstance(table, places.ParquetSection):
        return parquet_table(path or "", key, unique=table.unique, copy=table.is_copied)
    from streamjoin.tables.sql import sql_table

    return sql_table(
        _address(table, path),
        table.table,
        key,
        unique=table.unique,
        version=table.version,
        rows_per_partition=table.rows_per_partition,
    )


def _address(table: places.SqlSection, path: str | None) -> str:
    if table.uri_env is not None:
        return os.environ.get(table.uri_env, "")
    if table.path is None:
        return table.uri or ""
    if "://" in table.path:
        raise ConfigError.at("path", "an address", "a file (an address is a uri)")
    return f"sqlite://{quote(str(path))}"
