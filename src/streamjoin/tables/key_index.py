"""Which partitions of a table have a key: an index on disk that grows with the table.

It is a few sorted segments and a list of what they cover. New files make a new segment; when there
are many, they are merged into one. Files that are gone stay listed, without rows, so that the
numbers of other partitions do not change. What is damaged is made again.
"""

import fcntl
import json
import logging
import os
import uuid
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from streamjoin._private import make_private, open_private
from streamjoin._typing import Keys
from streamjoin.core.sealed import parse_json
from streamjoin.errors import TableError
from streamjoin.tables.base import Changes, Located
from streamjoin.tables.copies import Copies
from streamjoin.tables.failures import Tries
from streamjoin.tables.key_segments import (
    MAX_TWICE,
    KeySort,
    Places,
    Segment,
    Written,
    is_whole,
    note,
    write_segment,
)
from streamjoin.tables.parquet_files import Reader, Rows, Stamp

_MAX_SEGMENTS: Final = 8
_MAX_ROWS: Final = 2**31 - 1
_LOCK: Final = "lock"
LIST: Final = "index.json"
_FORM: Final = 1

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Covered:
    """A file in the index: its parts are the partitions from `first` on."""

    path: str
    stamp: Stamp
    first: int
    rows: tuple[int, ...]
    is_gone: bool = False

    @property
    def partitions(self) -> range:
        """Numbers of its partitions."""
        return range(self.first, self.first + len(self.rows))


@dataclass(frozen=True)
class Contents:
    """What an index covers; it has another name when partitions have been numbered anew.

    Examples
    --------
    >>> contents = Contents("x", (Covered("a.parquet", (10, 7), first=0, rows=(5, 5)),))
    >>> contents.n_partitions, list(contents.live)
    (2, ['a.parquet'])
    """

    name: str
    files: tuple[Covered, ...] = ()  # also those that are gone, by their partitions' numbers
    segments: tuple[tuple[str, Written], ...] = ()  # by name
    twice: tuple[int, ...] = ()  # keys that seem to be there more than once

    @property
    def live(self) -> dict[str, Covered]:
        """The files there are."""
        return {file.path: file for file in self.files if not file.is_gone}

    @property
    def n_partitions(self) -> int:
        """Partitions of all files, also of those that are gone."""
        return sum(len(file.rows) for file in self.files)

    @property
    def version(self) -> str:
        """The same for the same files, if their partitions have the same numbers."""
        said = sorted((path, file.stamp, file.first) for path, file in self.live.items())
        return f"{len(said)}-{zlib.crc32(repr(said).encode()):08x}"

    def save(self, folder: Path) -> None:
        """Write the list in place of the one before; a reader never sees half of it."""
        said = {
            "form": _FORM,
            "name": self.name,
            "files": [[f.path, f.stamp, f.first, f.rows, f.is_gone] for f in self.files],
            "segments": [[name, *vars(written).values()] for name, written in self.segments],
            "twice": self.twice,
        }
        text = json.dumps(said)
        draft = folder / f"{LIST}.new"
        with open_private(draft, "w") as file:
            file.write(f"{zlib.crc32(text.encode()):08x}\n{text}")
            file.flush()
            os.fsync(file.fileno())
        draft.replace(folder / LIST)

    @classmethod
    def load(cls, folder: Path) -> "Contents | None":
        """The stored list; None if there is none, or (with a warning) none that can be used."""
        path = folder / LIST
        try:
            crc, text = path.read_text(encoding="utf-8").split("\n", 1)
            said = parse_json(text)
            if int(crc, 16) != zlib.crc32(text.encode()) or said["form"] != _FORM:
                raise ValueError("it is damaged or of another version")
            files = tuple(
                Covered(path, (stamp[0], stamp[1]), first, tuple(rows), gone)
                for path, stamp, first, rows, gone in said["files"]
            )
            segments = tuple((name, Written(*numbers)) for name, *numbers in said["segments"])
            return cls(said["name"], files, segments, tuple(said["twice"]))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            _log.warning("%s: the index of the table's keys is made again (%s)", path, error)
            return None

    def is_whole(self, folder: Path) -> bool:
        """Whether all segments are as they were written."""
        for name, written in self.segments:
            if not is_whole(folder / name, written):
                _log.warning("%s: damaged; the index of the table's keys is made again", name)
                return False
        return True


