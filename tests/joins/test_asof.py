"""As-of joins against the oracle: the nearest right row of each left row, once and in time."""

from dataclasses import replace
from itertools import product
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given

from streamjoin.core import keys as keys_module
from streamjoin.core.batch import Batch
from streamjoin.errors import ConfigError
from streamjoin.joins.base import MAX_BYTES, Arrival
from streamjoin.joins.window.logic import WindowJoinLogic
from streamjoin.local import LocalJoin
from streamjoin.windows import rows
from tests.joins.feeding import (
    counted_late,
    feed,
    fixed_streams,
    ids,
    local_join,
    most_state,
    push,
    results,
    results_with_restarts,
    row,
    total,
)
from tests.strategies import FEW, SCHEMA_X, TIME_WINDOWS, Case, Row, cases, table

ASOF = cases(TIME_WINDOWS, how="asof")


@given(ASOF)
def test_each_batch_brings_what_the_oracle_says(case: Case) -> None:
    assert results(case) == case.answers()


def test_every_combination_of_window_key_and_direction() -> None:
    batches = fixed_streams()
    windows: list[Any] = [(7, 7), (2, 11), (0, 5), (9, None)]
    for window, keyed, way in product(windows, (True, False), ("backward", "nearest")):
        case = Case(batches, window, "asof", keyed, direction=way, lateness=4)
        assert results(case) == case.answers(), (window, keyed, way)


@FEW
@given(ASOF)
def test_restart_at_every_batch_changes_nothing(case: Case) -> None:
    assert results_with_restarts(case) == case.answers()


@FEW
@given(ASOF)
def test_every_row_in_time_comes_once(case: Case) -> None:
    found = total(results(case))
    (left, _), _ = case.split_late()
    assert sorted(i for i, _ in found.elements() if i is not None) == sorted(r["id"] for r in left)


@FEW
@given(ASOF)
def test_counts_add_up(case: Case) -> None:
    join = local_join(case)
    for number in range(len(case.batches)):
        push(join, case, number)
    join.finish()
    (left, _), _ = case.split_late()
    late = [len(counted_late(case, side)) for side in (0, 1)]
    counts = join.total
    assert [counts.late_left, counts.late_right] == late
    assert counts.rows_out == counts.pairs + counts.alone_left == len(left)
    assert counts.alone_right == 0
    assert (join.metrics.state_rows, len(join.store)) == (0, 0)


@FEW
@given(ASOF)
def test_colliding_hashes_never_match(case: Case) -> None:
    """With every hash the same, only the check on the real keys tells keys apart."""
    schema = SCHEMA_X.set(0, pa.field("k", pa.string()))

    def named(side: list[Row]) -> list[Row]:
        return [{**r, "k": None if r["k"] is None else f"key {r['k']}"} for r in side]

    case = replace(case, keyed=True, batches=[(named(a), named(b)) for a, b in case.batches])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "streamjoin.core.batch.hash_keys",
            lambda columns: keys_module.hash_keys(columns) * 0 + 7,
        )
        join = local_join(case, schema)
        found = [
            ids(join.push(table(left, schema), table(right, schema)), "asof")
            for left, right in case.batches
        ]
        assert [*found, ids(join.finish(), "asof")] == case.answers()


@pytest.mark.parametrize("direction", ["backward", "nearest"])
def test_no_leak_over_200_batches(direction: str) -> None:
    # "nearest": a left row waits for its window, and right rows for such left rows.
    rows_of_time = 100 if direction == "backward" else 300
    case = Case([], (100, 100), "asof", direction=direction)
    assert most_state(case) <= rows_of_time + 2 * (25 + 10)


@FEW
@given(ASOF)
def test_the_state_holds_only_what_may_matter(case: Case) -> None:
    join = local_join(case)
    left, right = (size if isinstance(size, int) else 0 for size in case.window)
    wait = left if case.direction == "nearest" else 0
    keeps = wait, wait + right
    for number in range(len(case.batches)):
        push(join, case, number)
        watermark = join.state.watermark
        for side in (0, 1):
            for window in join.state.windows[side]:
                assert watermark is None or watermark - window.last <= keeps[side]


NEXT = [row(90, k=8, id=90)], [row(90, k=9, id=91)]
"""Moves the watermark on."""


def test_backward_takes_no_later_row_however_near() -> None:
    batch = [row(10, id=1)], [row(7, id=7), row(11, id=11)]
    assert feed("asof", batch, NEXT)[1] == [(1, 7)]
    assert feed("asof", batch, NEXT, direction="nearest")[1] == [(1, 11)]


def test_of_two_that_are_as_near_the_earlier_is_taken() -> None:
    batch = [row(10, id=1)], [row(11, id=11), row(9, id=9)]
    assert feed("asof", batch, NEXT, direction="nearest")[1] == [(1, 9)]


@pytest.mark.parametrize("direction", ["backward", "nearest"])
def test_of_equal_times_the_last_to_arrive_is_taken(direction: str) -> None:
    first: tuple[list[Row], list[Row]] = [], [row(9, id=1), row(9, id=2)]
    second: tuple[list[Row], list[Row]] = [row(10, id=0)], [row(9, id=3), row(9, id=4)]
    assert feed("asof", first, second, NEXT, direction=direction)[2] == [(0, 4)]


def test_a_left_row_waits_for_the_watermark_to_pass_it() -> None:
    """A right row of the same time, or an earlier one, may come in the next batch."""
    first = [row(10, id=1)], [row(8, id=8), row(10, k=9, id=0)]
    nearer: tuple[list[Row], list[Row]] = [], [row(10, id=10)]
    assert feed("asof", first, nearer, NEXT) == [[], [], [(1, 10)], [(90, None)]]


@pytest.mark.parametrize(
    ("said", "argument"),
    [
        ({"where": "left.x < right.x"}, "where"),
        ({"window": (rows(3), rows(3))}, "window"),
        ({"window": (rows(3), "5 seconds")}, "window"),
        ({"window": ("0 seconds", None)}, "window"),
        ({"direction": "forward"}, "direction"),
    ],
)
def test_refusals(said: dict[str, Any], argument: str) -> None:
    with pytest.raises(ConfigError, match=f"^{argument}: got .*; allowed: "):
        local_join(Case([], (5, 5), "asof"), **said)


def test_wide_answers_come_in_pieces() -> None:
    """Very many left rows with one wide right row would be more than an Arrow array holds."""
    schema = pa.schema({"t": pa.timestamp("us"), "s": pa.string()})
    join = LocalJoin(schema, schema, how="asof", time="t", window="1 second")
    times = pa.array([5] * 20_000, pa.timestamp("us"))
    left = pa.table({"t": times, "s": pa.nulls(20_000, pa.string())}, schema=schema)
    right = pa.table({"t": times[:1], "s": ["x" * 12_000]}, schema=schema)
    join.push(left, right)
    nothing = Arrival(Batch.gather([], join.join.left)), Arrival(Batch.gather([], join.join.right))
    logic = WindowJoinLogic(join.join, join.state, join.store)
    pieces = [len(piece) for piece in logic.on_batch(nothing, end=True)]
    assert sum(pieces) == 20_000
    assert max(pieces) * 12_000 <= MAX_BYTES


def test_nothing_comes_after_the_end() -> None:
    schema = pa.schema({"t": pa.timestamp("us")})
    join = LocalJoin(schema, schema, how="asof", time="t", window="1 second")
    join.finish()
    with pytest.raises(ConfigError, match=r"^push: the streams have ended with finish"):
        join.push(None, None)
