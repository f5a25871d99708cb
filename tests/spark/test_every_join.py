"""Every type of join, window and predicate on real Spark: stream = local = oracle = batch."""

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import streamjoin as sj
from streamjoin import oracle
from tests.joins.feeding import local_join, push
from tests.spark.streams import drain, observed, read_back, read_stream, write_batches
from tests.spark.test_join import SLOW
from tests.strategies import (
    SCHEMA_X,
    TIME_WINDOWS,
    Case,
    Condition,
    Ids,
    Row,
    cases,
    result_ids,
    table,
)

NO_LIMIT = 10**6
Streams = tuple[DataFrame, DataFrame]


def streams(spark: SparkSession, case: Case, folder: Path) -> Streams:
    left, right = (
        read_stream(
            spark, write_batches(folder / name, [table(b[s], SCHEMA_X) for b in case.batches])
        )
        for s, name in enumerate(("left", "right"))
    )
    return left, right


def ids(rows: list[dict[str, Any]], how: str) -> Ids:
    if how in ("semi", "anti"):
        return Counter((row["id"], None) for row in rows)
    return Counter((row["id_left"], row["id_right"]) for row in rows)


@SLOW
@given(case=cases(batches=st.integers(2, 4)))
def test_a_stream_gives_what_the_oracle_says(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, case: Case
) -> None:
    folder = tmp_path_factory.mktemp("sj")
    result = sj.join(*streams(spark, case, folder), **case.arguments())
    query = drain(result, folder / "ck", folder / "out")
    assert ids(read_back(spark, folder / "out"), case.how) == sum(case.answers()[:-1], Counter())
    local = local_join(case)
    for number in range(len(case.batches)):
        push(local, case, number)
    seen = observed(query)
    for name in ("rows_left", "late_left", "late_right", "pairs", "alone_left", "rows_out"):
        assert seen.get(name, 0) == getattr(local.total, name), name


@SLOW
@given(case=cases())
def test_tables_give_what_streams_would(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, case: Case
) -> None:
    assert_tables_give_all(spark, tmp_path_factory.mktemp("sj"), case)


@SLOW
@given(case=cases(TIME_WINDOWS, how="asof"))
def test_tables_as_of(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, case: Case
) -> None:
    assert_tables_give_all(spark, tmp_path_factory.mktemp("sj"), case)


def assert_tables_give_all(spark: SparkSession, folder: Path, case: Case) -> None:
    sides = [[row for batch in case.batches for row in batch[s]] for s in (0, 1)]
    frames = []
    for name, rows in zip(("left", "right"), sides, strict=True):
        pq.write_table(table(rows, SCHEMA_X), folder / f"{name}.parquet")
        frames.append(spark.read.parquet(str(folder / f"{name}.parquet")))
    result = sj.join(*frames, **case.arguments())
    assert not result.isStreaming
    found = oracle.join(*sides, **case.settings(), how=case.how, direction=case.direction)
    assert ids([row.asDict() for row in result.collect()], case.how) == result_ids(found)


def random_batches(
    n_batches: int = 3, n: int = 60, keys: int = 6, most: int = 20
) -> list[tuple[list[Row], list[Row]]]:
    """Two streams out of order by up to 40, with null keys, and numbers `x` below `most`."""
    rng = random.Random(11)

    def rows(side: int, batch: int) -> list[Row]:
        return [
            {
                "k": rng.choice([None, *range(keys)]),
                "t": 100 * batch + rng.randrange(100) - rng.randrange(40),
                "x": rng.randrange(most),
                "id": 10_000 * side + 100 * batch + i,
                "s": "s",
            }
            for i in range(n)
        ]

    return [(rows(0, batch), rows(1, batch)) for batch in range(n_batches)]


CLOSE = Condition("abs(left.x - right.x) <= 2", lambda a, b: abs(a["x"] - b["x"]) <= 2)
RESTARTED = [
    Case(random_batches(keys=40), (30, 50), "full", lateness=40),
    Case(random_batches(keys=40), (sj.rows(20), 50), "left", lateness=40),
    Case(random_batches(keys=40), (30, 50), "asof", direction="nearest", lateness=40),
    Case(random_batches(most=400), (30, 50), "anti", keyed=False, where=CLOSE, lateness=10),
]


@pytest.mark.parametrize("case", RESTARTED, ids=lambda case: f"{case.how}-{case.window[0]}")
def test_restarts_lose_and_repeat_nothing(spark: SparkSession, tmp_path: Path, case: Case) -> None:
    """Also rows without a partner and rows held back, which only the state remembers."""
    for number, batch in enumerate(case.batches):
        if number == 2:
            run(spark, case, tmp_path)
        for side, name in enumerate(("l", "r")):
            write_batches(tmp_path / name, [table(batch[side], SCHEMA_X)], first=number)
    run(spark, case, tmp_path)
    found = ids(read_back(spark, tmp_path / "out"), case.how)
    assert found == sum(case.answers()[:-1], Counter())


