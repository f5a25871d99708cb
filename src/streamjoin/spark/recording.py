"""Record what the queries of a session do: files beside their checkpoints, Prometheus, the log."""

import json
import logging
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import (
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from streamjoin.errors import ConfigError
from streamjoin.explanations.explanation import explain_plans
from streamjoin.joins.plans import TablePlan
from streamjoin.metrics.progress import is_batch, read_progress
from streamjoin.metrics.recorder import OnRecord, Recorder, log_decision, to_file
from streamjoin.metrics.records import Started
from streamjoin.spark.failures import root_cause
from streamjoin.spark.plans import plans_of, queries_of
from streamjoin.spark.requirements import is_connect, n_cores

logger = logging.getLogger(__name__)
BESIDE: Final = "checkpoint"
PATIENCE: Final = 5.0
"""Seconds to wait for what Spark has still to tell."""
LOCAL: Final = ("file:///", "file:/")


def record(
    spark: SparkSession,
    *,
    files: Literal["checkpoint"] | str | Path | None = BESIDE,
    prometheus: int | str | None = None,
    log: bool = True,
) -> "Recording":
    """Record what joins do in the queries of a session, also in those that are started later.

    Parameters
    ----------
    spark
        The session.
    files
        Where records go, a line of JSON each: ``"checkpoint"`` (the default) for ``metrics.jsonl``
        in the checkpoint folder of each query; a folder, in which each query has one of its own; or
        None for nowhere. ``streamjoin dashboard`` shows such files.
    prometheus
        Port at which Prometheus on this machine may fetch numbers, such as 9464; or "host:port" for
        others too (anyone who reaches that may read them). None, the default, for nowhere.
    log
        Whether decisions are logged: logger ``streamjoin.decisions``, a warning when a join begins
        to leave something out and an info when it is exact again.

    Returns
    -------
    Recording
        To end it, call its ``stop()``, or use it as a context manager.

    Examples
    --------
    >>> import streamjoin as sj
    >>> spark = getfixture("spark")
    >>> with sj.record(spark, files=getfixture("tmp_path")):
    ...     pass  # start queries
    """
    if not isinstance(spark, SparkSession) and not is_connect(spark):
        raise ConfigError.at("spark", type(spark).__name__, "a SparkSession")
    if files == BESIDE and is_connect(spark):
        raise ConfigError.at(
            "files", f"{BESIDE!r} with Spark Connect", "a folder of this machine, or None"
        )
    with ExitStack() as stack:
        takers: list[OnRecord] = [log_decision] if log else []
        url = None
        if prometheus is not None:
            from streamjoin.metrics.prometheus import address_of, start_exporter

            host, port = address_of(prometheus)
            exporter = stack.enter_context(start_exporter(port, host))
            takers.append(exporter.see)
            url = exporter.url
        listener = RecordListener(spark, files, takers)
        spark.streams.addListener(listener)
        stack.callback(spark.streams.removeListener, listener)
        stack.callback(listener.settle)
        return Recording(stack.pop_all(), url)


class Recording:
    """A recording that goes on until it is stopped.

    `prometheus_url` is where Prometheus fetches numbers; None if it does not.
    """

    def __init__(self, stack: ExitStack, prometheus_url: str | None) -> None:
        self._stack, self.prometheus_url = stack, prometheus_url

    def stop(self) -> None:
        """End it; files stay."""
        self._stack.close()

    def __enter__(self) -> "Recording":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class RecordListener(StreamingQueryListener):
    """Gives every query of a session with a join in it a `Recorder`.

    Parameters
    ----------
    spark, files
        As `record` has them.
    takers
        What takes records in besides files.
    """

    def __init__(
        self, spark: SparkSession, files: str | Path | None, takers: list[OnRecord]
    ) -> None:
        self._spark, self._files, self._takers = spark, files, takers
        self._recorders: dict[str, Recorder] = {}
        self._started: dict[str, tuple[Started, Any]] = {}

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Note when it was, and what runs it: that may be over when its first batch is told."""
        self._begun(str(event.runId), event.name or str(event.id), str(event.id))

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """Record a batch."""
        document = json.loads(event.progress.json)
        progress = read_progress(document) if is_batch(document) else None
        if progress is not None and progress.joins:
            self._recorder(document).see(progress.joins)

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """Record that it has stopped, and forget it."""
        run = str(event.runId)
        started, execution = self._started.get(run, (None, None))
        failed_at_once = run not in self._recorders and execution is not None
        if started is not None and failed_at_once and plans_of(_text_of(execution)):
            self._recorder({"runId": run, "id": str(event.id), "name": started.query})
        recorder = self._recorders.pop(run, None)
        self._started.pop(run, None)
        if recorder is not None:
            recorder.end(root_cause(RuntimeError(event.exception)) if event.exception else "")

    def settle(self, seconds: float = PATIENCE) -> None:
        """Wait until the end of queries that are over is heard of: Spark tells a little later."""
        end = time.monotonic() + seconds
        while self._over() and time.monotonic() < end:
            time.sleep(0.02)

    def _over(self) -> set[str]:
        return set(self._started) - {str(query.runId) for query in self._spark.streams.active}

    def _begun(self, run: str, name: str, query_id: str) -> tuple[Started, Any]:
        """When a query was started, or first heard of if that was before, and what runs it."""
        if run not in self._started:
            started = Started(name, run, round(time.time(), 3))
            self._started[run] = started, _execution(self._spark, query_id)
        return self._started[run]

    def _recorder(self, document: dict[str, Any]) -> Recorder:
        run = document["runId"]
        if run not in self._recorders:
            name = document.get("name") or document["id"]
            started, execution = self._begun(run, name, document["id"])
            to_files = self._to_file(name, document["id"], execution)
            if to_files and execution is not None:
                started = self._explained(started, execution)
            takers = [*self._takers, *to_files]
            self._recorders[run] = Recorder(started.query, takers)
            self._recorders[run].tell(started)
        return self._recorders[run]

    def _explained(self, started: Started, execution: Any) -> Started:
        """With what the query will do, in words and drawn."""
        plans = [plan for plan in plans_of(_text_of(execution)) if not isinstance(plan, TablePlan)]
        budgets = [plan.budget.describe() for plan in plans if plan.budget is not None]
        started = replace(started, budget="; ".join(dict.fromkeys(budgets)))
        try:
            text, cores = _text_of(execution), n_cores(self._spark)
            explanation = explain_plans(plans_of(text), queries_of(text), cores)
            return replace(started, plan=str(explanation), drawing=explanation.to_svg())
        except Exception as error:  # a table that is away, say: no reason to record nothing
            return replace(started, plan=f"not explained: {root_cause(error)}")

    def _to_file(self, name: str, query_id: str, execution: Any) -> list[OnRecord]:
        if self._files is None:
            return []
        if self._files != BESIDE:
            return [to_file(Path(self._files) / query_id)]
        folder = None if execution is None else _checkpoint(execution)
        if folder is None:
            logger.warning("%s: its checkpoint is not in a folder here: no metrics file", name)
            return []
        return [to_file(folder)]


def _execution(spark: SparkSession, query_id: str) -> Any:
    """What runs a query, in Java; None if that is over, or if Spark Connect does not tell."""
    query: Any = None if is_connect(spark) else spark.streams.get(query_id)
    running = None if query is None else query._jsq
    return None if running is None else running.streamingQuery()


def _text_of(execution: Any) -> str:
    """Spark's text of the plan; empty if the query did not come so far as to have one."""
    try:
        return str(execution.logicalPlan().toString())
    except Exception:
        return ""


def _checkpoint(execution: Any) -> Path | None:
    """The checkpoint folder of a query, if it is one of this machine."""
    root = str(execution.resolvedCheckpointRoot())
    if not root.startswith(LOCAL):
        return None
    return Path("/" + root.removeprefix("file:").lstrip("/"))
