"""What a key index covers, the file that says so, and a view in which keys are searched."""

import json
import logging
import os
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from streamjoin._private import open_private
from streamjoin._typing import Keys
from streamjoin.core.sealed import parse_json
from streamjoin.tables.base import Located
from streamjoin.tables.key_segments import Places, Segment, Written, is_whole
from streamjoin.tables.parquet_files import Rows, Stamp

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
            return _from_json(said)
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


def _from_json(said: dict[str, Any]) -> Contents:
    files = tuple(
        Covered(path, (stamp[0], stamp[1]), first, tuple(rows), gone)
        for path, stamp, first, rows, gone in said["files"]
    )
    segments = tuple((name, Written(*numbers)) for name, *numbers in said["segments"])
    return Contents(said["name"], files, segments, tuple(said["twice"]))


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
        self._is_live = np.zeros(contents.n_partitions, np.bool_)
        for file in contents.live.values():
            self._is_live[file.first : file.first + len(file.rows)] = True
        sizes = [n for file in contents.files for n in file.rows] if by_row else []
        self._starts = np.cumsum([0, *sizes], dtype=np.int64)[:-1] if by_row else None

    def find(self, keys: Keys) -> tuple[Rows, Places]:
        """Pairs of positions in `keys` and places that have them."""
        rows, places, partitions = self._search(keys)
        here = self._is_live[partitions]
        return rows[here], places[here]

    def locate(self, keys: Keys, with_gone: bool = False) -> Located:
        """Pairs of positions in `keys` and partitions, if asked also of files that are gone."""
        rows, _, partitions = self._search(keys)
        # What is the same is next to each other: it comes from one segment.
        keep = np.ones(len(rows), np.bool_)
        keep[1:] = (rows[1:] != rows[:-1]) | (partitions[1:] != partitions[:-1])
        if not with_gone:
            keep &= self._is_live[partitions]
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
