"""Every type of join against the oracle: which rows come, and in which batch."""

from collections import Counter
from dataclasses import replace
from itertools import product
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given

from tests.joins.feeding import (
    cannot_match,
    counted_late,
    feed,
    fixed_streams,
    ids,
    local_join,
    most_state,
    push,
    restarted,
    results,
    results_with_restarts,
    row,
    tables,
    total,
)
from tests.strategies import (
    CONDITIONS,
    EACH,
    FEW,
    HOWS,
    SCHEMA_X,
    TIME_WINDOWS,
    Case,
    Ids,
    Row,
    cases,
)


@pytest.mark.parametrize("how", HOWS)
@EACH
@given(case=cases(TIME_WINDOWS))
def test_each_batch_brings_what_the_oracle_says(how: str, case: Case) -> None:
    case = replace(case, how=how)
    assert results(case) == case.answers()


@pytest.mark.parametrize("how", HOWS)
def test_every_combination_of_window_key_and_condition(how: str) -> None:
    batches = fixed_streams()
    windows: list[Any] = [(7, 7), (2, 11), (9, None), (0, 5)]
    for window, keyed, where in product(windows, (True, False), CONDITIONS):
        case = Case(batches, window, how, keyed, where, lateness=4)
        assert results(case) == case.answers(), (window, keyed, where and where.text)


@given(cases())
def test_restart_at_every_batch_changes_nothing(case: Case) -> None:
    assert results_with_restarts(case) == case.answers()


@FEW
@given(cases())
def test_rows_come_whole(case: Case) -> None:
    """Columns of a missing row are null; a shared key has the value of the side that is there."""
    case = replace(case, keyed=True)
    by_id = {row["id"]: row for batch in case.batches for side in batch for row in side}
    for found in tables(case):
        for result in found.cast(_as_numbers(found.schema)).to_pylist():
            if case.how in ("semi", "anti"):
                assert result == by_id[result["id"]]
                continue
            left, right = by_id.get(result["id_left"]), by_id.get(result["id_right"])
            there = left or right
            assert there is not None
            expected = {"k": there["k"]}
            for name, side in (("left", left), ("right", right)):
                expected |= {f"{c}_{name}": side and side[c] for c in ("t", "id", "s", "x")}
            assert result == expected


def _as_numbers(schema: pa.Schema) -> pa.Schema:
    """Event times as the numbers of microseconds that rows are made of."""
    for i, field in enumerate(schema):
        if field.name.startswith("t"):
            schema = schema.set(i, field.with_type(pa.int64()))
    return schema


@FEW
@given(cases(TIME_WINDOWS))
def test_left_and_right_are_mirror_images(case: Case) -> None:
    swapped = [(right, left) for left, right in case.batches]
    straight = replace(case, how="left", where=None)
    mirrored = replace(straight, how="right", batches=swapped, window=case.window[::-1])
    for one, two in zip(results(straight), results(mirrored), strict=True):
        assert one == Counter({(a, b): n for (b, a), n in two.items()})


@FEW
@given(cases())
def test_cuts_change_nothing_where_nothing_is_late(case: Case) -> None:
    whole = [[row for batch in case.batches for row in batch[side]] for side in (0, 1)]
    cut = replace(case, lateness=10_000)
    once = replace(cut, batches=[(whole[0], whole[1])])
    assert total(results(cut)) == total(results(once))


@FEW
@given(cases())
def test_counts_add_up(case: Case) -> None:
    join = local_join(case)
    found: Ids = Counter()
    for number in range(len(case.batches)):
        result = push(join, case, number)
        assert join.metrics.rows_out == result.num_rows
        found += ids(result, case.how)
    found += ids(join.finish(), case.how)
    counts = join.total
    rows = [[row for batch in case.batches for row in batch[side]] for side in (0, 1)]
    null = [sum(cannot_match(case, r) for r in side) for side in rows]
    late = [len(counted_late(case, side)) for side in (0, 1)]
    assert [counts.rows_left, counts.rows_right] == [len(side) for side in rows]
    assert [counts.null_left, counts.null_right] == null
    assert [counts.late_left, counts.late_right] == late
    assert [counts.idle_late_left, counts.idle_late_right] == [0, 0]
    assert counts.rows_out == found.total()
    if case.how == "semi":
        assert found.total() <= counts.pairs <= len(case.pairs())
        return
    alone = [sum(n for pair, n in found.items() if pair[1 - side] is None) for side in (0, 1)]
    assert [counts.alone_left, counts.alone_right] == alone
    if case.how != "anti":
        assert counts.pairs == len(case.pairs())


@FEW
@given(cases())
def test_late_rows_are_handed_over(case: Case) -> None:
    join = local_join(case)
    found: list[list[int]] = [[], []]
    for number in range(len(case.batches)):
        push(join, case, number)
        for side in (0, 1):
            found[side] += join.late[side]["id"].to_pylist()
    for side in (0, 1):
        assert sorted(found[side]) == sorted(r["id"] for r in counted_late(case, side))