class IndexView:
    """What is covered at one time, and where keys are in it: numbers of rows, or of partitions."""

    def __init__(
        self, folder: Path, contents: Contents, by_row: bool, before: "IndexView | None" = None
    ) -> None:
        known: dict[str, Segment] = before.segments if before else {}
        self.contents = contents
        self.segments: dict[str, Segment] = {
            name: known.get(name) or Segment(folder / name, written)
            for name, written in contents.segments
        }
        sizes = np.array([n for file in contents.files for n in file.rows], np.int64)
        gone = [file.is_gone for file in contents.files for _ in file.rows]
        self.partition_rows = np.where(gone, 0, sizes)
        self._starts = np.cumsum(sizes) - sizes if by_row else None

    def find(self, keys: Keys) -> tuple[Rows, Places]:
        """Pairs of positions in `keys` and places that have them."""
        rows, places, partitions = self._search(keys)
        here = self.partition_rows[partitions] > 0
        return rows[here], places[here]

    def locate(self, keys: Keys, with_gone: bool = False) -> Located:
        """Pairs of positions in `keys` and partitions, if asked also of files that are gone."""
        rows, _, partitions = self._search(keys)
        # What is the same is next to each other: it comes from one segment.
        keep = np.ones(len(rows), np.bool_)
        keep[1:] = (rows[1:] != rows[:-1]) | (partitions[1:] != partitions[:-1])
        if not with_gone:
            keep &= self.partition_rows[partitions] > 0
        return rows[keep], partitions[keep]

    def _search(self, keys: Keys) -> tuple[Rows, Places, NDArray[np.int32]]:
        order = None if np.all(keys[1:] >= keys[:-1]) else np.argsort(keys)
        wanted = np.ascontiguousarray(keys if order is None else keys[order])
        parts = [part for s in self.segments.values() for part in s.locate(wanted)]
        rows = np.concatenate([np.empty(0, np.int64), *(rows for rows, _ in parts)])
        places = np.concatenate([np.empty(0, np.int32), *(places for _, places in parts)])
        partitions = places
        if self._starts is not None:
            # Parts without rows begin where the next one does: the last of them is meant.
            partitions = (np.searchsorted(self._starts, places, "right") - 1).astype(np.int32)
        return (rows if order is None else order[rows]), places, partitions


