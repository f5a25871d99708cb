"""One line when a budget begins to bite, and one when it is over."""

from streamjoin.metrics import JoinCounts
from streamjoin.shedding.remarks import CALM, Remarks

EXACT = JoinCounts(rows_left=60, compared_left=10, compared_right=10, pairs=5)
PART = JoinCounts(rows_left=60, compared_left=5, skipped_left=5, compared_right=5, skipped_right=5,
                   selective=1)  # fmt: skip
DROPPING = JoinCounts(rows_left=60, rows_right=40, dropped_left=30, selective=1, lagging=2,
                       compared_left=5, skipped_left=15)  # fmt: skip


def said(*batches: JoinCounts) -> dict[int, str]:
    remarks = Remarks()
    lines = {batch: remarks.see(batch, counted) for batch, counted in enumerate(batches)}
    return {batch: line for batch, line in lines.items() if line is not None}


def test_a_load_that_goes_to_and_fro_is_mentioned_once() -> None:
    assert list(said(EXACT, PART, EXACT, PART, EXACT, EXACT, PART)) == [1]


def test_it_is_said_when_all_is_well_again() -> None:
    lines = said(PART, *[EXACT] * 10, PART)
    assert list(lines) == [0, CALM, 11]
    assert lines[CALM] == f"batch {CALM}: exact again"


def test_rows_that_are_turned_away_come_first() -> None:
    lines = said(PART, DROPPING, *[PART] * 5)
    assert lines[1] == (
        "batch 1: to receive rows alone takes more than the budget, load 4x the budget, "
        "turning away 30 of 100 rows, probing 25 % of the left and 100 % of the right window"
    )
    assert lines[1 + CALM] == (
        f"batch {1 + CALM}: there is time to receive all rows again, load 2x the budget, "
        "probing 50 % of the left and 50 % of the right window"
    )
    assert len(lines) == 3


def test_batches_that_lag_are_named() -> None:
    assert said(JoinCounts(rows_left=9, lagging=1))[0] == (
        "batch 0: to receive rows alone takes more than the budget, batches take longer"
    )


def test_it_is_not_exact_while_rows_of_the_windows_are_missing() -> None:
    missing = JoinCounts(rows_left=9, pairs=5, missed=3)
    lines = said(DROPPING, *[missing] * 9, *[EXACT] * CALM)
    assert lines[CALM] == f"batch {CALM}: there is time to receive all rows again"
    assert lines[9 + CALM].endswith("exact again")
    assert said(missing) == {}


def test_the_first_batches_may_have_no_time_for_any_comparison() -> None:
    none = JoinCounts(rows_left=9, selective=1, skipped_left=9)
    assert "no time for comparisons" in said(none)[0]


def test_batches_without_rows_say_nothing() -> None:
    assert list(said(PART, *[JoinCounts()] * 9, EXACT, EXACT)) == [0]
