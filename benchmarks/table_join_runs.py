"""Run joins of a stream with a table on Spark, in a process of their own.

``python -m benchmarks.table_join_runs`` with a JSON `Plan` on standard input lets systems
join some streams, one after the other, and prints what they gave as JSON. A stream whose results
are wanted goes to files, the others to a sink that drops everything.
"""

import json
import os
import shutil
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.systems import SETTINGS
from benchmarks.table_data import ON, ORDER
from benchmarks.table_join_systems import CORES, OURS, STATIC, SYSTEMS, Plan, Stream
from benchmarks.table_memory import Memory, Sampler, read_workers
from streamjoin.budget import machine_bytes
from streamjoin.metrics.progress import COUNTERS_FIELD
from streamjoin.spark.session import start_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_HEAP: Final = 0.65
"""Part of this machine's memory that Spark has: a broadcast table takes many times its bytes."""
_SCHEMA: Final = f"{ON} long, {ORDER} long, amount double"
_CLEARLY: Final = 1.5
_POLL: Final = 0.1
"""Seconds between two looks at a query."""


@dataclass(frozen=True)
class Found:
    """What a stream gave, batch by batch, those without rows included.

    Parameters
    ----------
    rows, seconds, results
        What came, how long it took, and what came out.
    counts
        Of ours: its counters.
    idle, peak
        Of ours: memory of the workers before the first batch and at its highest.
    failed
        Why there is nothing, if so.
    """

    rows: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    results: list[int] = field(default_factory=list)
    counts: list[dict[str, int]] = field(default_factory=list)
    idle: Memory = field(default_factory=Memory)
    peak: Memory = field(default_factory=Memory)
    failed: str | None = None

    @staticmethod
    def of(document: dict[str, Any]) -> "Found":
        """Read ``asdict`` back."""
        memory = {name: Memory(**document[name]) for name in ("idle", "peak")}
        return Found(**{**document, **memory})


def _execute(plan: Plan, work: Path) -> dict[str, list[Found]]:
    """What each system gave for each stream.

    A system that takes clearly longer than another took with the last stream, whose batches are
    the largest, has lost: it need not join the rest.
    """
    conf = {
        **SETTINGS,
        "spark.driver.memory": f"{_HEAP * machine_bytes() / 2**30:.0f}g",
        "spark.sql.broadcastTimeout": "3600",
        "spark.driver.maxResultSize": "0",
        "spark.sql.streaming.numRecentProgressUpdates": "1000",
        "spark.sql.streaming.checkpointLocation": str(work),
    }
    spark = start_session("table-join", master=f"local[{CORES}]", conf=conf, log=work / "log")
    found: dict[str, list[Found]] = {}
    quickest = float("inf")
    for system in plan.systems:
        mine = found[system] = []
        for number, stream in enumerate(plan.streams):
            mine.append(_tried(spark, system, plan, stream, work / f"{system}-{number}"))
            took = min(mine[-1].seconds, default=float("inf"))
            is_slow = took > _CLEARLY * quickest and (system not in STATIC or mine[-1].failed)
            if stream.results is None and is_slow:
                break
        if len(mine) == len(plan.streams):
            quickest = min([quickest, *mine[-1].seconds])
    return found


def _tried(spark: "SparkSession", system: str, plan: Plan, stream: Stream, work: Path) -> Found:
    try:
        return _run(spark, system, plan, stream, work)
    except Exception as error:  # of any kind: Spark's own join may not fit in memory
        if system == OURS:
            raise
        return Found(failed=str(error).strip().splitlines()[0])


def _run(spark: "SparkSession", system: str, plan: Plan, stream: Stream, work: Path) -> Found:
    reader = spark.readStream.schema(_SCHEMA).option("maxFilesPerTrigger", 1)
    joined = SYSTEMS[system](reader.parquet(stream.folder), stream.table, plan)
    writer = joined.writeStream.format("noop")
    if stream.results is not None:
        target = str(Path(stream.results) / system)
        writer = joined.writeStream.format("parquet").option("path", target)
    writer = writer.option("checkpointLocation", str(work)).trigger(availableNow=True)
    idle = read_workers(os.getpid())
    with Sampler(os.getpid()) as memory:
        progress = _batches(writer.start(), stream)
    seen = [p["observedMetrics"].get("streamjoin") for p in progress]
    return Found(
        rows=[p["numInputRows"] for p in progress],
        seconds=[p["durationMs"]["triggerExecution"] / 1000 for p in progress],
        results=[p["sink"]["numOutputRows"] for p in progress],
        counts=[dict(each[COUNTERS_FIELD]) for each in seen if each is not None],
        idle=idle,
        peak=memory.peak,
    )


def _batches(query: "StreamingQuery", stream: Stream) -> list[dict[str, Any]]:
    """Progress of the batches that were done when patience ended."""
    until, n_seen = time.monotonic() + stream.patience, 0
    while query.isActive:
        time.sleep(_POLL)
        n_done = len(query.recentProgress)
        if n_done > n_seen and n_done >= stream.least and time.monotonic() > until:
            query.stop()
        n_seen = n_done
    query.awaitTermination()
    done = [p for p in query.recentProgress if "addBatch" in p["durationMs"]]
    return [p for p in done if p["numInputRows"] or p["observedMetrics"]]


def _main() -> None:
    document = json.loads(sys.stdin.read())
    plan = Plan(**{**document, "streams": [Stream(**one) for one in document["streams"]]})
    work = Path(tempfile.mkdtemp(prefix="sj-bench-"))
    try:
        found = _execute(plan, work)
        said = {system: [asdict(one) for one in mine] for system, mine in found.items()}
        sys.stdout.write(json.dumps(said) + "\n")
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    _main()
