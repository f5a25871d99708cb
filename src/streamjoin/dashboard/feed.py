"""A query's file, followed through rotation and restarts, and news of it for open pages."""

import json
import os
import secrets
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, Final

from streamjoin.dashboard.history import Entry, History, point_document, state_document
from streamjoin.metrics.records import BEFORE, FILE, BatchDone, Record, from_line

CHUNK: Final = 1 << 20
LONGEST_LINE: Final = 16 << 20
HEAD: Final = 256
BEGINNING: Final = '{"record":'
MOST_NEWS: Final = 1024
LARGE_BYTES: Final = 8 << 20
END_BYTES: Final = 2 << 20
"""From how many bytes on the end of a file is shown first, and how much of it."""

MOST_AT_ONCE: Final = 100
"""Records that are told one by one; after more of them pages read everything again."""


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
            yield from _records(lines)
            offset += sum(len(line) + 1 for line in lines)
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
    yield from _records(lines)


def changed(file: Path) -> tuple[float, int]:
    """When a file was last written to, and its bytes; none if it is not there."""
    try:
        status = file.stat()
    except OSError:
        return 0.0, 0
    return status.st_mtime, status.st_size


def _inode(file: BinaryIO) -> tuple[int, int]:
    status = os.fstat(file.fileno())
    return status.st_dev, status.st_ino


def _head(file: BinaryIO, n_bytes: int) -> bytes:
    file.seek(0)
    return file.read(n_bytes)


def _records(lines: Iterable[bytes]) -> Iterator[Record]:
    """Read lines, or what follows in one on another that was cut off when its writer died."""
    for line in lines:
        text = line.decode("utf-8", errors="replace")
        start = text.rfind(BEGINNING)
        record = from_line(text) or (from_line(text[start:]) if start > 0 else None)
        if record is not None:
            yield record


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
        if sum(changed(self.folder / name)[1] for name in (BEFORE, FILE)) < LARGE_BYTES:
            self.is_whole = self._read_all(self.history)
            return
        for record in read_ends(self.folder, END_BYTES):
            self.history.add(record)
        threading.Thread(target=self._read_meanwhile, daemon=True).start()

    def look(self) -> None:
        """Take in what is new and tell it; if it is in use, next time."""
        if self.lock.acquire(blocking=False):
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
