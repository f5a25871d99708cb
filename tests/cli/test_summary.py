"""What is shown of a join with a table."""

import io

from rich.console import Console

from streamjoin.cli.display import Display
from streamjoin.cli.totals import summary
from streamjoin.metrics import InputMetrics, JoinMetrics, TableMetrics
from streamjoin.metrics.progress import Progress


def progress(number: int, hits: int, waiting: int) -> Progress:
    metrics = JoinMetrics(
        kind="table",
        batch=number,
        inputs=(InputMetrics("stream", rows=200, null=1, alone=6),),
        pairs=180,
        rows_out=186,
        table=TableMetrics(
            hits, looked_up=40, loads=3, shed=5, reloaded=1, waiting_rows=waiting, spilled_rows=4
        ),
    )
    return Progress(number, 0.0, 0.5, 200, 186, (metrics,))


def test_lines_and_summary() -> None:
    console = Console(file=io.StringIO(), width=100)
    with Display(console, has_table=True) as display:
        display.add(progress(0, hits=150, waiting=9))
        display.add(progress(1, hits=50, waiting=0))
        display.add(Progress(2, 0.0, 0.5, 0, 0))
    console.print(summary(display.totals, None, None))
    assert isinstance(console.file, io.StringIO)
    first, second, silent, *closing = console.file.getvalue().splitlines()
    assert first.endswith("| batch time 0.50 s | hits 75.0 % | waiting 9 | spilled 4")
    assert second.endswith("| batch time 0.50 s | hits 25.0 % | waiting 0 | spilled 4")
    assert silent.endswith("| hits - | waiting - | spilled -")
    shown = "\n".join(closing)
    for wanted in ("200 (50.0 %)", "10, of which 2 came back", "0, 4", "rows with a null key "):
        assert wanted in shown
    assert "late" not in shown


def test_the_live_screen() -> None:
    console = Console(file=io.StringIO(), width=120, height=30, force_terminal=True)
    with Display(console, has_table=True) as display:
        display.add(progress(0, hits=150, waiting=9))
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    assert "cache hits" in shown
    assert "75 %" in shown
    assert "spilled" in shown
    assert "late" not in shown
