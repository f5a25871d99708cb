"""Progress on the terminal: a live screen, or a line per batch where there is no terminal.

First come the small drawings in a line of text that the screen is made of: how numbers went, what
is probed and decided, the last batches.
"""

import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from textwrap import wrap
from typing import TYPE_CHECKING, Final, NamedTuple

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from streamjoin.cli import totals
from streamjoin.cli.totals import LeftOut, Totals, clock, recall
from streamjoin.metrics import BasicWindows, JoinMetrics
from streamjoin.metrics.words import size

if TYPE_CHECKING:
    from streamjoin.metrics.progress import Progress
    from streamjoin.metrics.records import Decision

COLUMNS: Final = (
    "elapsed", "batch", "rows in", "in/s", "rows out", "out/s", "state", "late", "batch time",
)  # fmt: skip
DRAWN: Final = ("elapsed", "in/s", "out/s", "state", "recall", "hits", "r_1 / r_2")
"""What the screen shows elsewhere than in its table."""
BLOCKS: Final = " ▁▂▃▄▅▆▇█"
ASCII: Final = " .:-=+*%#"
"""Where a terminal has no blocks."""
NOTHING: Final = {BLOCKS: "·", ASCII: "_"}
"""A basic window that is not probed at all."""
HEAT: Final = ("bright_black", "blue", "cyan", "green", "bright_yellow")
"""From no results to the most, for each comparison."""
MOST_POINTS: Final = 240
SHOWN_DECISIONS: Final = 3
SHOWN_BATCHES: Final = 6
LABEL_WIDTH: Final = 12
NUMBER_WIDTH: Final = 18
"""Places for the name of a number, and for its last value."""
MOST_OF_BUDGET: Final = 1.5
"""The top of the drawing of CPU time, as a multiple of what is allowed."""
LINES_ABOVE: Final = 5
"""Lines that a small terminal keeps for what was printed before."""
LEAST_LINES: Final = 6
COLUMN_GAP: Final = 2