@FEW
@given(cases(TIME_WINDOWS))
def test_the_state_holds_only_what_may_matter(case: Case) -> None:
    join = local_join(case)
    for number in range(len(case.batches)):
        push(join, case, number)
        watermark = join.state.watermark
        for side, size in enumerate(case.window):
            keeps = size if isinstance(size, int) else 0
            for window in join.state.windows[side]:
                assert watermark is None or watermark - window.last <= keeps


@FEW
@given(cases())
def test_nothing_is_left_after_the_end(case: Case) -> None:
    join = local_join(case)
    for number in range(len(case.batches)):
        push(join, case, number)
    join.finish()
    assert (join.metrics.state_rows, join.metrics.held_rows, len(join.store)) == (0, 0, 0)


@pytest.mark.parametrize("how", HOWS)
def test_no_leak_over_200_batches(how: str) -> None:
    # 100 us hold 100 rows a side; a basic window (25 us) and a batch (10 us) may be left over.
    assert most_state(Case([], (100, 100), how)) <= 2 * (100 + 25 + 10)


@pytest.mark.parametrize("window", [(100, None), (None, 100)], ids=["left", "right"])
def test_a_side_without_a_window_is_not_remembered(window: Any) -> None:
    assert most_state(Case([], window, "full")) <= (100 + 25 + 10) + 10


def test_rows_on_the_edge_of_a_window_are_not_given_up_a_batch_too_early() -> None:
    """The watermark stands exactly on the end of the row's window: a partner may still come."""
    first: tuple[list[Row], list[Row]] = [row(10, id=1)], []
    edge = [row(15, k=2, id=2)], [row(15, k=3, id=3)]
    partner: tuple[list[Row], list[Row]] = [], [row(15, id=4)]
    assert feed("left", first, edge, partner) == [[], [], [(1, 4)], [(2, None)]]


def test_rows_past_their_window_come_with_the_batch_that_passes_it() -> None:
    first: tuple[list[Row], list[Row]] = [row(10, id=1)], []
    past = [row(16, k=2, id=2)], [row(16, k=3, id=3)]
    assert feed("left", first, past) == [[], [(1, None)], [(2, None)]]


def test_a_row_that_is_past_its_window_on_arrival_comes_at_once() -> None:
    batch = [row(10, id=1), row(90, k=2, id=2)], [row(90, k=3, id=3)]
    assert feed("left", batch) == [[(1, None)], [(2, None)]]


def test_the_other_sides_watermark_alone_removes_nothing() -> None:
    """The right stream runs far ahead; the left is behind, and both sides must still match."""
    ahead: tuple[list[Row], list[Row]] = [], [row(12, id=9), row(1000, k=2, id=10)]
    behind: tuple[list[Row], list[Row]] = [row(10, id=1)], []
    later: tuple[list[Row], list[Row]] = [row(14, id=2)], []
    found = feed("full", ahead, behind, later)
    assert found == [[], [(1, 9)], [(2, 9)], [(None, 10)]]


def test_a_null_extended_row_comes_once_across_a_restart() -> None:
    case = Case(
        [([row(10, id=1)], []), ([row(90, k=2, id=2)], [row(90, k=3, id=3)]), ([], [])],
        (5, 3),
        "left",
    )
    found = results_with_restarts(case)
    assert [list(batch) for batch in found] == [[], [(1, None)], [], [(2, None)]]


def test_a_row_that_matched_before_a_restart_is_not_null_extended_after_it() -> None:
    case = Case(
        [([row(10, id=1)], [row(11, id=2)]), ([row(90, k=2, id=3)], [row(90, k=3, id=4)])],
        (5, 3),
        "full",
    )
    join = local_join(case)
    assert list(ids(push(join, case, 0), "full")) == [(1, 2)]
    assert not ids(push(restarted(join, case), case, 1), "full")


def test_a_match_that_the_condition_refuses_is_no_match() -> None:
    where = CONDITIONS[2]  # left.x < right.x
    batch = [row(10, id=1, x=5), row(10, id=2, x=None)], [row(10, id=3, x=5)]
    assert feed("full", batch, where=where)[-1] == [(1, None), (2, None), (None, 3)]


def test_late_rows_are_neither_joined_nor_null_extended() -> None:
    first = [row(100, id=1)], [row(100, id=2)]
    late = [row(10, id=3), row(10, k=None, id=4)], [row(10, id=5)]
    assert feed("full", first, late) == [[(1, 2)], [], []]


@pytest.mark.parametrize("how", ["semi", "anti"])
def test_semi_and_anti_keep_the_columns_of_the_left_stream(how: str) -> None:
    join = local_join(Case([], (5, 3), how))
    assert join.finish().schema.names == SCHEMA_X.names


@pytest.mark.parametrize(
    ("spelled", "how"),
    [
        ("left_outer", "left"), ("leftouter", "left"), ("right_outer", "right"),
        ("rightouter", "right"), ("outer", "full"), ("full_outer", "full"), ("fullouter", "full"),
        ("left_semi", "semi"), ("leftsemi", "semi"), ("left_anti", "anti"), ("leftanti", "anti"),
    ],
)  # fmt: skip
def test_types_may_be_spelled_as_spark_does(spelled: str, how: str) -> None:
    batches = fixed_streams()
    case = Case(batches, (5, 3), how)
    assert ids(push(local_join(case, how=spelled), case, 0), how) == case.answers()[0]
