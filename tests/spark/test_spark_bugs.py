"""What users of Spark's own stream-stream joins ran into, each as a test of ours.

Rows are (name, key, time in seconds). Results are pairs of names, batch by batch, with None where
there is no partner; the local runner must give the same ones.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import streamjoin as sj
from streamjoin.local import LocalJoin
from tests.spark.streams import drain, read_back, read_stream, write_batches

SCHEMA = pa.schema({"name": pa.string(), "k": pa.int64(), "t": pa.timestamp("us", "UTC")})
Rows = list[tuple[str, int | None, float]]
Pairs = list[tuple[str | None, str | None]]


def table(rows: Rows) -> pa.Table:
    names, keys, times = zip(*rows, strict=True) if rows else ((), (), ())
    columns = names, keys, [round(t * 1e6) for t in times]
    arrays = [pa.array(c, field.type) for c, field in zip(columns, SCHEMA, strict=True)]
    return pa.table(arrays, schema=SCHEMA)


def pairs(rows: list[dict[str, Any]]) -> Pairs:
    return sorted(((row["name_left"], row["name_right"]) for row in rows), key=str)


class Query:
    """A join over two folders; `run` takes in what is new there and stops, as a restart does."""

    def __init__(self, spark: SparkSession, folder: Path, **arguments: Any) -> None:
        self.spark, self.folder = spark, folder
        self.arguments = {"on": "k", "time": "t", **arguments}
        self.local = LocalJoin(SCHEMA, SCHEMA, **self.arguments)
        self.fed = 0

    def run(self, *batches: tuple[Rows, Rows]) -> list[Pairs]:
        tables = [(table(left), table(right)) for left, right in batches]
        for side, name in enumerate(("l", "r")):
            write_batches(self.folder / name, [t[side] for t in tables], first=self.fed)
        self.fed += len(batches)
        found = self._drain()
        assert found == [pairs(self.local.push(*t).to_pylist()) for t in tables]
        return found

    def _drain(self) -> list[Pairs]:
        left, right = (read_stream(self.spark, self.folder / name) for name in ("l", "r"))
        found: list[Pairs] = []

        def keep(batch: DataFrame, _: int) -> None:
            found.append(pairs([row.asDict() for row in batch.collect()]))

        query = (
            sj.join(left, right, **self.arguments)
            .writeStream.foreachBatch(keep)
            .option("checkpointLocation", str(self.folder / "ck"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return found


def test_each_side_is_forgotten_by_its_own_window(spark: SparkSession, tmp_path: Path) -> None:
    """State removed by the wrong side's watermark (SPARK-46350, SPARK-41411).

    ::

        left remembers 100 s    a@50 --------------------------------> 150
        right remembers 1 s     x@50 > 51                 p@120   y@150
    """
    query = Query(spark, tmp_path, how="full", window=("100 seconds", "1 second"))
    found = query.run(
        ([("a", 1, 50), ("far ahead", 8, 1000)], [("x", 2, 50)]),
        ([], [("p", 9, 120)]),  # x is over, a is not, though left itself has long been at 1000
        ([], [("y", 1, 150)]),
        ([("end", 8, 1200)], [("end", 9, 1200)]),
    )
    assert found == [[], [(None, "x")], [("a", "y"), (None, "p")], [("far ahead", None)]]


def test_pairs_at_the_very_edge_of_a_window(spark: SparkSession, tmp_path: Path) -> None:
    """Rows lost at the boundary of a window: state goes one step too early.

    The watermark stands exactly at the end of the windows of a (10 + 5) and x (10 + 3) when the
    last row that they can meet comes; a microsecond later there is nothing to meet.
    """
    query = Query(spark, tmp_path, how="full", window=("5 seconds", "3 seconds"))
    found = query.run(
        ([("a", 1, 10)], [("x", 2, 10)]),
        ([("p", 7, 13)], [("q", 8, 13)]),
        ([("edge", 2, 13), ("over", 2, 13.000001)], []),
        ([("r", 7, 15)], [("s", 8, 15)]),
        ([], [("edge", 1, 15), ("over", 1, 15.000001)]),
    )
    assert found == [[], [], [("edge", "x")], [], [("a", "edge")]]


def test_a_row_as_old_as_the_watermark_is_in_time(spark: SparkSession, tmp_path: Path) -> None:
    """Rows with the newest time of the batch before were dropped (apache/spark pull 56043)."""
    query = Query(spark, tmp_path, how="left", window="5 seconds", lateness="0 seconds")
    found = query.run(
        ([("a", 1, 10)], [("x", 2, 10)]),
        ([("b", 2, 10), ("late", 2, 9.999999)], [("y", 1, 10)]),
        ([("end", 9, 20)], [("end", 8, 20)]),
    )
    assert found == [[], [("a", "y"), ("b", "x")], []]
    assert query.local.total.late_left == 1


def test_a_matched_row_never_comes_with_nulls(spark: SparkSession, tmp_path: Path) -> None:
    """Nulls for rows that had matched (SPARK-26154, SPARK-26187): the partner left state before."""
    query = Query(spark, tmp_path, how="left", window=("5 seconds", None))
    found = query.run(
        ([("a", 1, 10)], [("x", 1, 10)]),
        ([("p", 8, 12)], [("q", 9, 12)]),  # x is over
        ([("r", 8, 20)], [("s", 9, 20)]),  # a is over
    )
    assert found == [[("a", "x")], [], [("p", None)]]


def test_null_keys_and_rows_that_the_watermark_of_their_own_batch_passes(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Null keys that equal each other: Spark 4.3's own full join gives the pair (a, x).

    And, in the second batch, rows that never met those of the same batch, nor came with nulls
    (SPARK-49829).
    """
    query = Query(spark, tmp_path, how="full", window="5 seconds")
    found = query.run(
        ([("a", None, 10), ("b", 1, 10)], [("x", None, 10), ("y", 1, 10)]),
        (
            [("a", 4, 10), ("alone", 2, 10), ("end", 8, 999)],
            [("x", 4, 12), ("lonely", 3, 10), ("end", 9, 999)],
        ),
    )
    assert found == [
        [("a", None), ("b", "y"), (None, "x")],
        [("a", "x"), ("alone", None), (None, "lonely")],
    ]


