"""Batches that end in time although the join needs far more CPU than there is."""

import time
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import streamjoin as sj
from streamjoin.local import LocalJoin
from tests.spark.streams import counters_of

SECONDS: Final = 66
TRIGGER: Final = 3
WINDOW: Final = 60
CORES: Final = 2
ITEMS: Final = 5
OVERLOAD: Final = 5
"""CPU that the exact join needs, for each that there is."""
COLD: Final = 5
"""Batches until durations count."""
JOIN: Final[dict[str, Any]] = {
    "where": "overlap(left.s, right.s) >= 4",
    "time": "t",
    "window": f"{WINDOW} seconds",
    "lateness": "1 second",
}


@pytest.mark.alone
@pytest.mark.slow
def test_batches_hold_their_time(spark: SparkSession, tmp_path: Path) -> None:
    """A minute of a live query whose exact form needs more than four times the CPU there is.

    Comparisons go with the square of the rate: a slower stream tells what a faster one would need.
    """
    tried = 8000
    rate = round(tried * (OVERLOAD * CORES / exact_cores(tried)) ** 0.5)
    assert exact_cores(rate) > 4 * CORES
    result = sj.join(
        stream(spark, rate, 1), stream(spark, rate, 2), **JOIN, budget=sj.Budget(cpu=0.5)
    )
    batches = run(result, tmp_path / "ck")
    counts = [counters_of(batch) for batch in batches]
    assert all(each and each["selective"] == CORES for each in counts[len(counts) // 2 :])
    assert all(each and each["dropped_left"] + each["dropped_right"] == 0 for each in counts)
    durations = [batch["durationMs"]["triggerExecution"] / 1000 for batch in batches[COLD:]]
    assert len(durations) > 0.8 * SECONDS / TRIGGER - COLD
    assert np.percentile(durations, 95) <= 1.2 * TRIGGER
    # No backlog: a batch has the rows of one trigger, in the end as in the middle.
    rows = [batch["numInputRows"] for batch in batches[COLD:]]
    third = len(rows) // 3
    assert np.mean(rows[-third:]) <= 1.1 * np.mean(rows[third : 2 * third])
    assert np.mean(rows[-third:]) <= 1.1 * 2 * rate * TRIGGER


def stream(spark: SparkSession, rate: int, seed: int) -> DataFrame:
    """Sets that come as the clock goes."""
    ticks = spark.readStream.format("rate").option("rowsPerSecond", rate).load()
    items = ", ".join(f"pmod(hash(value, {seed}, {i}), 100)" for i in range(ITEMS))
    return ticks.selectExpr("timestamp AS t", f"array({items}) AS s")


def exact_cores(rate: int) -> float:
    """CPU seconds that the exact join needs for each second of the streams.

    What arrives in half a second meets a full window of the other stream.
    """
    join = LocalJoin(rows(rate, 0, 0).schema, rows(rate, 0, 0).schema, **JOIN)
    join.push(rows(rate, 0, WINDOW), None)
    needed = 0
    for i in range(2):  # the first compiles the kernels
        join.push(None, rows(rate, WINDOW + i / 2, WINDOW + (i + 1) / 2))
        needed = join.metrics.cpu_us
    return 2 * needed / 1e6 / 0.5


def rows(rate: int, first: float, last: float) -> pa.Table:
    rng = np.random.default_rng(round(2 * last))
    n = round(rate * (last - first))
    times = np.sort(rng.uniform(first * 1e6, last * 1e6, n)).astype(np.int64)
    items = pa.array(rng.integers(0, 100, ITEMS * n).astype(np.int32))
    offsets = pa.array(np.arange(0, ITEMS * n + 1, ITEMS, dtype=np.int32))
    return pa.table(
        {
            "t": pa.array(times, pa.timestamp("us", "UTC")),
            "s": pa.ListArray.from_arrays(offsets, items),
        }
    )


def run(result: DataFrame, checkpoint: Path) -> list[Any]:
    """Progress of a query's batches with rows."""
    query: StreamingQuery = (
        result.writeStream.format("noop")
        .option("checkpointLocation", str(checkpoint))
        .trigger(processingTime=f"{TRIGGER} seconds")
        .start()
    )
    try:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            assert query.exception() is None
            time.sleep(0.5)
        return [batch for batch in query.recentProgress if batch["numInputRows"]]
    finally:
        query.stop()
