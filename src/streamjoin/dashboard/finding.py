"""Find the queries below some folders, and tell in short what became of each."""

import os
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from streamjoin.dashboard.history import History, Status
from streamjoin.dashboard.tail import read_ends
from streamjoin.metrics.records import FILE, Started

DEEPEST: Final = 6
CHECKPOINT: Final = {"offsets", "commits"}
"""What a checkpoint of Spark has; below it are thousands of folders and no queries."""
MOST_FOLDERS: Final = 5000
MOST_QUERIES: Final = 200
END: Final = 64 << 10


@dataclass(frozen=True)
class Summary:
    """A query in the list: its name, what became of it, when it was last heard of."""

    name: str
    status: Status
    last_at: float


def query_id(folder: Path) -> str:
    """A name for a folder that says nothing of where it is.

    Examples
    --------
    >>> query_id(Path("/data/joined_ck"))
    '1b26a6765b12'
    """
    return sha256(str(folder).encode("utf-8", "surrogateescape")).hexdigest()[:12]


def find_queries(folders: Sequence[Path]) -> list[Path]:
    """The folders with a metrics file, the last changed first; not too deep and not too many."""
    found = {folder: changed(folder) for top in folders for folder in _below(top)}
    return sorted(found, key=lambda folder: found[folder], reverse=True)[:MOST_QUERIES]


def changed(folder: Path) -> tuple[float, int]:
    """When a query's file was last written to, and its size."""
    try:
        found = (folder / FILE).stat()
    except OSError:
        return 0.0, 0
    return found.st_mtime, found.st_size


def _below(top: Path) -> Iterator[Path]:
    """Breadth first, so that what is near is found whatever lies below."""
    waiting, seen = deque([(str(top.absolute()), 0)]), 0
    while waiting and seen < MOST_FOLDERS:
        folder, depth = waiting.popleft()
        seen += 1
        entries = _entries(folder)
        names = {entry.name for entry in entries}
        if FILE in names:
            yield Path(folder)
        if depth < DEEPEST and FILE not in names and not names >= CHECKPOINT:
            inner = (e for e in entries if e.name[0] != "." and e.is_dir(follow_symlinks=False))
            waiting.extend((entry.path, depth + 1) for entry in inner)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def summarise(folder: Path) -> Summary:
    """Say what became of a query from the first line of its file and the last ones."""
    history = History()
    for record in read_ends(folder, END):
        history.add(record)
    return Summary(name_of(history.started, folder), history.status, history.last_at)


def name_of(started: Started | None, folder: Path) -> str:
    """What a query is called: by its own name, or by its folder."""
    return (started.query if started is not None else "") or folder.name
