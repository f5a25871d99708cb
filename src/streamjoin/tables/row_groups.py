"""Parquet files as they are: each row group is a partition."""

from collections.abc import Iterator, Sequence

import pyarrow as pa

from streamjoin._typing import Keys
from streamjoin.tables.base import key_columns, key_numbers
from streamjoin.tables.index_view import Rows
from streamjoin.tables.parquet_files import Folder, Reader, Stamp


class RowGroups:
    """Reads row groups; the index says which of them have a key."""

    by_row = False

    def __init__(self, folder: Folder, schema: pa.Schema, key: Sequence[str]) -> None:
        self._folder, self._key = folder, key
        self._reader = Reader(folder, schema)

    def files(self) -> dict[str, Stamp]:
        """The files there are."""
        return self._folder.files()

    def has(self, path: str, stamp: Stamp) -> bool:
        """Always: nothing but its keys was needed."""
        return True

    def rows_of(self, path: str, stamp: Stamp) -> tuple[int, ...]:
        """How many rows each row group of a file has."""
        return self._reader.rows_of(path, stamp)

    def keys_of(self, path: str, stamp: Stamp, part: int) -> Iterator[tuple[Keys, Rows]]:
        """Keys of a row group that are not null."""
        for rows in self._reader.parts(path, stamp, part, self._key):
            yield key_numbers(key_columns(rows, self._key))

    def keep(self, files: dict[str, Stamp]) -> None:
        """Close other files."""
        self._reader.keep(files)

    def read(self, path: str, stamp: Stamp, part: int, columns: Sequence[str]) -> pa.Table:
        """The rows of a row group."""
        return self._reader.read(path, stamp, part, columns)

    def close(self) -> None:
        """Close all files."""
        self._reader.keep({})
