"""Follow the file of a query: what is new since the last look, through rotation and restarts."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, Final

from streamjoin.metrics.records import BEFORE, FILE, Record, from_line

CHUNK: Final = 1 << 20
LONGEST_LINE: Final = 16 << 20
HEAD: Final = 256
BEGINNING: Final = '{"record":'


@dataclass(frozen=True)
class _Place:
    """Where reading stopped, and in which file: its number on the disk and its first bytes."""

    inode: tuple[int, int]
    head: bytes
    offset: int = 0

    @classmethod
    def beginning(cls, file: BinaryIO) -> "_Place":
        """The start of a file."""
        return cls(_inode(file), _head(file, HEAD))

    def is_in(self, file: BinaryIO) -> bool:
        """Whether it is this file, grown since then."""
        grown = os.fstat(file.fileno()).st_size >= self.offset
        return grown and _inode(file) == self.inode and _head(file, len(self.head)) == self.head


class Tail:
    r"""Reads the records of a query's folder, each once.

    Examples
    --------
    >>> folder = getfixture("tmp_path")
    >>> tail = Tail(folder)
    >>> list(tail.read())
    []
    >>> _ = (folder / FILE).write_text('{"record":"ended","at":1.0}\n{"record":"en')
    >>> [record.at for record in tail.read()], list(tail.read())
    ([1.0], [])
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._place: _Place | None = None

    def read(self) -> Iterator[Record]:
        """Records that were written since the last call; a line that is not complete waits."""
        current = self._open(FILE)
        if current is None:
            return
        with current:
            if self._place is None or not self._place.is_in(current):
                yield from self._rest_of_the_one_before(current)
                self._place = _Place.beginning(current)
            yield from self._lines(current, self._place)

    def _rest_of_the_one_before(self, current: BinaryIO) -> Iterator[Record]:
        """What a file still had when it was replaced; all of it when nothing was read yet."""
        file = self._open(BEFORE)
        if file is None:
            return
        with file:
            place = self._place or _Place.beginning(file)
            if place.is_in(file) and _inode(file) != _inode(current):
                yield from self._lines(file, place)

    def _lines(self, file: BinaryIO, place: _Place) -> Iterator[Record]:
        offset, rest = place.offset, b""
        file.seek(offset)
        while chunk := file.read(CHUNK):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                offset += len(line) + 1
                record = _record(line.decode("utf-8", errors="replace"))
                if record is not None:
                    yield record
            if len(rest) > LONGEST_LINE:
                offset, rest = offset + len(rest), b""
            self._place = replace(place, offset=offset)

    def _open(self, name: str) -> BinaryIO | None:
        try:
            return (self._folder / name).open("rb")
        except OSError:
            return None


def read_ends(folder: Path, n_bytes: int) -> Iterator[Record]:
    """The first record of a query's file, and those in so many bytes at its end."""
    try:
        with (folder / FILE).open("rb") as file:
            lines = [file.readline(LONGEST_LINE)]
            file.seek(max(len(lines[0]), file.seek(0, os.SEEK_END) - n_bytes))
            lines += file.read(n_bytes).split(b"\n")
    except OSError:
        return
    records = (_record(line.decode("utf-8", errors="replace")) for line in lines)
    yield from (record for record in records if record is not None)


def size_of(file: Path) -> int:
    """Bytes of a file; none if it is not there."""
    try:
        return file.stat().st_size
    except OSError:
        return 0


def _inode(file: BinaryIO) -> tuple[int, int]:
    status = os.fstat(file.fileno())
    return status.st_dev, status.st_ino


def _head(file: BinaryIO, n_bytes: int) -> bytes:
    file.seek(0)
    return file.read(n_bytes)


def _record(line: str) -> Record | None:
    """Read a line, or what follows in it on one that was cut off when its writer died."""
    record = from_line(line)
    start = line.rfind(BEGINNING)
    return from_line(line[start:]) if record is None and start > 0 else record
