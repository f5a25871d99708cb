"""Joins of four streams: exact against a chain of Spark's own joins, and planners on little CPU.

Exact: four streams of 10,000 rows a second with 100,000 keys, joined on the key within 10 seconds;
each row finds one partner of each other stream on average, so results come at the rate of the
input. 400k rows a micro-batch. Every run is a process of its own.

On 30 % of the CPU that it takes to find everything: streams of different rates, states of a fixed
number of tuples as in the paper, and a freshness of 1.5 times the window. All planners run in one
process, one after the other, on the same files; `cpu` is what they used of what they were allowed.
Once with states alike, and once with states so uneven that one goes stale if nobody cares.
"""

import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks.multi_join_runs import EVEN, EXACT, UNEVEN, Limited, Plan
from benchmarks.queries import FOUR
from benchmarks.recorded import SECONDS_PER_FILE, record
from benchmarks.systems import Task, Timing, agree, in_process, measure
from streamjoin.planning.many.planners import PLANNERS

KEYS: Final = 100_000
RATE: Final = 10_000
WINDOW_SECONDS: Final = 10
OURS: Final = "streamjoin-plan"
SLOW: Final = ("spark-chain", "spark-chain-memory")
BATCHES: Final = {OURS: (16, 10), "spark-chain": (5, 4), "spark-chain-memory": (5, 4)}
"""Cold and warm batches: until the compiler has seen enough, and until states are full."""
SMALL: Final = {OURS: (3, 2), "spark-chain": (2, 1), "spark-chain-memory": (2, 1)}
COVERED: Final = ("jaqpot", "exact")
UNCOVERED: Final = "grepp"
"""Planners with and without care for freshness."""


def run(report: Callable[[str], None], quick: bool = False) -> dict[str, Any]:
    """Measure both parts; `quick` with a few small batches."""
    rows, ratios = _exact(report, quick)
    more, others = _limited(report, quick)
    return {"bench": "multi-join", "rows": rows + more, "ratios": {**ratios, **others}}


def _exact(
    report: Callable[[str], None], quick: bool
) -> tuple[list[dict[str, Any]], dict[str, float]]:
    timings: dict[str, Timing] = {}
    batches = SMALL if quick else BATCHES
    with tempfile.TemporaryDirectory(prefix="sj-data-") as work:
        report("recording four streams")
        rate = RATE // 10 if quick else RATE
        for system, (cold, warm) in batches.items():
            folder = Path(work) / str(cold + warm)
            if not folder.exists():
                record(folder, cold + warm, KEYS * rate // RATE, rate=rate, hot=(0.0,) * len(FOUR))
            timings[system] = timing = measure(Task(system, str(folder), 1, WINDOW_SECONDS))
            report(
                f"{system:19} {timing.rows_per_second(cold):>9,.0f} rows/s, {warm} warm batches, "
                f"{timing.state_bytes / 1e6:,.0f} MB of state"
            )
    agree({system: timing.results for system, timing in timings.items()})
    rows: list[dict[str, Any]] = [
        {
            "system": system,
            "rows_per_s": timing.rows_per_second(batches[system][0]),
            "results_per_s": median(timing.results[batches[system][0] :]) / SECONDS_PER_FILE,
            "state_mb": timing.state_bytes / 1e6,
        }
        for system, timing in timings.items()
    ]
    speeds = {row["system"]: row["rows_per_s"] for row in rows}
    best = max(speeds[system] for system in SLOW)
    ratios = {
        "streamjoin/spark-chain": speeds[OURS] / best,
        **{f"streamjoin/{system}": speeds[OURS] / speeds[system] for system in SLOW[1:]},
        "state streamjoin/spark-chain": timings[OURS].state_bytes
        / min(timings[system].state_bytes for system in SLOW),
    }
    return rows, ratios


def _limited(
    report: Callable[[str], None], quick: bool
) -> tuple[list[dict[str, Any]], dict[str, float]]:
    """All planners where the states are alike, and those of interest where one goes stale."""
    seconds, cold = (60, 4) if quick else (120, 12)
    even = Plan(seconds, cold, 100 if quick else 400, EVEN, PLANNERS)
    uneven = Plan(seconds, cold, 100 if quick else 200, UNEVEN, (*COVERED, UNCOVERED))
    rows: list[dict[str, Any]] = []
    ratios: dict[str, float] = {}
    for label, plan in (("", even), (" uneven", uneven)):
        found = in_process("benchmarks.multi_join_runs", asdict(plan), "planners")
        runs = {name: Limited(**values) for name, values in found.items()}
        rows += [_row(name, one, label, report) for name, one in runs.items()]
        fresh = {name: one.results - one.stale for name, one in runs.items()}
        for name in (*plan.planners[1:], EXACT):
            ratios[f"jaqpot/{name}{label}"] = fresh["jaqpot"] / max(1, fresh[name])
        for name in ("jaqpot", UNCOVERED):
            ratios[f"stale {name}{label}"] = runs[name].stale / max(1, runs[name].results)
    return rows, ratios


def _row(name: str, one: Limited, label: str, report: Callable[[str], None]) -> dict[str, Any]:
    fresh, stale = one.per_second(one.results - one.stale), one.stale / max(1, one.results)
    report(f"{name:12}{label} {fresh:>10,.0f} fresh results/s, {100 * stale:.1f} % stale")
    return {
        "system": (name if name == EXACT else f"30 % {name}") + label,
        "results_per_s": one.per_second(one.results),
        "fresh_per_s": fresh,
        "stale": stale,
        "cpu": one.cpu_us / one.allowed_us if one.allowed_us else None,
    }
