"""The window join on Spark against Spark's own join and against pipelines without a join.

Two streams of 20,000 rows a second with 200,000 keys, joined within 10 seconds: each row finds two
partners on average, so results come at the rate of the input. Files are read as fast as they can be
joined, one (400k rows a micro-batch) or five (2M) of each side at a time. Every run is a process of
its own; the quick systems take turns several times, so that noise hits them alike.
"""

import tempfile
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, Final

from streamjoin.bench.recorded import ROWS_PER_FILE, record
from streamjoin.bench.systems import Task, Timing, measure
from streamjoin.errors import EngineError

KEYS: Final = 200_000
WINDOW_SECONDS: Final = 10
SLOW: Final = ("spark-rocksdb", "spark-memory")
QUICK: Final = ("shuffle-identity", "streamjoin", "scan-identity")
COLD: Final = 2
"""Batches that are not counted: workers and the JVM's compiler warm up, the window fills."""
COLD_SLOW: Final = 1
"""Of systems that take half a minute a batch: by the second one they are as fast as they get."""

Plan = dict[int, tuple[int, int, int]]
"""By files a batch: batches of the quick systems, their turns, batches of the slow ones."""


def run(report: Callable[[str], None], quick: bool = False) -> dict[str, Any]:
    """Time all systems at 400k and 2M rows a micro-batch; `quick` only a few small batches."""
    plan: Plan = {1: (6, 1, 2)} if quick else {1: (14, 3, 4), 5: (8, 3, 3)}
    rates: dict[tuple[str, int], list[float]] = defaultdict(list)
    warm: dict[tuple[str, int], int] = defaultdict(int)
    with tempfile.TemporaryDirectory(prefix="sj-data-") as work:
        for per_batch, (batches, turns, batches_slow) in plan.items():
            few, many = (Path(work) / f"{n}" for n in (f"{per_batch}-few", f"{per_batch}-many"))
            report(f"recording streams for {2 * per_batch * ROWS_PER_FILE:,} rows a batch")
            record(many, batches * per_batch, KEYS)
            record(few, batches_slow * per_batch, KEYS)
            results: dict[str, list[int]] = {}
            schedule = [(s, many, COLD) for _ in range(turns) for s in QUICK]
            schedule += [(s, few, COLD_SLOW) for s in SLOW]
            for system, folder, cold in schedule:
                timing = measure(Task(system, str(folder), per_batch, WINDOW_SECONDS))
                key = system, per_batch
                rates[key].append(timing.rows_per_second(cold))
                warm[key] += len(timing.seconds) - cold
                report(_line(system, per_batch, timing, cold))
                if "identity" not in system:
                    results[system] = timing.results
            _check(results)
    rows = [
        {
            "system": system,
            "batch_rows": 2 * per_batch * ROWS_PER_FILE,
            "rows_per_s": median(found),
            "warm_batches": warm[system, per_batch],
            "runs": len(found),
        }
        for (system, per_batch), found in rates.items()
    ]
    return {"bench": "window-join", "rows": rows, "ratios": _ratios(rates)}


def _line(system: str, per_batch: int, timing: Timing, cold: int) -> str:
    rows = 2 * per_batch * ROWS_PER_FILE
    rate = timing.rows_per_second(cold)
    n = len(timing.seconds) - cold
    return f"{system:17} {rows:>9,} rows a batch: {rate:>9,.0f} rows/s, {n} warm batches"


def _check(results: dict[str, list[int]]) -> None:
    """Systems that join must agree on the number of results, all batches together."""
    n = min(map(len, results.values()))
    totals = {system: sum(found[:n]) for system, found in results.items()}
    if len(set(totals.values())) > 1:
        msg = f"bench: the joins disagree on the number of results: {totals}"
        raise EngineError(msg)


def _ratios(rates: dict[tuple[str, int], list[float]]) -> dict[str, float]:
    ratios = {}
    for system, per_batch in rates:
        if system != "streamjoin":
            suffix = "" if per_batch == 1 else "-2M"
            ours, other = rates["streamjoin", per_batch], rates[system, per_batch]
            ratios[f"streamjoin/{system}{suffix}"] = median(ours) / median(other)
    return ratios