def test_rows_added_while_others_of_their_key_leave(spark: SparkSession, tmp_path: Path) -> None:
    """Rows lost, or with each other's values (SPARK-38684, SPARK-32148)."""
    query = Query(spark, tmp_path, how="full", window="5 seconds")
    found = query.run(
        ([("a", 1, 0), ("b", 1, 1)], [("x", 2, 0)]),
        ([("c", 1, 10), ("d", 1, 11)], [("y", 2, 10), ("z", 1, 30)]),
        ([("e", 1, 30)], [("w", 2, 30)]),
        ([("end", 8, 99)], [("end", 9, 99)]),
    )
    assert found == [
        [],
        [("a", None), ("b", None), (None, "x")],
        [("c", None), ("d", None), ("e", "z"), (None, "y")],
        [(None, "w")],
    ]


def test_rows_without_partner_need_no_further_batch(spark: SparkSession, tmp_path: Path) -> None:
    """Rows held back until more data comes, though their window is over (SPARK-24158)."""
    query = Query(spark, tmp_path, how="left", window="5 seconds", lateness="1 second")
    found = query.run(
        ([("a", 1, 10), ("b", 1, 11)], [("x", 2, 10)]),
        ([("p", 7, 16.000001)], [("q", 8, 17)]),  # the watermark is past 15 from here on: a
    )
    assert found == [[], [("a", None)]]


def test_batches_that_bring_nothing_of_one_side(spark: SparkSession, tmp_path: Path) -> None:
    """Rows without partner lost, or given too early, where a side is silent (SPARK-24158)."""
    query = Query(spark, tmp_path, how="full", window="5 seconds")
    found = query.run(
        ([("a", 1, 0)], []),  # without any row of right there is no watermark
        ([("b", 1, 100)], []),
        ([], [("x", 1, 3)]),  # the watermark is 3: a may still meet rows, and does
        ([], [("y", 2, 50)]),
        ([], [("z", 2, 200)]),
        ([("c", 3, 300)], []),
    )
    assert found == [[], [], [("a", "x")], [], [(None, "y")], [("b", None)]]


def test_a_restart_at_every_batch_repeats_no_nulls(spark: SparkSession, tmp_path: Path) -> None:
    """Null-extended rows twice, or not at all, after a restart (SPARK-26154, SPARK-32794)."""
    rng = np.random.default_rng(5)

    def rows(side: str, i: int) -> Rows:
        times, keys = rng.integers(10 * i, 10 * i + 14, 12), rng.integers(0, 9, 12)
        return [(f"{side}{i} {n}", int(keys[n]), int(times[n])) for n in range(12)]

    batches = [(rows("l", i), rows("r", i)) for i in range(3)]
    query = Query(spark, tmp_path, how="full", window="3 seconds", lateness="4 seconds")
    found = [query.run(batch) for batch in batches]
    flat = [pair for run in found for batch in run for pair in batch]
    alone = [pair for pair in flat if None in pair]
    assert len(set(flat)) == len(flat) > 20
    assert len(alone) > 8
    met = {name for left, right in flat if left and right for name in (left, right)}
    assert not met.intersection(left or right for left, right in alone)


def test_a_chain_of_outer_joins_loses_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """Null-extended rows of one join are late for the next (SPARK-28074, SPARK-45637).

    Rows without partner leave the first join up to its window and lateness behind the newest; a
    lateness of the second that covers that loses none.
    """
    streams: dict[str, list[Rows]] = {
        "a": [[("a1", 1, 10), ("a2", 2, 10)], [("a3", 3, 16)], [("end", 9, 99)], [("end", 9, 999)]],
        "b": [[("b1", 1, 12)], [("b3", 3, 16.5)], [("end", 8, 99)], [("end", 8, 999)]],
        "c": [[("c2", 2, 10)], [("c3", 3, 17)], [("end", 7, 99)], [("end", 7, 999)]],
    }
    a, b, c = (
        read_stream(spark, write_batches(tmp_path / name, [table(rows) for rows in batches]))
        for name, batches in streams.items()
    )
    first = sj.join(a, b, on="k", time="t", window="5 seconds", how="left", name="first")
    first = first.select("k", "name_left", "name_right", first.t_left.alias("t"))
    both = sj.join(
        first, c, on="k", time="t", window="5 seconds", how="left", lateness="60 seconds",
    )  # fmt: skip
    drain(both, tmp_path / "ck", tmp_path / "out")
    found = [
        (r["name_left"], r["name_right"], r["name"]) for r in read_back(spark, tmp_path / "out")
    ]
    assert sorted(found, key=str) == [("a1", "b1", None), ("a2", None, "c2"), ("a3", "b3", "c3")]
