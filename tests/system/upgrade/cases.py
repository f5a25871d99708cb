"""Joins whose checkpoints are kept, over the same streams, in words that every version knows.

A stream has one file for each batch. Whoever writes a checkpoint joins the first two batches and is
stopped in the third; whoever goes on has the third to run again, and a fourth.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import streamjoin as sj
from tests.spark.streams import read_stream, write_batches

SECOND: Final = 1_000_000
STEP: Final = 10 * SECOND
"""Time that one batch brings."""
STREAMS: Final = "abc"
BEFORE, STOPPED, BATCHES = 2, 3, 4
WINDOW_SECONDS: Final = 8
LATENESS_SECONDS: Final = 10
KEYS: Final = 6
ON_TWO_KEYS: Final = ["a.x = b.x", "b.y = c.y"]
"""Two operators, one after the other."""
_TIMES: Final[dict[str, Any]] = {
    "time": "t",
    "window": f"{WINDOW_SECONDS} seconds",
    "lateness": f"{LATENESS_SECONDS} seconds",
}


def write_streams(folder: Path, first: int, last: int) -> None:
    """Files of all streams; `n` numbers the rows of a stream."""
    for seed, name in enumerate(STREAMS):
        write_batches(folder / name, [_batch(seed, i) for i in range(first, last)], first)


def _batch(seed: int, number: int, n: int = 20) -> pa.Table:
    """Rows in disorder, some without a key."""
    rng = np.random.default_rng([seed, number])
    times = rng.integers(number * STEP, (number + 1) * STEP, n)
    return pa.table(
        {
            "x": pa.array(rng.integers(0, KEYS, n), pa.int64(), mask=rng.random(n) < 0.05),
            "y": pa.array(rng.integers(0, KEYS, n), pa.int64()),
            "t": pa.array(times, pa.timestamp("us", "UTC")),
            "n": 1000 * number + np.arange(n),
        }
    )


def write_table(folder: Path) -> None:
    """A table with a row for most keys."""
    folder.mkdir()
    rows = pa.table({"x": pa.array(range(KEYS - 1), pa.int64()), "word": list("uvwyz")})
    pq.write_table(rows, folder / "words.parquet", row_group_size=1)


def _two(how: str) -> Callable[[SparkSession, Path], DataFrame]:
    def joined(spark: SparkSession, base: Path) -> DataFrame:
        left, right = (read_stream(spark, base / name) for name in "ab")
        return sj.join(left, right, on="x", how=how, shards=2, **_TIMES)

    return joined


def _many(**settings: Any) -> Callable[[SparkSession, Path], DataFrame]:
    def joined(spark: SparkSession, base: Path) -> DataFrame:
        streams = {name: read_stream(spark, base / name) for name in STREAMS}
        return sj.multi_join(streams, shards=2, **_TIMES, **settings)

    return joined


def _table(spark: SparkSession, base: Path) -> DataFrame:
    """With so long a wait that rows wait when the query stops."""
    return sj.table_join(
        read_stream(spark, base / "a"),
        sj.parquet_table(base / "table", key="x"),
        on="x",
        how="left",
        algorithm="hybridjoin",
        max_wait="1 hour",
        index_folder=base / "index",
        shards=2,
    )


CASES: Final[dict[str, Callable[[SparkSession, Path], DataFrame]]] = {
    "inner": _two("inner"),
    "full": _two("full"),
    "plan": _many(on=ON_TWO_KEYS, plan="(a b) c"),
    "nary": _many(on="x", strategy="mjoin"),
    "table": _table,
}
