"""What a key index covers, and the file that says so."""

import json
import logging
import os
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from streamjoin._private import open_private
from streamjoin.core.sealed import parse_json
from streamjoin.tables.key_segment import is_whole
from streamjoin.tables.key_sort import Written
from streamjoin.tables.parquet_files import Stamp

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
    """What an index covers.

    Parameters
    ----------
    name
        Another one when partitions have been numbered anew.
    files
        Those there are and those that are gone, by the numbers of their partitions.
    segments
        Names of sorted parts, and what was written to them.
    twice
        Keys that seem to be there more than once.

    Examples
    --------
    >>> contents = Contents("x", (Covered("a.parquet", (10, 7), first=0, rows=(5, 5)),))
    >>> contents.n_partitions, list(contents.live)
    (2, ['a.parquet'])
    """

    name: str
    files: tuple[Covered, ...] = ()
    segments: tuple[tuple[str, Written], ...] = ()
    twice: tuple[int, ...] = ()

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
            "segments": [
                [name, written.n, written.keys_crc, written.places_crc]
                for name, written in self.segments
            ],
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
                msg = "it is damaged or of another version"
                raise ValueError(msg)
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
