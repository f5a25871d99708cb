"""One line when a budget begins to bite, and one when it is over."""

from dataclasses import replace
from typing import Any

from streamjoin.metrics import InputMetrics, JoinMetrics, TableMetrics
from streamjoin.metrics.recorder import CALM, Remarks


def batch(
    left: dict[str, int] | None = None, right: dict[str, int] | None = None, **more: Any
) -> JoinMetrics:
    inputs = InputMetrics("left", **(left or {})), InputMetrics("right", **(right or {}))
    return JoinMetrics(inputs=inputs, **more)


EXACT = batch({"rows": 60, "compared": 10}, {"compared": 10}, pairs=5)
PART = batch({"rows": 60, "compared": 5, "skipped": 5}, {"compared": 5, "skipped": 5}, selective=1)
DROPPING = batch(
    {"rows": 60, "dropped": 30, "compared": 5, "skipped": 15}, {"rows": 40}, selective=1, lagging=2
)


def said(*batches: JoinMetrics) -> dict[int, str]:
    remarks = Remarks()
    lines = {number: remarks.see(metrics) for number, metrics in enumerate(batches)}
    return {batch: line for batch, line in lines.items() if line is not None}


def test_a_load_that_goes_to_and_fro_is_mentioned_once() -> None:
    assert list(said(EXACT, PART, EXACT, PART, EXACT, EXACT, PART)) == [1]


def test_it_is_said_when_all_is_well_again() -> None:
    lines = said(PART, *[EXACT] * 10, PART)
    assert list(lines) == [0, CALM, 11]
    assert lines[CALM] == "exact again"


def test_rows_that_are_turned_away_come_first() -> None:
    lines = said(PART, DROPPING, *[PART] * 5)
    assert lines[1] == (
        "to receive rows alone takes more than the budget, load 4x the budget, "
        "turning away 30 of 100 rows, probing 25 % of the left and 100 % of the right window"
    )
    assert lines[1 + CALM] == (
        "there is time to receive all rows again, load 2x the budget, "
        "probing 50 % of the left and 50 % of the right window"
    )
    assert len(lines) == 3


def test_batches_that_lag_are_named() -> None:
    assert said(batch({"rows": 9}, lagging=1))[0] == (
        "to receive rows alone takes more than the budget, batches take longer"
    )


def test_it_is_not_exact_while_rows_of_the_windows_are_missing() -> None:
    missing = batch({"rows": 9}, pairs=5, missed=3)
    lines = said(DROPPING, *[missing] * 9, *[EXACT] * CALM)
    assert lines[CALM] == "there is time to receive all rows again"
    assert lines[9 + CALM].endswith("exact again")
    assert said(missing) == {}


def test_the_first_batches_may_have_no_time_for_any_comparison() -> None:
    none = batch({"rows": 9, "skipped": 9}, selective=1)
    assert "no time for comparisons" in said(none)[0]


def test_batches_without_rows_say_nothing() -> None:
    assert list(said(PART, *[JoinMetrics()] * 9, EXACT, EXACT)) == [0]


def test_another_plan_is_named_once() -> None:
    one = InputMetrics("a", rows=9)
    tree = JoinMetrics(kind="plan", inputs=(one,), algorithm="tree (a b) c")
    nary = replace(tree, algorithm="n-ary join", driver="b, then a with c")
    assert said(tree, tree, nary, nary) == {2: "now by n-ary join"}


def test_rows_of_a_table_join_that_are_put_off() -> None:
    one = InputMetrics("stream", rows=9)
    calm = JoinMetrics(kind="table", inputs=(one,), table=TableMetrics(hits=9))
    late = replace(calm, table=TableMetrics(spilled_rows=1200))
    lines = said(calm, late, *[calm] * CALM)
    assert lines == {1: "1,200 rows are put off", 1 + CALM: "all that was put off is answered"}