class KeyIndex:
    """The partitions that have a key.

    Processes of one machine may share its folder: one makes the index, the others wait for it.
    """

    def __init__(self, folder: Path, memory: int, source: Copies | Reader, is_unique: bool) -> None:
        self._folder, self._memory = folder, memory
        self._source, self._is_unique = source, is_unique
        self.view = self._viewed(Contents(""))

    def _viewed(self, contents: Contents, before: IndexView | None = None) -> IndexView:
        return IndexView(self._folder, contents, self._source.by_row, before)

    def refresh(self) -> Changes | None:
        """Cover the files that there are now; what has changed, if anything."""
        before = self.view.contents
        # Let the source check what it keeps, which takes long the first time: not in the lock.
        stored = Contents.load(self._folder)
        for file in stored.live.values() if stored is not None else ():
            self._source.has(file.path, file.stamp)
        with _locked(self._folder):
            now = self._current()
            self.view = self._viewed(now, self.view)
            self._source.keep(_stamps(now))
        if now.name != before.name:
            return Changes(whole=True)
        was, are = set(before.live.values()), set(now.live.values())
        return Changes(False, _numbers(are - was), _numbers(was - are)) if was != are else None

    def _current(self) -> Contents:
        """What covers the files there are; if one goes while they are read, those there are then.

        A writer that never rests is an error in the end, as is a file that stays damaged.
        """
        tries = Tries()
        while True:
            files = self._source.files()
            stored = self._stored()
            try:
                return stored if _stamps(stored) == files else self._covered(stored, files)
            except TableError:
                if self._source.files() == files or not tries.again():
                    raise

    def _stored(self) -> Contents:
        """What the folder has, if it can be used; it need not be read again if it is in use."""
        stored = Contents.load(self._folder)
        if stored is None:
            return _new()
        known = self.view.segments
        fresh = replace(stored, segments=tuple(s for s in stored.segments if s[0] not in known))
        is_ready = all(self._source.has(f.path, f.stamp) for f in stored.live.values())
        return stored if is_ready and fresh.is_whole(self._folder) else _new()

    def _covered(self, stored: Contents, files: dict[str, Stamp]) -> Contents:
        """Extend what is stored to the files there are; if that fails, nothing has changed."""
        try:
            now = self._merged(self._extended(self._without(stored, files), files))
            now.save(self._folder)
        except BaseException as error:
            self._clean(stored)
            if not isinstance(error, OSError):
                raise
            raise TableError(
                f"the index of the table's keys cannot be written to {self._folder} "
                f"({error.strerror or error}); make room there, or name another folder"
            ) from error
        self._clean(now)
        return now

    def _without(self, stored: Contents, files: dict[str, Stamp]) -> Contents:
        """Mark what is gone; start anew if that is more than what is left."""
        kept = tuple(
            replace(file, is_gone=file.is_gone or files.get(file.path) != file.stamp)
            for file in stored.files
        )
        gone = sum(sum(file.rows) for file in kept if file.is_gone)
        is_old = 2 * gone > sum(sum(file.rows) for file in kept)
        return _new() if is_old else replace(stored, files=kept)

    def _extended(self, base: Contents, files: dict[str, Stamp]) -> Contents:
        """Index the files that are missing, as one more segment."""
        missing = {path: stamp for path, stamp in files.items() if path not in base.live}
        if not missing:
            return base
        view = self._viewed(base, self.view)
        covered = list(base.files)
        first, n_rows = base.n_partitions, sum(sum(file.rows) for file in base.files)
        sort = KeySort(self._folder / _name(base, "run"), self._memory)
        for path, stamp in missing.items():
            file = Covered(path, stamp, first, self._source.rows_of(path, stamp))
            for part, partition in enumerate(file.partitions):
                for keys, rows in self._source.keys_of(path, stamp, part):
                    if self._is_unique and base.segments:
                        note(sort.twice, keys[view.find(keys)[0]])
                    by_row = self._source.by_row
                    sort.add(keys, (rows + n_rows).astype(np.int32) if by_row else partition)
                n_rows += file.rows[part]
            covered.append(file)
            first += len(file.rows)
        if n_rows > _MAX_ROWS:
            with_gone = f"at most {_MAX_ROWS}, with those that are gone"
            raise TableError(f"the table has {n_rows} rows; allowed: {with_gone}")
        name = _name(base, "segment")
        written = write_segment(self._folder / name, sort.merged(), sort.twice)
        twice = (*sorted(sort.twice), *base.twice)[: 2 * MAX_TWICE]
        return Contents(base.name, tuple(covered), (*base.segments, (name, written)), twice)

    def _merged(self, contents: Contents) -> Contents:
        """One segment in place of too many."""
        if len(contents.segments) <= _MAX_SEGMENTS:
            return contents
        name = _name(contents, "segment")
        sort = KeySort(self._folder / _name(contents, "run"), self._memory)
        runs = [segment.run() for segment in self._viewed(contents, self.view).segments.values()]
        written = write_segment(self._folder / name, sort.merged(runs), set())
        return replace(contents, segments=((name, written),))

    def _clean(self, contents: Contents) -> None:
        """Remove what an interrupted or an earlier turn has left."""
        known = {name for name, _ in contents.segments}
        for path in self._folder.iterdir():
            if path.is_file() and path.name not in (LIST, _LOCK) and path.stem not in known:
                path.unlink()


def _new() -> Contents:
    return Contents(uuid.uuid4().hex[:8])


def _stamps(contents: Contents) -> dict[str, Stamp]:
    return {path: file.stamp for path, file in contents.live.items()}


def _name(contents: Contents, what: str) -> str:
    return f"{what}-{contents.name}-{uuid.uuid4().hex[:8]}"


def _numbers(files: Iterable[Covered]) -> tuple[int, ...]:
    return tuple(sorted(number for file in files for number in file.partitions))


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One process at a time; the others of this machine wait."""
    try:
        make_private(folder)
        file = open_private(folder / _LOCK, "wb")
    except OSError as error:
        raise TableError(
            f"folder: {folder} cannot be used ({error.strerror}); allowed: one that this user, and"
            " nobody else, can write to"
        ) from error
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
