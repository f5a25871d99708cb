"""What a query has done, in the last batch and in all; follow it, and stop it between batches."""

import json
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from streamjoin.errors import ConfigError
from streamjoin.metrics import JoinMetrics
from streamjoin.metrics.progress import Progress, is_batch, read_progress
from streamjoin.metrics.words import lines_of
from streamjoin.spark.failures import root_cause

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

POLL_SECONDS = 0.2
LONGEST_BATCH_SECONDS = 120.0
OnBatch = Callable[[Progress], None]
_MOST: Final = 64
"""Queries whose totals are remembered."""


@dataclass
class _Account:
    """What was seen of one run of a query."""

    seen: int = -1
    last: Progress | None = None
    totals: dict[str, JoinMetrics] = field(default_factory=dict)
    first: int | None = None
    gap: bool = False

    def see(self, progress: Progress) -> None:
        if progress.batch <= self.seen:
            return
        self.gap |= self.first is not None and progress.batch > self.seen + 1
        self.first = progress.batch if self.first is None else self.first
        self.seen, self.last = progress.batch, progress
        for metrics in progress.joins:
            known = self.totals.get(metrics.name)
            self.totals[metrics.name] = metrics if known is None else known + metrics


_ACCOUNTS: dict[str, _Account] = {}


@dataclass(frozen=True, repr=False)
class QueryStatus:
    """What a query has done; print it, or take its parts.

    Parameters
    ----------
    query, state
        Its name; "starting", "running", "stopped" or "failed".
    error
        Why it failed.
    joins
        What each join did in the last batch.
    totals
        The same of all batches that are known, added up.
    first, batch
        Number of the first of these and of the last; None before the first batch has ended.
    is_complete
        Whether no batch between them is missing: Spark keeps the last 100, and `status` remembers
        what it has seen.
    """

    query: str
    state: str
    error: str
    joins: tuple[JoinMetrics, ...]
    totals: tuple[JoinMetrics, ...]
    first: int | None
    batch: int | None
    is_complete: bool

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def __repr__(self) -> str:
        return str(self)

    def to_dict(self) -> dict[str, Any]:
        """Values that JSON can hold."""
        values = dict(vars(self))
        values["joins"] = [one.to_dict() for one in self.joins]
        values["totals"] = [one.to_dict() for one in self.totals]
        return values

    def _lines(self) -> Iterator[str]:
        yield f"{self.query}: {self.state}" + (f" ({self.error})" if self.error else "")
        if self.batch is None:
            yield "  no batch has ended yet"
        elif not self.joins:
            yield f"  batch {self.batch}: no join of streamjoin has counted anything"
        for one, total in zip(self.joins, self.totals, strict=True):
            yield from (f"  {line}" for line in lines_of(one, total))
        if self.joins and (self.first or not self.is_complete):
            some = "" if self.is_complete else ", with some missing"
            yield f"  totals are of batches {self.first} to {self.batch}{some}"


def status(query: "StreamingQuery") -> QueryStatus:
    """Say what a query has done: rows, results, what was left out and why, recall, CPU, state.

    Parameters
    ----------
    query
        What ``writeStream...start()`` returned, of a DataFrame with one or more joins in it.

    Returns
    -------
    QueryStatus
        Print it, or take its parts: ``status.joins[0].recall``. Totals are those of this run of
        the query.

    Examples
    --------
    >>> import streamjoin as sj
    >>> spark = getfixture("spark")
    >>> rows = spark.readStream.format("rate").load().selectExpr("value AS k", "timestamp AS t")
    >>> out = sj.join(rows, rows, on="k", time="t", window="1 minute")
    >>> query = out.writeStream.format("noop").queryName("twice").start()
    >>> sj.status(query).query
    'twice'
    >>> query.stop()
    """
    if not hasattr(query, "recentProgress"):
        raise ConfigError.at("query", type(query).__name__, "what writeStream...start() returns")
    account = _account(str(query.runId))
    for progress in _batches(query):
        account.see(progress)
    failure = query.exception()
    state = "running" if account.last else "starting"
    if not query.isActive:
        state = "stopped" if failure is None else "failed"
    joins = () if account.last is None else account.last.joins
    return QueryStatus(
        query=query.name or str(query.id),
        state=state,
        error="" if failure is None else root_cause(failure),
        joins=joins,
        totals=tuple(account.totals[one.name] for one in joins),
        first=account.first,
        batch=None if account.last is None else account.last.batch,
        is_complete=not account.gap,
    )


def _account(run: str) -> _Account:
    known = _ACCOUNTS[run] = _ACCOUNTS.pop(run, _Account())  # the last one asked for
    while len(_ACCOUNTS) > _MOST:
        _ACCOUNTS.pop(next(iter(_ACCOUNTS)))
    return known


def follow(
    query: "StreamingQuery",
    on_batch: OnBatch,
    should_stop: Callable[[], bool],
    seconds: float = math.inf,
) -> None:
    """Call ``on_batch`` for each finished batch until the query ends or is to stop.

    It stops when ``should_stop`` says so, or ``seconds`` after its first progress: what the first
    batch takes to warm up does not count. The batch that is running then is awaited, so that
    nothing half done remains; the checkpoint would cover that too, but results look tidier so.
    """
    seen, end = -1, math.inf
    while not query.awaitTermination(POLL_SECONDS):  # type: ignore[arg-type]  # fractions work
        seen = _report(query, seen, on_batch)
        if end == math.inf and query.lastProgress is not None:
            end = time.monotonic() + seconds
        if should_stop() or time.monotonic() > end:
            stop_between_batches(query)
            break
    _report(query, seen, on_batch)
    failure = query.exception()  # of a batch that failed while the query was to stop
    if failure is not None:
        raise failure


def stop_between_batches(query: "StreamingQuery") -> None:
    """Stop a query once the batch that it is running has ended."""
    running = _last_batch(query)
    deadline = time.monotonic() + LONGEST_BATCH_SECONDS
    while (
        query.isActive
        and query.status["isTriggerActive"]
        and _last_batch(query) == running
        and time.monotonic() < deadline
    ):
        time.sleep(POLL_SECONDS / 4)
    query.stop()


def _last_batch(query: "StreamingQuery") -> int:
    last = query.lastProgress
    return -1 if last is None else last.batchId


def _report(query: "StreamingQuery", seen: int, on_batch: OnBatch) -> int:
    """Pass on the progress of batches after ``seen``; return the last batch passed on."""
    if _last_batch(query) <= seen:
        return seen
    for progress in _batches(query):
        if progress.batch > seen:
            on_batch(progress)
            seen = progress.batch
    return seen


def _batches(query: "StreamingQuery") -> Iterator[Progress]:
    """The batches of which Spark still knows the progress."""
    for progress in query.recentProgress:
        document = json.loads(progress.json)
        if is_batch(document):
            yield read_progress(document)