def sparkline(values: Sequence[float], width: int, top: float = 0.0, ramp: str = BLOCKS) -> str:
    """Draw how a number went, the oldest value first; of more values than places, means.

    The highest block is for `top`, or for the largest value if that is more; `ramp` has characters
    from nothing to all.

    Examples
    --------
    >>> sparkline([0, 1, 4, 8], width=10)
    ' ▁▄█'
    >>> sparkline([1, 3, 6, 6, 8, 8], width=3, top=16)
    '▁▃▄'
    """
    each = -(-len(values) // max(width, 1)) or 1
    groups = [values[at : at + each] for at in range(0, len(values), each)]
    means = [sum(group) / len(group) for group in groups]
    top = max(top, *means, 0.0) if means else top
    return "".join(_block(mean / top if top > 0 else 0.0, ramp) for mean in means)


def strip(windows: BasicWindows, most: float, width: int, ramp: str = BLOCKS) -> Text:
    """Draw a window, the newest rows first: height is the part probed, colour the productivity.

    The brightest colour is for a productivity of `most`.

    Examples
    --------
    >>> seen = BasicWindows(1.0, (9.0, 5.0, 0.0), (0.0, 5.0, 9.0), (8.0, 2.0, 0.0))
    >>> strip(seen, most=0.9, width=8).plain
    '██▄▄··'
    """
    each = max(1, width // max(len(windows.fractions), 1))
    drawn = Text()
    for fraction, value in zip(windows.fractions, productivity(windows), strict=True):
        heat = HEAT[min(len(HEAT) - 1, round(value / most * (len(HEAT) - 1)))] if most else HEAT[0]
        drawn.append((_block(fraction, ramp).strip() or NOTHING[ramp]) * each, style=heat)
    drawn.truncate(width)
    return drawn


def productivity(windows: BasicWindows) -> tuple[float, ...]:
    """Pairs for each comparison; pairs alone where comparisons are not counted."""
    return windows.density or windows.found or (0.0,) * len(windows.fractions)


def _block(share: float, ramp: str) -> str:
    """A character for a share; of some it is never that of nothing."""
    steps = len(ramp) - 1
    least = 1 if share > 0.01 else 0
    return ramp[min(steps, max(least, int(share * steps + 0.5)))]


class Point(NamedTuple):
    """What is drawn of a batch: rows in and out for each second, and what the join counted."""

    rows_in: float
    rows_out: float
    metrics: JoinMetrics


class Display:
    """Shows each batch as it ends; use it as a context manager around the run.

    With a budget it also shows what was left out. Of a join with a table it shows where rows were
    answered and how many wait; none of them is late. `names` are what the inputs "left" and "right"
    are called. On a terminal it is drawn anew a few times a second.
    """

    def __init__(
        self,
        console: Console,
        left_out: LeftOut | None = None,
        *,
        has_table: bool = False,
        names: Mapping[str, str] | None = None,
    ) -> None:
        self.console, self.names = console, names or {}
        self.left_out = left_out or LeftOut()
        self.columns = (*COLUMNS, *self.left_out.columns())
        if has_table:
            self.columns = (*(name for name in COLUMNS if name != "late"), *totals.TABLE_COLUMNS)
        # Columns of the screen's table: the first are shown where there is little room.
        told = [name for name in self.columns if name not in DRAWN]
        more = [] if self.left_out.budget is None else ["missed, about"]
        self.in_table = [*told[:3], *more, *told[3:]]
        self.totals = Totals()
        self.points: deque[Point] = deque(maxlen=MOST_POINTS)
        self.decisions: deque[Decision] = deque(maxlen=SHOWN_DECISIONS)
        self.recent: deque[Mapping[str, str]] = deque(maxlen=SHOWN_BATCHES)
        self.is_stopping = False
        self.began = time.monotonic()
        self.live = Live(self, console=console, refresh_per_second=4, auto_refresh=True)

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
        point = Point(progress.rows_in / seconds, progress.rows_out / seconds, progress.whole)
        cells = self._cells(progress, point)
        self.points.append(point)
        self.recent.append(cells)
        self.decisions.extend(decisions)
        if self.console.is_terminal:
            return
        line = " | ".join(f"{name} {cells.get(name, '-')}" for name in self.columns)
        self.console.print(line, soft_wrap=True)
        for one in decisions:
            self.console.print(f"batch {one.batch}: {one.text}", style="yellow", soft_wrap=True)

    @property
    def _elapsed(self) -> str:
        return clock(time.monotonic() - self.began)

    def _cells(self, progress: "Progress", point: Point) -> dict[str, str]:
        batch, so_far = progress.whole, self.totals.whole
        alone = f" ({batch.alone:,} alone)" if batch.alone else ""
        return {
            "elapsed": self._elapsed,
            "batch": str(progress.batch),
            "rows in": f"{progress.rows_in:,}",
            "in/s": f"{point.rows_in:,.0f}",
            "rows out": f"{progress.rows_out:,}{alone}",
            "out/s": f"{point.rows_out:,.0f}",
            "state": f"{so_far.state_rows:,} rows, {size(so_far.state_bytes)}",
            "missed, about": totals.missed(batch),
            "late": f"{batch.late:,}",
            "batch time": f"{progress.seconds:.2f} s",
            **totals.table_cells(batch),
            **self.left_out.cells(batch, so_far),
        }

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        ramp = ASCII if options.ascii_only else BLOCKS
        lines = [self._head(options.max_width)]
        if self.points:
            lines += self._sparks(options.max_width, ramp)
            lines += self._strips(options.max_width, ramp)
            lines += self._decided(options.max_width)
            room = console.size.height - len(lines) - LINES_ABOVE
            if room > 1:
                lines.append(self._batches(options.max_width, room - 1))
        yield Group(*lines[: max(console.size.height - LINES_ABOVE, LEAST_LINES)])

    def _head(self, width: int) -> RenderableType:
        if not self.points:
            return Text(f"{self._elapsed}  waiting for the first batch ...", style="dim")
        metrics = self.points[-1].metrics
        head = Text(f"{self._elapsed}  batch {metrics.batch}  ", no_wrap=True)
        head.append(*_mode(metrics))
        hint = "stopping after this batch" if self.is_stopping else "Ctrl-C stops"
        gap = width - head.cell_len - len(hint)
        return head.append(" " * gap + hint, style="dim") if gap > 1 else head

    def _sparks(self, width: int, ramp: str) -> list[RenderableType]:
        room = max(8, width - LABEL_WIDTH - NUMBER_WIDTH)
        return [
            Text.assemble(
                f"{label:<{LABEL_WIDTH}}",
                (f"{sparkline(values, room, top, ramp):<{room}}", style),
                (f"{number:>{NUMBER_WIDTH}}", "bold"),
                no_wrap=True,
            )
            for label, values, top, number, style in self._courses()
        ]

    def _courses(self) -> Iterator[tuple[str, list[float], float, str, str]]:
        """What is drawn: a name, its values, the least top, the last value and a colour."""
        points, last = list(self.points), self.points[-1].metrics
        into, out = points[-1].rows_in, points[-1].rows_out
        yield "rows in/s", [one.rows_in for one in points], 0.0, f"{into:,.0f}", "cyan"
        yield "rows out/s", [one.rows_out for one in points], 0.0, f"{out:,.0f}", "green"
        if last.budget_us or any(one.metrics.missed or one.metrics.unmet for one in points):
            known = (one.metrics.recall for one in points)
            values = [min(max(value, 0.0), 1.0) for value in known if value is not None]
            yield "recall", values, 1.0, recall(last), "magenta"
        if last.table is not None:
            values = [one.metrics.hit_share or 0.0 for one in points]
            yield "cache hits", values, 1.0, f"{100 * (last.hit_share or 0):.0f} %", "magenta"
        used = [one.metrics.cpu_us / 1000 for one in points]
        if any(used):
            allowed = last.budget_us / 1000
            number = f"{used[-1]:,.0f} of {allowed:,.0f} ms" if allowed else f"{used[-1]:,.0f} ms"
            # a first batch also loads code: it must not make all others look like nothing
            most = MOST_OF_BUDGET * allowed or max(used[1:] or used)
            yield "CPU a batch", [min(one, most) for one in used], most, number, "yellow"
        state = [float(one.metrics.state_bytes) for one in points]
        yield "state", state, 0.0, size(last.state_bytes), "blue"

    def _strips(self, width: int, ramp: str) -> list[RenderableType]:
        metrics = self.points[-1].metrics
        shown = {name: one for name, one in metrics.windows.items() if one.fractions}
        most = max((max(productivity(one)) for one in shown.values()), default=0.0)
        probed = {one.name: one.fraction for one in metrics.inputs}
        lines: list[RenderableType] = []
        for name, windows in shown.items():
            called = self.names.get(name, name)[: LABEL_WIDTH - 5]
            before = f"{called:<{LABEL_WIDTH - 4}}0 s "
            after = f" {windows.seconds * len(windows.fractions):.3g} s"
            part = f"{100 * probed.get(name, 1.0):3.0f} % probed"
            room = max(8, width - len(before) - len(after) - len(part) - COLUMN_GAP)
            drawn = strip(windows, most, room, ramp)
            line = Text.assemble(before, drawn, after, no_wrap=True)
            line.append(f"{part:>{max(0, width - line.cell_len)}}", style="bold")
            lines.append(line)
        return lines

    def _decided(self, width: int) -> list[RenderableType]:
        lines: list[RenderableType] = []
        for one in list(self.decisions):  # batches come in while another thread draws
            at = datetime.fromtimestamp(one.at).strftime("%H:%M:%S  ")
            first, *rest = wrap(one.text, max(20, width - len(at)))
            lines.append(Text.assemble((at, "dim"), (first, "yellow")))
            lines += [Text(" " * len(at) + more, style="yellow") for more in rest]
        return lines

    def _batches(self, width: int, rows: int) -> Table:
        table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, COLUMN_GAP, 0, 0))
        shown = list(self.recent)[-rows:]
        for name in self.in_table:
            most = max([len(name), *(len(cells.get(name, "-")) for cells in shown)]) + COLUMN_GAP
            width -= most
            if width + COLUMN_GAP < 0:
                break
            table.add_column(name, justify="right", no_wrap=True)
        names = self.in_table[: len(table.columns)]
        for cells in shown:
            table.add_row(*(cells.get(name, "-") for name in names))
        return table


def _mode(metrics: JoinMetrics) -> tuple[str, str]:
    """What the join does at present, and in which colour."""
    if metrics.left_out.get("dropped") or metrics.lagging:
        return "turning rows away" if metrics.left_out.get("dropped") else "lagging", "bold red"
    if metrics.selective or (metrics.kind == "plan" and metrics.skipped):
        every, made = metrics.compared + metrics.skipped, max(metrics.compared, 1)
        return f"selective: load {every / made:.1f}x the budget", "bold yellow"
    if metrics.left_out.get("cut"):
        return "forgetting rows early", "bold yellow"
    if metrics.table is not None and metrics.table.spilled_rows:
        return "putting rows off", "bold yellow"
    if metrics.missed > 0:
        return "rows of its windows are missing", "bold yellow"
    return "exact", "bold green"
