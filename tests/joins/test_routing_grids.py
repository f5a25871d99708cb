"""N-ary joins on different keys: a grid of shards gives what the oracle gives, and counts once."""

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import streamjoin as sj
from streamjoin import oracle
from streamjoin.joins.multi import halfway, states
from streamjoin.joins.routing import Shares
from streamjoin.local import LocalMultiJoin
from streamjoin.planning.many.nary import ORDERS
from streamjoin.planning.many.nary_cost import FEW, SMALL
from tests import strategies
from tests.spark.plan_cluster import PlanCluster

SECOND = 1_000_000
SCHEMA = pa.schema(
    {
        "x": pa.int64(),
        "y": pa.string(),
        "z": pa.int32(),
        "t": pa.timestamp("us"),
        "n": pa.int64(),
    }
)
End = tuple[str, str]
Equalities = list[tuple[End, End]]
Numbers = Counter[tuple[int, ...]]
CHAIN: Equalities = [(("a", "x"), ("b", "x")), (("b", "y"), ("c", "y"))]
RING: Equalities = [*CHAIN, (("c", "z"), ("a", "z"))]


def batch(seed: int, names: str, n: int, keys: int = 3) -> dict[str, pa.Table]:
    """Rows of 5 seconds and the 5 before in disorder, some of them without a key."""
    found = {}
    for i, name in enumerate(names):
        rng = np.random.default_rng([seed, i])
        values = [rng.integers(0, keys, n) for _ in range(3)]
        nulls = [rng.random(n) < 0.08 for _ in range(3)]
        times = 5 * SECOND * seed + rng.integers(-5 * SECOND, 5 * SECOND, n)
        columns = [
            pa.array(values[0], pa.int64(), mask=nulls[0]),
            pa.array([f"y{v}" for v in values[1]], mask=nulls[1]),
            pa.array(values[2], pa.int32(), mask=nulls[2]),
            pa.array(times, pa.timestamp("us")),
            1000 * seed + np.arange(n),
        ]
        found[name] = pa.table(columns, schema=SCHEMA)
    return found


def said(on: Equalities) -> list[str]:
    return [" = ".join(f"{stream}.{column}" for stream, column in ends) for ends in on]


def numbers(table: pa.Table, names: str) -> Numbers:
    columns = [table[f"{name}_n"].to_pylist() for name in names]
    return Counter(zip(*columns, strict=True))


def expected(
    batches: list[dict[str, pa.Table]], names: str, on: Equalities, seconds: int
) -> Numbers:
    rows = {}
    for name in names:
        together = pa.concat_tables(one[name] for one in batches)
        times = together["t"].cast(pa.int64())
        rows[name] = together.set_column(3, "t", times).to_pylist()
    found = oracle.multi_join(
        rows, on=on, time=dict.fromkeys(names, "t"),
        window=dict.fromkeys(names, seconds * SECOND),
    )  # fmt: skip
    return Counter(tuple(one[name]["n"] for name in names) for one in found)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[str, Equalities]:
    """Chains, stars, rings and what is between, over 3 to 6 streams."""
    names = "abcdef"[: draw(st.integers(3, 6))]
    kind = draw(st.sampled_from(["chain", "star", "ring", "any"]))
    column = st.sampled_from(["x", "y", "z"])
    if kind == "star":
        pairs = [(names[0], other) for other in names[1:]]
    elif kind == "any":
        pairs = [(names[draw(st.integers(0, i))], other) for i, other in enumerate(names[1:])]
    else:
        pairs = list(pairwise(names + names[:1] * (kind == "ring")))
    on: Equalities = []
    for one, other in pairs:
        of = draw(column)
        on.append(((one, of), (other, of)))
    return names, on


