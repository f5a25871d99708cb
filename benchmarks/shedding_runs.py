"""The runs of the benchmark of shedding, in one process with one Spark.

``python -m benchmarks.shedding_runs`` reads a JSON `Plan` and prints the warm batches of all
runs as JSON.
"""

import json
import shutil
import sys
import tempfile
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.systems import SETTINGS
from streamjoin.budget import Budget
from streamjoin.metrics import METRIC_NAMES, JoinCounts
from streamjoin.metrics.progress import COUNTERS_FIELD
from streamjoin.spark.frames import join
from streamjoin.spark.session import start_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CORES: Final = 2
WINDOW_SECONDS: Final = 20
KEYS: Final = 10
IN_COMMON: Final = 4
SPARE: Final = 4.0
"""CPU that is allowed where nothing is to be left out, for each that is needed."""
SHARES: Final = {"half": 0.5, "quarter": 0.25}
EXACT: Final = "exact"
ON: Final = "budget on"
SPARK: Final = "spark"
_SCHEMA: Final = "ts timestamp, k long, s array<int>"


@dataclass(frozen=True)
class Plan:
    """What to run.

    Parameters
    ----------
    folder
        Where the streams are, in files of a second each.
    files
        Files of each side in a batch of ours.
    cold
        Batches that warm a run up.
    turns
        Runs of the exact join and of that under a budget which is not reached.
    patience
        Seconds that Spark's own join has.
    """

    folder: str
    files: int
    cold: int
    turns: int
    patience: int


@dataclass(frozen=True)
class Timed:
    """A micro-batch.

    Parameters
    ----------
    stream_s
        Seconds of the streams that it brings.
    rows, seconds, results
        What came, how long it took, and what came out.
    counts
        Where it is ours: its counters.
    """

    stream_s: float
    rows: int
    seconds: float
    results: int
    counts: dict[str, Any]


def total(batches: list[Timed]) -> JoinCounts:
    """What ours counted, added up."""
    return sum((JoinCounts(**batch.counts) for batch in batches), JoinCounts())


def _execute(plan: Plan, work: Path) -> dict[str, list[list[Timed]]]:
    conf = {**SETTINGS, "spark.sql.streaming.checkpointLocation": str(work)}
    spark = start_session("shedding", master=f"local[{CORES}]", conf=conf, log=work / "log")
    found: dict[str, list[list[Timed]]] = {EXACT: [], ON: []}
    needed = 0.0
    for turn in range(plan.turns):
        found[EXACT].append(_ours(spark, plan, work / f"exact-{turn}"))
        needed = needed or total(found[EXACT][0]).cpu_us / len(found[EXACT][0])
        found[ON].append(_ours(spark, plan, work / f"on-{turn}", SPARE * needed))
    for name, share in SHARES.items():
        found[name] = [_ours(spark, plan, work / name, share * needed)]
    return {**found, SPARK: [_spark_join(spark, plan, work / "spark")]}


def _ours(
    spark: "SparkSession", plan: Plan, checkpoint: Path, cpu_us: float | None = None
) -> list[Timed]:
    """Warm batches of our join, with so much CPU time for each."""
    left, right = (_stream(spark, plan, name, plan.files) for name in "ab")
    budget = None if cpu_us is None else Budget(cpu=timedelta(microseconds=cpu_us))
    joined = join(
        left, right, on="k", where=f"overlap(left.s, right.s) >= {IN_COMMON}", time="ts",
        window=timedelta(seconds=WINDOW_SECONDS), lateness="1 second", hot_keys=False,
        budget=budget,
    )  # fmt: skip
    return _run(joined, checkpoint, plan.files)[plan.cold :]


def _spark_join(spark: "SparkSession", plan: Plan, checkpoint: Path) -> list[Timed]:
    """Batches of a second that Spark's own join finishes in time; or one that it does not."""
    for name in "ab":
        rows = _stream(spark, plan, name, 1).withWatermark("ts", "1 second")
        rows.createOrReplaceTempView(name)
    span = f"INTERVAL {WINDOW_SECONDS} SECONDS"
    joined = spark.sql(
        "SELECT a.k, a.ts ts_left, b.ts ts_right FROM a JOIN b ON a.k = b.k "
        f"AND b.ts BETWEEN a.ts - {span} AND a.ts + {span} "
        f"AND size(array_intersect(a.s, b.s)) >= {IN_COMMON}"
    )
    return _run(joined, checkpoint, 1, plan.patience) or [Timed(1, 0, plan.patience, 0, {})]


def _stream(spark: "SparkSession", plan: Plan, name: str, files: int) -> "DataFrame":
    reader = spark.readStream.schema(_SCHEMA).option("maxFilesPerTrigger", files)
    return reader.parquet(str(Path(plan.folder) / name))


def _run(
    joined: "DataFrame", checkpoint: Path, stream_s: float, patience: int | None = None
) -> list[Timed]:
    query = (
        joined.writeStream.format("noop")
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    if patience is None:
        query.awaitTermination()
    elif not query.awaitTermination(patience):
        query.stop()
    return [_timed(p, stream_s) for p in query.recentProgress if p["numInputRows"]]


def _timed(progress: Any, stream_s: float) -> Timed:
    seen = progress["observedMetrics"].get("streamjoin")
    return Timed(
        stream_s,
        progress["numInputRows"],
        progress["durationMs"]["triggerExecution"] / 1000,
        progress["sink"]["numOutputRows"],
        {name: seen[COUNTERS_FIELD][name] for name in METRIC_NAMES} if seen else {},
    )


def _main() -> None:
    plan = Plan(**json.loads(sys.stdin.read()))
    work = Path(tempfile.mkdtemp(prefix="sj-bench-"))
    try:
        found = _execute(plan, work)
        document = {
            name: [[asdict(batch) for batch in batches] for batches in turns]
            for name, turns in found.items()
        }
        sys.stdout.write(json.dumps(document) + "\n")
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    _main()
