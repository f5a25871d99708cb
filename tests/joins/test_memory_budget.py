"""Windows under a limit of memory: the bound holds after every batch, whatever comes."""

import random
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import streamjoin as sj
from streamjoin._typing import Side
from streamjoin.local import LocalJoin
from streamjoin.windows import Rows
from tests.joins.feeding import row
from tests.shedding.budgeted import BYTES, INNER, ROWS, batches
from tests.shedding.streams import SECOND, counted, jump, pair, steps, stream
from tests.strategies import FEW, SCHEMA_X, Case, Row, table

SPLITS = ("best", "faster", "rate", "inverse-rate", "equal")


@FEW
@given(INNER, ROWS, st.sampled_from(SPLITS))
def test_rows_keep_within_the_budget(case: Case, memory: Rows, split: str) -> None:
    for batch in batches(case, budget=sj.Budget(memory=memory), split=split):
        assert batch.counts.state_rows == sum(batch.held) <= memory.n


@FEW
@given(INNER, BYTES, st.sampled_from(["active", "lazy"]))
def test_bytes_keep_within_the_budget(case: Case, memory: str, invalidation: str) -> None:
    budget = sj.Budget(memory=memory)
    for batch in batches(case, budget=budget, invalidation=invalidation):
        assert batch.counts.state_bytes <= (budget.memory_limit or 0)


def bursts(seed: int) -> list[tuple[list[Row], list[Row]]]:
    """Batches of 10 rows a side out of order, and now and then one of 1000, of one or both."""
    chance, now, made = random.Random(seed), 0, list[tuple[list[Row], list[Row]]]()
    for number in range(20):
        sides = []
        for side in (0, 1):
            n = 1000 if number in (5, 6, 13) and (number != 13 or side) else 10
            times = [now + chance.randrange(100) - chance.choice([0, 0, 90]) for _ in range(n)]
            sides.append([row(max(t, 0), k=chance.randrange(5), id=i) for i, t in enumerate(times)])
        made.append((sides[0], sides[1]))
        now += 100
    return made


@pytest.mark.parametrize(
    "budget",
    [
        sj.Budget(memory=sj.rows(37)),
        sj.Budget(memory="20 kB"),
        sj.Budget(memory="20 kB", rate=5e6),
        sj.Budget(memory=sj.rows(37), cpu="10 ms"),
    ],
    ids=sj.Budget.describe,
)
@pytest.mark.parametrize("lateness", [0, 200])
def test_the_bound_holds_in_bursts(budget: sj.Budget, lateness: int) -> None:
    join = LocalJoin(
        SCHEMA_X, SCHEMA_X, on="k", time="t", window="500 us", lateness=f"{lateness} us",
        budget=budget,
    )  # fmt: skip
    stored = []
    for left, right in bursts(seed=lateness):
        join.push(table(left, SCHEMA_X), table(right, SCHEMA_X))
        rows = isinstance(budget.memory, Rows)
        held = join.metrics.state_rows if rows else join.metrics.state_bytes
        assert held <= (budget.memory_limit or 0)
        stored.append(len(join.store))
    assert join.total.cut_left + join.total.cut_right > 0
    assert max(stored) < 100  # few pieces, however large a batch is


def test_the_store_holds_what_the_directory_says() -> None:
    join = LocalJoin(
        SCHEMA_X, SCHEMA_X, on="k", time="t", window="500 us", algorithm="hash",
        budget=sj.Budget(memory="20 kB"),
    )  # fmt: skip
    for left, right in bursts(seed=1):
        join.push(table(left, SCHEMA_X), table(right, SCHEMA_X))
        samples = sum(size > 0 for size in join.state.sampled)
        assert len(join.store) == sum(map(len, join.state.windows)) + samples
        for side in (0, 1):
            sizes = [join.store.get(side, w).size for w in join.state.windows[side]]
            assert sizes == [w.size for w in join.state.windows[side]]
    join.finish()
    assert len(join.store) == 0


def test_names_of_pieces_fit_into_64_bits() -> None:
    """With a window of microseconds, of which there have been very many since 1970."""
    schema = stream(1, 1, keys=1, seed=0).schema
    join = LocalJoin(
        schema, schema, on="k", time="t", window="4 us", budget=sj.Budget(memory=sj.rows(30))
    )
    for batch in range(3):
        start = 1_700_000_000_000_000 + 20 * batch
        times = pa.array(range(start, start + 20), pa.timestamp("us"))
        rows = pa.table({"k": [1] * 20, "t": times, "id": range(20)})
        join.push(rows, rows)
        for side in join.state.windows:
            assert all(abs(window.slice) < 2**63 for window in side)
            assert len({(w.slice, w.sequence) for w in side}) == len(side)
    assert join.total.pairs == 60 * 9 - 2 * (1 + 2 + 3 + 4)


