"""The queries below some folders, in short, and what is known of those that somebody looks at."""

import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from streamjoin.dashboard.feed import Feed, OpenQuery, changed, read_ends
from streamjoin.dashboard.history import History, Status, query_document
from streamjoin.metrics.records import FILE

DEEPEST: Final = 6
CHECKPOINT: Final = {"offsets", "commits"}
"""What a checkpoint of Spark has; below it are thousands of folders and no queries."""
MOST_FOLDERS: Final = 5000
MOST_QUERIES: Final = 200
SUMMARY_BYTES: Final = 64 << 10
"""Of the end of a file, for its summary."""
logger = logging.getLogger(__name__)

LOOK: Final = 0.5
SEARCH: Final = 3.0
"""Seconds between two looks at open files, and between two searches for new ones (or more, where a
search takes long)."""

MOST_OPEN: Final = 16


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
    when = {folder: changed(folder / FILE) for top in folders for folder in _below(top)}
    return sorted(when, key=lambda folder: when[folder], reverse=True)[:MOST_QUERIES]


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
    for record in read_ends(folder, SUMMARY_BYTES):
        history.add(record)
    return Summary(history.name(folder), history.status, history.last_at)


class Store:
    """Finds queries, reads the ones that are asked for, and tells what is new."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self.folders = list(folders)
        self.feed = Feed()
        self._folders: dict[str, Path] = {}
        self._summaries: dict[str, tuple[tuple[float, int], Summary]] = {}
        self._open: dict[str, OpenQuery] = {}
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="dashboard", daemon=True)

    def start(self) -> None:
        """Search once, then go on in the background."""
        self._try(self._search)
        self._thread.start()

    def close(self) -> None:
        """End the background thread, and let whoever waits for news go."""
        self._stop.set()
        self.feed.close()
        self._thread.join()

    def listed(self) -> dict[str, Any]:
        """The queries in short, the last changed first, and the mark after which news follow."""
        mark = self.feed.mark(self.feed.number)
        folders = [str(folder.absolute()) for folder in self.folders]
        return {"mark": mark, "folders": folders, "queries": self._list()}

    def _list(self) -> list[dict[str, Any]]:
        summaries = self._summaries.items()
        return [{"id": name, **asdict(summary)} for name, (_, summary) in summaries]

    def document(self, name: str) -> dict[str, Any] | None:
        """All that is known of a query, and the mark after which news of it follow."""
        query = self._opened(name)
        if query is None:
            return None
        with query.reading():
            mark = self.feed.mark(self.feed.number)
            document = query_document(query.history, query.folder)
            return {"id": name, "mark": mark, "is_whole": query.is_whole, **document}

    def drawing(self, name: str) -> str:
        """The drawing of a query's plan; empty if there is none."""
        query = self._opened(name)
        if query is None:
            return ""
        with query.reading() as history:
            return history.started.drawing if history.started is not None else ""

    def is_open(self, name: str) -> bool:
        """Whether news of a query are told; to ask is to keep it so."""
        return self._opened(name, or_open=False) is not None

    def _opened(self, name: str, or_open: bool = True) -> OpenQuery | None:
        with self._lock:
            query = self._open.get(name)
            if query is None and or_open and name in self._folders:
                query = self._open[name] = OpenQuery(name, self._folders[name], self.feed)
            if query is not None:
                query.asked = time.monotonic()
            for old in sorted(self._open, key=lambda name: self._open[name].asked)[:-MOST_OPEN]:
                del self._open[old]
            return query

    def _watch(self) -> None:
        next_search = time.monotonic() + SEARCH
        while not self._stop.wait(LOOK):
            with self._lock:
                queries = list(self._open.values())
            for query in queries:
                self._try(query.look)
            began = time.monotonic()
            if began >= next_search:
                self._try(self._search)
                took = time.monotonic() - began
                next_search = began + max(SEARCH, 20 * took)

    def _try(self, work: Callable[[], None]) -> None:
        """One file that nobody foresaw must not end what all pages live on."""
        try:
            work()
        except Exception:
            logger.exception("a query could not be read; the others go on")

    def _search(self) -> None:
        folders = {query_id(folder): folder for folder in find_queries(self.folders)}
        before, summaries = self._summaries, {}
        for name, folder in folders.items():
            when = changed(folder / FILE)
            same = name in before and before[name][0] == when
            summaries[name] = before[name] if same else (when, summarise(folder))
        with self._lock:
            self._folders, self._summaries = folders, summaries
        if list(before.items()) != list(summaries.items()):
            self.feed.publish("", "queries", self._list())
