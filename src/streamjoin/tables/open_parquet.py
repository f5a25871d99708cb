"""A Parquet table that is being read: row groups by number, rows by key."""

import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin._typing import Keys
from streamjoin.errors import DataError
from streamjoin.tables.base import (
    Changes,
    KeyColumns,
    Located,
    check_columns,
    check_key_types,
    key_columns,
    key_numbers,
)
from streamjoin.tables.copies import Copies
from streamjoin.tables.key_index import KeyIndex
from streamjoin.tables.key_sort import Places
from streamjoin.tables.parquet_files import Folder, Stamp
from streamjoin.tables.row_groups import RowGroups

if TYPE_CHECKING:
    from streamjoin.tables.parquet import ParquetTable


class OpenParquet:
    """A Parquet table that is being read, as it was at the last `refresh`."""

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
        self._parts = Copies(*where, folder / "copies", memory) if table.copy else RowGroups(*where)
        self._index = KeyIndex(folder, memory, self._parts, table.is_unique)
        self.refresh()

    @property
    def version(self) -> str:
        """Another text when files were added, removed or replaced."""
        return self._index.view.contents.version

    @property
    def has_index(self) -> bool:
        """Always: the one made here."""
        return True

    @property
    def knows_places(self) -> bool:
        """Always: the index has them."""
        return True

    @property
    def partition_rows(self) -> NDArray[np.int64]:
        """How many rows each partition has; none if its file is gone."""
        return self._rows

    @property
    def bytes_per_row(self) -> float:
        """Memory that a row takes, by the first partition that has rows."""
        if self._bytes_per_row is None:
            full = np.flatnonzero(self._rows)
            sample = self.scan(int(full[0])) if len(full) else None
            self._bytes_per_row = sample.nbytes / sample.num_rows if sample else 1.0
        return self._bytes_per_row

    def scan(self, partition: int, columns: Sequence[str] | None = None) -> pa.Table:
        """The rows of one row group; none if its file is gone."""
        names = self._table.schema.names if columns is None else columns
        check_columns(self._table.schema, names, "columns")
        if not self._rows[partition]:
            return self._nothing(names)
        return self._parts.read(*self._part(partition), names)

    def _part(self, partition: int) -> tuple[str, Stamp, int]:
        file = self._index.view.contents.files[
            np.searchsorted(self._firsts, partition, "right") - 1
        ]
        return file.path, file.stamp, partition - file.first

    def locate(self, keys: KeyColumns) -> Located:
        """The partitions that have rows with these keys, from the index alone."""
        check_key_types(self._table, keys)
        numbers, rows = key_numbers(keys)
        found, partitions = self._index.view.locate(numbers)
        return rows[found], partitions

    def look_up(self, keys: KeyColumns, columns: Sequence[str] | None = None) -> pa.Table:
        """The rows that have one of these keys; row groups are read whole if there is no copy.

        Where keys are hashed, a row whose key has the hash of a wanted one may come too.
        """
        check_key_types(self._table, keys)
        names = list(self._table.schema.names if columns is None else columns)
        check_columns(self._table.schema, names, "columns")
        numbers = np.unique(key_numbers(keys)[0])
        if isinstance(self._parts, Copies):
            found = list(self._taken(self._parts, self._index.view.find(numbers)[1], names))
        else:
            partitions = np.unique(self._index.view.locate(numbers)[1])
            found = [self._rows_with(numbers, p, names) for p in partitions.tolist()]
        return pa.concat_tables(found) if found else self._nothing(names)

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
        rows = [n * (not file.is_gone) for file in files for n in file.rows]
        self._rows = np.array(rows, np.int64)
        self._bytes_per_row = None
        if self._table.is_unique:
            self._refuse_duplicates(self._index.view.contents.twice)
        return changes

    def touched(self, changes: Changes, keys: KeyColumns) -> NDArray[np.bool_]:
        """Which keys are in partitions that are new or gone."""
        marks = np.full(len(keys[0]), changes.whole)
        if not changes.whole:
            numbers, rows = key_numbers(keys)
            found, partitions = self._index.view.locate(numbers, with_gone=True)
            changed = np.isin(partitions, [*changes.added, *changes.removed])
            marks[rows[found[changed]]] = True
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
                    said = ", ".join(f"{name}={value!r}" for name, value in row.items())
                    msg = (
                        f"key: the table {self._table.path} has more than one row with {said}; "
                        "allowed: one row for each key, or unique=False"
                    )
                    raise DataError(msg)
                seen.add(repr(row))
