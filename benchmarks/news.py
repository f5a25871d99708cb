"""Real news: what each policy finds with a quarter of the CPU.

Reuters-21578 (Distribution 1.0), stories of 1987, as two streams by odd and even number, joined
within four weeks by two conditions: at least four rare words in common (those that at most one
story in a hundred has), and an inner product of all words, weighted by how rare they are, of at
least a half. The folder of the data is named by ``STREAMJOIN_DATA``; without it nothing is run.

The policies are compared in virtual time, where a comparison costs one unit (by inner product, an
entry of the inverted index that is walked), and a quarter of the windows is probed: these numbers
are the same on every machine. An hour is a virtual second. Then the
second join runs on Spark with a quarter of the CPU time that its exact form took, by the clock.
``python -m benchmarks.news`` with the folder of the files on standard input is that run.
"""

import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow.parquet as pq

from benchmarks.stories import FILE, Stories, read_stories
from benchmarks.systems import SETTINGS, in_process
from papers.operators.selective_settings import Policy
from papers.operators.selective_window import SelectiveJoin, SetTrace, selective_window_join
from streamjoin.budget import Budget
from streamjoin.metrics import METRIC_NAMES, JoinCounts
from streamjoin.metrics.progress import COUNTERS_FIELD
from streamjoin.spark.frames import join
from streamjoin.spark.session import start_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

POLICIES: Final[tuple[Policy, ...]] = ("best", "ra", "ra+tc", "ra+jd", "ra+tc+jd", "drop")
SHARE: Final = 0.25
WINDOW: Final = timedelta(weeks=4)
LATENESS: Final = timedelta(days=1)
OVERLAP: Final = 4
RARE: Final = 0.01
PRODUCT: Final = 0.5
PER_BATCH: Final = 600
"""Stories of a micro-batch on Spark, of both streams."""
COLD: Final = 6
"""Micro-batches until costs are known."""
QUICK_PART: Final = 11
"""`quick` takes one story in so many: an odd number, so that both streams have some."""
_HOUR: Final = 3600
_WINDOW_US: Final = round(WINDOW.total_seconds() / _HOUR * 1e6)
OVERLAPPING: Final = SelectiveJoin(
    windows_us=(_WINDOW_US, _WINDOW_US),
    policy="full",
    basic_us=_WINDOW_US // 20,
    threshold=OVERLAP,
    rate_period_us=_WINDOW_US // 4,  # as in the paper: 5 s for windows of 20 s
    correlation_period_us=_WINDOW_US // 4,
)
ALIKE: Final = replace(OVERLAPPING, threshold=PRODUCT, index="inverted-time")


def run(report: Callable[[str], None], quick: bool = False) -> dict[str, Any]:
    """Join the news by each policy and on Spark; `quick` a part of it, and not on Spark."""
    stories = read_stories()
    if stories is None:
        report(f"news: skipped, since STREAMJOIN_DATA names no folder with {FILE}")
        return {"bench": "news", "rows": [], "ratios": {}}
    if quick:
        stories = stories.where(np.arange(len(stories)) % QUICK_PART == 0)
    rows = _in_virtual_time(stories)
    if not quick:
        with tempfile.TemporaryDirectory(prefix="sj-data-") as work:
            _record(stories, Path(work))
            rows.append(in_process("benchmarks.news", {"folder": work}, "news"))
    for row in rows:
        report(
            f"{row['condition']:13} {row['engine']:12} {row['policy']:8}: recall "
            f"{row['recall']:.3f} with {row['cpu']:.3f} of the CPU"
        )
    return {"bench": "news", "rows": rows, "ratios": _ratios(rows)}


def _ratios(rows: list[dict[str, Any]]) -> dict[str, float]:
    virtual = [row for row in rows if row["engine"] == "virtual time"]
    drop = {row["condition"]: row["recall"] for row in virtual if row["policy"] == "drop"}
    return {
        f"{row['policy']}/drop, {row['condition']}": row["recall"] / drop[row["condition"]]
        for row in virtual
        if row["policy"] != "drop" and drop[row["condition"]]
    }


