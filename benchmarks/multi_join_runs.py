"""The runs of planners on little CPU, in one process with one Spark.

``python -m benchmarks.multi_join_runs`` reads a JSON `Plan` and prints what each planner
gave.
"""

import json
import shutil
import sys
import tempfile
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.queries import FOUR
from benchmarks.systems import SETTINGS
from streamjoin.budget import Budget
from streamjoin.spark.multi_frames import multi_join
from streamjoin.spark.session import start_session
from streamjoin.windows import Rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CORES: Final = 2
EXACT: Final = "exact join"
SHARE: Final = 0.3
WINDOW_SECONDS: Final = 16
BATCH_SECONDS: Final = 5
TREE: Final = "(a b) (c d)"
RATES: Final = {"a": 0.5, "b": 2.0, "c": 0.4, "d": 0.4}
KEYS: Final = 0.6
"""Rows per second of the streams, and keys, for each of the plan's rate."""
EVEN: Final = {"a b": 6.0, "c d": 6.0}
UNEVEN: Final = {"a b": 1.5, "c d": 15.0}
"""Tuples of the states, likewise.

In the second case what a and b form finds most; without care for freshness nothing is left for the
state of c and d.
"""
FRESHNESS_SECONDS: Final = 1.5 * WINDOW_SECONDS
_START_US: Final = 1_700_000_000_000_000


@dataclass(frozen=True)
class Plan:
    """What to run.

    Parameters
    ----------
    seconds
        Of the streams.
    cold
        Batches that warm a run up.
    rate
        Rows per second, about.
    states
        Tuples of each state, for each of the rate.
    planners
        Who divides the budget, one after the other.
    """

    seconds: int
    cold: int
    rate: int
    states: dict[str, float]
    planners: tuple[str, ...]


@dataclass(frozen=True)
class Limited:
    """What the warm batches of a run gave.

    Parameters
    ----------
    seconds
        Of the streams.
    results, stale
        Found, and of these not fresh, hence withheld.
    cpu_us, allowed_us
        CPU time that was used, and that could be; 0 for any.
    """

    seconds: float
    results: int
    stale: int
    cpu_us: int
    allowed_us: float = 0.0

    def per_second(self, n: int) -> float:
        """Of the streams' time."""
        return n / self.seconds


def _record(plan: Plan, folder: Path) -> None:
    """Files of `BATCH_SECONDS` each, with uniform keys."""
    for side, name in enumerate(FOUR):
        rng = np.random.default_rng(side + 1)
        (folder / name).mkdir(parents=True)
        n = round(plan.rate * RATES[name] * BATCH_SECONDS)
        for number in range(plan.seconds // BATCH_SECONDS):
            span = BATCH_SECONDS * 1_000_000
            times = np.sort(rng.integers(number * span, (number + 1) * span, n))
            rows = pa.table(
                {
                    "ts": pa.array(times + _START_US, pa.timestamp("us", tz="UTC")),
                    "k": pa.array(rng.integers(0, round(KEYS * plan.rate), n)),
                    "v": pa.array(rng.random(n)),
                }
            )
            pq.write_table(rows, folder / name / f"{number:05d}.parquet")


def _run(
    spark: "SparkSession", plan: Plan, work: Path, name: str, allowed_us: float = 0.0
) -> Limited:
    streams = {}
    for stream in FOUR:
        reader = spark.readStream.schema("ts timestamp, k long, v double")
        reader = reader.option("maxFilesPerTrigger", 1)
        streams[stream] = reader.parquet(str(work / "data" / stream))
    limited: dict[str, Any] = {}
    if allowed_us:
        limited = {"budget": Budget(cpu=timedelta(microseconds=allowed_us)), "planner": name}
    joined = multi_join(
        streams, on="k", time="ts", window=timedelta(seconds=WINDOW_SECONDS),
        plan=TREE, freshness=timedelta(seconds=FRESHNESS_SECONDS),
        states={label: Rows(round(n * plan.rate)) for label, n in plan.states.items()}, **limited,
    )  # fmt: skip
    query = (
        joined.writeStream.format("noop")
        .option("checkpointLocation", str(work / name.replace(" ", "-")))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    batches = [p for p in query.recentProgress if p["numInputRows"]][plan.cold :]
    counters = [p["observedMetrics"]["streamjoin"]["counters"] for p in batches]
    return Limited(
        float(BATCH_SECONDS * len(batches)),
        sum(c["results"] for c in counters),
        sum(c["stale"] for c in counters),
        sum(c["cpu_us"] for c in counters),
        allowed_us * len(batches),
    )


def _execute(plan: Plan, work: Path) -> dict[str, Limited]:
    _record(plan, work / "data")
    conf = {**SETTINGS, "spark.sql.streaming.checkpointLocation": str(work)}
    spark = start_session("planners", master=f"local[{CORES}]", conf=conf, log=work / "log")
    _run(spark, plan, work, "warm-up")
    found = {EXACT: _run(spark, plan, work, EXACT)}
    needed = found[EXACT].cpu_us / (found[EXACT].seconds / BATCH_SECONDS)
    for planner in plan.planners:
        found[planner] = _run(spark, plan, work, planner, SHARE * needed)
    return found


def _main() -> None:
    plan = Plan(**json.loads(sys.stdin.read()))
    work = Path(tempfile.mkdtemp(prefix="sj-bench-"))
    try:
        document = {name: asdict(one) for name, one in _execute(plan, work).items()}
        sys.stdout.write(json.dumps(document) + "\n")
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    _main()
