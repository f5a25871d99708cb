"""Joins of four streams: exact against a chain of Spark's own joins, and planners on little CPU.

Exact: four streams of 10,000 rows a second with 100,000 keys, joined on the key within 10 seconds;
each row finds one partner of each other stream on average, so results come at the rate of the
input. 400k rows a micro-batch. Every run is a process of its own.

On 30 % of the CPU that it takes to find everything: streams of different rates, states of a fixed
number of tuples as in the paper, and a freshness of 1.5 times the window. All planners run in one
process, one after the other, on the same files; `cpu` is what they used of what they were allowed.
"""

import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any, Final

from streamjoin.bench.multi_join_runs import EXACT, PLANNED, Limited, Plan
from streamjoin.bench.queries import FOUR
from streamjoin.bench.recorded import SECONDS_PER_FILE, record
from streamjoin.bench.systems import Task, Timing, in_process, measure
from streamjoin.errors import EngineError

KEYS: Final = 100_000
RATE: Final = 10_000
WINDOW_SECONDS: Final = 10
OURS: Final = "streamjoin-plan"
SLOW: Final = ("spark-chain", "spark-chain-memory")
BATCHES: Final = {OURS: (12, 10), "spark-chain": (3, 3), "spark-chain-memory": (3, 3)}
"""Cold and warm batches: until the compiler has seen enough, and until states are full."""
SMALL: Final = {OURS: (3, 2), "spark-chain": (2, 1), "spark-chain-memory": (2, 1)}
COVERED: Final = ("jaqpot", "exact")


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
    _check({system: timing.results for system, timing in timings.items()})
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
    plan = Plan(seconds=60, cold=4, rate=200) if quick else Plan(seconds=120, cold=12, rate=400)
    found = in_process("streamjoin.bench.multi_join_runs", asdict(plan), "planners")
    runs = {name: Limited(**values) for name, values in found.items()}
    rows: list[dict[str, Any]] = []
    for name, one in runs.items():
        rows.append(
            {
                "system": name if name == EXACT else f"30 % {name}",
                "results_per_s": one.per_second(one.results),
                "fresh_per_s": one.per_second(one.results - one.stale),
                "stale": one.stale / max(1, one.results),
                "cpu": one.cpu_us / one.allowed_us if one.allowed_us else None,
            }
        )
        report(
            f"{name:12} {rows[-1]['fresh_per_s']:>10,.0f} fresh results/s, "
            f"{100 * rows[-1]['stale']:.1f} % stale"
        )
    fresh = {name: one.results - one.stale for name, one in runs.items()}
    ratios = {
        f"jaqpot/{name}": fresh["jaqpot"] / max(1, fresh[name])
        for name in PLANNED
        if name != "jaqpot"
    }
    ratios["jaqpot/all"] = fresh["jaqpot"] / max(1, fresh[EXACT])
    ratios["stale jaqpot"] = runs["jaqpot"].stale / max(1, runs["jaqpot"].results)
    ratios["stale grepp"] = runs["grepp"].stale / max(1, runs["grepp"].results)
    return rows, ratios


def _check(results: dict[str, list[int]]) -> None:
    """Systems must agree on the number of results, all batches together."""
    n = min(map(len, results.values()))
    totals = {system: sum(found[:n]) for system, found in results.items()}
    if len(set(totals.values())) > 1:
        msg = f"bench: the joins disagree on the number of results: {totals}"
        raise EngineError(msg)
