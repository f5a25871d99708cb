"""Joins of many streams on Spark: the oracle's results, from start to restart."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import streamjoin as sj
from streamjoin import oracle
from tests.spark.streams import drain, observed, read_back, read_stream, write_batches

SECOND = 1_000_000
NAMES = "abcde"
STEP = 10 * SECOND
"""Time that one batch brings."""
Numbers = Counter[tuple[int, ...]]


def batch(seed: int, number: int, n: int = 15, keys: int = 5) -> pa.Table:
    """Rows in disorder, some without a key, all within one step; `n` numbers them."""
    rng = np.random.default_rng([seed, number])
    x = rng.integers(0, keys, n)
    times = rng.integers(number * STEP, (number + 1) * STEP, n)
    return pa.table(
        {
            "x": pa.array(x, pa.int64(), mask=rng.random(n) < 0.05),
            "y": pa.array([f"y{i}" for i in rng.integers(0, keys, n)]),
            "t": pa.array(times, pa.timestamp("us", "UTC")),
            "n": 1000 * number + np.arange(n),
            "nested": pa.array([{"id": i, "of": [str(i)]} for i in range(n)]),
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two batches of each stream."""
    base = tmp_path_factory.mktemp("streams")
    for seed, name in enumerate(NAMES):
        write_batches(base / name, [batch(seed, i) for i in range(2)])
    return base


def streams_of(spark: SparkSession, folder: Path, names: str, *columns: str) -> dict[str, Any]:
    chosen = columns or ("x", "y", "t", "n")
    return {name: read_stream(spark, folder / name).select(*chosen) for name in names}


def expected(folder: Path, names: str, on: Any, seconds: dict[str, int]) -> Numbers:
    rows = {name: pq.read_table(folder / name).to_pylist() for name in names}
    for of in rows.values():
        for row in of:
            row["t"] = round(row["t"].timestamp() * SECOND)
    if isinstance(on, str):
        on = [f"{names[0]}.{on} = {other}.{on}" for other in names[1:]]
    equal: Any = [[tuple(end.split(".")) for end in text.split(" = ")] for text in on]
    window = {name: seconds[name] * SECOND for name in names}
    found = oracle.multi_join(rows, on=equal, time=dict.fromkeys(names, "t"), window=window)
    return Counter(tuple(one[name]["n"] for name in names) for one in found)


def numbers(rows: list[dict[str, Any]], names: str) -> Numbers:
    return Counter(tuple(row[f"{name}_n"] for name in names) for row in rows)


WINDOWS = {"a": 8, "b": 5, "c": 12, "d": 3, "e": 6}
TWO_KEYS = ["a.x = b.x", "b.x = c.x", "c.y = d.y"]
CASES = {
    "one key, no plan": ("abc", "x", None, 1),
    "strings, bushy": ("abcd", "y", "(a c) (b d)", 1),
    "three operators, bushy": ("abcde", [*TWO_KEYS, "d.x = e.x"], "((a b) c) (d e)", 3),
}


@pytest.mark.parametrize("case", CASES)
def test_spark_equals_the_oracle(
    spark: SparkSession, folder: Path, tmp_path: Path, case: str
) -> None:
    names, on, plan, operators = CASES[case]
    nested = () if case == "one key, no plan" else ("x", "y", "t", "n", "nested")
    streams = streams_of(spark, folder, names, *nested)
    windows = {name: f"{WINDOWS[name]} seconds" for name in names}
    settings: dict[str, Any] = {
        "on": on, "time": "t", "window": windows, "plan": plan, "lateness": "10 seconds",
    }  # fmt: skip
    out = sj.multi_join(streams, shards=3, **settings)
    query = drain(out, tmp_path / "ck", tmp_path / "out")
    found, wanted = read_back(spark, tmp_path / "out"), expected(folder, names, on, WINDOWS)
    assert numbers(found, names) == wanted
    assert len(wanted) > 10
    if nested:
        assert all(
            row[f"{name}_nested"]
            == {"id": row[f"{name}_n"] % 1000, "of": [str(row[f"{name}_n"] % 1000)]}
            for row in found
            for name in names
        )
    seen = [observed(query, f"streamjoin {i}") for i in range(1, operators)] + [observed(query)]
    assert seen[-1]["rows_out"] == wanted.total()
    assert sum(one.get(f"rows_{name}", 0) for one in seen for name in names) == 30 * len(names)
    assert sum(one[f"late_{name}"] for one in seen for name in names if f"late_{name}" in one) == 0
    if operators == 1 and nested:
        return  # tables are joined in the other cases
    tables = {n: spark.read.parquet(str(folder / n)).select("x", "y", "t", "n") for n in names}
    together = sj.multi_join(tables, **settings)
    assert numbers([row.asDict() for row in together.collect()], names) == wanted


def test_a_restart_in_the_middle_loses_and_repeats_nothing(
    spark: SparkSession, tmp_path: Path
) -> None:
    names, on = "abcd", TWO_KEYS
    for part in ([0], [1]):
        for seed, name in enumerate(names):
            new = [batch(seed, i) for i in part]
            write_batches(tmp_path / name, new, first=part[0])
        out = sj.multi_join(
            streams_of(spark, tmp_path, names), on=on, time="t", window="6 seconds",
            lateness="10 seconds",
        )  # fmt: skip
        query = drain(out, tmp_path / "ck", tmp_path / "out")
        assert len(query.recentProgress) == len(part)
    wanted = expected(tmp_path, names, on, dict.fromkeys(names, 6))
    assert numbers(read_back(spark, tmp_path / "out"), names) == wanted
    other = sj.multi_join(
        streams_of(spark, tmp_path, names), on=on, time="t", window="7 seconds",
        lateness="10 seconds",
    )  # fmt: skip
    write_batches(tmp_path / "a", [batch(0, 2)], first=2)
    with pytest.raises(StreamingQueryException) as refused:
        drain(other, tmp_path / "ck", tmp_path / "out2")
    said = "the checkpoint was written by another join: a window was '6 seconds' and is"
    assert said in str(refused.value)


