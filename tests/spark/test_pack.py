"""Packing and unpacking without a Spark session: every row reaches its shards, once each."""

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import streamjoin as sj
from streamjoin._typing import LEFT, RIGHT, SIDES, Side
from streamjoin.joins import packing
from streamjoin.joins.base import Arrival
from streamjoin.joins.packed import read_packed, unpack
from streamjoin.joins.packing import Decided, StreamShaper, _packed, gathered
from streamjoin.joins.routing import ByKey, Grid, Routing, grid_for
from streamjoin.joins.window.arguments import resolve
from streamjoin.joins.window.settings import How, WindowJoin
from streamjoin.spark.processor import read_frames

SCHEMA = pa.schema({"k": pa.int64(), "t": pa.timestamp("us"), "id": pa.int64()})


def rows(n: int, seed: int) -> pa.RecordBatch:
    rng = np.random.default_rng(seed)
    keys = pa.array(rng.integers(0, 9, n), mask=rng.random(n) < 0.1)
    times = pa.array(rng.integers(0, 50, n), pa.timestamp("us"), mask=rng.random(n) < 0.1)
    return pa.record_batch([keys, times, pa.array(np.arange(n) + 1000 * seed)], schema=SCHEMA)


def settings(**said: Any) -> WindowJoin:
    said = {"on": "k", "time": "t", "window": "1 s", **said}
    return resolve((SCHEMA, SCHEMA), **said).join


def shard_arrivals(
    join: WindowJoin, routing: Routing, parts: dict[Side, list[pa.RecordBatch]]
) -> list[tuple[Arrival, Arrival]]:
    """What each shard gets of map tasks with these rows."""
    labels = tuple(10 * shard for shard in range(routing.n_shards))
    packed: list[pa.RecordBatch] = []
    for side in SIDES:
        for part, batch in enumerate(parts[side]):
            shaper = StreamShaper(join, side, labels, routing)
            for i in range(0, len(batch), 7):
                shaped = shaper.shape(batch.slice(i, 7), part, Decided())
                packed += _packed(shaper, shaped, (part, i, 0))
    shuffled = pa.Table.from_batches(packed[::-1])
    found = []
    for label in labels:
        mine = shuffled.filter(pa.compute.equal(shuffled["shard"], label))
        as_frames = read_frames([mine.to_pandas()])
        assert as_frames == read_packed(mine.to_batches())
        left, right = unpack(join.streams, as_frames)
        found.append((left, right))
    return found


def ids(arrival: Arrival) -> list[int]:
    return arrival.batch.rows.column(2).to_pylist()  # type: ignore[no-any-return]


PARTS: dict[Side, list[pa.RecordBatch]] = {
    LEFT: [rows(40, 1), rows(23, 2)],
    RIGHT: [rows(31, 3), rows(0, 4), rows(12, 5)],
}


def joinable(side: Side) -> list[int]:
    table = pa.Table.from_batches(PARTS[side]).drop_null()
    return table["id"].to_pylist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("how", ["inner", "full"])
def test_by_key_each_row_reaches_one_shard(how: str) -> None:
    found = shard_arrivals(settings(how=how), ByKey(3), PARTS)
    for side in SIDES:
        assert Counter(i for shard in found for i in ids(shard[side])) == Counter(joinable(side))
        nulls = sum(shard[side].nulls for shard in found)
        assert nulls == sum(map(len, PARTS[side])) - len(joinable(side))
        loose = [rows.num_rows for s in found if (rows := s[side].loose) is not None]
        assert sum(loose) == (nulls if how == "full" else 0)
        assert len({shard[side].latest for shard in found}) == 1


@pytest.mark.parametrize("grid", [Grid(2, 3), Grid(1, 4), Grid(3, 1), Grid(1, 1)])
def test_on_a_grid_each_pair_meets_in_one_cell(grid: Grid) -> None:
    found = shard_arrivals(settings(on=None), grid, PARTS)
    pairs = Counter(
        pair for shard in found for pair in itertools.product(ids(shard[0]), ids(shard[1]))
    )
    timed = [
        pa.Table.from_batches(PARTS[side]).filter(pa.compute.field("t").is_valid())["id"]
        for side in SIDES
    ]
    assert pairs == Counter(itertools.product(*(ids.to_pylist() for ids in timed)))
    for side in SIDES:
        counted = [i for n, s in enumerate(found) if grid.counts(n, side) for i in ids(s[side])]
        assert Counter(counted) == Counter(timed[side].to_pylist())


@pytest.mark.parametrize("most", [1, 1500, 64 << 20])
def test_copies_for_many_shards_are_sent_a_few_at_a_time(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many as would not fit into one column of Arrow's."""
    monkeypatch.setattr(packing, "SENT_BYTES", most)
    join, grid = settings(on=None, how="left"), Grid(9, 1)
    shaper = StreamShaper(join, RIGHT, tuple(range(9)), grid)
    parts = list(_packed(shaper, shaper.shape(rows(40, 1), 0, Decided()), (0, 0, 0)))
    sizes = [sum(map(len, part["blob"].to_pylist())) for part in parts]
    one = sizes[0] // len(parts[0])
    assert max(sizes) <= max(one, most + one)
    assert (len(parts) == 9) == (most == 1)
    whole = pa.Table.from_batches(parts)
    assert whole["shard"].to_pylist() == list(range(9))
    assert len(set(whole["blob"].to_pylist())) == 1
    assert sum(whole["nulls"].to_pylist()) == parts[0]["nulls"][0].as_py() > 0


@pytest.mark.parametrize("routing", [ByKey(3), Grid(2, 2)])
def test_every_shard_knows_the_place_of_its_rows(routing: Routing) -> None:
    """Shards agree on the times of the stream, and each knows which of them are its own."""
    on = "k" if isinstance(routing, ByKey) else None
    join = settings(on=on, window=(sj.rows(5), "1 s"))
    found = shard_arrivals(join, routing, PARTS)
    orders = [shard[LEFT].order for shard in found]
    times = [t.value for t in pa.Table.from_batches(PARTS[LEFT])["t"] if t.is_valid]
    for order, shard in zip(orders, found, strict=True):
        assert order is not None
        assert order.times.tolist() == times
        in_order = order.times[order.mine]
        assert np.sort(in_order, kind="stable").tolist() == shard[LEFT].batch.times.tolist()
    assert all(shard[RIGHT].order is None for shard in found)


@given(st.integers(1, 24), st.floats(0.01, 100), st.floats(0.01, 100))
def test_the_grid_sends_the_fewest_copies(n: int, left: float, right: float) -> None:
    shape = grid_for(n, "inner", (left, right))
    assert shape.n_shards == n
    sent = shape.columns * left + shape.rows * right
    for other in range(1, n + 1):
        if n % other == 0:
            assert sent <= (n // other) * left + other * right


@pytest.mark.parametrize("how", ["left", "semi", "anti", "asof", "right", "full"])
def test_a_side_that_comes_out_alone_is_never_copied(how: How) -> None:
    grid = grid_for(6, how, (1.0, 1.0))
    join = settings(how=how)
    assert not (join.keeps(LEFT) or how == "semi") or grid.columns == 1
    assert not join.keeps(RIGHT) or grid.rows == 1


def test_chunks_are_gathered_to_some_size() -> None:
    many = [rows(50, seed) for seed in range(10)]
    assert [len(chunk) for chunk in gathered([*many, rows(0, 99)])] == [500]
