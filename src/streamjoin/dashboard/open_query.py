"""A query that somebody looks at: its whole history, kept up to date."""

import threading
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from streamjoin.dashboard.documents import point_document, state_document
from streamjoin.dashboard.feed import Feed
from streamjoin.dashboard.history import Entry, History
from streamjoin.dashboard.tail import Tail, read_ends, size_of
from streamjoin.metrics.records import BEFORE, FILE, BatchDone, Record

LARGE: Final = 8 << 20
END: Final = 2 << 20
"""From how many bytes on the end of a file is shown first, and how much of it."""

MOST_AT_ONCE: Final = 100
"""Records that are told one by one; after more of them pages read everything again."""


class OpenQuery:
    """A query and where its file was read up to.

    Whoever uses `history` holds `lock`. A file of many hours takes seconds to read, so its end is
    shown first and the rest is read meanwhile; `is_whole` says that it was.
    """

    def __init__(self, name: str, folder: Path, feed: Feed) -> None:
        self.name, self.folder, self._feed = name, folder, feed
        self.history = History()
        self.is_whole = False
        self.lock = threading.Lock()
        self.asked = time.monotonic()
        self._tail = Tail(folder)
        self._is_read = False

    def read_first(self) -> None:
        """Read what there is, or of much the end; only once."""
        if self._is_read:
            return
        self._is_read = True
        if self._n_bytes() < LARGE:
            self.is_whole = self._read_all(self.history)
            return
        for record in read_ends(self.folder, END):
            self.history.add(record)
        threading.Thread(target=self._read_meanwhile, daemon=True).start()

    def look(self) -> None:
        """Take in what is new and tell it."""
        if not self.lock.acquire(blocking=False):
            return  # it is in use: next time
        try:
            if self.is_whole:
                self._tell()
        finally:
            self.lock.release()

    def _n_bytes(self) -> int:
        return sum(size_of(self.folder / name) for name in (BEFORE, FILE))

    def _read_meanwhile(self) -> None:
        history = History()
        whole = self._read_all(history)
        with self.lock:
            self.history, self.is_whole = history, whole
            self._feed.publish(self.name, "reload", {})

    def _read_all(self, history: History) -> bool:
        for record in self._tail.read():
            history.add(record)
            if self._feed.is_closed:
                return False
        return True

    def _tell(self) -> None:
        news: list[tuple[str, Any]] = []
        for record in self._tail.read():
            entry = self.history.add(record)
            if len(news) <= MOST_AT_ONCE:
                news += self._news(record, entry)
        if len(news) > MOST_AT_ONCE:
            news = [("reload", {})]
        for kind, values in news:
            self._feed.publish(self.name, kind, values)

    def _news(self, record: Record, entry: Entry | None) -> Iterator[tuple[str, Any]]:
        if entry is not None:
            yield "entry", asdict(entry)
        if not isinstance(record, BatchDone):
            yield "state", state_document(self.history, self.folder)
            return
        join = self.history.joins.get(record.metrics.name)
        if join is not None:
            yield "point", point_document(record.metrics.name, join)
