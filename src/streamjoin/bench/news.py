"""Real news: what each policy finds with a quarter of the CPU.

Reuters-21578 (Distribution 1.0), stories of 1987, as two streams by odd and even number. Two
stories match if they come within four weeks of each other and have at least `IN_COMMON` words in
common, of at least five letters and not among the hundred most frequent. The folder of the data is
named by ``STREAMJOIN_DATA``; without it nothing is run.

The policies are compared in virtual time, where a comparison is the unit of cost and every policy
makes a quarter of them: the numbers are the same on every machine. An hour is a virtual second.
Then the join runs on Spark with a quarter of the CPU time that its exact form takes, by the clock.
"""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from streamjoin.bench.systems import SETTINGS, in_process
from streamjoin.budget import Budget
from streamjoin.joins.selective_window import SelectiveJoin, SetTrace, selective_window_join
from streamjoin.metrics import METRIC_NAMES, JoinMetrics
from streamjoin.spark.frames import join
from streamjoin.spark.session import start_session
from streamjoin.spark.watch import COUNTERS_FIELD

FILE: Final = Path("reuters21578") / "reuters21578.parquet"
POLICIES: Final = ("best", "ra", "ra+tc", "ra+jd", "ra+tc+jd", "drop")
SHARE: Final = 0.25
WINDOW: Final = timedelta(weeks=4)
LATENESS: Final = timedelta(days=1)
IN_COMMON: Final = 12
COMMON_WORDS: Final = 100
STORIES: Final = 600
"""Of a micro-batch on Spark, both streams together."""
COLD: Final = 6
"""Micro-batches until costs are known."""
_HOUR: Final = 3600
_WINDOW_US: Final = round(WINDOW.total_seconds() / _HOUR * 1e6)
_FAST: Final = 11
"""`quick` takes one story in so many: an odd number, so that both streams have some."""


def run(report: Callable[[str], None], quick: bool = False) -> dict[str, Any]:
    """Join the news by each policy and on Spark; `quick` a part of it, and not on Spark."""
    path = Path(os.environ.get("STREAMJOIN_DATA", "")) / FILE
    if not path.is_file():
        report(f"news: skipped, for STREAMJOIN_DATA names no folder with {FILE}")
        return {"bench": "news", "rows": [], "ratios": {}}
    stories = keywords(pq.read_table(path, columns=["newid", "ts", "title", "body"]))
    rows = in_virtual_time(stories.take(np.arange(0, len(stories), _FAST)) if quick else stories)
    for row in rows:
        report(f"{row['policy']:10} recall {row['recall']:.3f}")
    if not quick:
        with tempfile.TemporaryDirectory(prefix="sj-data-") as work:
            _record(stories, Path(work))
            rows.append(in_process("streamjoin.bench.news", {"folder": work}, "news"))
        report(f"on Spark   recall {rows[-1]['recall']:.3f}")
    found = {row["policy"]: row["recall"] for row in rows if row["engine"] == "virtual time"}
    ratios = {f"{policy}/drop": found[policy] / found["drop"] for policy in POLICIES[:-1]}
    return {"bench": "news", "rows": rows, "ratios": ratios}


def keywords(table: pa.Table) -> pa.Table:
    """Stories with a time, in its order: their number, and the numbers of their distinct words.

    Examples
    --------
    >>> story = {"newid": [7], "ts": pa.array([5], pa.timestamp("us"))}
    >>> keywords(pa.table({**story, "title": ["GRAIN, grain"], "body": ["ships 3"]})).to_pylist()
    [{'id': 7, 't': datetime.datetime(1970, 1, 1, 0, 0, 0, 5), 's': [0, 1]}]
    """
    table = table.filter(pc.is_valid(table["ts"])).sort_by("ts").combine_chunks()
    text = pc.utf8_lower(pc.binary_join_element_wise(table["title"], table["body"], " "))
    split = pc.split_pattern_regex(text.combine_chunks(), "[^a-z]+")
    story, words = pc.list_parent_indices(split), pc.list_flatten(split)
    long = pc.greater_equal(pc.utf8_length(words), 5)
    numbers = words.filter(long).dictionary_encode().indices.to_numpy()
    pairs = np.unique(np.asarray(story.filter(long)).astype(np.int64) * (len(words) + 1) + numbers)
    story_of, number = np.divmod(pairs, len(words) + 1)
    frequent = np.argsort(-np.bincount(number), kind="stable")[:COMMON_WORDS]
    if table.num_rows > COMMON_WORDS:
        rare = ~np.isin(number, frequent)
        story_of, number = story_of[rare], number[rare]
    offsets = np.searchsorted(story_of, np.arange(table.num_rows + 1)).astype(np.int32)
    sets = pa.ListArray.from_arrays(pa.array(offsets), pa.array(number.astype(np.int32)))
    return pa.table({"id": table["newid"], "t": table["ts"], "s": sets})


