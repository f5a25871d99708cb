"""Shards of a plan in this process: rows in any order, batches that are run again, many shards."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import streamjoin as sj
from streamjoin.joins.channel import Channel, Run
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
    "the plan changes": {"on": "x", "window": "7 seconds", "strategy": "tree"},
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


def test_operators_that_nothing_comes_to_are_not_called() -> None:
    """Their results are then given up on as a silent stream is; here and in Spark alike."""
    settings: dict[str, Any] = {
        "on": CHAIN, "time": "t", "window": "7 seconds", "idle_timeout": "1 microsecond",
    }  # fmt: skip
    local = LocalMultiJoin(dict.fromkeys("abcd", SCHEMA), **settings)
    cluster = PlanCluster(SCHEMA, "abcd", shards=2, **settings)
    for number in range(7):
        batch = tables(number)
        if number in (2, 3):
            batch = {"d": tables(number + 2)["d"]}
        wanted = numbers(local.push(batch, now=(number + 1) * SECOND))
        assert numbers(cluster.push(batch)) == wanted, number
    for name in ("late_d", "late_a+b+c", "idle_late_a+b+c"):
        assert cluster.total[name] == local.total[name] > 0, name


def test_operators_with_one_budget_decide_alike_and_again_the_same(tmp_path: Path) -> None:
    settings: dict[str, Any] = {
        "on": CHAIN, "time": "t", "window": "7 seconds", "lateness": "10 seconds",
        "budget": sj.Budget(rate=20),
    }  # fmt: skip
    once, again = (
        PlanCluster(SCHEMA, "abcd", shards=2, folder=tmp_path / name, **settings)
        for name in ("once", "again")
    )
    whole = PlanCluster(SCHEMA, "abcd", shards=2, **{**settings, "budget": None})
    decided = set()
    for number in range(7):
        batch = tables(number)
        found = numbers(once.push(batch))
        assert numbers(again.push(batch, runs=1 + number % 3)) == found, number
        assert found <= numbers(whole.push(batch))
        first, *others = once.allowances() + again.allowances()
        assert all(one == first for one in others)
        decided.add(tuple(first or ()))
    assert len(decided) > 1
    assert 0 < once.total["rows_out"] < whole.total["rows_out"]
    for folder in (tmp_path / "once", tmp_path / "again"):
        assert len(list(folder.glob("q/join/plan-*"))) == 2 * 2 * 2  # batches, operators, shards
        told = json.loads((folder / "q/join/decisions-1.json").read_text())
        assert list(told["allowances_per_second"]) == ["a", "b", "c", "d", "a b", "a b c"]
        assert {"at", "why", "actuated"} <= told["decisions"][-1].keys()


def test_a_batch_reads_what_all_shards_of_the_batch_before_measured(tmp_path: Path) -> None:
    channel = Channel(str(tmp_path), "a join", (0, 1), n_operators=2)

    def read(run: Run) -> list[dict[str, Any]] | None:
        return channel.at(run, 0).measured()

    def write(run: Run, step: int, shard: int, values: dict[str, Any]) -> None:
        replace(channel, operator=step).at(run, shard).tell_measured(values)

    places = [(step, shard) for step in range(2) for shard in range(2)]
    for step, shard in reversed(places):
        assert read(Run("q", 4, 0)) is None  # one at least is missing
        write(Run("q", 3, 0), step, shard, {"at": [step, shard]})
    wanted = [{"at": list(place)} for place in places]
    assert read(Run("q", 4, 0)) == wanted
    for other in (Run("q", 3, 0), Run("q", 5, 0), Run("other", 4, 0), Run("q", None, 0)):
        assert read(other) is None
    write(Run("q", 3, 1), 0, 0, {"at": "a second attempt"})
    assert read(Run("q", 4, 0)) == wanted  # a task of batch 4 may have read the first one
    files = tmp_path / "q" / "a%20join"
    for foreign in ("plan-1-x-0.json", "plan-1-0.json", "plan-2-0-0.json.tmp", "notes.txt"):
        (files / foreign).touch()
    write(Run("q", 5, 0), 0, 0, {})
    assert read(Run("q", 4, 0)) is None  # no batch reads those of batch 3 any more
    assert sorted(file.name for file in files.glob("plan-*-0-0.json")) == ["plan-5-0-0.json"]
    assert (files / "plan-3-0-1.json").exists()  # which another shard removes
    assert (files / "plan-2-0-0.json.tmp").exists()
    write(Run("q", None, 0), 0, 0, {})  # outside of a batch nothing is told
    assert len(list(files.iterdir())) == 4 + 4
    damaged = Channel(str(tmp_path), "damaged", (0,), n_operators=1)
    damaged.at(Run("q", 1, 0), 0).tell_measured({})
    (tmp_path / "q" / "damaged" / "plan-1-0-0.json").write_text("{")
    assert damaged.at(Run("q", 2, 0), 0).measured() is None
