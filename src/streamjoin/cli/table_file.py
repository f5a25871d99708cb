"""A pipeline file that joins a stream with a table: what it may say of the table, then the file."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal
from urllib.parse import quote

from streamjoin.cli import pipeline_file, sections
from streamjoin.cli.fields import Section, allowed
from streamjoin.cli.pipeline_file import PipelineFile, Settings, expect, section
from streamjoin.cli.places import URI, URI_ENV, UriEnv, only_address, resolve
from streamjoin.errors import ConfigError, StreamJoinError

if TYPE_CHECKING:
    from streamjoin.tables.base import Table

NEVER: Final = "never"
TABLE_TYPES: Final = "parquet, sql, postgres, generator"
ARGUMENTS: Final = ("path", "uri", "table", "key")
"""Names with which the library's errors begin, and which are keys of the file too."""
KEY: Any = allowed('a column such as "id", or a list of columns')
UNIQUE: Any = allowed("true or false: whether no key is in the table twice", False)
COPY: Any = allowed(
    "true or false: whether rows are copied beside the index, uncompressed", False, alias="copy"
)


def _key(key: str | list[str]) -> str | tuple[str, ...]:
    return key if isinstance(key, str) else tuple(key)


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

    def open(self, file: Path) -> "Table":
        """The table."""
        from streamjoin.tables.parquet import parquet_table

        path = resolve(file, self.path) or ""
        return parquet_table(path, _key(self.key), unique=self.unique, copy=self.is_copied)


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

    def open(self, file: Path) -> "Table":
        """The table."""
        from streamjoin.tables.sql import sql_table

        return sql_table(
            self._address(resolve(file, self.path)),
            self.table,
            _key(self.key),
            unique=self.unique,
            version=self.version,
            rows_per_partition=self.rows_per_partition,
        )

    def _address(self, path: str | None) -> str:
        if self.uri_env is not None:
            return os.environ.get(self.uri_env, "")
        if self.path is None:
            return self.uri or ""
        if "://" in self.path:
            raise ConfigError.at("path", "an address", "a file (an address is a uri)")
        return f"sqlite://{quote(str(path))}"


class GeneratorTableSection(Section):
    """``[table]`` with ``type = "generator"``: made-up people, in Parquet files that are kept."""

    type: Literal["generator"] = allowed(TABLE_TYPES)
    path: str = allowed("a folder for the Parquet files", min_length=1)
    rows: int = allowed("1 to 100000000", 100_000, ge=1, le=100_000_000)
    seed: int = allowed("a whole number, 0 or more", 0, ge=0)
    is_copied: bool = COPY

    name: ClassVar[str] = "people"

    def open(self, file: Path) -> "Table":
        """The table, written unless it is there."""
        from streamjoin.tables.parquet import parquet_table
        from streamjoin.workloads.payloads import write_people

        folder = Path(str(resolve(file, self.path)))
        try:
            write_people(folder, self.rows, self.seed)
        except OSError as error:
            what = f"which cannot be written ({error.strerror}); allowed: a folder"
            expect(False, "table.path", f"got {self.path!r}, {what}")
        return parquet_table(folder, "person", unique=True, copy=self.is_copied)


TableSection = ParquetSection | SqlSection | GeneratorTableSection
MODELS: Final[Mapping[str, type[TableSection]]] = {
    "parquet": ParquetSection,
    "sql": SqlSection,
    "postgres": SqlSection,
    "generator": GeneratorTableSection,
}


@dataclass(frozen=True, kw_only=True)
class TableFile(Settings):
    """A pipeline file of a stream and a table."""

    table: TableSection
    join: sections.TableJoinSection

    def headline(self) -> str:
        """Say in one line what is joined."""
        on = dict(self.join.on) if isinstance(self.join.on, dict) else self.join.on
        kind = f"{self.join.how.capitalize()} join of {next(iter(self.sources))} with the table"
        limit = sections.on_a_budget(sections.as_budget(self.join.budget))
        return f"{kind} {self.table.name} on {on}{limit}"

    def _joined_with(self) -> dict[str, Any]:
        """The table, which must be there."""
        try:
            return {"table": self.table.open(self.file)}
        except StreamJoinError as error:
            name, _, rest = str(error).partition(": ")
            what = f"key `table.{name}`: {rest}" if name in ARGUMENTS else str(error)
            raise type(error)(f"{self.file}: {what}") from None

    def _arguments(self, checkpoint: str) -> dict[str, Any]:
        join = self.join
        # The index of the table is on a disk of this machine, where the checkpoint may not be.
        beside = None if "://" in checkpoint else f"{checkpoint}_index"
        return {
            **join.model_dump(exclude={"budget", "refresh", "index_folder"}),
            "budget": sections.as_budget(join.budget),
            "refresh": None if join.refresh == NEVER else join.refresh,
            "index_folder": resolve(self.file, join.index_folder) or beside,
        }


def load_toml(file: Path) -> PipelineFile | TableFile:
    """Read and check a pipeline file: of two streams, or of one and a ``[table]``."""
    return pipeline_file.checked(file, _check)


def _check(file: Path, document: dict[str, Any]) -> PipelineFile | TableFile:
    if "table" not in document:
        return pipeline_file.check(file, document)
    tables, table = document.get("sources"), document["table"]
    one = "one table, such as [sources.orders], beside [table]"
    sources = pipeline_file.checked_sources(tables, 1, repr(tables), one)
    kind = pipeline_file.type_of(table)
    known = not isinstance(table, dict) or (isinstance(kind, str) and kind in MODELS)
    expect(known, "table.type", f"got {kind!r}; allowed: {TABLE_TYPES}")
    made = section("table", MODELS.get(kind, ParquetSection), table)
    join = section("join", sections.TableJoinSection, document.get("join", {}))
    common = pipeline_file.outcome(document, sources)
    return TableFile(file=file, sources=sources, table=made, join=join, **common)
