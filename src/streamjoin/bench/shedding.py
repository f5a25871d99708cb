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
    patience: float


@dataclass(frozen=True)
class Size:
    """Rows a second of each stream, batches that count, and what a `Plan` says."""

    rate: int
    warm: int
    files: int
    cold: int
    turns: int
    patience: float


FULL: Final = Size(rate=12_000, warm=6, files=4, cold=7, turns=3, patience=60)
SMALL: Final = Size(rate=2_000, warm=2, files=1, cold=2, turns=1, patience=10)


@dataclass(frozen=True)
class Batch:
    """One micro-batch: rows that came, seconds that it took, results, and what ours counted."""

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
    runs = {name: [[Batch(**b) for b in batches] for batches in all_] for name, all_ in found.items()}
    exact = total(runs[EXACT][0])
    rows = [_row(name, batches, exact) for name, batches in runs.items()]
    for row in rows:
        report(
            f"{row['variant']:10} {row['rows_per_s']:>9,.0f} rows/s, {row['results_per_s']:>9,.0f} "
            f"results/s, batches of {row['stream_s']:.0f} s take {row['batch_p95_s']:.2f} s (p95)"
        )
    return {"bench": "shedding", "rows": rows, "ratios": _ratios(runs, rows)}


def total(batches: list[Batch]) -> JoinMetrics:
    """What ours counted, added up."""
    return sum((JoinMetrics(**batch.counts) for batch in batches), JoinMetrics())


def _row(name: str, runs: list[list[Batch]], exact: JoinMetrics) -> dict[str, Any]:
    batches = [batch for each in runs for batch in each]
    seconds = [batch.seconds for batch in batches]
    row: dict[str, Any] = {
        "variant": name,
        "rows_per_s": median(batch.rows / batch.seconds for batch in batches),
        "results_per_s": sum(batch.results for batch in batches) / sum(seconds),
        "stream_s": batches[0].counts.get("stream_s", 0.0) or _stream_seconds(batches[0]),
        "batch_p95_s": float(np.percentile(seconds, 95)),
        "batches": len(batches),
    }
    if name == SPARK:
        return row
    counts = total(batches)
    allowed = {EXACT: 1.0, ON: SPARE, **SHARES}[name] * len(runs) * exact.cpu_us
    return {
        **row,
        "recall": counts.recall,
        "recall_error": counts.recall_error,
        "true_recall": counts.pairs / (len(runs) * exact.pairs),
        "cpu_used/allowed": counts.cpu_us / allowed,
    }
