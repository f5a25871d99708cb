"""News for the pages that are open: numbered, bounded, and the same for all of them."""

import json
import secrets
import threading
import time
from collections import deque
from dataclasses import dataclass
from typing import Any, Final

MOST_NEWS: Final = 1024


@dataclass(frozen=True)
class News:
    """Something that changed: of which query (empty: for all), what kind of change, as JSON."""

    number: int
    query: str
    kind: str
    text: str


class Feed:
    """The latest news, and a bell.

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
        self._number = 0
        self._bell = threading.Condition()
        self.is_closed = False

    @property
    def number(self) -> int:
        """Number of the last news."""
        return self._number

    def mark(self, number: int) -> str:
        """How far one has read, as text."""
        return f"{self._server}-{number}"

    def publish(self, query: str, kind: str, values: Any) -> None:
        """Tell the pages that show a query, or all of them."""
        text = json.dumps(values, separators=(",", ":"), allow_nan=False)
        with self._bell:
            self._number += 1
            self._news.append(News(self._number, query, kind, text))
            self._bell.notify_all()

    def after(self, mark: str, query: str) -> tuple[list[News], int] | None:
        """News for a query after a mark, and the number read up to; None if some are missing."""
        server, _, number = mark.partition("-")
        with self._bell:
            oldest = self._news[0].number if self._news else self._number + 1
            known = server == self._server and number.isdecimal() and len(number) < 16
            if not known or not oldest - 1 <= int(number) <= self._number:
                return None
            after = (news for news in self._news if news.number > int(number))
            return [news for news in after if news.query in ("", query)], self._number

    def wait(self, number: int, seconds: float) -> bool:
        """Wait for news after a number; whether there are any."""
        until = time.monotonic() + seconds
        with self._bell:
            while self._number <= number and not self.is_closed:
                left = until - time.monotonic()
                if left <= 0:
                    break
                self._bell.wait(left)
            return self._number > number

    def close(self) -> None:
        """Let all who wait go."""
        with self._bell:
            self.is_closed = True
            self._bell.notify_all()
