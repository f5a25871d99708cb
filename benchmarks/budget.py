"""Too little CPU: results per CPU second of three ways to divide it between two streams.

One stream brings four times as many rows as the other, joined within 100 seconds. The exact join
runs first and its CPU time is measured. Then the join gets a quarter of that, divided equally, by
the streams' rates and by their inverse (KAN-A18, A19; KAN-C14). All runs are in one process with
one Spark, over the same files; the splits take turns, so that noise hits them alike. ``python -m
benchmarks.budget`` with a JSON `Plan` on standard input is that process.

Turning rows away costs CPU too, and so does a batch without any. A budget must leave room for that:
hence a long window and large batches, where most of the CPU time goes into joining.
"""

import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.recorded import SECONDS_PER_FILE, record
from benchmarks.systems import SETTINGS, in_process
from streamjoin.budget import Budget
from streamjoin.metrics import METRIC_NAMES, JoinCounts
from streamjoin.metrics.progress import COUNTERS_FIELD
from streamjoin.spark.frames import join
from streamjoin.spark.session import start_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXACT: Final = "exact"
SPLITS: Final = ("equal", "rate", "inverse-rate")
SHARE: Final = 0.25
"""Of the CPU time that the exact join takes."""
CORES: Final = 2
WINDOW: Final = "100 seconds"
KEYS: Final = 2_000_000
_SCHEMA: Final = "ts timestamp, k long, v double"


@dataclass(frozen=True)
class Plan:
    """What to run: the folders of the two streams, batches that warm a run up, and turns."""

    left: str
    right: str
    cold: int
    turns: int


@dataclass(frozen=True)
class Size:
    """Rows a second of both streams, batches that warm a run up, those that count, and turns."""

    rates: tuple[int, int]
    cold: int
    warm: int
    turns: int


FULL: Final = Size((64_000, 16_000), cold=12, warm=4, turns=2)
SMALL: Final = Size((32_000, 8_000), cold=2, warm=2, turns=1)


def run(report: Callable[[str], None], quick: bool = False) -> dict[str, Any]:
    """Run the exact join and the three splits; `quick` with a quarter of the rows, and shortly."""
    size = SMALL if quick else FULL
    with tempfile.TemporaryDirectory(prefix="sj-data-") as work:
        for name, rate in zip("lr", size.rates, strict=True):
            record(Path(work) / name, size.cold + size.warm, KEYS, rate=rate)
        folders = str(Path(work) / "l" / "a"), str(Path(work) / "r" / "b")
        plan = Plan(*folders, size.cold, size.turns)
        counts = in_process("benchmarks.budget", asdict(plan), "budget")
        found = {name: JoinCounts(**each) for name, each in counts.items()}
    rows = [_row(name, counts, found[EXACT], size) for name, counts in found.items()]
    for row in rows:
        report(
            f"{row['split']:13} {row['results_per_cpu_s']:>10,.0f} results per CPU second, "
            f"{row['cpu_used/allowed']:.2f} of the CPU allowed, recall {row['true_recall']:.3f}"
        )
    yields = {row["split"]: row["results_per_cpu_s"] for row in rows}
    ratios = {
        "equal/proportional": yields["equal"] / yields["rate"],
        "equal/inverse": yields["equal"] / yields["inverse-rate"],
    }
    return {"bench": "budget", "rows": rows, "ratios": ratios}


def _row(split: str, counts: JoinCounts, exact: JoinCounts, size: Size) -> dict[str, Any]:
    turns, share = (1, 1.0) if split == EXACT else (size.turns, SHARE)
    warm = turns * size.warm
    seconds = warm * SECONDS_PER_FILE
    return {
        "split": split,
        "results_per_cpu_s": 1e6 * counts.pairs / counts.cpu_us,
        "results": counts.pairs,
        "left_per_s": (counts.rows_left - counts.dropped_left) / seconds,
        "right_per_s": (counts.rows_right - counts.dropped_right) / seconds,
        "recall": counts.recall,
        "recall_error": counts.recall_error,
        "true_recall": counts.pairs / (turns * exact.pairs),
        "cpu_s": counts.cpu_us / 1e6,
        "cpu_used/allowed": counts.cpu_us / (turns * share * exact.cpu_us),
        "warm_batches": warm,
    }


def _execute(plan: Plan, work: Path) -> dict[str, JoinCounts]:
    conf = {**SETTINGS, "spark.sql.streaming.checkpointLocation": str(work)}
    spark = start_session("budget", master=f"local[{CORES}]", conf=conf, log=work / "log")
    found = {EXACT: _joined(spark, plan, work / EXACT)}
    warm = found[EXACT].rows_left // _rows_of_a_batch(plan.left)
    needed = found[EXACT].cpu_us / (warm * SECONDS_PER_FILE * CORES * 1e6)
    for turn in range(plan.turns):
        for split in SPLITS:
            limits = {"budget": Budget(cpu=SHARE * needed), "shed": "drop", "split": split}
            counts = _joined(spark, plan, work / f"{split}-{turn}", **limits)
            found[split] = found.get(split, JoinCounts()) + counts
    return found


def _joined(spark: "SparkSession", plan: Plan, checkpoint: Path, **limits: Any) -> JoinCounts:
    """Run a join over all files and add up what its warm batches count."""
    left, right = (
        spark.readStream.schema(_SCHEMA).option("maxFilesPerTrigger", 1).parquet(folder)
        for folder in (plan.left, plan.right)
    )
    joined = join(
        left, right, on="k", time="ts", window=WINDOW, lateness="1 second", hot_keys=False, **limits
    )
    query = (
        joined.writeStream.format("noop")
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    total = JoinCounts()
    for progress in [p for p in query.recentProgress if p["numInputRows"]][plan.cold :]:
        seen = progress["observedMetrics"]["streamjoin"][COUNTERS_FIELD]
        total += JoinCounts(**{name: seen[name] for name in METRIC_NAMES})
    return total


def _rows_of_a_batch(folder: str) -> int:
    import pyarrow.parquet as pq

    first = min(Path(folder).iterdir())
    return int(pq.read_metadata(first).num_rows)


def _main() -> None:
    plan = Plan(**json.loads(sys.stdin.read()))
    work = Path(tempfile.mkdtemp(prefix="sj-bench-"))
    try:
        found = _execute(plan, work)
        sys.stdout.write(json.dumps({name: asdict(counts) for name, counts in found.items()}))
        sys.stdout.write("\n")
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    _main()
