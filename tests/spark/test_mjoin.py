"""N-ary joins on Spark: the oracle's results, over restarts, on a grid of shards, of tables."""

from collections import Counter
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import streamjoin as sj
from streamjoin.joins.channel import Run
from streamjoin.joins.multi import nary
from streamjoin.joins.multi.tuples import Tuples, combine
from streamjoin.joins.packed import clock_of
from streamjoin.local import LocalMultiJoin
from streamjoin.spark.processor import Call
from tests.joins import test_routing_grids
from tests.spark import test_multi_shards
from tests.spark.plan_cluster import MapState, PlanCluster
from tests.spark.streams import drain, observed, read_back, read_stream, write_batches
from tests.spark.test_multi_join import batch, expected, numbers, streams_of
from tests.strategies import FEW


def test_a_stream_goes_on_with_another_strategy_and_order(
    spark: SparkSession, tmp_path: Path
) -> None:
    names = "abc"
    ways: list[dict[str, Any]] = [
        {"strategy": "mjoin", "order": "timestamp"},
        {"strategy": "tree"},
    ]
    seen = []
    for part, way in enumerate(ways):
        for seed, name in enumerate(names):
            write_batches(tmp_path / name, [batch(seed, part)], first=part)
        out = sj.multi_join(
            streams_of(spark, tmp_path, names), on="x", time="t", window="8 seconds",
            lateness="10 seconds", shards=2, **way,
        )  # fmt: skip
        seen.append(observed(drain(out, tmp_path / "ck", tmp_path / "out")))
    wanted = expected(tmp_path, names, "x", dict.fromkeys(names, 8))
    assert numbers(read_back(spark, tmp_path / "out"), names) == wanted
    assert [one["nary"] for one in seen] == [2, 0]  # shards
    assert [one["reordered"] for one in seen] == [0, 2]
    assert sum(one["rows_out"] for one in seen) == wanted.total() > 10
    assert sum(one[f"rows_{name}"] for one in seen for name in names) == 2 * 15 * len(names)


def test_a_ring_on_a_grid_of_shards(spark: SparkSession, tmp_path: Path) -> None:
    """Equalities that form a cycle; rows that are late or have no key count once."""
    names, ring = "abc", test_routing_grids.said(test_routing_grids.RING)
    batches = [test_routing_grids.batch(number, names, n=40) for number in range(1, 3)]
    for name in names:
        write_batches(tmp_path / name, [tables[name] for tables in batches])
    settings: dict[str, Any] = {
        "on": ring, "time": "t", "window": "6 seconds", "strategy": "mjoin",
    }  # fmt: skip
    streams = {name: read_stream(spark, tmp_path / name) for name in names}
    late = tmp_path / "late"
    out = sj.multi_join(streams, shards=4, late_rows=str(late), **settings)
    seen = observed(drain(out, tmp_path / "ck", tmp_path / "out"))
    local = LocalMultiJoin(dict.fromkeys(names, test_routing_grids.SCHEMA), **settings)
    wanted: Counter[tuple[int, ...]] = Counter()
    late_ones: list[Any] = []
    for tables in batches:
        wanted += test_routing_grids.numbers(local.push(tables), names)
        late_ones += [(n, i) for n in names for i in local.late[n]["n"].to_pylist()]
    assert numbers(read_back(spark, tmp_path / "out"), names) == wanted
    assert seen["rows_out"] == wanted.total() > 10
    assert seen["nary"] == 2 * 4
    for what in ("rows", "late", "null"):
        for name in names:
            assert seen[f"{what}_{name}"] == local.total[f"{what}_{name}"] > 0
    written = [(n, i) for n in names for i in pq.read_table(late / n)["n"].to_pylist()]
    assert Counter(written) == Counter(late_ones)
    # tables have no late rows
    frames = {name: spark.read.parquet(str(tmp_path / name)) for name in names}
    found = sj.multi_join(frames, shards=4, **settings).collect()
    assert numbers([row.asDict() for row in found], names) == test_routing_grids.expected(
        batches, names, test_routing_grids.RING, seconds=6
    )


WAYS = st.sampled_from(
    [
        {"strategy": "mjoin", "order": "round-robin"},
        {"strategy": "mjoin"},
        {"strategy": "auto", "order": "initial-output-size"},
        {"strategy": "tree"},
    ]
)


@FEW
@given(st.lists(WAYS, min_size=5, max_size=5), st.integers(1, 3), st.integers(0, 50))
def test_restarts_and_repeated_batches_of_changing_strategies(
    ways: list[dict[str, Any]], shards: int, first: int
) -> None:
    settings: dict[str, Any] = {
        "on": "y", "time": "t", "window": "7 seconds", "lateness": "10 seconds",
    }  # fmt: skip
    schema, names = test_multi_shards.SCHEMA, "abc"
    cluster = PlanCluster(schema, names, shards, **settings, **ways[0])
    local = LocalMultiJoin(dict.fromkeys(names, schema), **settings, plan="(a c) b")
    for number, way in enumerate(ways):
        cluster = cluster.changed(**settings, **way)
        tables = test_multi_shards.tables(first + number, names, n=12)
        wanted = test_routing_grids.numbers(local.push(tables), names)
        found = cluster.push(tables, runs=1 + number % 2)
        assert test_routing_grids.numbers(found, names) == wanted, number
    assert cluster.total["rows_a"] == local.total["rows_a"]


def test_results_leave_a_shard_before_the_last_one_is_formed() -> None:
    """Of 30 million results of one key, the first go on to Spark after a few of them."""
    cluster = PlanCluster(
        test_routing_grids.SCHEMA, "abc", 1, on="x", time="t", window="9 seconds", strategy="mjoin"
    )
    rows = test_routing_grids.batch(1, "a", n=310, keys=1)["a"]
    rows = rows.filter(rows["x"].is_valid()).slice(0, 280)
    label = cluster.labels[0]
    packed = cluster._map(0, [rows] * 3, run=0)[label]
    call = Call(label, clock_of(packed), False, Run("early", 0, 0))
    formed = 0

    def counted(*args: Any, **settings: Any) -> Tuples:
        nonlocal formed
        made = combine(*args, **settings)
        formed += len(made)
        return made

    with patch.object(nary, "combine", counted):
        tables = cluster.shards[0].on_batch(MapState(), packed, call)
        first = next(tables)
        tables.close()  # type: ignore[attr-defined]  # a generator
    assert 0 < len(first) <= formed < 1 << 20 < len(rows) ** 3
