"""News for the pages that are open, and the queries that somebody looks at, whose news they are."""

import json
import secrets
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from streamjoin.dashboard.documents import point_document, state_document
from streamjoin.dashboard.history import Entry, History
from streamjoin.dashboard.tail import Tail, read_ends, size_of
from streamjoin.metrics.records import BEFORE, FILE, BatchDone, Record

MOST_NEWS: Final = 1024
LARGE_BYTES: Final = 8 << 20
END_BYTES: Final = 2 << 20
"""From how many bytes on the end of a file is shown first, and how much of it."""

MOST_AT_ONCE: Final = 100
"""Records that are told one by one; after more of them pages read everything again."""


@dataclass(frozen=True)
class News:
    """Something that changed: of which query (empty: for all), what kind of change, as JSON."""

    number: int
    query: str
    kind: str
    text: str


class Feed:
    """The latest news, numbered, bounded and the same for all pages; and a bell.

    A page says by a mark how far it has read. One that cannot be gone on from, because too much
    came since or the mark is another server's, gets None and has to read everything again.

    Examples
    --------
    >>> feed = Feed()
    >>> mark = feed.mark(0)
    >>> feed.publish("a", "point", {"x": 1})
    >>> feed.publish("b", "point", {"x": 2})
    >>> news, number = feed.after(mark, "a")
    >>> [one.text for one in news], number, feed.after("other-0", "a")
    (['{"x":1}'], 2, None)
    """

    def __init__(self) -> None:
        self._server = secrets.token_hex(4)
        self._news: deque[News] = deque(maxlen=MOST_NEWS)
        self.number = 0  # of the last news
        self._bell = threading.Condition()
        self.is_closed = False

    def mark(self, number: int) -> str:
        """How far one has read, as text."""
        return f"{self._server}-{number}"

    def publish(self, query: str, kind: str, values: Any) -> None:
        """Tell the pages that show a query, or all of them."""
        text = json.dumps(values, separators=(",", ":"), allow_nan=False)
        with self._bell:
            self.number += 1
            self._news.append(News(self.number, query, kind, text))
            self._bell.notify_all()

    def after(self, mark: str, query: str) -> tuple[list[News], int] | None:
        """News for a query after a mark, and the number read up to; None if some are missing."""
        server, _, number = mark.partition("-")
        with self._bell:
            oldest = self._news[0].number if self._news else self.number + 1
            known = server == self._server and number.isdecimal() and len(number) < 16
            if not known or not oldest - 1 <= int(number) <= self.number:
                return None
            after = (news for news in self._news if news.number > int(number))
            return [news for news in after if news.query in ("", query)], self.number

    def wait(self, number: int, seconds: float) -> bool:
        """Wait for news after a number; whether there are any."""
        until = time.monotonic() + seconds
        with self._bell:
            while self.number <= number and not self.is_closed:
                left = until - time.monotonic()
                if left <= 0:
                    break
                self._bell.wait(left)
            return self.number > number

    def close(self) -> None:
        """Let all who wait go."""
        with self._bell:
            self.is_closed = True
            self._bell.notify_all()


class OpenQuery:
    """A query and where its file was read up to.

    Whoever uses `history` holds `lock`, as `reading` does. A file of many hours takes seconds to
    read, so its end is shown first and the rest is read meanwhile; `is_whole` says that it was.
    """

    def __init__(self, name: str, folder: Path, feed: Feed) -> None:
        self.name, self.folder, self._feed = name, folder, feed
        self.history = History()
        self.is_whole = False
        self.lock = threading.Lock()
        self.asked = time.monotonic()
        self._tail = Tail(folder)
        self._is_read = False

    @contextmanager
    def reading(self) -> Iterator[History]:
        """The history, which nobody changes meanwhile."""
        with self.lock:
            if not self._is_read:
                self._is_read = True
                self._read_first()
            yield self.history

    def _read_first(self) -> None:
        """Read what there is, or of much the end."""
        if sum(size_of(self.folder / name) for name in (BEFORE, FILE)) < LARGE_BYTES:
            self.is_whole = self._read_all(self.history)
            return
        for record in read_ends(self.folder, END_BYTES):
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
