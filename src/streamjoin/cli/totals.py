"""What a run adds up to, batch by batch, in numbers and in words, and how it closes.

First the sums, then what a budget left out, then words for numbers; at last the summary, with what
others would have found.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from rich.console import Console
from rich.table import Table

from streamjoin.budget import Budget
from streamjoin.metrics import JoinMetrics
from streamjoin.metrics.words import NOT_KNOWN, size

if TYPE_CHECKING:
    from streamjoin.cli.comparison import Comparison, Outcome
    from streamjoin.cli.display import Display
    from streamjoin.cli.run import Job
    from streamjoin.metrics.progress import Progress

Row = tuple[str, str]
"""A line of the summary: its name, and what it says."""
AGAIN: Final = "Joining the same rows again, to compare"
HOW: Final = (
    "The last three lines were measured after the run, by joining the same rows again without a "
    "budget. Random drop keeps so many rows of each batch, chosen at random, that it makes as many "
    "comparisons as this join made in that batch; what it keeps it compares completely."
)
TABLE_COLUMNS: Final = ("hits", "waiting", "spilled")


@dataclass
class Totals:
    """Sums over the batches of a run."""

    rows_in: int = 0
    rows_out: int = 0
    join: JoinMetrics | None = None  # what the join counted, as far as batches said
    peak_state_bytes: int = 0
    batch_seconds: list[float] = field(default_factory=list)
    first_started: float | None = None  # seconds since 1970
    last_started: float = 0.0

    def add(self, progress: "Progress") -> float:
        """Count a batch; return the seconds since the one before, the base of its rates."""
        self.rows_in += progress.rows_in
        self.rows_out += progress.rows_out
        if progress.joins:
            last = progress.whole
            self.join = last if self.join is None else self.join + last
            self.peak_state_bytes = max(self.peak_state_bytes, last.state_bytes)
        self.batch_seconds.append(progress.seconds)
        gap = 0.0 if self.first_started is None else progress.started - self.last_started
        self.first_started = self.first_started or progress.started
        self.last_started = progress.started
        return max(gap, progress.seconds, 0.001)

    @property
    def whole(self) -> JoinMetrics:
        """All that the join counted; zeros if nothing is known."""
        return JoinMetrics() if self.join is None else self.join

    @property
    def seconds(self) -> float:
        """From the start of the first batch to the end of the last."""
        if self.first_started is None:
            return 0.0
        return self.last_started - self.first_started + self.batch_seconds[-1]

    @property
    def mean_batch_seconds(self) -> float:
        """Mean duration of a batch."""
        return float(np.mean(self.batch_seconds)) if self.batch_seconds else 0.0

    @property
    def p95_batch_seconds(self) -> float:
        """Duration that 95 % of the batches stay under."""
        return float(np.percentile(self.batch_seconds, 95)) if self.batch_seconds else 0.0


@dataclass(frozen=True)
class LeftOut:
    """What there is to show of a budget; of an exact join, which has none, nothing is shown."""

    budget: Budget | None = None
    shed: str | Sequence[str] | None = None  # what gives way, as the user said it
    is_many: bool = False  # more than two streams: then probes of whole states give way

    def columns(self) -> tuple[str, ...]:
        """Columns that a budget adds to what is shown of a batch.

        Examples
        --------
        >>> LeftOut(Budget(cpu=0.5)).columns()
        ('r_1 / r_2', 'skipped', 'dropped', 'recall')
        >>> LeftOut(Budget(rate=10)).columns(), LeftOut().columns()
        (('dropped', 'recall'), ())
        >>> LeftOut(Budget(rate=10), is_many=True).columns()
        ('skipped', 'recall')
        """
        return tuple(self.cells(JoinMetrics(), JoinMetrics()))

    def cells(self, batch: JoinMetrics, so_far: JoinMetrics) -> dict[str, str]:
        """Their cells: counts of the batch, and the recall of all batches so far.

        Examples
        --------
        >>> from streamjoin.metrics import InputMetrics
        >>> left = InputMetrics("left", dropped=1200, compared=30, skipped=70)
        >>> counted = JoinMetrics(inputs=(left, InputMetrics("right")), pairs=75, missed=25,
        ...                       missed_variance=16)
        >>> LeftOut(Budget(rate=10)).cells(counted, counted)
        {'dropped': '1,200 / 0', 'recall': '75.0 % +- 6.4'}
        >>> LeftOut(Budget(cpu=0.5)).cells(counted, counted)["r_1 / r_2"]
        '0.30 / 1.00'
        """
        if self.budget is None:
            return {}
        cells = {}
        if self._chooses:
            cells["r_1 / r_2"] = " / ".join(f"{one.fraction:.2f}" for one in batch.inputs)
        if self.is_many or self._chooses:
            cells["skipped"] = skipped(batch)
        if self._drops:
            cells["dropped"] = _numbers(batch, "dropped")
        if self.budget.memory is not None:
            cells["cut"] = _numbers(batch, "cut")
        return {**cells, "recall": recall(so_far)}

    def rows(self, counted: JoinMetrics) -> list[Row]:
        """Lines of the summary: the budget, what gave way, and what that cost.

        Examples
        --------
        >>> from streamjoin.metrics import InputMetrics
        >>> both = InputMetrics("left", cut=7), InputMetrics("right")
        >>> counted = JoinMetrics(inputs=both, pairs=3000, missed=1000)
        >>> for row in LeftOut(Budget(memory="1 MB")).rows(counted):
        ...     print(*row, sep=": ")
        budget: 1 MB of state
        rows cut from the windows: 7 left, 0 right
        pairs missed, about: 1,000
        recall, about: 75.0 % +- 0.0
        """
        if self.budget is None:
            return []
        rows = [("budget", self.budget.describe())]
        if self.is_many:
            rows.append(("probes left out", skipped(counted)))
        if self._chooses:
            rows.append(("comparisons left out", _skipped_by_window(counted)))
        if self._drops:
            rows.append(("rows dropped", _by_input(counted, "dropped")))
        if self.budget.memory is not None:
            rows.append(("rows cut from the windows", _by_input(counted, "cut")))
        return [*rows, ("pairs missed, about", missed(counted)), ("recall, about", recall(counted))]

    @property
    def _chooses(self) -> bool:
        """Whether comparisons may be left out."""
        has_cpu = self.budget is not None and self.budget.cpu is not None
        return has_cpu and self.shed not in ("drop", ["drop"]) and not self.is_many

    @property
    def _drops(self) -> bool:
        """Whether rows may be turned away."""
        limits = () if self.budget is None else (self.budget.cpu, self.budget.rate)
        return not self.is_many and any(limit is not None for limit in limits)


def recall(counted: JoinMetrics) -> str:
    """The estimated share of the pairs that were found, with half its 95 % interval.

    Of many streams there is no estimate of the error. If too little was seen, it is not known.

    Examples
    --------
    >>> recall(JoinMetrics(pairs=75, missed=25, missed_variance=16)), recall(JoinMetrics())
    ('75.0 % +- 6.4', '-')
    >>> recall(JoinMetrics(kind="plan", pairs=75, missed=25))
    '75.0 %'
    >>> recall(JoinMetrics(pairs=1, unmet=1e6, unmet_weight=1e9))
    'not known'
    """
    if counted.recall is None or counted.recall_error is None:
        return NOT_KNOWN
    if counted.pairs + counted.missed <= 0:
        return "-"
    error = f" +- {100 * counted.recall_error:.1f}" if counted.has_interval else ""
    return f"{percentage(counted.recall)}{error}"


def missed(counted: JoinMetrics) -> str:
    """The estimated number of pairs that were not found."""
    return f"{max(round(counted.missed), 0):,}"


def skipped(counted: JoinMetrics) -> str:
    """The share of the comparisons that was left out.

    Examples
    --------
    >>> from streamjoin.metrics import InputMetrics
    >>> skipped(JoinMetrics(inputs=(InputMetrics("left", compared=30, skipped=70),)))
    '70.0 %'
    >>> skipped(JoinMetrics())
    '0.0 %'
    """
    whole = counted.compared + counted.skipped
    return f"{100 * counted.skipped / whole if whole else 0:.1f} %"


def _skipped_by_window(counted: JoinMetrics) -> str:
    parts = [f"{percentage(1 - one.fraction)} of the {one.name}" for one in counted.inputs]
    return f"{skipped(counted)}: {', '.join(parts)} window" if parts else skipped(counted)


def _by_input(counted: JoinMetrics, name: str) -> str:
    """How many of each input, for the summary."""
    return ", ".join(f"{getattr(one, name):,} {one.name}" for one in counted.inputs) or "0"


def _numbers(counted: JoinMetrics, name: str) -> str:
    return " / ".join(f"{getattr(one, name):,}" for one in counted.inputs) or "0"


def table_cells(metrics: JoinMetrics) -> dict[str, str]:
    """Cells of a batch of a join with a table; none for another one.

    Examples
    --------
    >>> from streamjoin.metrics import InputMetrics, TableMetrics
    >>> table = TableMetrics(hits=150, waiting_rows=1200)
    >>> table_cells(JoinMetrics(inputs=(InputMetrics("stream", rows=200),), table=table))
    {'hits': '75.0 %', 'waiting': '1,200', 'spilled': '0'}
    """
    table = metrics.table
    if table is None:
        return {}
    cells = hit_share(metrics), f"{table.waiting_rows:,}", f"{table.spilled_rows:,}"
    return dict(zip(TABLE_COLUMNS, cells, strict=True))


def table_rows(metrics: JoinMetrics) -> list[Row]:
    """Lines of the summary of a join with a table; none for another one."""
    table = metrics.table
    if table is None:
        return []
    spilled = f"{table.shed:,}, of which {table.reloaded:,} came back"
    return [
        ("answered from the cache", f"{table.hits:,} ({hit_share(metrics)})"),
        ("looked up", f"{table.looked_up:,}"),
        ("partitions read", f"{table.loads:,}"),
        ("rows spilled", spilled if table.shed else "0"),
        ("still waiting, spilled", f"{table.waiting_rows:,}, {table.spilled_rows:,}"),
    ]


def hit_share(metrics: JoinMetrics) -> str:
    """The rows that found their table row in the cache, of all that came.

    Examples
    --------
    >>> hit_share(JoinMetrics())
    '-'
    """
    return percentage(metrics.hit_share or 0) if metrics.rows_in else "-"


def percentage(share: float) -> str:
    """Write a share with one digit, as columns of numbers want it."""
    return f"{100 * share:.1f} %"


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


def close(job: "Job", display: "Display") -> None:
    """Print the summary of a run, with what others would have found where that can be known."""
    console = display.console
    outcome = None if job.comparison is None else _compare(job.comparison, console)
    rows = [] if outcome is None else compared_rows(outcome, display.totals.whole.rows_out)
    places = job.pipeline.sink.place, job.kept_checkpoint, job.pipeline.arguments.get("late_rows")
    near = (place and _near(place) for place in places)
    console.print(summary(display.totals, *near, left_out=display.left_out, more=rows))
    if rows:
        console.print(HOW, style="dim")


def _compare(comparison: "Comparison", console: Console) -> "Outcome | None":
    """Join all rows again; Ctrl-C leaves that out."""
    with console.status(f"{AGAIN} ...") as status:
        try:
            return comparison.measure(
                lambda batch, batches: status.update(f"{AGAIN}: batch {batch} of {batches}")
            )
        except KeyboardInterrupt:
            return None


def compared_rows(outcome: "Outcome", pairs: int) -> list[Row]:
    """Lines of the summary: what an exact join, this one and one that drops rows find.

    Examples
    --------
    >>> from streamjoin.cli.comparison import Outcome
    >>> for row in compared_rows(Outcome(exact=2000, dropping=500), pairs=1500):
    ...     print(*row, sep=": ")
    an exact join finds: 2,000 pairs
    this join found: 1,500 pairs (75.0 %)
    random drop finds: 500 pairs (25.0 %)
    """

    def share(n: int) -> str:
        return f"{n:,} pairs ({100 * n / outcome.exact if outcome.exact else 100:.1f} %)"

    return [
        ("an exact join finds", f"{outcome.exact:,} pairs"),
        ("this join found", share(pairs)),
        ("random drop finds", share(outcome.dropping)),
    ]


def _near(path: str) -> str:
    """Write a path below the current folder as the user would type it."""
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except ValueError:
        return path


def summary(
    totals: Totals,
    results: str | None,
    checkpoint: str | None,
    late_rows: str | None = None,
    *,
    left_out: LeftOut | None = None,
    more: Sequence[Row] = (),
) -> Table:
    """Make the closing table of a run; `more` lines end it."""
    seconds, whole = max(totals.seconds, 0.001), totals.whole
    has_table = whole.kind == "table"
    mean, p95 = totals.mean_batch_seconds, totals.p95_batch_seconds
    rows: list[tuple[str, str | None]] = [
        ("batches", f"{len(totals.batch_seconds):,} in {clock(totals.seconds)}"),
        ("rows in", f"{totals.rows_in:,} ({totals.rows_in / seconds:,.0f}/s)"),
        ("rows out", f"{totals.rows_out:,} ({totals.rows_out / seconds:,.0f}/s)"),
        ("rows without a partner", f"{whole.alone:,} of them" if whole.alone else None),
        ("late rows", None if has_table else late(whole, late_rows)),
        ("rows with a null key" + " or time" * (not has_table), f"{whole.null:,}"),
        ("rows ahead of the clock", f"{whole.ahead:,}" if whole.ahead else None),
        ("stale results withheld", f"{whole.stale:,}" if whole.stale else None),
        *(left_out or LeftOut()).rows(whole),
        *table_rows(whole),
        ("state at the end", f"{whole.state_rows:,} rows, {size(whole.state_bytes)}"),
        ("largest state", size(totals.peak_state_bytes)),
        ("batch time", f"{mean:.2f} s mean, {p95:.2f} s p95"),
        ("results", results),
        ("checkpoint", checkpoint),
        *more,
    ]
    table = Table(title="Summary", title_justify="left", show_header=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, said in rows:
        if said is not None:
            table.add_row(name, said)
    return table


def late(metrics: JoinMetrics, folder: str | None) -> str:
    """Write how many rows were late, why, and where they are.

    Examples
    --------
    >>> from streamjoin.metrics import InputMetrics
    >>> late(JoinMetrics(inputs=(InputMetrics("left", late=5, idle_late=2),)), "output/late")
    '5 (2 of them after an idle time-out), in output/late'
    """
    idle = sum(one.idle_late for one in metrics.inputs)
    cause = f" ({idle:,} of them after an idle time-out)" if idle else ""
    return f"{metrics.late:,}{cause}" + (f", in {folder}" if folder and metrics.late else "")
