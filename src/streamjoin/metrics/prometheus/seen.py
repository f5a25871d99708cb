"""What is kept of queries and their joins: little, however long they run."""

from bisect import bisect_left
from collections import deque
from functools import reduce
from operator import add
from typing import Final

from streamjoin.metrics.model import JoinMetrics
from streamjoin.metrics.records import BatchDone, Decision, Ended, Record, Started

RECENT_SECONDS: Final = 60
"""Shares and quantiles are of so long: of one batch they jump, and a scrape misses most batches."""

MOST_RECENT: Final = 600
"""So many batches of that time at most."""

DURATIONS: Final = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
"""Upper bounds of the classes into which batches are counted, in seconds."""


class JoinSeen:
    """One join: all its batches added up, the last one, and those of the last minute.

    Examples
    --------
    >>> seen = JoinSeen()
    >>> for at, pairs in ((0.0, 10), (100.0, 20), (130.0, 30)):
    ...     seen.add(JoinMetrics(at=at, seconds=0.2, pairs=pairs))
    >>> seen.total.pairs, seen.recent.pairs, seen.last.pairs, seen.durations[:4]
    (60, 50, 30, [0, 0, 3, 0])
    """

    def __init__(self) -> None:
        self.total = JoinMetrics(batches=0)
        self.last = JoinMetrics(batches=0)
        self.decisions = 0
        self.durations = [0] * (len(DURATIONS) + 1)
        self._recent: deque[JoinMetrics] = deque(maxlen=MOST_RECENT)
        self._sum: JoinMetrics | None = None

    @property
    def recent(self) -> JoinMetrics:
        """The batches of the last minute before the end of the last one, added up."""
        if self._sum is None:
            self._sum = reduce(add, self._recent, JoinMetrics(batches=0))
        return self._sum

    def add(self, batch: JoinMetrics) -> None:
        """Take in a batch."""
        self.total += batch
        self.last, self._sum = batch, None
        self.durations[bisect_left(DURATIONS, batch.seconds)] += 1
        self._recent.append(batch)
        since = min(batch.at, batch.at + batch.seconds - RECENT_SECONDS)
        while self._recent[0].at < since:
            self._recent.popleft()


class QuerySeen:
    """One query, over all its starts in this process.

    Examples
    --------
    >>> seen = QuerySeen()
    >>> seen.see(Started("calls", trigger=2.0), now=0.0)
    >>> seen.see(BatchDone(JoinMetrics(pairs=7)), now=2.0)
    >>> seen.see(Ended(at=3.0, error="disk full"), now=3.0)
    >>> seen.running, seen.starts, seen.failures, seen.trigger, seen.joins["streamjoin"].total.pairs
    (False, 1, 1, 2.0, 7)
    """

    def __init__(self) -> None:
        self.starts = 0
        self.failures = 0
        self.trigger: float | None = None
        self.ended_at: float | None = None
        self.joins: dict[str, JoinSeen] = {}

    @property
    def running(self) -> bool:
        """Whether it has not ended, as far as is known."""
        return self.ended_at is None

    def see(self, record: Record, now: float) -> None:
        """Take in a record; `now` is in seconds of any clock that does not go back."""
        match record:
            case Started():
                self.starts += 1
                self.trigger, self.ended_at = record.trigger, None
            case BatchDone():
                self._join(record.metrics.name).add(record.metrics)
            case Decision():
                self._join(record.join).decisions += 1
            case Ended():
                self.failures += bool(record.error)
                self.ended_at = now

    def _join(self, name: str) -> JoinSeen:
        return self.joins.setdefault(name, JoinSeen())