@pytest.mark.parametrize(
    ("first", "together", "found"),
    [("left", False, 1), ("right", False, 0), ("left", True, 1), ("right", True, 1)],
)
def test_a_stream_that_is_not_remembered_only_probes(
    first: str, together: bool, found: int
) -> None:
    """All memory has the slower stream, the left: it must come first, or both at once (KAN-I6)."""
    schema = stream(1, 1, keys=1, seed=0).schema
    join = LocalJoin(
        schema, schema, on="k", time="t", window="60 s", budget=sj.Budget(memory=sj.rows(20))
    )
    for second in range(4):
        join.push(*pair((10, 50), 1, keys=10, start=second))
    left, right = (one_row(k=99, second=4.0 + (side != first)) for side in ("left", "right"))
    before = join.total.pairs
    if together:
        join.push(left, right)
    else:
        for side in ("left", "right") if first == "left" else ("right", "left"):
            join.push(left if side == "left" else None, right if side == "right" else None)
    assert join.total.pairs - before == found


def one_row(k: int, second: float) -> pa.Table:
    time = pa.array([round(second * SECOND)], pa.timestamp("us"))
    return pa.table({"k": [k], "t": time, "id": [0]})


def held(left: pa.Table, right: pa.Table, split: str) -> list[tuple[int, int]]:
    """Rows of each side after each step, with room for 200."""
    join = LocalJoin(
        left.schema, right.schema, on="k", time="t", window="60 s", split=split,
        budget=sj.Budget(memory=sj.rows(200)),
    )  # fmt: skip
    sizes = []
    for start in range(0, 120, 2):
        batch = (between(side, start, start + 2) for side in (left, right))
        join.push(*batch)
        sizes.append((rows_of(join, 0), rows_of(join, 1)))
    return sizes


def between(rows: pa.Table, start: int, stop: int) -> pa.Table:
    times = rows["t"].cast(pa.int64()).to_numpy()
    first, last = times.searchsorted([start * SECOND, stop * SECOND]).tolist()
    return rows.slice(first, last - first)


def rows_of(join: LocalJoin, side: Side) -> int:
    return sum(window.rows for window in join.state.windows[side])


def test_memory_moves_to_the_stream_that_has_become_the_slower() -> None:
    """KAN-A21; 10 and 50 rows a second become 50 and 10 after 60 seconds, 30 steps.

    The slower stream brings 20 rows a step. Until it fills its memory the other one uses the rest.
    """
    sizes = held(*jump((10, 50), (50, 10), 60, keys=100), "best")
    assert all(left + right > 180 for left, right in sizes[1:])
    assert all(left > 180 for left, _ in sizes[11:30])
    assert all(right > left for left, right in sizes[37:])
    assert all(left == 0 for left, _ in sizes[42:])


@pytest.mark.parametrize("seed", range(3))
def test_memory_does_not_come_and_go_by_chance(seed: int) -> None:
    """Of two equal streams now one, now the other is slower: what was stored stays."""
    sizes = held(*pair((20, 20), 120, keys=100, seed=seed), "best")
    assert all(left + right > 180 for left, right in sizes[5:])
    favoured = [left > right for left, right in sizes[5:]]
    assert sum(one != two for one, two in pairwise(favoured)) <= 1


def test_all_memory_to_the_slower_finds_the_most() -> None:
    """KAN-C17: the slower first, then inverse to the rates, equal, by the rates, the faster."""
    streams = pair((10, 50), 50, keys=200)
    found = [
        counted(*streams, window="40 s", split=split, budget=sj.Budget(memory=sj.rows(150))).pairs
        for split in ("slower", "inverse-rate", "equal", "rate", "faster")
    ]
    assert found == sorted(found, reverse=True)
    assert found[0] > 2 * found[-1]  # 5 times, but for pairs within a batch, which all find


def test_room_that_a_short_window_leaves_goes_to_the_other() -> None:
    """The window of the slower stream holds 20 rows; what is left of 200 goes to the faster."""
    streams = pair((10, 50), 60, keys=100)
    *_, last = steps(*streams, window=("2 s", "60 s"), budget=sj.Budget(memory=sj.rows(200)))
    assert last.metrics.state_rows > 180
