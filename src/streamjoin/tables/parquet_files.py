"""The files of a Parquet folder: which there are, what is in them, and their rows."""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
from numpy.typing import NDArray

from streamjoin._typing import Keys
from streamjoin.errors import ConfigError, DataError, TableError
from streamjoin.tables.base import key_columns, key_numbers

_MAX_OPEN: Final = 64
_BATCH: Final = 1 << 17  # rows of a part, where a row group is read in parts

Rows = NDArray[np.int64]
"""Numbers of rows in a file."""
Stamp = tuple[int, int]
"""Size and time of the last change, in nanoseconds: a file with another stamp is another file."""


@dataclass(frozen=True)
class Folder:
    """A folder of Parquet files, or a single one, on a disk or in an object store."""

    address: str

    def connect(self) -> tuple[pafs.FileSystem, str]:
        """The file system, and the path in it."""
        address = self.address.replace("s3a://", "s3://", 1)  # Hadoop's name for it
        try:
            if ":/" not in address:
                return pafs.LocalFileSystem(), str(Path(address).resolve())
            system, root = pafs.FileSystem.from_uri(address)
        except (pa.ArrowInvalid, OSError) as error:
            raise ConfigError.at(
                "path", f"{self.address!r}, which cannot be reached ({error})", "a path"
            ) from None
        return system, root

    def files(self) -> dict[str, Stamp]:
        """The data files there are, by path; names that begin with a dot or _ are none."""
        system, root = self.connect()
        try:
            top = system.get_file_info(root)
            inside = [top]
            if top.type == pafs.FileType.Directory:
                inside = system.get_file_info(pafs.FileSelector(root, recursive=True))
        except OSError as error:
            raise TableError(
                f"the table {self.address} cannot be listed ({error}); try again when it can"
            ) from error
        if top.type == pafs.FileType.NotFound:
            raise TableError(
                f"the table {self.address} is not there; name a folder of Parquet files"
            )
        return {
            info.path: (info.size, info.mtime_ns or 0)
            for info in sorted(inside, key=lambda info: str(info.path))
            if info.type == pafs.FileType.File and self._is_data(info.path[len(root) :], info.path)
        }

    def _is_data(self, below: str, path: str) -> bool:
        steps = [step for step in below.split("/") if step]
        if "_delta_log" in steps:
            raise ConfigError(
                f"path: {self.address!r} is a Delta table, whose files have rows that no longer "
                "count; allowed: a folder of plain Parquet files (write one from it)"
            )
        if any("=" in step for step in steps[:-1]):
            raise ConfigError(
                f"path: {self.address!r} has a column in the names of its folders ({steps[0]!r}); "
                "allowed: files that have all columns themselves"
            )
        return path.endswith(".parquet") and not any(step[0] in "._" for step in steps)


class Reader:
    """A table whose partitions are row groups; the index says which of them have a key.

    It keeps the files that it read last open, so that a file replaced stays whole.
    """

    by_row = False

    def __init__(
        self, folder: Folder, schema: pa.Schema | None = None, key: Sequence[str] = ()
    ) -> None:
        self._system, _ = folder.connect()
        self.files, self._schema, self._key = folder.files, schema, key
        self._open: OrderedDict[tuple[str, Stamp], pq.ParquetFile] = OrderedDict()

    def file(self, path: str, stamp: Stamp) -> pq.ParquetFile:
        """A file, opened if it is not; an error if it is another one now."""
        if (path, stamp) not in self._open:
            try:
                info = self._system.get_file_info(path)
                if info.type == pafs.FileType.NotFound:
                    raise _unreadable(path, "it is no longer there")
                if (info.size, info.mtime_ns or 0) != stamp:
                    raise _unreadable(path, "it has another size or date")
                how = {"pre_buffer": False, "page_checksum_verification": True}
                opened = pq.ParquetFile(path, filesystem=self._system, **how)
            except (pa.ArrowException, OSError) as error:
                raise _unreadable(path, error) from error
            self._open[path, stamp] = opened
            if len(self._open) > _MAX_OPEN:
                self._open.popitem(last=False)[1].close()
        self._open.move_to_end((path, stamp))
        return self._open[path, stamp]

    def rows_of(self, path: str, stamp: Stamp) -> tuple[int, ...]:
        """How many rows each row group of a file has."""
        names = [] if self._schema is None else self._schema.names
        footer = self._having(path, stamp, names).metadata
        return tuple(footer.row_group(i).num_rows for i in range(footer.num_row_groups))

    def read(self, path: str, stamp: Stamp, group: int, columns: Sequence[str]) -> pa.Table:
        """Columns of one row group, in the types of the table."""
        file = self._having(path, stamp, columns)
        try:
            rows = file.read_row_group(group, columns=list(columns), use_threads=False)
        except (pa.ArrowException, OSError) as error:
            raise _unreadable(path, error) from error
        return self._fit(rows, path, columns)

    def parts(
        self, path: str, stamp: Stamp, group: int, columns: Sequence[str]
    ) -> Iterator[pa.Table]:
        """The same in parts, for row groups that may be larger than memory."""
        file = self._having(path, stamp, columns)
        try:
            for part in file.iter_batches(
                _BATCH, row_groups=[group], columns=list(columns), use_threads=False
            ):
                yield self._fit(pa.Table.from_batches([part]), path, columns)
        except (pa.ArrowException, OSError) as error:
            raise _unreadable(path, error) from error

    def has(self, path: str, stamp: Stamp) -> bool:
        """Whether a file that was read before need not be read again: only its keys were needed."""
        return True

    def keys_of(self, path: str, stamp: Stamp, group: int) -> Iterator[tuple[Keys, Rows]]:
        """Keys of a row group that are not null."""
        for rows in self.parts(path, stamp, group, self._key):
            yield key_numbers(key_columns(rows, self._key))

    def close(self) -> None:
        """Close all files."""
        self.keep({})

    def keep(self, files: dict[str, Stamp]) -> None:
        """Close all files but these."""
        for path, stamp in [file for file in self._open if files.get(file[0]) != file[1]]:
            self._open.pop((path, stamp)).close()

    def _having(self, path: str, stamp: Stamp, columns: Sequence[str]) -> pq.ParquetFile:
        file = self.file(path, stamp)
        names = set(file.schema_arrow.names)
        for name in columns:
            if name not in names:
                raise DataError(
                    f"the file {path} has no column {name!r}, which other files of the table have; "
                    "write it again with all columns"
                )
        return file

    def _fit(self, rows: pa.Table, path: str, columns: Sequence[str]) -> pa.Table:
        schema = self._schema
        if schema is None:
            return rows
        wanted = pa.schema([schema.field(name) for name in columns])
        try:
            return rows.select(list(columns)).cast(wanted, safe=_is_safe(rows.schema, wanted))
        except (pa.ArrowException, ValueError) as error:
            raise DataError(
                f"the file {path} has columns of other types than the table ({error})"
            ) from None


def _is_safe(have: pa.Schema, wanted: pa.Schema) -> bool:
    """Whether a value that does not fit is an error: digits of time beyond microseconds are not."""
    pairs = zip((have.field(name).type for name in wanted.names), wanted.types, strict=True)
    return not any(mine != kind and "[ns" in str(mine) for mine, kind in pairs)


def _unreadable(path: str, error: Exception | str) -> TableError:
    said = str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
    return TableError(
        f"the file {path} cannot be read: it is damaged, or has changed since the table was "
        f"looked at ({said}); refresh the table, or write the file again"
    )