def run(spark: SparkSession, case: Case, folder: Path, **more: Any) -> StreamingQuery:
    left, right = (read_stream(spark, folder / name) for name in ("l", "r"))
    result = sj.join(left, right, **{**case.arguments(), **more})
    return drain(result, folder / "ck", folder / "out")


def test_late_rows_are_kept_apart_once(spark: SparkSession, tmp_path: Path) -> None:
    case = Case(random_batches(), (30, 50), "left", lateness=5)
    for number, batch in enumerate(case.batches):
        for side, name in enumerate(("l", "r")):
            write_batches(tmp_path / name, [table(batch[side], SCHEMA_X)], first=number)
        if number in (1, 2):
            run(spark, case, tmp_path, late_rows=str(tmp_path / "late"))
    _, late = case.split_late()
    # A right row without a key cannot take part in this join, so it cannot be late for it.
    wanted = late[0], [row for row in late[1] if row["k"] is not None]
    for side, name in enumerate(("left", "right")):
        kept = spark.read.parquet(str(tmp_path / "late" / name)).collect()
        assert Counter(row.id for row in kept) == Counter(row["id"] for row in wanted[side])
        assert all(row.late_by > 0 for row in kept)
    first = spark.read.parquet(str(tmp_path / "late" / "left"))
    assert first.columns == [*SCHEMA_X.names, "late_by"]


def test_spark_evaluates_the_rest_of_an_inner_join(spark: SparkSession, tmp_path: Path) -> None:
    case = Case(
        random_batches(2),
        (40, 40),
        where=Condition(
            "left.x < right.x AND sqrt(left.x) + length(right.s) > 3 AND left.k IS NOT NULL",
            lambda a, b: a["x"] < b["x"] and a["x"] ** 0.5 + len(b["s"]) > 3,
        ),
        lateness=NO_LIMIT,
    )
    result = sj.join(*streams(spark, case, tmp_path), **case.arguments())
    drain(result, tmp_path / "ck", tmp_path / "out")
    found = ids(read_back(spark, tmp_path / "out"), case.how)
    assert found == sum(case.answers()[:-1], Counter())
    assert len(found) > 20


def test_a_silent_side_is_given_up_on(spark: SparkSession, tmp_path: Path) -> None:
    """Left rows come out alone although the right stream has ended; what it cost is counted."""

    def one(t: int, side: int = 0) -> pa.Table:
        return table([{"k": 1, "t": t, "x": 0, "id": 1000 * side + t, "s": ""}], SCHEMA_X)

    nothing = table([], SCHEMA_X)
    write_batches(tmp_path / "l", [one(t) for t in (0, 100, 200, 300, 400)])
    write_batches(tmp_path / "r", [one(0, 1), nothing, nothing, nothing, one(150, 1)])
    left, right = (read_stream(spark, tmp_path / name) for name in ("l", "r"))
    result = sj.join(
        left, right, on="k", time="t", window="10 microseconds", how="left",
        idle_timeout="1 microsecond",
    )  # fmt: skip
    query = drain(result, tmp_path / "ck", tmp_path / "out")
    seen = observed(query)
    found = ids(read_back(spark, tmp_path / "out"), "left")
    assert {(0, 1000), (100, None), (200, None)} <= set(found)
    assert (seen["late_right"], seen["idle_late_right"]) == (1, 1)


def test_a_merged_key_comes_from_the_side_that_is_there(
    spark: SparkSession, tmp_path: Path
) -> None:
    left = spark.sql("SELECT 1 AS k, TIMESTAMP'2026-01-01' AS t, 'a' AS l")
    right = spark.sql("SELECT CAST(5000000000 AS BIGINT) AS k, TIMESTAMP'2026-01-01' AS t")
    both = sj.join(left, right, on="k", time="t", window="1 s", how="full")
    assert both.columns == ["k", "t_left", "l", "t_right"]
    assert dict(both.dtypes)["k"] == "bigint"
    assert {(row.k, row.l) for row in both.collect()} == {(1, "a"), (5_000_000_000, None)}


def test_nested_columns_of_rows_without_a_partner(spark: SparkSession, tmp_path: Path) -> None:
    left = spark.sql("SELECT 1 AS k, TIMESTAMP'2026-01-01' AS t, array(1, 2) AS xs")
    right = spark.sql("SELECT 2 AS k, TIMESTAMP'2026-01-01' AS t, map('a', 1) AS m")
    both = sj.join(left, right, on="k", time="t", window="1 s", how="full").collect()
    assert {(row.k, str(row.xs), str(row.m)) for row in both} == {
        (1, "[1, 2]", "None"),
        (2, "None", "{'a': 1}"),
    }
