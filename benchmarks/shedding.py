"""Too little CPU: what a join that probes its windows in part finds, and what the budget costs.

The paper's data (GED-D1, D2): sets whose popular items rotate, so that rows match best at some age,
here with a key beside them. Two streams of 12,000 rows a second are joined within 20 seconds where
the keys are equal and at least four of about five items in common. The exact join takes turns with
the same join under a budget that is never reached; then the budget is a half and a quarter of the
CPU time that the exact one took. At last Spark's own join gets the same files, in batches of a
second, and is stopped after a while: it falls behind further with each batch. All runs are in one
process with one Spark.
"""

import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

import numpy as np

from benchmarks.recorded import record_sets
from benchmarks.shedding_runs import EXACT, KEYS, ON, SHARES, SPARE, SPARK, Plan, Timed, total
from benchmarks.systems import in_process
from streamjoin.metrics import JoinCounts


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


def run(report: Callable[[str], None], quick: bool = False) -> dict[str, Any]:
    """Run the exact join, the three budgets and Spark's own; `quick` with few rows, and shortly."""
    size = SMALL if quick else FULL
    with tempfile.TemporaryDirectory(prefix="sj-data-") as work:
        report("recording streams of sets")
        record_sets(Path(work), (size.cold + size.warm) * size.files, size.rate, KEYS)
        plan = Plan(work, size.files, size.cold, size.turns, size.patience)
        found = in_process("benchmarks.shedding_runs", asdict(plan), "shedding")
    runs = {name: [[Timed(**b) for b in each] for each in turns] for name, turns in found.items()}
    rows = [_row(name, turns, total(runs[EXACT][0])) for name, turns in runs.items()]
    for row in rows:
        report(
            f"{row['variant']:10} {row['rows_per_s']:>9,.0f} rows/s, {row['results_per_s']:>9,.0f} "
            f"results/s; batches of {row['stream_s']:.0f} s take {row['batch_p95_s']:.2f} s (p95)"
        )
    return {"bench": "shedding", "rows": rows, "ratios": _ratios(runs)}


def _row(name: str, turns: list[list[Timed]], exact: JoinCounts) -> dict[str, Any]:
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
    counts = total(batches)
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
    cpu = [total(batches).cpu_us for name in (EXACT, ON) for batches in runs[name]]
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
