import io
from dataclasses import replace

import pytest
from rich.console import Console

from streamjoin.budget import Budget
from streamjoin.cli.display import Display
from streamjoin.cli.totals import LeftOut, Totals, clock, summary
from streamjoin.metrics import InputMetrics, JoinMetrics
from streamjoin.metrics.progress import Progress
from streamjoin.metrics.records import Decision
from streamjoin.metrics.words import size


def metrics(left: InputMetrics | None = None, **counts: float) -> JoinMetrics:
    both = left or InputMetrics("left", rows=9), InputMetrics("right", rows=9)
    return JoinMetrics(inputs=both, **counts)  # type: ignore[arg-type]  # counts are numbers


FIRST = Progress(
    0, 100.0, 2.0, 1000, 10, (metrics(InputMetrics("left", late=1), state_rows=5, state_bytes=50),)
)
SECOND = Progress(1, 104.0, 1.0, 2000, 30, (metrics(InputMetrics("left", null=2)),))
SILENT = Progress(2, 108.0, 1.0, 0, 0)
OUTER = Progress(
    0, 100.0, 2.0, 9, 7, (metrics(InputMetrics("left", alone=4, late=3, idle_late=2)),)
)
SHED = Progress(
    0, 100.0, 2.0, 2000, 75,
    (
        JoinMetrics(
            inputs=(
                InputMetrics("left", rows=4000, dropped=1200),
                InputMetrics("right", rows=1000, dropped=30, cut=7),
            ),
            pairs=75, missed=25, missed_variance=16,
        ),
    ),
)  # fmt: skip


def text(made: object) -> str:
    console = Console(file=io.StringIO(), width=100)
    console.print(made)
    return shown(console)


def shown(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def plain() -> Console:
    return Console(file=io.StringIO(), width=60)


def test_totals_add_up() -> None:
    totals = Totals()
    assert [totals.add(FIRST), totals.add(SECOND)] == [2.0, 4.0]
    whole = totals.whole
    assert (totals.rows_in, totals.rows_out, whole.late, whole.null) == (3000, 40, 1, 2)
    assert totals.seconds == 5.0
    assert totals.mean_batch_seconds == 1.5
    assert totals.p95_batch_seconds == pytest.approx(1.95)


def test_a_batch_that_does_not_say_its_state_keeps_the_last() -> None:
    totals = Totals()
    totals.add(FIRST)
    totals.add(SILENT)
    assert (totals.whole.state_rows, totals.whole.state_bytes) == (5, 50)
    assert totals.peak_state_bytes == 50


def test_without_a_terminal_each_batch_is_a_line() -> None:
    console = plain()
    with Display(console) as display:
        display.add(FIRST)
        display.add(SECOND)
    lines = shown(console).splitlines()
    assert len(lines) == 2
    assert "batch 1 | rows in 2,000 | in/s 500 | rows out 30 | out/s 8" in lines[1]


def test_summary_says_where_results_are() -> None:
    totals = Totals()
    totals.add(FIRST)
    said = text(summary(totals, "output/x", "output/x_checkpoint", more=[("at last", "this")]))
    assert "output/x_checkpoint" in said
    assert "1,000 (500/s)" in said
    assert "2.00 s mean" in said
    assert said.splitlines()[-2].split() == ["│", "at", "last", "│", "this", "│"]


def test_rows_without_a_partner_and_late_rows_are_shown() -> None:
    console = Console(file=io.StringIO(), width=100)
    with Display(console) as display:
        display.add(OUTER)
    assert "| rows out 7 (4 alone) |" in shown(console)
    said = text(summary(display.totals, None, None, "output/late"))
    assert "rows without a partner" in said
    assert "3 (2 of them after an idle time-out), in output/late" in said


def test_what_a_budget_left_out_is_shown() -> None:
    console = plain()
    left_out = LeftOut(Budget(rate=500, memory="1 MB"))
    with Display(console, left_out) as display:
        display.add(SHED, [Decision(102.0, "streamjoin", 0, "turning away 1,230 of 5,000 rows")])
        display.add(replace(SHED, batch=1, joins=(metrics(pairs=300),)))
    first, decided, second = shown(console).splitlines()
    assert decided == "batch 0: turning away 1,230 of 5,000 rows"
    assert first.endswith("| dropped 1,200 / 30 | cut 0 / 7 | recall 75.0 % +- 6.4")
    assert second.endswith("| dropped 0 / 0 | cut 0 / 0 | recall 93.8 % +- 2.0")
    said = text(summary(display.totals, None, None, left_out=left_out))
    for wanted in ("500 tuples/s and 1 MB", "1,200 left, 30 right", "0 left, 7 right", "93.8 %"):
        assert wanted in said


def test_comparisons_that_are_left_out_are_shown() -> None:
    console = plain()
    left_out = LeftOut(Budget(cpu=0.5), ["selective", "lag"])
    inputs = (
        InputMetrics("left", rows=20, compared=25, skipped=75),
        InputMetrics("right", skipped=100),
    )
    part = JoinMetrics(inputs=inputs, selective=1, pairs=75, missed=25)
    with Display(console, left_out) as display:
        display.add(replace(SHED, joins=(part,)))
    cells = "| r_1 / r_2 0.25 / 0.00 | skipped 87.5 % | dropped 0 / 0 | recall 75.0 % +- 0.0"
    assert shown(console).splitlines()[0].endswith(cells)
    closing = text(summary(display.totals, None, None, left_out=left_out))
    assert "87.5 %: 75.0 % of the left, 100.0 % of the right window" in closing
    assert "skipped" not in LeftOut(Budget(cpu=0.5), "drop").columns()


def test_without_a_budget_nothing_is_said_of_one() -> None:
    console = plain()
    with Display(console) as display:
        display.add(SHED)
    said = shown(console) + text(summary(display.totals, None, None))
    assert not any(word in said for word in ("budget", "dropped", "cut", "recall", "missed"))


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
