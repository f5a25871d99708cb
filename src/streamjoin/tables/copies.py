"""Parquet files copied once to this machine's disk, row by row within reach.

A row of a Parquet file costs the decoding of a whole row group. In a copy (Arrow's own file format,
not compressed) it costs a few pages of the file, and a partition need not be decoded at all.

A copy ends with a checksum. Each process reads all of a file once for it, before it uses the file:
a tenth of what it costs to make the copy.
"""

import hashlib
import io
import logging
import mmap
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
import pyarrow as pa

from streamjoin._private import make_private, open_private
from streamjoin._typing import Keys
from streamjoin.errors import TableError
from streamjoin.tables.base import key_columns, key_numbers
from streamjoin.tables.parquet_files import Folder, Reader, Rows, Stamp

_log = logging.getLogger(__name__)

_PART_BYTES: Final = 1 << 20
_PART_ROWS: Final = 64, 8192
"""A part has as many rows as make a megabyte, within these bounds."""
_PARTS: Final = 16  # of a batch of the file: few batches are quick to search, small parts to scan
_MAX_BATCHES: Final = 1024  # that are kept at hand; their rows are in the file
_LEAST_MEMORY: Final = 32 << 20
_AROUND: Final = 1 << 16  # bytes that the system brings in with each value
_END: Final = "sjoin1 {:08x}\n"  # with the checksum of what stands before it
_END_BYTES: Final = len(_END.format(0))
_SIZE: Final = b"rows of a part"


