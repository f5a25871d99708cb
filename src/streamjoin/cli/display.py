"""Progress on the terminal: a live screen, or a line per batch where there is no terminal."""

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.live import Live

from streamjoin.cli import totals
from streamjoin.cli.screen import Point, Screen
from streamjoin.cli.totals import LeftOut, Totals, clock
from streamjoin.metrics.words import size

if TYPE_CHECKING:
    from streamjoin.metrics.progress import Progress
    from streamjoin.metrics.records import Decision

COLUMNS: Final = (
    "elapsed", "batch", "rows in", "in/s", "rows out", "out/s", "state", "late", "batch time",
)  # fmt: skip
DRAWN: Final = ("elapsed", "in/s", "out/s", "state", "recall", "hits", "r_1 / r_2")
"""What the screen shows elsewhere than in its table."""


class Display:
    """Shows each batch as it ends; use it as a context manager around the run.

    With a budget it also shows what was left out. Of a join with a table it shows where rows were
    answered and how many wait; none of them is late. `names` are what the inputs "left" and "right"
    are called.
    """

    def __init__(
        self,
        console: Console,
        left_out: LeftOut | None = None,
        *,
        has_table: bool = False,
        names: Mapping[str, str] | None = None,
    ) -> None:
        self.console = console
        self.left_out = left_out or LeftOut()
        self.columns = (*COLUMNS, *self.left_out.columns())
        if has_table:
            self.columns = (*(name for name in COLUMNS if name != "late"), *totals.TABLE_COLUMNS)
        self.totals = Totals()
        self.is_stopping = False
        self.began = time.monotonic()
        self.screen = Screen(self._in_table(), names or {})
        self.live = Live(
            get_renderable=self._drawn, console=console, refresh_per_second=4, auto_refresh=True
        )

    def __enter__(self) -> "Display":
        self.began = time.monotonic()
        if self.console.is_terminal:
            self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.live.stop()

    def add(self, progress: "Progress", decisions: Sequence["Decision"] = ()) -> None:
        """Show a batch that has ended, and what changes from now on."""
        seconds = self.totals.add(progress)
        cells = self._cells(progress, seconds)
        rates = progress.rows_in / seconds, progress.rows_out / seconds
        self.screen.add(Point(*rates, progress.whole), cells, decisions)
        if self.console.is_terminal:
            return
        line = plain_line([cells.get(name, "-") for name in self.columns], self.columns)
        self.console.print(line, soft_wrap=True)
        for one in decisions:
            self.console.print(f"batch {one.batch}: {one.text}", style="yellow", soft_wrap=True)

    def _in_table(self) -> list[str]:
        """Columns of the screen's table, the most telling first."""
        more = [] if self.left_out.budget is None else ["missed, about"]
        names = [name for name in self.columns if name not in DRAWN]
        return names[:3] + more + names[3:]

    def _cells(self, progress: "Progress", seconds: float) -> dict[str, str]:
        batch, so_far = progress.whole, self.totals.whole
        return {
            "elapsed": clock(time.monotonic() - self.began),
            "batch": str(progress.batch),
            "rows in": f"{progress.rows_in:,}",
            "in/s": f"{progress.rows_in / seconds:,.0f}",
            "rows out": totals.rows_out(progress.rows_out, batch.alone),
            "out/s": f"{progress.rows_out / seconds:,.0f}",
            "state": f"{so_far.state_rows:,} rows, {size(so_far.state_bytes)}",
            "missed, about": totals.missed(batch),
            "late": f"{batch.late:,}",
            "batch time": f"{progress.seconds:.2f} s",
            **totals.table_cells(batch),
            **self.left_out.cells(batch, so_far),
        }

    def _drawn(self) -> Screen:
        self.screen.elapsed = time.monotonic() - self.began
        self.screen.is_stopping = self.is_stopping
        return self.screen


def plain_line(cells: Sequence[str], columns: Sequence[str] = COLUMNS) -> str:
    """Write a batch in one line.

    Examples
    --------
    >>> plain_line(("0:04", "1", "80", "40", "7", "4", "90 rows, 2 KB", "0", "0.31 s"))
    'elapsed 0:04 | batch 1 | rows in 80 | in/s 40 | rows out 7 | out/s 4 | ... | batch time 0.31 s'
    """
    return " | ".join(f"{name} {cell}" for name, cell in zip(columns, cells, strict=True))
