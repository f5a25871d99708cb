"""Shards of a plan in this process: rows in any order, batches that are run again, many shards."""

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import streamjoin as sj
from streamjoin.local import LocalMultiJoin
from tests.spark.plan_cluster import PlanCluster

SECOND = 1_000_000
SCHEMA = pa.schema({"x": pa.int64(), "y": pa.string(), "t": pa.timestamp("us"), "n": pa.int64()})
CHAIN = ["a.x = b.x", "b.x = c.x", "c.y = d.y"]
CASES: dict[str, dict[str, Any]] = {
    "one operator": {"on": "y", "window": "7 seconds", "plan": "(a c) (b d)"},
    "two operators": {"on": CHAIN, "window": "7 seconds", "plan": None},
    "three operators": {
        "on": ["a.x = b.x", "b.y = c.y", "c.x = d.x"],
        "window": {"a": "9 seconds", "b": "5 seconds", "c": None, "d": "6 seconds"},
        "plan": "(a b) (c d)",
    },
    "counted": {"on": "x", "window": {**dict.fromkeys("abc", sj.rows(9)), "d": "5 seconds"}},
    "the plan changes": {"on": "x", "window": "7 seconds"},
}


def tables(number: int, names: str = "abcd", n: int = 30) -> dict[str, pa.Table]:
    """A batch of 5 seconds; now and then a stream is silent."""
    found = {}
    for seed, name in enumerate(names):
        rng = np.random.default_rng([seed, number])
        times = rng.integers(number * 5 * SECOND, (number + 2) * 5 * SECOND, n)
        # few keys of a, so that it had better not be joined first
        x = rng.integers(0, 2 if name == "a" else 9, n)
        y = [f"y{i}" for i in rng.integers(0, 8, n)]
        columns = [x, y, pa.array(times, pa.timestamp("us")), 1000 * number + np.arange(n)]
        found[name] = pa.table(columns, schema=SCHEMA)
    silent = names[number % 5] if number % 5 < len(names) else None
    return {name: table for name, table in found.items() if name != silent}


def numbers(table: pa.Table) -> Counter[tuple[int, ...]]:
    columns = [table[f"{name}_n"].to_pylist() for name in "abcd"]
    return Counter(zip(*columns, strict=True))


@pytest.mark.parametrize("case", CASES)
def test_shards_and_repeated_batches_give_the_rows_of_one_process(case: str) -> None:
    settings = {"time": "t", "lateness": "10 seconds", **CASES[case]}
    local = LocalMultiJoin(dict.fromkeys("abcd", SCHEMA), **settings)
    cluster = PlanCluster(SCHEMA, "abcd", shards=3, **settings)
    seen = 0
    for number in range(7):
        batch = tables(number)
        wanted = numbers(local.push(batch))
        assert numbers(cluster.push(batch, runs=1 + number % 3)) == wanted, number
        seen += wanted.total()
    assert seen > 100
    for name in ("rows_a", "late_b", "null_c", "results", "rows_out"):
        assert cluster.total[name] == local.total[name], name
    if case == "the plan changes":
        assert cluster.total["reordered"] > 0


def test_a_repeated_batch_within_a_budget_gives_the_same_rows() -> None:
    settings: dict[str, Any] = {
        "on": "x", "time": "t", "window": "7 seconds", "lateness": "10 seconds",
        "plan": "((a b) c) d", "budget": sj.Budget(rate=20),
    }  # fmt: skip
    once, again = (PlanCluster(SCHEMA, "abcd", shards=2, **settings) for _ in range(2))
    whole = PlanCluster(SCHEMA, "abcd", shards=2, **{**settings, "budget": None})
    for number in range(7):
        batch = tables(number)
        found = numbers(once.push(batch))
        assert numbers(again.push(batch, runs=1 + number % 3)) == found, number
        assert found <= numbers(whole.push(batch))
    assert 0 < once.total["rows_out"] < whole.total["rows_out"]
    assert once.total["missed"] == again.total["missed"] > 0
