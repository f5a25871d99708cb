"""A table in Parquet files: its partitions are their row groups; rows are looked up by key."""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin._typing import Keys
from streamjoin.errors import ConfigError
from streamjoin.tables.base import (
    Changes,
    KeyColumns,
    Located,
    check_columns,
    check_key,
    check_key_types,
    key_columns,
    key_numbers,
)
from streamjoin.tables.copies import Copies
from streamjoin.tables.failures import duplicate_key
from streamjoin.tables.key_index import KeyIndex
from streamjoin.tables.key_segments import Places
from streamjoin.tables.parquet_files import Folder, Reader

_SIGNED: Final = {
    pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64(),
    pa.float16(): pa.float32(),
}  # fmt: skip
_BINARIES: Final = (
    pa.types.is_large_binary, pa.types.is_binary_view, pa.types.is_fixed_size_binary,
)  # fmt: skip


class OpenParquet:
    """A Parquet table that is being read, as it was at the last `refresh`.

    A partition has no rows if its file is gone.
    """

    has_index = knows_places = True

    def __init__(self, table: "ParquetTable", folder: Path | None, memory: int) -> None:
        self._table = table
        self._temporary: TemporaryDirectory[str] | None = None
        if folder is None:
            self._temporary = TemporaryDirectory(prefix="streamjoin-")
            folder = Path(self._temporary.name)
        said = repr((table.path, table.key, table.is_unique, table.copy, str(table.schema)))
        self._bytes_per_row: float | None = None
        folder = folder / f"keys-{zlib.crc32(said.encode()):08x}"
        where = Folder(table.path), table.schema, table.key
        self._parts = Copies(*where, folder / "copies", memory) if table.copy else Reader(*where)
        self._index = KeyIndex(folder, memory, self._parts, table.is_unique)
        self.refresh()

    @property
    def version(self) -> str:
        """Another text when files were added, removed or replaced."""
        return self._index.view.contents.version

    @property
    def bytes_per_row(self) -> float:
        """Memory that a row takes, by the first partition that has rows."""
        if self._bytes_per_row is None:
            full = np.flatnonzero(self.partition_rows)
            sample = self.scan(int(full[0])) if len(full) else None
            self._bytes_per_row = sample.nbytes / sample.num_rows if sample else 1.0
        return self._bytes_per_row

    def scan(self, partition: int, columns: Sequence[str] | None = None) -> pa.Table:
        """The rows of one row group; none if its file is gone."""
        names = self._table.schema.names if columns is None else columns
        check_columns(self._table.schema, names, "columns")
        if not self.partition_rows[partition]:
            return self._nothing(names)
        at = np.searchsorted(self._firsts, partition, "right") - 1
        file = self._index.view.contents.files[at]
        return self._parts.read(file.path, file.stamp, partition - file.first, names)

    def locate(self, keys: KeyColumns) -> Located:
        """The partitions that have rows with these keys, from the index alone."""
        check_key_types(self._table, keys)
        numbers, rows = key_numbers(keys)
        places, partitions = self._index.view.locate(numbers)
        return rows[places], partitions

    def look_up(self, keys: KeyColumns, columns: Sequence[str] | None = None) -> pa.Table:
        """The rows that have one of these keys; row groups are read whole if there is no copy.

        Where keys are hashed, a row whose key has the hash of a wanted one may come too.
        """
        check_key_types(self._table, keys)
        names = list(self._table.schema.names if columns is None else columns)
        check_columns(self._table.schema, names, "columns")
        numbers = np.unique(key_numbers(keys)[0])
        if isinstance(self._parts, Copies):
            rows = list(self._taken(self._parts, self._index.view.find(numbers)[1], names))
        else:
            partitions = np.unique(self._index.view.locate(numbers)[1])
            rows = [self._rows_with(numbers, p, names) for p in partitions.tolist()]
        return pa.concat_tables(rows) if rows else self._nothing(names)

    def _taken(self, copies: Copies, places: Places, names: list[str]) -> Iterator[pa.Table]:
        rows = np.sort(places.astype(np.int64))
        cuts = np.searchsorted(rows, self._first_rows)
        files = zip(self._index.view.contents.files, self._first_rows, cuts, strict=True)
        for (file, first, start), stop in zip(files, [*cuts[1:], len(rows)], strict=True):
            if stop > start:
                taken = copies.take(file.path, file.stamp, rows[start:stop] - first, names)
                yield pa.Table.from_batches(taken)

    def refresh(self) -> Changes | None:
        """Look for files that are new, gone or changed; only new ones are read."""
        changes = self._index.refresh()
        files = self._index.view.contents.files
        self._firsts = np.array([file.first for file in files], np.int64)
        sizes = [sum(file.rows) for file in files]
        self._first_rows = np.cumsum([0, *sizes], dtype=np.int64)[:-1]
        self.partition_rows = self._index.view.partition_rows
        self._bytes_per_row = None
        if self._table.is_unique:
            self._refuse_duplicates(self._index.view.contents.twice)
        return changes

    def touched(self, changes: Changes, keys: KeyColumns) -> NDArray[np.bool_]:
        """Which keys are in partitions that are new or gone."""
        marks = np.full(len(keys[0]), changes.whole)
        if not changes.whole:
            numbers, rows = key_numbers(keys)
            places, partitions = self._index.view.locate(numbers, with_gone=True)
            changed = np.isin(partitions, [*changes.added, *changes.removed])
            marks[rows[places[changed]]] = True
        return marks

    def close(self) -> None:
        """Close the files; an index that is not to be kept is removed."""
        self._parts.close()
        if self._temporary:
            self._temporary.cleanup()

    def _nothing(self, names: Sequence[str]) -> pa.Table:
        return pa.schema([self._table.schema.field(name) for name in names]).empty_table()

    def _rows_with(self, numbers: Keys, partition: int, names: list[str]) -> pa.Table:
        key = self._table.key
        rows = self.scan(partition, [*names, *(name for name in key if name not in names)])
        mine, at = key_numbers(key_columns(rows, key))
        places = np.minimum(np.searchsorted(numbers, mine), len(numbers) - 1)
        wanted = at[numbers[places] == mine]
        return rows.select(names).take(pa.array(wanted))

    def _refuse_duplicates(self, suspects: Sequence[int]) -> None:
        """Two keys of equal hash are no duplicate, so rows are looked at."""
        for number in suspects:
            wanted = np.array([number], np.int64)
            partitions = np.unique(self._index.view.locate(wanted)[1]).tolist()
            key = list(self._table.key)
            rows = [r for p in partitions for r in self._rows_with(wanted, p, key).to_pylist()]
            seen: set[str] = set()
            for row in rows:
                if repr(row) in seen:
                    raise duplicate_key(self._table.path, row)
                seen.add(repr(row))


