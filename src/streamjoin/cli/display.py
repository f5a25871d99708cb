"""Progress on the terminal: a live table, or a line per batch where there is no terminal."""

import time
from collections import deque
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.table import Table

from streamjoin.cli import from_table
from streamjoin.cli.left_out import LeftOut
from streamjoin.cli.totals import Totals
from streamjoin.shedding.remarks import Remarks

if TYPE_CHECKING:
    from streamjoin.spark.watch import BatchProgress

COLUMNS = (
    "elapsed",
    "batch",
    "rows in",
    "in/s",
    "rows out",
    "out/s",
    "state",
    "late",
    "batch time",
)
SHOWN_BATCHES = 10
EXACT = LeftOut()


class Display:
    """Shows each batch as it ends; use it as a context manager around the run.

    With a budget it also shows what was left out, and says when that begins and when it ends. Of a
    join with a table it shows where rows were answered and how many wait; none of them is late.
    """

    def __init__(
        self, console: Console, left_out: LeftOut = EXACT, *, has_table: bool = False
    ) -> None:
        self.console = console
        self.left_out = left_out
        self.columns = (*COLUMNS, *left_out.columns())
        if has_table:
            self.columns = (*(name for name in COLUMNS if name != "late"), *from_table.COLUMNS)
        self.remarks = Remarks()
        self.totals = Totals()
        self.began = time.monotonic()
        self.recent: deque[tuple[str, ...]] = deque(maxlen=SHOWN_BATCHES)
        self.live = Live(get_renderable=self._table, console=console, refresh_per_second=4)

    def __enter__(self) -> "Display":
        if self.console.is_terminal:
            self.live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.live.stop()

    def add(self, batch: "BatchProgress") -> None:
        """Show a batch that has ended."""
        seconds = self.totals.add(batch)
        known = dict(zip(COLUMNS, self._cells(batch, seconds), strict=True))
        known |= from_table.cells(batch.of_table)
        left_out = self.left_out.cells(batch.counters, self.totals.counters)
        known |= dict(zip(self.left_out.columns(), left_out, strict=True))
        cells = tuple(known[name] for name in self.columns)
        self.recent.append(cells)
        if not self.console.is_terminal:
            self.console.print(plain_line(cells, self.columns), soft_wrap=True)
        remark = self.remarks.see(batch.batch, batch.counters)
        if remark is not None and self.left_out.budget is not None:
            self.console.print(remark, style="yellow", soft_wrap=True)

    def _cells(self, batch: "BatchProgress", seconds: float) -> tuple[str, ...]:
        return (
            clock(time.monotonic() - self.began),
            str(batch.batch),
            f"{batch.rows_in:,}",
            f"{batch.rows_in / seconds:,.0f}",
            rows_out(batch.rows_out, batch.alone),
            f"{batch.rows_out / seconds:,.0f}",
            f"{self.totals.state_rows:,} rows, {size(self.totals.state_bytes)}",
            f"{batch.late:,}",
            f"{batch.seconds:.2f} s",
        )

    def _table(self) -> Table:
        totals = self.totals
        elapsed = time.monotonic() - self.began
        table = Table(show_footer=True, caption="Ctrl-C stops after the running batch")
        footers = (
            clock(elapsed),
            str(len(totals.batch_seconds)),
            f"{totals.rows_in:,}",
            f"{totals.rows_in / elapsed:,.0f}",
            rows_out(totals.rows_out, totals.alone),
            f"{totals.rows_out / elapsed:,.0f}",
            "",
            f"{totals.late:,}",
            f"{totals.mean_batch_seconds:.2f} s",
        )
        known = dict(zip(COLUMNS, footers, strict=True)) | {
            "hits": from_table.share(totals.of_table)
        }
        left_out = self.left_out.cells(totals.counters, totals.counters)
        known |= dict(zip(self.left_out.columns(), left_out, strict=True))
        for name in self.columns:
            table.add_column(name, known.get(name, ""), justify="right", no_wrap=True)
        for cells in self.recent:
            table.add_row(*cells)
        return table


def summary(
    totals: Totals,
    results: str | None,
    checkpoint: str | None,
    late_rows: str | None = None,
    *,
    left_out: LeftOut = EXACT,
) -> Table:
    """Make the closing table of a run; three arguments say where things are."""
    table = Table(title="Summary", title_justify="left", show_header=False)
    seconds = max(totals.seconds, 0.001)
    stale = totals.counters.stale
    rows = [
        ("batches", f"{len(totals.batch_seconds):,} in {clock(totals.seconds)}"),
        ("rows in", f"{totals.rows_in:,} ({totals.rows_in / seconds:,.0f}/s)"),
        ("rows out", f"{totals.rows_out:,} ({totals.rows_out / seconds:,.0f}/s)"),
        *([("rows without a partner", f"{totals.alone:,} of them")] if totals.alone else []),
        *([] if totals.of_table else [("late rows", late(totals, late_rows))]),
        ("rows with a null key" + " or time" * (not totals.of_table), f"{totals.null:,}"),
        *([("stale results withheld", f"{stale:,}")] if stale else []),
        *left_out.rows(totals.counters),
        *from_table.rows(totals),
        ("state at the end", f"{totals.state_rows:,} rows, {size(totals.state_bytes)}"),
        ("largest state", size(totals.peak_state_bytes)),
        (
            "batch time",
            f"{totals.mean_batch_seconds:.2f} s mean, {totals.p95_batch_seconds:.2f} s p95",
        ),
    ]
    if results is not None:
        rows.append(("results", results))
    if checkpoint is not None:
        rows.append(("checkpoint", checkpoint))
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def plain_line(cells: Sequence[str], columns: Sequence[str] = COLUMNS) -> str:
    """Write a batch in one line.

    Examples
    --------
    >>> plain_line(("0:04", "1", "80", "40", "7", "4", "90 rows, 2 KB", "0", "0.31 s"))
    'elapsed 0:04 | batch 1 | rows in 80 | in/s 40 | rows out 7 | out/s 4 | ... | batch time 0.31 s'
    """
    return " | ".join(f"{name} {cell}" for name, cell in zip(columns, cells, strict=True))


def rows_out(n: int, alone: int) -> str:
    """Write a number of results, and how many of them have no partner where some have none.

    Examples
    --------
    >>> rows_out(1200, 0), rows_out(1200, 30)
    ('1,200', '1,200 (30 alone)')
    """
    return f"{n:,} ({alone:,} alone)" if alone else f"{n:,}"


def late(totals: Totals, folder: str | None) -> str:
    """Write how many rows were late, why, and where they are.

    Examples
    --------
    >>> late(Totals(late=5, idle_late=2), "output/late")
    '5 (2 of them after an idle time-out), in output/late'
    """
    cause = f" ({totals.idle_late:,} of them after an idle time-out)" if totals.idle_late else ""
    return f"{totals.late:,}{cause}" + (f", in {folder}" if folder and totals.late else "")


def clock(seconds: float) -> str:
    """Write a length of time as on a clock.

    Examples
    --------
    >>> clock(75.2), clock(3725)
    ('1:15', '1:02:05')
    """
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def size(n_bytes: float) -> str:
    """Write a number of bytes.

    Examples
    --------
    >>> size(512), size(2_500_000)
    ('512 B', '2.5 MB')
    """
    for unit in ("B", "KB", "MB", "GB"):
        if n_bytes < 1000:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.3g} TB"
