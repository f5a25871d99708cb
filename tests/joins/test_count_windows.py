"""Windows that count tuples against the oracle: which rows come, and in which batch."""

import random
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import given

from streamjoin import oracle
from streamjoin.windows import rows
from tests.joins.feeding import (
    feed,
    fixed_streams,
    local_join,
    most_state,
    push,
    results,
    row,
    total,
)
from tests.strategies import CONDITIONS, COUNT_WINDOWS, EACH, FEW, HOWS, Case, Row, cases


@pytest.mark.parametrize("how", HOWS)
@EACH
@given(case=cases(COUNT_WINDOWS))
def test_each_batch_brings_what_the_oracle_says(how: str, case: Case) -> None:
    case = replace(case, how=how)
    assert results(case) == case.answers()


@pytest.mark.parametrize("how", HOWS)
def test_every_combination_of_window_key_and_condition(how: str) -> None:
    batches = fixed_streams()
    windows: list[Any] = [
        (rows(3), rows(3)), (rows(1), rows(20)), (rows(5), 6), (6, rows(5)),
        (rows(4), None), (None, rows(4)),
    ]  # fmt: skip
    for window, keyed, where in product(windows, (True, False), CONDITIONS):
        case = Case(batches, window, how, keyed, where, lateness=4)
        assert results(case) == case.answers(), (window, keyed, where and where.text)


@FEW
@given(cases(COUNT_WINDOWS))
def test_rows_are_held_until_the_watermark_passes_them(case: Case) -> None:
    join = local_join(case)
    (left, right), _ = case.split_late()
    in_time = {row["id"] for row in [*left, *right]}
    came: list[Row] = []
    marks = oracle.watermarks(case.batches, time=("t", "t"), lateness=case.lateness)
    for number, mark in enumerate(marks):
        push(join, case, number)
        came += [r for side in case.batches[number] for r in side if r["id"] in in_time]
        known = [r for r in came if r["t"] is not None and not (case.keyed and r["k"] is None)]
        held = [r for r in known if mark is None or r["t"] >= mark]
        assert join.metrics.held_rows == len(held)
        assert join.metrics.state_rows <= len(known) - len(held)


def test_counted_per_stream_and_not_per_key() -> None:
    """Another key's tuple pushes the first one out of a window of one tuple."""
    batch = [row(1, k=1, id=1), row(2, k=2, id=2)], [row(3, k=1, id=3), row(4, k=2, id=4)]
    assert feed("inner", batch, window=(rows(1), rows(1)))[1] == [(2, 4)]


def test_tuples_without_a_key_count_and_late_ones_do_not() -> None:
    first = [row(10, id=1)], [row(10, k=9, id=2)]
    window = (rows(1), rows(1))
    null: tuple[list[Row], list[Row]] = [row(11, k=None, id=3)], [row(12, id=4)]
    late: tuple[list[Row], list[Row]] = [row(3, id=3)], [row(12, id=4)]
    assert feed("inner", first, null, window=window) == [[], [], []]
    assert feed("inner", first, late, window=window) == [[], [], [(1, 4)]]


def test_disorder_inside_the_lateness_changes_nothing() -> None:
    """The order is that of event time, not of arrival."""
    stream = [row(t, id=t) for t in range(40)]
    other = [row(t, id=100 + t) for t in range(40)]
    rng = random.Random(1)
    found = []
    for _ in range(3):
        batches = [(stream[n : n + 8], other[n : n + 8]) for n in range(0, 40, 8)]
        for batch in batches:
            for side in batch:
                rng.shuffle(side)
        case = Case(batches, (rows(2), rows(3)), lateness=8)
        assert results(case) == case.answers()
        found.append(total(results(case)))
    assert found[0] == found[1] == found[2]


def test_pairs_wait_for_their_place_in_the_order() -> None:
    batch = [row(10, id=1)], [row(10, id=2)]
    same: tuple[list[Row], list[Row]] = [row(11, k=8, id=3)], [row(11, k=9, id=4)]
    assert feed("inner", batch, same, window=(rows(5), rows(5))) == [[], [(1, 2)], []]


@pytest.mark.parametrize("how", HOWS)
def test_no_leak_over_200_batches(how: str) -> None:
    # Beside the window a part of a basic window, a batch, and two rows that wait.
    assert most_state(Case([], (rows(100), rows(100)), how)) <= 2 * (100 + 25 + 10) + 2


@pytest.mark.parametrize("window", [(rows(100), 100), (rows(100), None)])
def test_no_leak_where_one_window_is_by_time(window: Any) -> None:
    assert most_state(Case([], window, "full")) <= 2 * (100 + 25 + 10) + 2
