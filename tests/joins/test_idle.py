"""A silent side holds the watermark only so long; what that costs is counted."""

from hypothesis import given

from tests.joins.feeding import (
    counted_late,
    feed,
    ids,
    local_join,
    push,
    results,
    results_with_restarts,
    row,
)
from tests.strategies import FEW, TIME_WINDOWS, Case, Row, cases

IDLE = cases(idle=True)
Batch = tuple[list[Row], list[Row]]


@given(IDLE)
def test_each_batch_brings_what_the_oracle_says(case: Case) -> None:
    assert results(case) == case.answers()


@given(cases(TIME_WINDOWS, how="asof", idle=True))
def test_each_batch_of_an_asof_join_brings_what_the_oracle_says(case: Case) -> None:
    assert results(case) == case.answers()


@FEW
@given(IDLE)
def test_restart_at_every_batch_changes_nothing(case: Case) -> None:
    assert results_with_restarts(case) == case.answers()


@FEW
@given(IDLE)
def test_a_retried_batch_decides_the_same_whatever_the_clock_says(case: Case) -> None:
    """The clock of a batch is only stored; what it says matters for the next one."""
    join = local_join(case)
    for number in range(len(case.batches) - 1):
        push(join, case, number)
    clocks = [*case.clocks[:-1], case.clocks[-1] + 1_000]
    retried = Case(**{**vars(case), "clocks": clocks})
    assert ids(push(join, retried, len(clocks) - 1), case.how) == case.answers()[-2]


@FEW
@given(IDLE)
def test_rows_late_for_an_idle_side_are_counted(case: Case) -> None:
    join = local_join(case)
    for number in range(len(case.batches)):
        push(join, case, number)
    late = [len(counted_late(case, side)) for side in (0, 1)]
    anyway = [len(counted_late(case, side, may_idle=False)) for side in (0, 1)]
    cost = [late[side] - anyway[side] for side in (0, 1)]
    assert [join.total.late_left, join.total.late_right] == late
    assert [join.total.idle_late_left, join.total.idle_late_right] == cost


def test_a_silent_side_holds_nothing_for_ever() -> None:
    """Right falls silent at 0; at 6, which the third batch is told, it is idle."""
    batches: list[Batch] = [
        ([row(10, id=1)], [row(10, k=2, id=2)]),
        ([row(20, id=3)], []),
        ([row(30, id=4)], []),
    ]
    found = feed("left", *batches, idle_timeout=5, clocks=[0, 6, 12])
    assert found == [[], [], [(1, None), (3, None)], [(4, None)]]
    assert feed("left", *batches)[:3] == [[], [], []]


def test_silence_of_exactly_the_timeout_is_not_idle() -> None:
    batches: list[Batch] = [
        ([row(10, id=1)], [row(10, k=2, id=2)]),
        ([row(20, id=3)], []),
        ([row(30, id=4)], []),
    ]
    assert feed("left", *batches, idle_timeout=5, clocks=[0, 5, 99])[:3] == [[], [], []]


def test_a_row_ends_the_idleness_even_if_it_is_late() -> None:
    batches: list[Batch] = [
        ([row(10, id=1)], [row(10, id=2)]),
        ([row(20, id=3)], []),
        ([row(30, id=4)], []),
        ([row(50, id=5)], [row(12, id=6)]),  # 12 is late: the watermark is 30
        ([row(60, id=7)], []),
        ([row(45, id=8)], [row(45, id=9)]),
    ]
    case = Case(batches, (5, 3), "full", idle_timeout=5, clocks=[0, 6, 7, 8, 9, 10])
    assert results(case) == case.answers()
    join = local_join(case)
    for number in range(len(batches)):
        push(join, case, number)
    assert (join.total.late_left, join.total.late_right) == (0, 1)
    assert (join.total.idle_late_left, join.total.idle_late_right) == (0, 1)


def test_a_side_that_never_spoke() -> None:
    batches: list[Batch] = [([row(t, id=t)], []) for t in (10, 20, 30)]
    found = feed("anti", *batches, idle_timeout=5, clocks=[0, 6, 12])
    assert found == [[], [], [(10, None), (20, None)], [(30, None)]]


def test_two_silent_sides_hold_nothing_for_ever() -> None:
    """As if one had fallen silent a little before the other: the larger time counts."""
    batches: list[Batch] = [([row(50, id=1)], [row(10, k=2, id=2)]), ([], []), ([], [])]
    found = feed("right", *batches, idle_timeout=5, clocks=[0, 6, 12])
    assert found == [[], [], [(None, 2)], []]