class Copies:
    """Reads copies of files, which are made when they are first needed.

    A quarter of `memory` may be pages of the copies before these are given back.
    """

    by_row = True

    def __init__(
        self, folder: Folder, schema: pa.Schema, key: Sequence[str], kept: Path, memory: int
    ) -> None:
        self._schema, self._key, self._kept, self.files = schema, key, kept, folder.files
        self._reader = Reader(folder, schema)
        self._names: dict[tuple[str, Stamp], str] = {}
        self._copies: dict[str, _Copy] = {}
        self._may_touch = max(_LEAST_MEMORY, memory) // 4
        self._touched = 0

    def has(self, path: str, stamp: Stamp) -> bool:
        """Whether there is a copy."""
        name = self._name(path, stamp)
        file = self._kept / f"{name}.arrow"
        if name not in self._copies and _is_whole(file):
            self._copies[name] = _Copy(file)
        return name in self._copies

    def rows_of(self, path: str, stamp: Stamp) -> tuple[int, ...]:
        """How many rows each part of a file's copy has; it is made if there is none."""
        if not self.has(path, stamp):
            self._copy(path, stamp)
        copy = self._open(path, stamp)
        sizes = [copy.batch(i).num_rows for i in range(copy.n_batches)]
        return tuple(min(copy.size, n - start) for n in sizes for start in range(0, n, copy.size))

    def keys_of(self, path: str, stamp: Stamp, part: int) -> Iterator[tuple[Keys, Rows]]:
        """Keys of a part that are not null."""
        rows = self.read(path, stamp, part, self._key)
        yield key_numbers(key_columns(rows, self._key))

    def read(self, path: str, stamp: Stamp, part: int, columns: Sequence[str]) -> pa.Table:
        """The rows of a part, without a copy in memory."""
        copy = self._open(path, stamp)
        batch, part = divmod(part, _PARTS)
        self._touch(_PART_BYTES)
        rows = copy.batch(batch).select(list(columns)).slice(part * copy.size, copy.size)
        return pa.Table.from_batches([rows])

    def take(
        self, path: str, stamp: Stamp, rows: Rows, columns: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        """Some rows of a file, by their numbers, which ascend."""
        copy = self._open(path, stamp)
        per_batch = _PARTS * copy.size
        cuts = np.flatnonzero(np.diff(rows // per_batch, prepend=-1))
        for mine in np.split(rows, cuts)[1:]:
            batch = int(mine[0]) // per_batch
            self._touch(min(_PARTS * _PART_BYTES, len(mine) * len(columns) * _AROUND))
            few = pa.array(mine - batch * per_batch)
            yield copy.batch(batch).select(list(columns)).take(few)

    def keep(self, files: dict[str, Stamp]) -> None:
        """Remove the copies of other files; those who hold them can still read them."""
        names = {self._name(path, stamp) for path, stamp in files.items()}
        for path in self._kept.glob("*"):
            if path.stem not in names:
                path.unlink(missing_ok=True)
        self._copies = {name: copy for name, copy in self._copies.items() if name in names}
        self._names = {file: name for file, name in self._names.items() if name in names}
        for file in files.items():  # before another process removes them
            self._open(*file)

    def close(self) -> None:
        """Let go of all files."""
        self._copies.clear()

    def _touch(self, n_bytes: int) -> None:
        self._touched += n_bytes
        if self._touched > self._may_touch:
            self._touched = 0
            for copy in self._copies.values():
                copy.give_back()

    def _name(self, path: str, stamp: Stamp) -> str:
        if (path, stamp) not in self._names:
            said = repr((path, stamp, str(self._schema))).encode()
            self._names[path, stamp] = hashlib.blake2b(said, digest_size=8).hexdigest()
        return self._names[path, stamp]

    def _open(self, path: str, stamp: Stamp) -> "_Copy":
        if not self.has(path, stamp):
            raise TableError(
                f"the copy of {path} was removed, as the table has changed; refresh the table"
            )
        return self._copies[self._name(path, stamp)]

    def _copy(self, path: str, stamp: Stamp) -> None:
        make_private(self._kept)
        draft = self._kept / f"{self._name(path, stamp)}.new"
        groups = range(len(self._reader.rows_of(path, stamp)))
        names = self._schema.names
        parts = (part for g in groups for part in self._reader.parts(path, stamp, g, names))
        first = next(parts, self._schema.empty_table())
        row_bytes = max(1, first.nbytes // max(1, first.num_rows))
        size = int(np.clip(_PART_BYTES // row_bytes, *_PART_ROWS))
        schema = self._schema.with_metadata({_SIZE: str(size)})
        try:
            _write(draft, schema, _resized(chain([first], parts), _PARTS * size))
            draft.replace(draft.with_suffix(".arrow"))
        finally:
            draft.unlink(missing_ok=True)  # of what failed, for instance as the disk is full
            self._reader.close()


def _write(path: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
    with open_private(path, "wb") as file:
        summed = _Summed(file)
        with pa.ipc.new_file(summed, schema) as writer:
            for batch in batches:
                writer.write_batch(batch)
        file.write(_END.format(summed.checksum).encode())
        file.flush()
        os.fsync(file.fileno())


class _Summed(io.RawIOBase):
    """A file that knows the checksum of what was written to it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self.checksum = file, 0

    def writable(self) -> bool:
        """Always."""
        return True

    def write(self, data: Any) -> int:
        """Write, and sum up."""
        self.checksum = zlib.crc32(data, self.checksum)
        return self._file.write(data)

    def tell(self) -> int:
        """Where it is."""
        return self._file.tell()


def _resized(parts: Iterable[pa.Table], size: int) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of one size; the last may be smaller."""
    waiting: list[pa.Table] = []
    for part in parts:
        rows = pa.concat_tables([*waiting, part])
        whole = rows.num_rows - rows.num_rows % size
        for start in range(0, whole, size):
            yield from rows.slice(start, size).combine_chunks().to_batches()
        waiting = [rows.slice(whole)]
    rest = pa.concat_tables(waiting).combine_chunks()
    yield from (batch for batch in rest.to_batches() if batch.num_rows)


class _Copy:
    """One file, mapped into memory."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._mapped.madvise(mmap.MADV_RANDOM)
        rows = pa.py_buffer(self._mapped)
        self._reader = pa.ipc.open_file(rows.slice(0, rows.size - _END_BYTES))
        self.n_batches = self._reader.num_record_batches
        self.size = int(self._reader.schema.metadata[_SIZE])
        self.batch = lru_cache(_MAX_BATCHES)(self._reader.get_batch)

    def give_back(self) -> None:
        """Memory of pages that were looked at."""
        self._mapped.madvise(mmap.MADV_DONTNEED)


def _is_whole(path: Path) -> bool:
    """Whether there is a file, with the bytes that were written."""
    crc = 0
    try:
        with path.open("rb") as file:
            rest = file.seek(-_END_BYTES, os.SEEK_END)
            end = file.read()
            file.seek(0)
            while rest and (chunk := file.read(min(_PART_BYTES, rest))):
                crc, rest = zlib.crc32(chunk, crc), rest - len(chunk)
    except OSError:
        return False
    is_whole = end == _END.format(crc).encode()
    if not is_whole:
        _log.warning("%s: this copy is damaged and is made again", path)
    return is_whole
