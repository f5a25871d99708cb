import io

import pytest
from rich.console import Console

from streamjoin.cli.display import Display, clock, size, summary
from streamjoin.cli.totals import Totals
from streamjoin.spark.watch import BatchProgress

FIRST = BatchProgress(
    0, 100.0, 2.0, rows_in=1000, rows_out=10, late=1, state_rows=5, state_bytes=50
)
SECOND = BatchProgress(1, 104.0, 1.0, rows_in=2000, rows_out=30, null=2)
OUTER = BatchProgress(0, 100.0, 2.0, rows_in=9, rows_out=7, alone=4, late=3, idle_late=2)


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
