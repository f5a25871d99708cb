"""What a run adds up to, batch by batch, in numbers and in words: what a budget left out, too."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from streamjoin.budget import Budget
from streamjoin.metrics import JoinMetrics
from streamjoin.metrics.words import NOT_KNOWN

if TYPE_CHECKING:
    from streamjoin.metrics.progress import Progress

Row = tuple[str, str]
"""A line of the summary: its name, and what it says."""
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
        return dict(self._shown(batch, so_far))

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

    def _shown(self, batch: JoinMetrics, so_far: JoinMetrics) -> Iterator[Row]:
        """Names of columns with their cells."""
        if self.budget is None:
            return
        if self._chooses:
            yield "r_1 / r_2", " / ".join(f"{one.fraction:.2f}" for one in batch.inputs)
        if self.is_many or self._chooses:
            yield "skipped", skipped(batch)
        if self._drops:
            yield "dropped", _numbers(batch, "dropped")
        if self.budget.memory is not None:
            yield "cut", _numbers(batch, "cut")
        yield "recall", recall(so_far)

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


def rows_out(n: int, alone: int) -> str:
    """Write a number of results, and how many of them have no partner where some have none.

    Examples
    --------
    >>> rows_out(1200, 0), rows_out(1200, 30)
    ('1,200', '1,200 (30 alone)')
    """
    return f"{n:,} ({alone:,} alone)" if alone else f"{n:,}"
