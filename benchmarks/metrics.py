"""What it costs to measure: joins that measure against the same joins that only count.

- ``join``: the join alone, in this process. Looking at results, of which a sample is taken, for
  their ages and for where in the windows they lie.
- ``batch``: what the driver takes, beside the query, to tell of a batch: to read what Spark
  reports, write a record and count it for Prometheus; and to answer a scrape.
- ``spark``: all of it in the join on Spark, with records beside the checkpoint and an exporter that
  is asked every second; against workers that measure nothing.

The two take turns, batch by batch or on Spark run by run, and which one goes first alternates; each
turn gives one ratio. The figure is the median ratio, with the interval that holds it in 95 of 100
cases. Of the join alone the time within the looking is also measured by itself: that is less than a
machine's noise, but leaves out what looking does to caches.
"""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from math import sqrt
from pathlib import Path
from statistics import median
from time import perf_counter, thread_time
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.metrics_off import clocked, measuring_off
from benchmarks.metrics_runs import Plan
from benchmarks.recorded import ROWS_PER_FILE, record
from benchmarks.systems import Timing, agree, in_process
from streamjoin.local import LocalJoin
from streamjoin.metrics import METRIC_NAMES, Ages, BasicWindows, Details
from streamjoin.metrics.progress import COUNTERS_FIELD, DETAILS_FIELD, read_progress
from streamjoin.metrics.prometheus.exporter import Collector
from streamjoin.metrics.recorder import Recorder, to_file
from streamjoin.metrics.records import Started

KEYS: Final = 200_000
WINDOW_SECONDS: Final = 10
ON, OFF = "measured", "counted only"


@dataclass(frozen=True)
class Size:
    """Turns of the join alone, its batches in each; turns on Spark, with cold and warm batches."""

    turns: int
    batches: int
    spark_turns: int
    cold: int
    warm: int


FULL: Final = Size(turns=31, batches=4, spark_turns=5, cold=24, warm=12)
SMALL: Final = Size(turns=3, batches=3, spark_turns=1, cold=2, warm=2)


@dataclass(frozen=True)
class Share:
    """A median ratio and the interval that holds it in 95 of 100 cases.

    Examples
    --------
    >>> Share.of([0.99, 1.01, 1.0, 0.98, 1.02, 1.0, 0.97, 1.0, 1.03])
    Share(low=0.98, middle=1.0, high=1.02)
    """

    low: float
    middle: float
    high: float

    @classmethod
    def of(cls, ratios: Sequence[float]) -> "Share":
        """Of the ratios of all turns: the bounds are two of them, by their ranks."""
        ordered, n = sorted(ratios), len(ratios)
        outside = max(0, int((n - 1.96 * sqrt(n)) / 2))
        return cls(ordered[outside], median(ordered), ordered[n - 1 - outside])


def run(report: Callable[[str], None], quick: bool = False) -> dict[str, Any]:
    """Measure all three; `quick` few turns and batches."""
    size = SMALL if quick else FULL
    with tempfile.TemporaryDirectory(prefix="sj-data-") as work:
        report("recording streams")
        folder = Path(work) / "streams"
        record(folder, max(size.batches, size.cold + size.warm), KEYS)
        rates, looking = _join_alone(folder, size)
        alone = _compared("join", rates, report) | {"looking_percent": 100 * looking}
        report(f"join: looking takes {alone['looking_percent']:.2f} % by the clock")
        told = _told(Path(work), report)
        on_spark = _compared("spark", _join_on_spark(folder, size), report)
    ratios = {
        f"measured/counted-{row['part']}": row["rows_per_s"] / row["rows_per_s_counted"]
        for row in (alone, on_spark)
    }
    return {"bench": "metrics", "rows": [alone, told, on_spark], "ratios": ratios}


def _compared(
    part: str, rates: dict[str, list[float]], report: Callable[[str], None]
) -> dict[str, Any]:
    """A row of the result from rows a second, turn by turn."""
    share = Share.of([on / off for on, off in zip(rates[ON], rates[OFF], strict=True)])
    row = {
        "part": part,
        "rows_per_s": median(rates[ON]),
        "rows_per_s_counted": median(rates[OFF]),
        "cost_percent": 100 * (1 - share.middle),
        "at_least": 100 * (1 - share.high),
        "at_most": 100 * (1 - share.low),
        "turns": len(rates[ON]),
    }
    report(
        f"{part}: {row['rows_per_s']:,.0f} rows/s measured, {row['rows_per_s_counted']:,.0f} "
        f"counted only: measuring costs {row['cost_percent']:.2f} % "
        f"({row['at_least']:.2f} to {row['at_most']:.2f} %)"
    )
    return row