@strategies.FEW
@given(
    graphs(),
    st.integers(1, 6),
    st.sampled_from(ORDERS),
    st.sampled_from([(FEW, SMALL), (0, 0)]),
    st.integers(0, 1000),
)
def test_a_grid_gives_what_the_oracle_gives(
    graph: tuple[str, Equalities], shards: int, order: str, limits: tuple[int, int], seed: int
) -> None:
    """Each batch begins with what the one before it has left in the checkpoint.

    With limits of 0 every piece has an index for each of its attributes, which is kept.
    """
    names, on = graph
    cluster = PlanCluster(
        SCHEMA, names, shards, on=said(on), time="t", window="6 seconds",
        lateness="10 seconds", strategy="mjoin", order=order,
    )  # fmt: skip
    n, keys = (8, 3) if len(names) < 5 else (5, 4)  # the oracle takes its time
    batches = [batch(seed + i, names, n, keys) for i in range(3)]
    found: Numbers = Counter()
    with patch.object(halfway, "FEW", limits[0]), patch.object(states, "SMALL", limits[1]):
        for number, tables in enumerate(batches):
            found += numbers(cluster.push(tables, runs=1 + number % 2), names)
    assert found == expected(batches, names, on, seconds=6)
    assert cluster.total["results"] == cluster.total["rows_out"] == found.total()
    for name in names:
        assert cluster.total[f"rows_{name}"] == 3 * n
        assert cluster.total[f"late_{name}"] == 0


RETRIED = {"chain": (CHAIN, 4, (2, 2)), "ring": (RING, 6, (3, 2, 1))}


@pytest.mark.parametrize("kind", RETRIED)
def test_rows_count_once_and_late_ones_are_written_once(kind: str, tmp_path: Path) -> None:
    on, shards, lengths = RETRIED[kind]
    settings: dict[str, Any] = {
        "on": said(on), "time": "t", "window": "6 seconds", "strategy": "mjoin",
    }  # fmt: skip
    local = LocalMultiJoin(dict.fromkeys("abc", SCHEMA), **settings)
    cluster = PlanCluster(SCHEMA, "abc", shards, late=tmp_path, **settings)
    routing = cluster.shards[0].routing
    assert isinstance(routing, Shares)
    assert routing.lengths == lengths
    late: dict[str, list[int]] = {name: [] for name in "abc"}
    for number in range(1, 5):
        tables = batch(number, "abc", n=60, keys=6)
        wanted = numbers(local.push(tables), "abc")
        assert wanted
        assert numbers(cluster.push(tables, runs=1 + number % 3), "abc") == wanted, number
        for name, rows in local.late.items():
            late[name] += rows["n"].to_pylist()
    per_input = ("rows", "late", "idle_late", "null")
    for name in ("results", "rows_out", *(f"{what}_{s}" for what in per_input for s in "abc")):
        assert cluster.total[name] == local.total[name], name
    assert min(len(rows) for rows in late.values()) > 10
    for name, rows in late.items():
        assert cluster.total[f"null_{name}"] > 0
        assert sorted(pq.read_table(tmp_path / name)["n"].to_pylist()) == sorted(rows)


def test_windows_that_count_do_so_in_all_cells() -> None:
    settings: dict[str, Any] = {
        "on": said(RING), "time": "t", "lateness": "10 seconds", "strategy": "mjoin",
        "window": {"a": sj.rows(40), "b": "6 seconds", "c": sj.rows(25)},
    }  # fmt: skip
    local = LocalMultiJoin(dict.fromkeys("abc", SCHEMA), **settings)
    cluster = PlanCluster(SCHEMA, "abc", shards=4, **settings)
    found = 0
    for number in range(4):
        tables = batch(number, "abc", n=40)
        wanted = numbers(local.push(tables), "abc")
        assert numbers(cluster.push(tables, runs=1 + number % 2), "abc") == wanted, number
        found += wanted.total()
    assert found > 100


def test_a_row_goes_to_the_cells_in_which_it_may_meet_others() -> None:
    """Rows of a know their place on x only, those of c on y; the first cell of each counts."""
    grid = Shares((2, 2), ({0: 0, 1: 0}, {1: 1, 2: 0}))
    assert [grid.copies(side) for side in range(3)] == [2, 1, 2]
    assert [[grid.counts(shard, side) for shard in range(4)] for side in range(3)] == [
        [True, False, True, False],
        [True, True, True, True],
        [True, True, False, False],
    ]
    assert grid.describe() == "grid of 2 x 2 by key"
