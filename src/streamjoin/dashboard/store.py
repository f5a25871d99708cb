"""All queries that are found, and what is known of those that somebody looks at."""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from streamjoin.dashboard.documents import list_document, query_document
from streamjoin.dashboard.feed import Feed
from streamjoin.dashboard.finding import Summary, changed, find_queries, query_id, summarise
from streamjoin.dashboard.open_query import OpenQuery

logger = logging.getLogger(__name__)

LOOK: Final = 0.5
SEARCH: Final = 3.0
"""Seconds between two looks at open files, and between two searches for new ones (or more, where a
search takes long)."""

MOST_OPEN: Final = 16


class Store:
    """Finds queries, reads the ones that are asked for, and tells what is new.

    Parameters
    ----------
    folders
        Where to look for queries; they need not be there yet.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self.folders = list(folders)
        self.feed = Feed()
        self._found: dict[str, Path] = {}
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
        summaries = self._summaries
        return list_document((name, summary) for name, (_, summary) in summaries.items())

    def document(self, name: str) -> dict[str, Any] | None:
        """All that is known of a query, and the mark after which news of it follow."""
        query = self._opened(name)
        if query is None:
            return None
        with query.lock:
            query.read_first()
            mark = self.feed.mark(self.feed.number)
            document = query_document(query.history, query.folder)
            return {"id": name, "mark": mark, "is_whole": query.is_whole, **document}

    def drawing(self, name: str) -> str:
        """The drawing of a query's plan; empty if there is none."""
        query = self._opened(name)
        if query is None:
            return ""
        with query.lock:
            query.read_first()
            return query.history.started.drawing if query.history.started is not None else ""

    def is_open(self, name: str) -> bool:
        """Whether news of a query are told; to ask is to keep it so."""
        with self._lock:
            query = self._open.get(name)
            if query is not None:
                query.asked = time.monotonic()
            return query is not None

    def _opened(self, name: str) -> OpenQuery | None:
        with self._lock:
            query = self._open.get(name)
            if query is None and name in self._found:
                query = self._open[name] = OpenQuery(name, self._found[name], self.feed)
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
        found = {query_id(folder): folder for folder in find_queries(self.folders)}
        before, summaries = self._summaries, {}
        for name, folder in found.items():
            when = changed(folder)
            same = name in before and before[name][0] == when
            summaries[name] = before[name] if same else (when, summarise(folder))
        with self._lock:
            self._found, self._summaries = found, summaries
        if list(before.items()) != list(summaries.items()):
            self.feed.publish("", "queries", self._list())