def _order(turn: int) -> tuple[str, str]:
    return (ON, OFF) if turn % 2 else (OFF, ON)


def _join_alone(folder: Path, size: Size) -> tuple[dict[str, list[float]], float]:
    """Rows a second of CPU time, batch by batch; and the share of it that looking takes."""
    batches = [
        tuple(pq.read_table(folder / name / f"{number:05d}.parquet") for name in "ab")
        for number in range(size.batches)
    ]
    rates: dict[str, list[float]] = {ON: [], OFF: []}
    results: dict[str, list[int]] = {ON: [], OFF: []}
    looked = spent = 0.0
    for turn in range(size.turns + 1):
        joins = {way: _local_join(batches[0][0].schema) for way in rates}
        for number, both in enumerate(batches):
            for way in _order(turn + number):
                with clocked() if way == ON else measuring_off() as clock:
                    started = thread_time()
                    found = joins[way].push(*both).num_rows
                    seconds = thread_time() - started
                if turn == 0 or number == 0:  # kernels are loaded, windows are filled
                    continue
                rates[way].append(2 * ROWS_PER_FILE / seconds)
                results[way].append(found)
                if clock is not None:
                    looked, spent = looked + clock.seconds, spent + seconds
    agree(results)
    return rates, looked / spent


def _local_join(schema: pa.Schema) -> LocalJoin:
    window = f"{WINDOW_SECONDS} seconds"
    return LocalJoin(schema, schema, on="k", time="ts", window=window, lateness="1 second")


def _join_on_spark(folder: Path, size: Size) -> dict[str, list[float]]:
    """Rows a second of the median batch, run by run."""
    found: dict[str, list[int]] = {}

    def rate(way: str) -> float:
        plan = Plan(str(folder), WINDOW_SECONDS, way == ON)
        timing = Timing(**in_process("benchmarks.metrics_runs", asdict(plan), way))
        found[way] = timing.results
        return timing.rows_per_second(size.cold)

    rates: dict[str, list[float]] = {ON: [], OFF: []}
    for turn in range(size.spark_turns):
        for way in _order(turn):
            rates[way].append(rate(way))
    agree(found)
    return rates


def _told(folder: Path, report: Callable[[str], None]) -> dict[str, Any]:
    """Milliseconds that the driver takes to tell of a batch, and to answer a scrape."""
    collector, document = Collector(), _progress()
    recorder = Recorder("metrics", [to_file(folder), collector.see])
    recorder.tell(Started("metrics"))
    batch_ms, scrape_ms = [], []
    for _ in range(100):
        started = perf_counter()
        recorder.see(read_progress(document).joins)
        batch_ms.append(1000 * (perf_counter() - started))
        started = perf_counter()
        collector.collect()
        scrape_ms.append(1000 * (perf_counter() - started))
    row = {"part": "batch", "batch_ms": median(batch_ms), "scrape_ms": median(scrape_ms)}
    report(f"batch: {row['batch_ms']:.2f} ms to tell of it, {row['scrape_ms']:.2f} ms a scrape")
    return row


def _progress() -> dict[str, Any]:
    """What Spark reports of a batch of a join on a budget: two shards, 20 basic windows a side."""
    some = tuple(float(n) for n in range(1000, 3000, 100))
    strip = BasicWindows(0.5, some, some, some, some)
    details = Details(
        newest=1, budget_us=10**6, planned=10**6, looked_at=10**6,
        costs_us={"receiving": 0.5, "comparing": 0.02, "emitting": 0.1},
        ages=Ages(dict.fromkeys(range(60, 100), 1000), 9.9),
        windows={"left": strip, "right": strip},
    )  # fmt: skip
    counters = {**dict.fromkeys(METRIC_NAMES, 1000), DETAILS_FIELD: [details.to_json()] * 2}
    return {
        "batchId": 1,
        "timestamp": "2026-01-01T00:00:00.000Z",
        "sources": [{"numInputRows": 200_000}] * 2,
        "durationMs": {"triggerExecution": 500},
        "sink": {"numOutputRows": -1},
        "observedMetrics": {"streamjoin": {COUNTERS_FIELD: counters}},
    }