@dataclass(frozen=True)
class ParquetTable:
    """A folder of Parquet files; made by `parquet_table`."""

    path: str
    key: tuple[str, ...]
    schema: pa.Schema = field(repr=False)
    is_unique: bool = False
    copy: bool = False

    def open(self, folder: Path | None, memory: int) -> OpenParquet:
        """Read the keys and index them, if no index of an earlier time is in the folder."""
        return OpenParquet(self, folder, memory)


def parquet_table(
    path: str | Path,
    key: str | Sequence[str],
    columns: Sequence[str] | None = None,
    unique: bool = False,
    copy: bool = False,
) -> ParquetTable:
    """A table in Parquet files, for joins with a stream.

    Partitions are row groups, and a look-up reads whole ones: with small row groups (about 10,000
    rows) both memory and time stay small; or let it have a copy. Files may be added, removed and
    replaced at any time.

    Parameters
    ----------
    path
        A folder, with the folders in it, or a file: a path, or an address such as ``s3://...``.
    key
        The column that a stream is joined on, or several.
    columns
        The columns that are wanted, besides the key; all if None.
    unique
        Promise that no key is there twice; it is an error if one is.
    copy
        Keep a copy of the rows beside the index, on this machine's disk and not compressed: then
        a look-up reads single rows, and partitions are small whatever the row groups are.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow.parquet as pq
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pq.write_table(pa.table({"id": [1, 2], "name": ["a", "b"]}), f"{folder}/1.parquet")
    ...     table = parquet_table(folder, key="id").open(None, memory=1_000_000)
    ...     table.look_up([pa.array([2, 3])]).to_pylist()
    [{'id': 2, 'name': 'b'}]
    """
    if "://" not in str(path):
        path = Path(path).absolute()  # processes that read it may be in another folder
    folder = Folder(str(path))
    files = folder.files()
    if not files:
        raise ConfigError.at(
            "path", f"{str(path)!r}, which has no Parquet file", "a folder of such files"
        )
    reader = Reader(folder)
    schema = _plain(reader.file(*next(iter(files.items()))).schema_arrow)
    reader.close()
    names = check_key(schema, key)
    if columns is not None:
        wanted = {*names, *check_columns(schema, columns, "columns")}
        schema = pa.schema([f for f in schema if f.name in wanted])
    return ParquetTable(str(path), names, schema, unique, copy)


def _plain(schema: pa.Schema) -> pa.Schema:
    """Schema without what is a matter of how values are stored, as Spark has its columns.

    Examples
    --------
    >>> _plain(pa.schema({"a": pa.dictionary(pa.int8(), pa.large_string())})).types
    [DataType(string)]
    >>> _plain(pa.schema({"a": pa.timestamp("ms"), "b": pa.list_(pa.timestamp("ns"))})).types
    [TimestampType(timestamp[us]), ListType(list<item: timestamp[us]>)]
    """
    return pa.schema([(field.name, _plain_type(field.type)) for field in schema])


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return _plain_type(kind.value_type)
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if any(is_one(kind) for is_one in _BINARIES):
        return pa.binary()
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    if pa.types.is_date(kind):
        return pa.date32()
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return pa.list_(_plain_type(kind.value_type))
    if pa.types.is_map(kind):
        return pa.map_(_plain_type(kind.key_type), _plain_type(kind.item_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _plain_type(field.type)) for field in kind])
    return _SIGNED.get(kind, kind)
