"""The same queries for a cluster and for local mode; as a program, they run on a cluster.

``python -m tests.system.cluster.queries MASTER FOLDER NAME ...`` joins the streams of FOLDER/in and
leaves the results of each query in FOLDER/cluster/NAME.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import streamjoin as sj
from streamjoin.spark.session import start_session
from tests.spark.streams import drain, read_stream, write_batches

N_BATCHES, N_ROWS, N_KEYS = 12, 300, 15
SETTINGS = {
    "spark.driver.memory": "1g",
    "spark.executor.memory": "800m",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.session.timeZone": "UTC",
    "spark.task.maxFailures": "8",
}


def write_streams(folder: Path) -> None:
    """Three streams and a table."""
    rng = np.random.default_rng(3)

    def batch(i: int) -> pa.Table:
        t = np.sort(rng.integers(i * 1000, (i + 1) * 1000, N_ROWS))
        columns = {"k": rng.integers(0, N_KEYS, N_ROWS), "id": rng.integers(0, 10**9, N_ROWS)}
        return pa.table({**columns, "t": pa.array(t, pa.timestamp("us", "UTC"))})

    folder.mkdir()
    for name in "abc":
        write_batches(folder / name, [batch(i) for i in range(N_BATCHES)])
    keys = pa.array(range(0, N_KEYS, 2))
    write_batches(folder / "table", [pa.table({"k": keys, "name": keys.cast(pa.string())})])


def inner(spark: SparkSession, folder: Path) -> DataFrame:
    """In small batches, so that there is time to kill an executor between them."""
    a, b = (read_stream(spark, folder / name) for name in "ab")
    return sj.join(a, b, on="k", time="t", window="1 ms", lateness="1 ms")


def outer(spark: SparkSession, folder: Path) -> DataFrame:
    a, b = (read_stream(spark, folder / name, 6) for name in "ab")
    return sj.join(a, b, on="k", time="t", window="30 microseconds", how="full")


def three(spark: SparkSession, folder: Path) -> DataFrame:
    streams = {name: read_stream(spark, folder / name, 6) for name in "abc"}
    on = ["a.k = b.k", "b.k = c.k"]
    return sj.multi_join(streams, on=on, time="t", window="200 microseconds", lateness="1 ms")


def table(spark: SparkSession, folder: Path) -> DataFrame:
    rows = sj.parquet_table(str(folder / "table"), key="k")
    return sj.table_join(read_stream(spark, folder / "a", 6), rows, on="k", how="left")


QUERIES: dict[str, Callable[[SparkSession, Path], DataFrame]] = {
    each.__name__: each for each in (outer, three, table, inner)
}


def run(spark: SparkSession, folder: Path, name: str, where: str) -> Path:
    """Run a query over all that is there; the folder of its results."""
    out = folder / where / name
    drain(QUERIES[name](spark, folder / "in"), out / "checkpoint", out / "rows")
    return out / "rows"


def _main() -> None:
    master, folder, *names = sys.argv[1:]
    spark = start_session("tests on a cluster", master=master, conf=SETTINGS)
    for name in names:
        run(spark, Path(folder), name, "cluster")
    print("partitions:", spark.conf.get("spark.sql.shuffle.partitions"))  # noqa: T201
    spark.stop()


if __name__ == "__main__":
    _main()