def rows(*values: tuple[int, float]) -> pa.Table:
    """Rows (key, second), numbered."""
    times = pa.array([round(t * SECOND) for _, t in values], pa.timestamp("us", "UTC"))
    return pa.table({"k": [k for k, _ in values], "t": times, "n": range(len(values))})


def written(
    spark: SparkSession, folder: Path, batches: dict[str, list[pa.Table]]
) -> dict[str, DataFrame]:
    return {
        name: read_stream(spark, write_batches(folder / name, tables))
        for name, tables in batches.items()
    }


def test_late_idle_and_stale_rows_are_counted_and_late_ones_kept(
    spark: SparkSession, tmp_path: Path
) -> None:
    batches = {
        # c is silent for two batches and given up on; a's fourth row is late by that alone
        "a": [rows((1, 10)), rows((1, 30)), rows((1, 40)), rows((1, 20), (1, 41))],
        "b": [rows((1, 12)), rows((1, 31)), rows((1, 45)), rows((1, 5), (1, 46))],
        "c": [rows((1, 14)), rows(), rows(), rows((1, 47))],
    }
    out = sj.multi_join(
        written(spark, tmp_path, batches), on="k", time="t", window="10 seconds",
        freshness={"a": "10 seconds", "b": "10 seconds"}, idle_timeout="1 microsecond",
        late_rows=str(tmp_path / "late"), name="watched",
    )  # fmt: skip
    query = drain(out, tmp_path / "ck", tmp_path / "out")
    seen = observed(query, "watched")
    found = read_back(spark, tmp_path / "out")
    assert seen["rows_out"] == len(found) == 1 + 4
    assert (seen["late_a"], seen["late_b"], seen["late_c"]) == (1, 1, 0)
    assert (seen["idle_late_a"], seen["idle_late_b"]) == (1, 0)
    late = {name: pq.read_table(tmp_path / "late" / name).to_pylist() for name in "ab"}
    assert [(row["n"], row["late_by"]) for row in late["a"]] == [(0, 20 * SECOND)]
    assert [row["n"] for row in late["b"]] == [0]


def test_one_dataframe_under_two_names_in_two_joins_of_one_query(
    spark: SparkSession, folder: Path, tmp_path: Path
) -> None:
    one = read_stream(spark, folder / "a").select("x", "t", "n")
    other = read_stream(spark, folder / "b").select("x", "t", "n")
    settings: dict[str, Any] = {
        "on": "x", "time": "t", "window": "4 seconds", "lateness": "10 seconds",
    }  # fmt: skip
    twice = sj.multi_join({"a": one, "again": one, "b": other}, name="twice", **settings)
    pairs = sj.multi_join(
        {"a": one, "b": other}, where="a.n < b.n AND a.x > 2", name="pairs", **settings
    )
    both = twice.select("a_n", "b_n").unionAll(pairs.select("a_n", "b_n"))
    query = drain(both, tmp_path / "ck", tmp_path / "out")
    seconds = dict.fromkeys("ab", 4)
    matches = expected(folder, "ab", "x", seconds)
    keys = {row["n"]: row["x"] for row in pq.read_table(folder / "a").to_pylist()}
    wanted = Counter({(a, b): n for (a, b), n in matches.items() if a < b and keys[a] > 2})
    assert observed(query, "pairs")["rows_out"] == matches.total()  # Spark checks `where` later
    a = pq.read_table(folder / "a").to_pylist()
    rows_ = {"a": a, "again": a, "b": pq.read_table(folder / "b").to_pylist()}
    for of in rows_.values():
        for row in of:
            row["at"] = row["t"].timestamp()
    found = oracle.multi_join(
        rows_, on=[(("a", "x"), ("again", "x")), (("a", "x"), ("b", "x"))],
        time=dict.fromkeys(rows_, "at"), window=dict.fromkeys(rows_, 4),
    )  # fmt: skip
    wanted.update((one["a"]["n"], one["b"]["n"]) for one in found)
    assert numbers(read_back(spark, tmp_path / "out"), "ab") == wanted


def test_a_budget_gives_a_part_and_says_so(
    spark: SparkSession, folder: Path, tmp_path: Path
) -> None:
    names = "abc"
    out = sj.multi_join(
        streams_of(spark, folder, names), on="x", time="t", window="8 seconds",
        lateness="10 seconds", plan="(a b) c", budget=sj.Budget(rate=2), shards=2,
    )  # fmt: skip
    query = drain(out.filter(F.lit(True)), tmp_path / "ck", tmp_path / "out")
    found = numbers(read_back(spark, tmp_path / "out"), names)
    assert found <= expected(folder, names, "x", dict.fromkeys(names, 8))
    seen = observed(query)
    assert seen["rows_out"] == found.total() > 0
    assert sum(seen[f"skipped_{name}"] for name in names) > 0
    assert seen["missed"] > 0
