"""Follow a running query batch by batch, and stop it between batches."""

import json
import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from streamjoin.metrics.progress import Progress, is_batch, read_progress

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

POLL_SECONDS = 0.2
LONGEST_BATCH_SECONDS = 120.0
OnBatch = Callable[[Progress], None]


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
    for progress in query.recentProgress:
        document = json.loads(progress.json)
        if document["batchId"] > seen and is_batch(document):
            on_batch(read_progress(document))
            seen = document["batchId"]
    return seen
