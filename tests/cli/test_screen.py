"""What the live screen shows, and that it fits on a terminal."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from streamjoin.budget import Budget
from streamjoin.cli.display import HEAT, Display
from streamjoin.cli.totals import LeftOut
from streamjoin.metrics import BasicWindows, InputMetrics, JoinMetrics, TableMetrics
from streamjoin.metrics.progress import Progress
from streamjoin.metrics.records import Decision

PARTS = {
    "left": BasicWindows(0.5, (9.0, 5.0, 0.0) * 7, (0.0, 5.0, 9.0) * 7, (8.0, 1.0, 0.0) * 7),
    "right": BasicWindows(0.5, (0.0,) * 20, (9.0,) * 20, (0.0,) * 20),
}
PART = JoinMetrics(
    inputs=(
        InputMetrics("left", rows=3_000_000, compared=33, skipped=67),
        InputMetrics("right", rows=2_000_000, skipped=100),
    ),
    pairs=500, missed=500, missed_variance=100.0, selective=2, cpu_us=260_000, budget_us=250_000,
    state_bytes=2_160_000, windows=PARTS,
)  # fmt: skip
EXACT = replace(PART, inputs=(InputMetrics("left", rows=9),), missed=0, selective=0)
DECIDED = Decision(
    0.0, "streamjoin", 1, "load 4x the budget, probing 33 % of the left and 0 % of the right window"
)
NAMES = {"left": "calls", "right": "trades"}


def drawn(width: int, height: int, *batches: JoinMetrics, **more: object) -> list[str]:
    """The screen after some batches."""
    console = Console(
        file=io.StringIO(), width=width, height=height, force_terminal=True, **more  # type: ignore[arg-type]
    )  # fmt: skip
    display = Display(console, LeftOut(Budget(cpu="250 ms")), names=NAMES)
    for number, metrics in enumerate(batches):
        made = replace(metrics, batch=number)
        decided = [replace(DECIDED, batch=number)] if metrics.selective else []
        display.add(Progress(number, 2.0 * number, 1.5, made.rows_in, made.pairs, (made,)), decided)
    console.print(display)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40), (40, 10)])
def test_it_fits(width: int, height: int) -> None:
    lines = drawn(width, height, *[EXACT] * 200, *[PART] * 100, no_color=True)
    assert len(lines) <= height - 4  # some lines are for what was printed before
    assert max(len(plain(line)) for line in lines) <= width


def plain(line: str) -> str:
    return "".join(
        part.partition("m")[2] if i else part for i, part in enumerate(line.split("\x1b["))
    )


def test_numbers_and_how_they_went() -> None:
    lines = [plain(line) for line in drawn(80, 24, EXACT, EXACT, PART, PART)]
    by_name = {line.split("  ")[0].strip(): line for line in lines}
    assert "batch 3  selective: load 6.1x the budget" in lines[0]
    assert by_name["rows in/s"].endswith("  2,500,000")
    assert by_name["recall"][12:].startswith("██▄▄ ")
    assert by_name["recall"].endswith("50.0 % +- 1.0")
    assert "260 of 250 ms" in next(line for line in lines if line.startswith("CPU"))
    assert by_name["state"].endswith("2.16 MB")


@pytest.mark.parametrize(
    ("metrics", "said"),
    [
        (EXACT, "exact"),
        (replace(EXACT, lagging=1), "lagging"),
        (replace(EXACT, inputs=(InputMetrics("left", rows=9, dropped=1),)), "turning rows away"),
        (replace(EXACT, inputs=(InputMetrics("left", rows=9, cut=1),)), "forgetting rows early"),
        (replace(EXACT, table=TableMetrics(spilled_rows=5)), "putting rows off"),
        (replace(EXACT, missed=3), "rows of its windows are missing"),
    ],
)
def test_exact_is_said_of_nothing_else(metrics: JoinMetrics, said: str) -> None:
    first = plain(drawn(80, 24, metrics)[0])
    assert f"batch 0  {said}  " in first
    assert ("exact" in first) == (metrics is EXACT)


def test_what_is_probed_where() -> None:
    lines = [plain(line) for line in drawn(80, 24, PART)]
    calls = next(line for line in lines if line.startswith("calls"))
    trades = next(line for line in lines if line.startswith("trades"))
    assert "0 s ██▄▄··██▄▄··" in calls
    assert calls.endswith(" 10.5 s        33 % probed")
    assert "0 s " + "·" * 40 + " 10 s" in trades


def test_decisions_are_there_in_full_with_the_time_of_day() -> None:
    lines = [plain(line) for line in drawn(60, 30, EXACT, PART)]
    at = next(i for i, line in enumerate(lines) if "load 4x the budget" in line)
    assert lines[at][2] == lines[at][5] == ":"
    assert lines[at + 1].strip().endswith("right window")


def test_colour_says_what_is_productive_and_may_be_left_out() -> None:
    coloured = "\n".join(drawn(80, 24, PART, color_system="truecolor"))
    grey = "\n".join(drawn(80, 24, PART, no_color=True))
    assert len(HEAT) == 5
    assert "\x1b[93m██" in coloured  # the brightest
    assert "\x1b[9" not in grey
    assert "\x1b[3" not in grey


def test_a_terminal_without_blocks_gets_letters() -> None:
    console = Console(file=io.TextIOWrapper(io.BytesIO(), encoding="ascii"), force_terminal=True)
    display = Display(console, names=NAMES)
    display.add(Progress(0, 2.0, 1.5, 10, 5, (PART,)))
    with console.capture() as captured:
        console.print(display)
    assert "##" in captured.get()
    assert captured.get().isascii()


def test_before_the_first_batch_it_says_so() -> None:
    assert "waiting for the first batch" in drawn(80, 24)[0]
