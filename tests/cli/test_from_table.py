"""What is shown of a join with a table."""

import io
from typing import Any

from rich.console import Console

from streamjoin.cli.display import Display, summary
from streamjoin.spark.watch import BatchProgress, read_progress

COUNTED = {
    "rows": 200, "null": 1, "hits": 150, "looked_up": 40, "loads": 3, "pairs": 180, "alone": 6,
    "waiting_rows": 9, "spilled_rows": 4, "shed": 5, "reloaded": 1, "cached_rows": 70,
    "state_bytes": 3000,
}  # fmt: skip


def progress(number: int, **changes: int | None) -> BatchProgress:
    document: dict[str, Any] = {
        "batchId": number,
        "timestamp": "2026-01-01T00:00:00.000Z",
        "sources": [{"numInputRows": 200}],
        "durationMs": {"triggerExecution": 500},
        "sink": {"numOutputRows": -1},
        "observedMetrics": {"streamjoin": {"counters": COUNTED | changes}},
    }
    return read_progress(document)


def test_what_a_batch_says() -> None:
    batch = progress(0)
    assert (batch.rows_out, batch.alone, batch.null, batch.late) == (186, 6, 1, 0)
    assert (batch.state_rows, batch.state_bytes) == (83, 3000)
    assert progress(0, hits=None).of_table["hits"] == 0


def test_lines_and_summary() -> None:
    console = Console(file=io.StringIO(), width=100)
    with Display(console, has_table=True) as display:
        display.add(progress(0))
        display.add(progress(1, hits=50, waiting_rows=0))
    console.print(summary(display.totals, None, None))
    assert isinstance(console.file, io.StringIO)
    first, second, *closing = console.file.getvalue().splitlines()
    assert first.endswith("| batch time 0.50 s | hits 75.0 % | waiting 9 | spilled 4")
    assert second.endswith("| batch time 0.50 s | hits 25.0 % | waiting 0 | spilled 4")
    shown = "\n".join(closing)
    for wanted in ("200 (50.0 %)", "10, of which 2 came back", "0, 4", "rows with a null key "):
        assert wanted in shown
    assert "late" not in shown


def test_a_live_table() -> None:
    console = Console(file=io.StringIO(), width=150, force_terminal=True)
    with Display(console, has_table=True) as display:
        display.add(progress(0))
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    assert "spilled" in shown
    assert "75.0 %" in shown
    assert "late" not in shown
