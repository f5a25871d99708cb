"""A pipeline file that joins a stream with a table, and its pipeline."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from streamjoin.cli.pipeline_file import (
    AnySink,
    PipelineFile,
    Source,
    check,
    checked,
    expect,
    outcome,
    section,
    source,
)
from streamjoin.cli.plan import destination, resolve, spark_source
from streamjoin.cli.sections import MetricsSection, RunSection
from streamjoin.cli.table_sections import (
    TYPES,
    GeneratorTableSection,
    ParquetSection,
    SqlSection,
    TableJoinSection,
    TableSection,
)
from streamjoin.errors import ConfigError, StreamJoinError

if TYPE_CHECKING:
    from streamjoin.spark.pipeline import TablePipeline
    from streamjoin.tables.base import Table

NEVER = "never"
MODELS: Mapping[str | None, type[TableSection]] = {
    "parquet": ParquetSection,
    "sql": SqlSection,
    "postgres": SqlSection,
    "generator": GeneratorTableSection,
}
ARGUMENTS = ("path", "uri", "table", "key")
"""Names with which the library's errors begin, and which are keys of the file too."""


@dataclass(frozen=True)
class TableFile:
    """A checked pipeline file of a stream and a table."""

    file: Path
    stream_name: str
    stream: Source
    table: TableSection
    join: TableJoinSection
    sink: AnySink
    run: RunSection
    metrics: MetricsSection
    spark: Mapping[str, str]

    def headline(self) -> str:
        """Say in one line what is joined."""
        join = self.join
        limit = "" if join.budget is None else f", on a budget of {join.budget.made().describe()}"
        on = dict(join.on) if isinstance(join.on, dict) else join.on
        kind = f"{join.how.capitalize()} join of {self.stream_name} with the table"
        return f"{kind} {self.table.name} on {on}{limit}"

    def plan(self, now: float, scratch: Path) -> "TablePipeline":
        """Make the pipeline; see `streamjoin.cli.plan`."""
        from streamjoin.spark.pipeline import TablePipeline

        where = destination(self.file, self.sink, self.run, scratch)
        return TablePipeline(
            stream=spark_source(self.file, self.stream, now),
            table=self._opened(),
            join=self._arguments(where["checkpoint"]),
            budget=None if self.join.budget is None else self.join.budget.made(),
            **where,
        )

    def _opened(self) -> "Table":
        """The table, which must be there."""
        try:
            return make_table(self.file, self.table)
        except StreamJoinError as error:
            name, _, rest = str(error).partition(": ")
            what = f"key `table.{name}`: {rest}" if name in ARGUMENTS else str(error)
            msg = f"{self.file}: {what}"
            raise type(error)(msg) from None

    def _arguments(self, checkpoint: str) -> dict[str, Any]:
        """The arguments of `streamjoin.table_join`."""
        join = self.join
        return {
            **join.model_dump(exclude={"budget", "refresh", "index_folder"}),
            "budget": None if join.budget is None else join.budget.made(),
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
    ((name, stream),) = ((name, source(name, said)) for name, said in sources.items())
    return TableFile(
        file=file,
        stream_name=name,
        stream=stream,
        table=_table(document["table"]),
        join=section("join", TableJoinSection, document.get("join", {})),
        **outcome(document, {name: stream}),
    )


def _table(said: Any) -> TableSection:
    kind = said.get("type") if isinstance(said, dict) else None
    known = not isinstance(said, dict) or (isinstance(kind, str) and kind in MODELS)
    expect(known, "table.type", f"got {kind!r}; allowed: {TYPES}")
    return section("table", MODELS.get(kind, ParquetSection), said)


def make_table(file: Path, said: TableSection) -> "Table":
    """The table that a file names."""
    if isinstance(said, GeneratorTableSection):
        return _generated(Path(str(resolve(file, said.path))), said)
    key = said.key if isinstance(said.key, str) else tuple(said.key)
    if isinstance(said, ParquetSection):
        from streamjoin.tables.parquet import parquet_table

        path = resolve(file, said.path) or ""
        return parquet_table(path, key, unique=said.unique, copy=said.is_copied)
    from streamjoin.tables.sql import sql_table

    return sql_table(
        _address(file, said),
        said.table,
        key,
        unique=said.unique,
        version=said.version,
        rows_per_partition=said.rows_per_partition,
    )


def _generated(folder: Path, said: GeneratorTableSection) -> "Table":
    from streamjoin.tables.parquet import parquet_table
    from streamjoin.workloads.payloads import write_people

    try:
        write_people(folder, said.rows, said.seed)
    except OSError as error:
        what = f"got {said.path!r}, which cannot be written ({error.strerror}); allowed: a folder"
        expect(False, "table.path", what)
    return parquet_table(folder, "person", unique=True, copy=said.is_copied)


def _address(file: Path, said: SqlSection) -> str:
    if said.uri_env is not None:
        return os.environ.get(said.uri_env, "")
    if said.path is None:
        return said.uri or ""
    if "://" in said.path:
        msg = "path: got an address; allowed: a file (an address is a uri)"
        raise ConfigError(msg)
    return f"sqlite://{quote(str(resolve(file, said.path)))}"
