"""What is kept of a query: fine steps for minutes, coarse ones for days, never too many."""

import time
from base64 import b64encode
from collections import deque
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any, Final, Literal

from streamjoin.dashboard.points import Point, grouped, sound
from streamjoin.metrics import JoinMetrics
from streamjoin.metrics.records import BatchDone, Decision, Ended, Record, Started

STEPS: Final = ((1, 900), (10, 1080), (60, 1440), (600, 1440))
"""Length of a step in seconds, and how many are kept: 15 minutes, then 3 hours, 1 day, 10 days."""

MOST_ENTRIES: Final = 500
MOST_JOINS: Final = 32

Status = Literal["running", "finished", "failed"]
EntryKind = Literal["started", "restarted", "decision", "finished", "failed"]


@dataclass(frozen=True)
class Entry:
    """A line of the log: when, what kind of news, of which join, in words."""

    at: float
    kind: EntryKind
    text: str = ""
    join: str = ""


class JoinHistory:
    """One join of a query over time.

    Each batch is in one point, and points that become old are put together: nothing is counted
    twice, and what falls out at the far end is still in the total.

    Examples
    --------
    >>> history = JoinHistory(JoinMetrics())
    >>> for second in range(10_000):
    ...     history.add(JoinMetrics(at=float(second), pairs=1), span=1.0)
    >>> len(list(history.points())), sum(point.metrics.pairs for point in history.points())
    (1810, 10000)
    """

    def __init__(self, first: JoinMetrics) -> None:
        self.latest = first
        self.total: Point | None = None
        self._steps: tuple[deque[Point], ...] = tuple(deque() for _ in STEPS)

    def add(self, metrics: JoinMetrics, span: float) -> None:
        """Add a batch that stands for so many seconds; strips that cannot be are left out."""
        metrics = metrics.having({"windows": sound(metrics.windows)})
        point = Point.from_batch(metrics, span)
        newest = self.newest
        if newest is not None:
            point.at = max(point.at, newest.at)  # a clock that was set back
        self.latest = metrics
        if self.total is None:
            self.total = Point.from_batch(metrics, span)
        else:
            self.total.add(point)
        self._keep(point, 0)

    @property
    def newest(self) -> Point | None:
        """The point that the last batch is in."""
        return self._steps[0][-1] if self._steps[0] else None

    def points(self) -> Iterator[Point]:
        """All points, the oldest first."""
        for points in reversed(self._steps):
            yield from points

    def _keep(self, point: Point, place: int) -> None:
        (seconds, most), points = STEPS[place], self._steps[place]
        if points and points[-1].at // seconds == point.at // seconds:
            points[-1].add(point)
            return
        if points and place:
            points[-1].strips()  # it is complete: small from now on
        points.append(point)
        if len(points) > most:
            oldest = points.popleft()
            if place + 1 < len(STEPS):
                self._keep(oldest, place + 1)


@dataclass
class History:
    """A query over time, from its records.

    Examples
    --------
    >>> history = History()
    >>> for record in (Started("calls", "a", 10.0), BatchDone(), Ended(20.0, "disk full")):
    ...     _ = history.add(record)
    >>> history.status, [entry.kind for entry in history.log], list(history.joins)
    ('failed', ['started', 'failed'], ['streamjoin'])
    """

    started: Started | None = None
    ended: Ended | None = None
    last_at: float = 0.0
    joins: dict[str, JoinHistory] = field(default_factory=dict)
    log: deque[Entry] = field(default_factory=lambda: deque(maxlen=MOST_ENTRIES))
    _fresh: set[str] = field(default_factory=set)

    @property
    def status(self) -> Status:
        """What became of the query."""
        if self.ended is None:
            return "running"
        return "failed" if self.ended.error else "finished"

    def name(self, folder: Path) -> str:
        """What the query is called: by its own name, or by its folder."""
        return (self.started.query if self.started is not None else "") or folder.name

    def add(self, record: Record) -> Entry | None:
        """Take in a record, and say what it adds to the log.

        A record whose values cannot be is passed over.
        """
        try:
            if not isfinite(record.at):
                return None
            entry = self._entry(record)
        except (TypeError, ValueError, AttributeError, OverflowError):
            return None
        self.last_at = max(self.last_at, record.at)
        if entry is not None:
            self.log.append(entry)
        return entry

    def _entry(self, record: Record) -> Entry | None:
        if isinstance(record, Started):
            return self._start(record)
        if isinstance(record, BatchDone):
            self._batch(record.metrics)
            return None
        if isinstance(record, Decision):
            return Entry(record.at, "decision", record.text, record.join)
        self.ended = record
        return Entry(record.at, "failed" if record.error else "finished", record.error)

    def _start(self, record: Started) -> Entry | None:
        before, self.started, self.ended = self.started, record, None
        if before is not None and (before.run, before.at) == (record.run, record.at):
            return None  # a new file repeats it
        self._fresh = set(self.joins)
        return Entry(record.at, "started" if before is None else "restarted")

    def _batch(self, metrics: JoinMetrics) -> None:
        if metrics.name not in self.joins and len(self.joins) >= MOST_JOINS:
            return
        join = self.joins.get(metrics.name) or JoinHistory(metrics)
        join.add(metrics, self._span(join, metrics))
        self.joins[metrics.name] = join
        self._fresh.discard(metrics.name)

    def _span(self, join: JoinHistory, metrics: JoinMetrics) -> float:
        """Seconds that a batch stands for: since the one before, but not over a standstill."""
        trigger = self.started.trigger if self.started is not None else None
        least = max(metrics.seconds, 0.001)
        if join.newest is None or metrics.name in self._fresh:
            return max(least, trigger or 0.0)
        since = metrics.at + metrics.seconds - join.newest.at
        if trigger:  # after a longer pause its rows came within the last trigger, or meanwhile
            since = min(since, trigger + metrics.seconds)
        return max(least, since)