def in_virtual_time(stories: pa.Table) -> list[dict[str, Any]]:
    """Recall of each policy with a quarter of the comparisons."""
    left, right = (_trace(side) for side in _by_number(stories))
    full = selective_window_join(left, right, _settings("full"))
    rows = []
    for policy in POLICIES:
        done = selective_window_join(left, right, _settings(policy, SHARE))
        rows.append(
            {
                "engine": "virtual time",
                "policy": policy,
                "recall": done.total("outputs") / full.total("outputs"),
                "results": round(full.total("outputs")),
                "comparisons": done.total("comparisons") / full.total("comparisons"),
            }
        )
    return rows


def _settings(policy: Any, fraction: float | None = None) -> SelectiveJoin:
    return SelectiveJoin(
        windows_us=(_WINDOW_US, _WINDOW_US),
        policy=policy,
        basic_us=_WINDOW_US // 20,
        threshold=IN_COMMON,
        index="inverted-time",
        fraction=fraction,
        rate_period_us=_WINDOW_US // 4,  # as in the paper: 5 s for windows of 20 s
        correlation_period_us=_WINDOW_US // 4,
    )


def _by_number(stories: pa.Table) -> list[pa.Table]:
    odd = np.asarray(stories["id"]) % 2 == 1
    return [stories.filter(pa.array(side)) for side in (odd, ~odd)]


def _trace(stories: pa.Table) -> SetTrace:
    times = np.asarray(stories["t"].cast(pa.int64()))
    sets = stories["s"].combine_chunks()
    begin = 541_000_000_000_000  # in February 1987
    offsets = np.asarray(sets.offsets).astype(np.int64)
    return SetTrace(
        (times - begin) // _HOUR, offsets - offsets[0], np.asarray(sets.flatten()).astype(np.int64)
    )


def _record(stories: pa.Table, folder: Path) -> None:
    stories = stories.set_column(1, "t", stories["t"].cast(pa.timestamp("us", "UTC")))
    for name in "lr":
        (folder / name).mkdir()
    for at in range(0, len(stories), STORIES):
        for name, side in zip("lr", _by_number(stories.slice(at, STORIES)), strict=True):
            pq.write_table(side, folder / name / f"{at:06d}.parquet")


def _on_spark(folder: Path, work: Path) -> dict[str, Any]:
    conf = {**SETTINGS, "spark.sql.streaming.checkpointLocation": str(work)}
    spark = start_session("news", master="local[2]", conf=conf, log=work / "log")

    def counts(checkpoint: str, budget: Budget | None) -> tuple[JoinMetrics, int]:
        left, right = (
            spark.readStream.schema("id int, t timestamp, s array<int>")
            .option("maxFilesPerTrigger", 1)
            .parquet(str(folder / name))
            for name in "lr"
        )
        joined = join(
            left, right, where=f"overlap(left.s, right.s) >= {IN_COMMON}", time="t", window=WINDOW,
            lateness=LATENESS, budget=budget,
        )  # fmt: skip
        writer = joined.writeStream.format("noop").trigger(availableNow=True)
        query = writer.option("checkpointLocation", str(work / checkpoint)).start()
        query.awaitTermination()
        seen = [p["observedMetrics"]["streamjoin"] for p in query.recentProgress][COLD:]
        all_ = [{name: row[COUNTERS_FIELD][name] for name in METRIC_NAMES} for row in seen]
        return sum((JoinMetrics(**each) for each in all_), JoinMetrics()), len(all_)

    exact, batches = counts("exact", None)
    allowed = SHARE * exact.cpu_us
    found, _ = counts("quarter", Budget(cpu=timedelta(microseconds=allowed / batches)))
    return {
        "engine": "Spark",
        "policy": "best",
        "recall": found.pairs / exact.pairs,
        "results": exact.pairs,
        "comparisons": (found.compared_left + found.compared_right)
        / (found.compared_left + found.compared_right + found.skipped_left + found.skipped_right),
        "recall_estimated": found.recall,
        "recall_error": found.recall_error,
        "cpu_used/allowed": found.cpu_us / allowed,
    }


def _main() -> None:
    folder = Path(json.loads(sys.stdin.read())["folder"])
    work = Path(tempfile.mkdtemp(prefix="sj-bench-"))
    try:
        sys.stdout.write(json.dumps(_on_spark(folder, work)) + "\n")
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    _main()
