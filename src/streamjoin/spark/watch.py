"""Follow a running query batch by batch, and stop it between batches."""

import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from streamjoin.joins.multi.settings import TOGETHER
from streamjoin.metrics import METRIC_NAMES, JoinCounts

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
        Rows that came too late, and rows with a null key or time: neither is joined. What one
        operator of a plan hands to the next are no rows of the streams, and not counted here.
    idle_late
        Those of the late rows that only an idle time-out made late.
    state_rows, state_bytes
        What the join holds after the batch; None if the batch did not say.
    counters
        All that the join counted; zeros if the batch did not say.
    of_table
        What a join with a table counted, by name; empty for other joins.
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
    counters: JoinCounts = JoinCounts()  # noqa: RUF009  # frozen
    of_table: Mapping[str, int] = field(default_factory=dict)


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
    found = {
        name: _counters(values)
        for name, values in document.get("observedMetrics", {}).items()
        if name.startswith(METRICS)
    }
    # Of a plan in several operators the last has the name without a number.
    counters = found.get(METRICS) or next(reversed(found.values()), {})
    rows_out = counters.get("rows_out") or max(document["sink"].get("numOutputRows", 0), 0)
    of_table = _of_table(counters)
    return BatchProgress(
        batch=document["batchId"],
        started=datetime.fromisoformat(document["timestamp"].replace("Z", "+00:00")).timestamp(),
        seconds=document["durationMs"].get("triggerExecution", 0) / 1000,
        rows_in=sum(source["numInputRows"] for source in document["sources"]),
        rows_out=of_table["pairs"] + of_table["alone"] if of_table else rows_out,
        alone=of_table.get("alone", 0) + _total(counters, "alone"),
        late=sum(_rows(one, "late") for one in found.values()),
        null=of_table.get("null", 0) + sum(_rows(one, "null") for one in found.values()),
        idle_late=sum(_rows(one, "idle_late") for one in found.values()),
        state_rows=_sum([_remembered(one) for one in found.values()]),
        state_bytes=_sum([one.get("state_bytes") for one in found.values()]),
        counters=_metrics(counters),
        of_table=of_table,
    )


def _remembered(counters: dict[str, int | None]) -> int | None:
    """Rows that a join holds; one with a table has three kinds of them."""
    kinds = ("waiting_rows", "spilled_rows", "cached_rows")
    of_table = _of_table(counters)
    return sum(of_table[name] for name in kinds) if of_table else counters.get("state_rows")


def _of_table(counters: dict[str, int | None]) -> dict[str, int]:
    """What a join with a table counted; nothing if it is no such join.

    Examples
    --------
    >>> _of_table({"hits": 3, "waiting_rows": None}), _of_table({"rows_left": 3})
    ({'hits': 3, 'waiting_rows': 0}, {})
    """
    if "hits" not in counters:
        return {}
    return {name: value or 0 for name, value in counters.items()}


def read_counters(document: dict[str, Any]) -> dict[str, JoinCounts]:
    """What each join of a query counted, by its name, in one of Spark's progress documents.

    Examples
    --------
    >>> counted = {"second": {"counters": {"pairs": 4}}, "rows": {"n": 9}}
    >>> read_counters({"observedMetrics": counted})
    {'second': JoinCounts(..., pairs=4, ...)}
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


def _metrics(counters: dict[str, int | None]) -> JoinCounts:
    if "results" in counters:
        return _of_plan(counters)
    return JoinCounts(**{name: counters.get(name) or 0 for name in METRIC_NAMES})


def _of_plan(counters: dict[str, int | None]) -> JoinCounts:
    """What a join of many streams counted, as far as one of two counts the like.

    Examples
    --------
    >>> counted = _of_plan({"results": 9, "missed": 3, "rows_a": 8, "rows_b": 7, "rows_out": 9,
    ...                     "probed_a": 5, "skipped_intermediate": 15})
    >>> counted.recall, counted.rows_left, counted.compared_left, counted.skipped_left
    (0.75, 15, 5, 15)
    """
    same = {name: counters.get(name) or 0 for name in METRIC_NAMES if name in counters}
    return JoinCounts(**same | {
        "pairs": counters["results"] or 0,
        "rows_left": _rows(counters, "rows") - (counters.get("rows_out") or 0),
        "compared_left": _total(counters, "probed"),
        "skipped_left": _total(counters, "skipped"),
    })  # fmt: skip


def _sum(values: list[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _by_name(values: dict[str, Any]) -> dict[str, Any]:
    if set(values) != {"values", "schema"}:
        return values
    names = [field["name"] for field in values["schema"]["fields"]]
    return dict(zip(names, values["values"], strict=True))


def _rows(counters: dict[str, int | None], cause: str) -> int:
    """The sum over all inputs that are streams.

    Examples
    --------
    >>> _rows({"late_a+b": 5, "late_c": 2, "late_d": 1}, "late")
    3
    """
    return _total({name: n for name, n in counters.items() if TOGETHER not in name}, cause)


def _total(counters: dict[str, int | None], cause: str) -> int:
    """The sum over all inputs."""
    return sum(value or 0 for name, value in counters.items() if name.startswith(f"{cause}_"))