def query_document(history: History, folder: Path) -> dict[str, Any]:
    """All that is known of a query."""
    return {
        **state_document(history, folder),
        "log": [asdict(entry) for entry in history.log],
        "joins": [join_document(name, join) for name, join in history.joins.items()],
    }


def state_document(history: History, folder: Path) -> dict[str, Any]:
    """What became of a query, and what it was asked to do."""
    ended, started = history.ended, history.started or Started("")
    return {
        "name": history.name(folder),
        "folder": str(folder),
        "status": history.status,
        "error": "" if ended is None else ended.error,
        "started_at": None if history.started is None else started.at,
        "ended_at": None if ended is None else ended.at,
        "last_at": history.last_at,
        "now": round(time.time(), 3),
        "trigger": started.trigger,
        "budget": started.budget,
        "plan": started.plan,
        "has_drawing": bool(started.drawing),
    }


def join_document(name: str, join: JoinHistory) -> dict[str, Any]:
    """All points of a join, a list for each line of the charts."""
    points = list(join.points())
    rows = [dict(point.values()) for point in points]
    drawn = [_strips(point) for point in points]
    names = dict.fromkeys(name for row in rows for name in row)
    inputs = dict.fromkeys(name for strips in drawn for name in strips)
    return {
        "name": name,
        **_latest(join),
        "at": [round(point.at, 3) for point in points],
        "values": {name: [short(row.get(name)) for row in rows] for name in names},
        "strips": {name: [strips.get(name) for strips in drawn] for name in inputs},
    }


def point_document(name: str, join: JoinHistory) -> dict[str, Any]:
    """The newest point of a join; it takes the place of one of the same second."""
    newest = join.newest
    assert newest is not None
    return {
        "name": name,
        **_latest(join),
        "at": round(newest.at, 3),
        "values": {name: short(value) for name, value in newest.values()},
        "strips": _strips(newest),
    }


def short(value: float | None) -> float | None:
    """As many digits as a chart can show; None for what no chart can.

    Examples
    --------
    >>> short(1234.5678), short(float("nan")), short(None)
    (1234.6, None, None)
    """
    return float(f"{value:.5g}") if value is not None and isfinite(value) else None


def _strips(point: Point) -> dict[str, str]:
    """The packed basic windows of each input, as JSON can hold them."""
    return {name: b64encode(strip).decode("ascii") for name, strip in point.strips().items()}


def _latest(join: JoinHistory) -> dict[str, Any]:
    latest, total = join.latest, join.total
    assert total is not None
    counted, recall = total.metrics, total.recall()
    return {
        "kind": latest.kind,
        "inputs": [one.name for one in latest.inputs],
        "batch": int(latest.batch),
        "algorithm": latest.algorithm,
        "driver": latest.driver,
        "allowances": {name: short(rate) for name, rate in latest.allowances.items()},
        "windows": {name: dict(vars(grouped(one))) for name, one in latest.windows.items()},
        "state_rows": int(latest.state_rows),
        "lagging": int(latest.lagging),
        "total": {
            "batches": int(counted.batches),
            "rows_in": int(counted.rows_in),
            "rows_out": int(counted.rows_out),
            "recall": None if recall is None else [short(value) for value in recall],
            "missed": short(counted.missed),
            "unmet": short(counted.unmet),
            "skipped": short(counted.skipped),
            "compared": short(counted.compared),
            "left_out": {cause: int(n) for cause, n in total.left_out() if n},
        },
    }
