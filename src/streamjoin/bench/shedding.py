"""Too little CPU: what a join that probes its windows in part finds, and what the budget costs.

The paper's data (GED-D1, D2): sets whose popular items rotate, so that rows match best at some age,
here with a key beside them. Two streams of 12,000 rows a second are joined within 20 seconds where
the keys are equal and at least four of about five items in common. The exact join takes turns with
the same join under a budget that is never reached; then the budget is a half and a quarter of the
CPU time that the exact one took. At last Spark's own join gets the same files, in batches of a
second, and is stopped after a while: it falls behind further with each batch. All runs are in one
process with one Spark. ``python -m streamjoin.bench.shedding`` with a JSON `Plan` on standard input
is that process.
"""

import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from streamjoin.bench.recorded import record_sets
from streamjoin.bench.systems import SETTINGS, in_process
from streamjoin.budget import Budget
from streamjoin.metrics import METRIC_NAMES, JoinMetrics
from streamjoin.spark.frames import join
from streamjoin.spark.session import start_session
from streamjoin.spark.watch import COUNTERS_FIELD

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
class Size:
    """Rows a second of each stream, batches that count, and what a `Plan` says."""

    rate: int
    warm: int
    files: int
    cold: int
    turns: int
    patience: int


FULL: Final = Size(rate=12_000, warm=6, files=4, cold=7, turns=3, patience=60)
SMALL: Final = Size(rate=2_000, warm=2, files=1, cold=2, turns=1, patience=10)


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


def run(report: Callable[[str], None], quick: bool = False) -> dict[str, Any]:
    """Run the exact join, the three budgets and Spark's own; `quick` with few rows, and shortly."""
    size = SMALL if quick else FULL
    with tempfile.TemporaryDirectory(prefix="sj-data-") as work:
        report("recording streams of sets")
        record_sets(Path(work), (size.cold + size.warm) * size.files, size.rate, KEYS)
        plan = Plan(work, size.files, size.cold, size.turns, size.patience)
        found = in_process("streamjoin.bench.shedding", asdict(plan), "shedding")
    runs = {name: [[Timed(**b) for b in each] for each in turns] for name, turns in found.items()}
    rows = [_row(name, turns, _total(runs[EXACT][0])) for name, turns in runs.items()]
    for row in rows:
        report(
            f"{row['variant']:10} {row['rows_per_s']:>9,.0f} rows/s, {row['results_per_s']:>9,.0f} "
            f"results/s; batches of {row['stream_s']:.0f} s take {row['batch_p95_s']:.2f} s (p95)"
        )
    return {"bench": "shedding", "rows": rows, "ratios": _ratios(runs)}


def _row(name: str, turns: list[list[Timed]], exact: JoinMetrics) -> dict[str, Any]:
    batches = [batch for each in turns for batch in each]
    seconds = [batch.seconds for batch in batches]
    row: dict[str, Any] = {
        "variant": name,
        "rows_per_s": _rows_per_second(batches),
        "results_per_s": sum(batch.results for batch in batches) / sum(seconds),
        "stream_s": batches[0].stream_s,
        "batch_p95_s": float(np.percentile(seconds, 95)),
        "batches": len(batches),
    }
    if name == SPARK:
        return row
    counts = _total(batches)
    allowed = {EXACT: 1.0, ON: SPARE, **SHARES}[name] * len(turns) * exact.cpu_us
    return {
        **row,
        "recall": counts.recall,
        "recall_error": counts.recall_error,
        "true_recall": counts.pairs / (len(turns) * exact.pairs),
        "cpu_used/allowed": counts.cpu_us / allowed,
    }


def _ratios(runs: dict[str, list[list[Timed]]]) -> dict[str, float]:
    """What a budget costs that is not reached, turn by turn; and ours against Spark's own."""
    exact, on = ([_rows_per_second(batches) for batches in runs[name]] for name in (EXACT, ON))
    found = [b / a for a, b in zip(exact, on, strict=True)]
    cpu = [_total(batches).cpu_us for name in (EXACT, ON) for batches in runs[name]]
    n = len(found)
    return {
        "budget-on/exact": median(found),
        "budget-on/exact-lowest": min(found),
        "budget-on/exact-highest": max(found),
        "budget-on/exact-cpu": median(b / a for a, b in zip(cpu[:n], cpu[n:], strict=True)),
        "spark/exact": _rows_per_second(runs[SPARK][0]) / median(exact),
    }


def _rows_per_second(batches: list[Timed]) -> float:
    return median(batch.rows / batch.seconds for batch in batches)


def _total(batches: list[Timed]) -> JoinMetrics:
    return sum((JoinMetrics(**batch.counts) for batch in batches), JoinMetrics())


def _execute(plan: Plan, work: Path) -> dict[str, list[list[Timed]]]:
    conf = {**SETTINGS, "spark.sql.streaming.checkpointLocation": str(work)}
    spark = start_session("shedding", master=f"local[{CORES}]", conf=conf, log=work / "log")
    found: dict[str, list[list[Timed]]] = {EXACT: [], ON: []}
    needed = 0.0
    for turn in range(plan.turns):
        found[EXACT].append(_ours(spark, plan, work / f"exact-{turn}"))
        needed = needed or _total(found[EXACT][0]).cpu_us / len(found[EXACT][0])
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