def _in_virtual_time(stories: Stories) -> list[dict[str, Any]]:
    """Recall of each policy with a quarter of the comparisons."""
    begin = int(stories.times[0])
    rare = stories.only(stories.frequencies() <= RARE * len(stories))
    conditions = {
        "overlap": ([_trace(half, begin, False) for half in rare.halves()], OVERLAPPING),
        "inner product": ([_trace(half, begin, True) for half in stories.halves()], ALIKE),
    }
    rows: list[dict[str, Any]] = []
    for condition, ((left, right), exact) in conditions.items():
        full = selective_window_join(left, right, exact)
        for policy in POLICIES:
            in_part = replace(exact, policy=policy, fraction=SHARE)
            done = selective_window_join(left, right, in_part)
            rows.append(
                {
                    "condition": condition,
                    "engine": "virtual time",
                    "policy": policy,
                    "recall": done.total("outputs") / max(full.total("outputs"), 1),
                    "exact_results": round(full.total("outputs")),
                    "compared": done.total("comparisons") / full.total("comparisons"),
                    "cpu": done.total("cost") / full.total("cost"),
                }
            )
    return rows


def _trace(stories: Stories, begin: int, weighted: bool) -> SetTrace:
    times = (stories.times - begin) // _HOUR
    weights = stories.weights if weighted else None
    return SetTrace(times, stories.offsets, stories.words, weights)


def _record(stories: Stories, folder: Path) -> None:
    """Files of both streams, the same span of time in those of one number."""
    batch = np.arange(len(stories)) // PER_BATCH
    for name in "lr":
        (folder / name).mkdir()
    for number in range(int(batch[-1]) + 1):
        for name, half in zip("lr", stories.where(batch == number).halves(), strict=True):
            pq.write_table(half.table(), folder / name / f"{number:05d}.parquet")


def _on_spark(folder: Path, work: Path) -> dict[str, Any]:
    conf = {**SETTINGS, "spark.sql.streaming.checkpointLocation": str(work)}
    spark = start_session("news", master="local[2]", conf=conf, log=work / "log")
    exact = _counts(spark, folder, work / "exact", None)
    all_exact = sum(exact, JoinCounts())
    allowed = SHARE * all_exact.cpu_us
    budget = Budget(cpu=timedelta(microseconds=allowed / len(exact)))
    found = sum(_counts(spark, folder, work / "quarter", budget), JoinCounts())
    compared = found.compared_left + found.compared_right
    return {
        "condition": "inner product",
        "engine": "Spark",
        "policy": "best",
        "recall": found.pairs / all_exact.pairs,
        "exact_results": all_exact.pairs,
        "compared": compared / (compared + found.skipped_left + found.skipped_right),
        "estimate": found.recall,
        "error": found.recall_error,
        "cpu": found.cpu_us / all_exact.cpu_us,
    }


def _counts(
    spark: "SparkSession", folder: Path, checkpoint: Path, budget: Budget | None
) -> list[JoinCounts]:
    """Counters of the warm batches."""
    left, right = (
        spark.readStream.schema("id long, t timestamp, words map<long, double>")
        .option("maxFilesPerTrigger", 1)
        .parquet(str(folder / name))
        for name in "lr"
    )
    where = f"inner_product(left.words, right.words) >= {PRODUCT}"
    joined = join(
        left, right, where=where, time="t", window=WINDOW, lateness=LATENESS, budget=budget
    )
    writer = joined.select("id_left", "id_right").writeStream.format("noop")
    query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    query.awaitTermination()
    seen = [p["observedMetrics"]["streamjoin"] for p in query.recentProgress if p["numInputRows"]]
    rows = [each[COUNTERS_FIELD] for each in seen[COLD:]]
    return [JoinCounts(**{name: row[name] for name in METRIC_NAMES}) for row in rows]


def _main() -> None:
    folder = Path(json.loads(sys.stdin.read())["folder"])
    work = Path(tempfile.mkdtemp(prefix="sj-bench-"))
    try:
        sys.stdout.write(json.dumps(_on_spark(folder, work)) + "\n")
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    _main()
