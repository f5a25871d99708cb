import io
from dataclasses import replace

import pytest
from rich.console import Console

from streamjoin.budget import Budget
from streamjoin.cli.display import Display, clock, size, summary
from streamjoin.cli.left_out import LeftOut
from streamjoin.cli.totals import Totals
from streamjoin.metrics import JoinCounts
from streamjoin.spark.watch import BatchProgress

FIRST = BatchProgress(
    0, 100.0, 2.0, rows_in=1000, rows_out=10, late=1, state_rows=5, state_bytes=50
)
SECOND = BatchProgress(1, 104.0, 1.0, rows_in=2000, rows_out=30, null=2)
OUTER = BatchProgress(0, 100.0, 2.0, rows_in=9, rows_out=7, alone=4, late=3, idle_late=2)

LEFT_OUT = JoinCounts(
    rows_left=4000, rows_right=1000, dropped_left=1200, dropped_right=30, cut_right=7,
    pairs=75, missed=25, missed_variance=16,
)  # fmt: skip
SHED = BatchProgress(0, 100.0, 2.0, rows_in=2000, rows_out=75, counters=LEFT_OUT)


def text(made: object) -> str:
    console = Console(file=io.StringIO(), width=100)
    console.print(made)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_totals_add_up() -> None:
    totals = Totals()
    assert [totals.add(FIRST), totals.add(SECOND)] == [2.0, 4.0]
    assert (totals.rows_in, totals.rows_out, totals.late, totals.null) == (3000, 40, 1, 2)
    assert totals.seconds == 5.0
    assert totals.mean_batch_seconds == 1.5
    assert totals.p95_batch_seconds == pytest.approx(1.95)


def test_a_batch_that_does_not_say_its_state_keeps_the_last() -> None:
    totals = Totals()
    totals.add(FIRST)
    totals.add(SECOND)
    assert (totals.state_rows, totals.state_bytes, totals.peak_state_bytes) == (5, 50, 50)


def test_without_a_terminal_each_batch_is_a_line() -> None:
    console = Console(file=io.StringIO(), width=60)
    with Display(console) as display:
        display.add(FIRST)
        display.add(SECOND)
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    assert len(lines) == 2
    assert "batch 1 | rows in 2,000 | in/s 500 | rows out 30 | out/s 8" in lines[1]


def test_on_a_terminal_there_is_a_table() -> None:
    console = Console(file=io.StringIO(), width=130, force_terminal=True)
    with Display(console) as display:
        display.add(FIRST)
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    assert "batch time" in shown
    assert "Ctrl-C" in shown


def test_summary_says_where_results_are() -> None:
    totals = Totals()
    totals.add(FIRST)
    shown = text(summary(totals, "output/x", "output/x_checkpoint"))
    assert "output/x_checkpoint" in shown
    assert "1,000 (500/s)" in shown
    assert "2.00 s mean" in shown


def test_rows_without_a_partner_and_late_rows_are_shown() -> None:
    console = Console(file=io.StringIO(), width=100)
    with Display(console) as display:
        display.add(OUTER)
    assert isinstance(console.file, io.StringIO)
    assert "| rows out 7 (4 alone) |" in console.file.getvalue()
    shown = text(summary(display.totals, None, None, "output/late"))
    assert "rows without a partner" in shown
    assert "3 (2 of them after an idle time-out), in output/late" in shown


def test_what_a_budget_left_out_is_shown() -> None:
    console = Console(file=io.StringIO(), width=60)
    left_out = LeftOut(Budget(rate=500, memory="1 MB"))
    with Display(console, left_out) as display:
        display.add(SHED)
        display.add(replace(SHED, batch=1, counters=JoinCounts(pairs=300)))
    assert isinstance(console.file, io.StringIO)
    first, remark, second = console.file.getvalue().splitlines()
    assert remark == (
        "batch 0: turning away 1,230 of 5,000 rows, forgetting 7 rows before their window ends"
    )
    assert first.endswith("| dropped 1,200 / 30 | cut 0 / 7 | recall 75.0 % +- 5.9")
    assert second.endswith("| dropped 0 / 0 | cut 0 / 0 | recall 93.8 % +- 1.8")
    shown = text(summary(display.totals, None, None, left_out=left_out))
    for wanted in ("500 tuples/s and 1 MB", "1,200 left, 30 right", "0 left, 7 right", "93.8 %"):
        assert wanted in shown


def test_a_live_table_has_the_columns_of_its_budget() -> None:
    console = Console(file=io.StringIO(), width=150, force_terminal=True)
    with Display(console, LeftOut(Budget(memory="1 MB"))) as display:
        display.add(SHED)
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    assert "cut" in shown
    assert "recall" in shown
    assert "dropped" not in shown


def test_comparisons_that_are_left_out_are_shown() -> None:
    console = Console(file=io.StringIO(), width=60)
    left_out = LeftOut(Budget(cpu=0.5), ["selective", "lag"])
    part = JoinCounts(
        rows_left=20, compared_left=25, skipped_left=75, skipped_right=100, selective=1,
        pairs=75, missed=25,
    )  # fmt: skip
    with Display(console, left_out) as display:
        display.add(replace(SHED, counters=part))
    assert isinstance(console.file, io.StringIO)
    line, remark = console.file.getvalue().splitlines()
    shown = "| r_1 / r_2 0.25 / 0.00 | skipped 87.5 % | dropped 0 / 0 | recall 75.0 % +- 0.0"
    assert line.endswith(shown)
    assert remark == (
        "batch 0: load 8x the budget, probing 25 % of the left and 0 % of the right window"
    )
    closing = text(summary(display.totals, None, None, left_out=left_out))
    assert "87.5 %: 75.0 % of the left window, 100.0 % of the right" in closing
    assert "skipped" not in LeftOut(Budget(cpu=0.5), "drop").columns()


def test_without_a_budget_nothing_is_said_of_one() -> None:
    console = Console(file=io.StringIO(), width=60)
    with Display(console) as display:
        display.add(SHED)
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue() + text(summary(display.totals, None, None))
    assert not any(word in shown for word in ("budget", "dropped", "cut", "recall", "missed"))


def test_summary_of_nothing() -> None:
    assert "0 in 0:00" in text(summary(Totals(), None, None))


def test_units() -> None:
    assert (clock(59.9), clock(3600), size(0), size(999e9), size(3e15)) == (
        "0:59",
        "1:00:00",
        "0 B",
        "999 GB",
        "3e+03 TB",
    )
