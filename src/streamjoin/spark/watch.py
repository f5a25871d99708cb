"""Follow a running query batch by batch, and stop it between batches."""

import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from streamjoin.metrics import METRIC_NAMES, JoinMetrics

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

METRICS = "streamjoin"
COUNTERS_FIELD = "counters"
"""Name of the struct with a join's counters, below the join's name in ``observedMetrics``."""
POLL_SECONDS = 0.2
LONGEST_BATCH_SECONDS = 120.0


@dataclass(frozen=True)
class BatchProgress:
    """What one micro-batch did.

    Parameters
    ----------
    batch
        Its number.
    started
        When it began, in seconds since 1970.
    seconds
        How long it took.
    rows_in, rows_out
        Input rows and result rows.
    alone
        Result rows without a partner.
    late, null
        Rows that came too late, and rows with a null key or time: neither is joined.
    idle_late
        Those of the late rows that only an idle time-out made late.
    state_rows, state_bytes
        What the join holds after the batch; None if the batch did not say.
    counters
        All that the join counted; zeros if the batch did not say.
    """

    batch: int
    started: float
    seconds: float
    rows_in: int
    rows_out: int
    alone: int = 0
    late: int = 0
    null: int = 0
    idle_late: int = 0
    state_rows: int | None = None
    state_bytes: int | None = None
    counters: JoinMetrics = JoinMetrics()  # noqa: RUF009  # frozen


def read_progress(document: dict[str, Any]) -> BatchProgress:
    """Read one of Spark's progress documents, with the join's own counters if there are any.

    Examples
    --------
    >>> progress = read_progress({
    ...     "batchId": 3, "timestamp": "2026-01-01T00:00:00.000Z",
    ...     "sources": [{"numInputRows": 6}, {"numInputRows": 4}],
    ...     "durationMs": {"triggerExecution": 250}, "sink": {"numOutputRows": -1},
    ...     "observedMetrics": {"streamjoin": {"counters": {"rows_out": 4, "late_left": 1}}}})
    >>> progress.rows_out, progress.late, progress.seconds
    (4, 1, 0.25)
    """
    counters: dict[str, int | None] = {}
    for name, values in document.get("observedMetrics", {}).items():
        if name.startswith(METRICS):
            counters = _counters(values)
    rows_out = counters.get("rows_out") or max(document["sink"].get("numOutputRows", 0), 0)
    return BatchProgress(
        batch=document["batchId"],
        started=datetime.fromisoformat(document["timestamp"].replace("Z", "+00:00")).timestamp(),
        seconds=document["durationMs"].get("triggerExecution", 0) / 1000,
        rows_in=sum(source["numInputRows"] for source in document["sources"]),
        rows_out=rows_out,
        alone=_total(counters, "alone"),
        late=_total(counters, "late"),
        null=_total(counters, "null"),
        idle_late=_total(counters, "idle_late"),
        state_rows=counters.get("state_rows"),
        state_bytes=counters.get("state_bytes"),
        counters=_metrics(counters),
    )


def read_counters(document: dict[str, Any]) -> dict[str, JoinMetrics]:
    """What each join of a query counted, by its name, in one of Spark's progress documents.

    Examples
    --------
    >>> counted = {"second": {"counters": {"pairs": 4}}, "rows": {"n": 9}}
    >>> read_counters({"observedMetrics": counted})
    {'second': JoinMetrics(..., pairs=4, ...)}
    """
    found = {name: _counters(v) for name, v in document.get("observedMetrics", {}).items()}
    return {name: _metrics(counters) for name, counters in found.items() if counters}


def follow(
    query: "StreamingQuery",
    on_batch: Callable[[BatchProgress], None],
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


def _report(query: "StreamingQuery", seen: int, on_batch: Callable[[BatchProgress], None]) -> int:
    """Pass on the progress of batches after ``seen``; return the last batch passed on."""
    if _last_batch(query) <= seen:
        return seen
    for progress in query.recentProgress:
        document = json.loads(progress.json)
        # An idle trigger reports progress too, under the number of the batch to come.
        if document["batchId"] > seen and "addBatch" in document["durationMs"]:
            on_batch(read_progress(document))
            seen = document["batchId"]
    return seen


def _counters(values: dict[str, Any]) -> dict[str, int | None]:
    """Counters by name; Spark Connect hands over the values and, apart from them, the schema.

    Examples
    --------
    >>> kind = {"fields": [{"name": "pairs"}, {"name": "rows_out"}]}
    >>> schema = {"fields": [{"name": "counters", "type": kind}]}
    >>> _counters({"values": [{"values": [4, None], "schema": kind}], "schema": schema})
    {'pairs': 4, 'rows_out': None}
    """
    counters = _by_name(values).get(COUNTERS_FIELD)
    return {} if counters is None else _by_name(counters)


def _metrics(counters: dict[str, int | None]) -> JoinMetrics:
    return JoinMetrics(**{name: counters.get(name) or 0 for name in METRIC_NAMES})


def _by_name(values: dict[str, Any]) -> dict[str, Any]:
    if set(values) != {"values", "schema"}:
        return values
    names = [field["name"] for field in values["schema"]["fields"]]
    return dict(zip(names, values["values"], strict=True))


def _total(counters: dict[str, int | None], cause: str) -> int:
    return sum(counters.get(f"{cause}_{side}") or 0 for side in ("left", "right"))
