"""How a run closes: what came, what was found, what was left out; what others would find."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.table import Table

from streamjoin.cli.display import Display
from streamjoin.cli.job import Job
from streamjoin.cli.totals import LeftOut, Row, Totals, clock, table_rows
from streamjoin.metrics import JoinMetrics
from streamjoin.metrics.words import size

if TYPE_CHECKING:
    from streamjoin.cli.comparison import Comparison, Outcome

AGAIN: Final = "Joining the same rows again, to compare"
HOW: Final = (
    "The last three lines were measured after the run, by joining the same rows again without a "
    "budget. Random drop keeps so many rows of each batch, chosen at random, that it makes as many "
    "comparisons as this join made in that batch; what it keeps it compares completely."
)


def close(job: Job, display: Display) -> None:
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
    table = Table(title="Summary", title_justify="left", show_header=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    places = (("results", results), ("checkpoint", checkpoint))
    for row in (
        *_flow(totals),
        *_missing(totals.whole, late_rows, left_out or LeftOut()),
        *_use(totals),
        *((name, place) for name, place in places if place is not None),
        *more,
    ):
        table.add_row(*row)
    return table


def _flow(totals: Totals) -> list[Row]:
    seconds, whole = max(totals.seconds, 0.001), totals.whole
    rows = [
        ("batches", f"{len(totals.batch_seconds):,} in {clock(totals.seconds)}"),
        ("rows in", f"{totals.rows_in:,} ({totals.rows_in / seconds:,.0f}/s)"),
        ("rows out", f"{totals.rows_out:,} ({totals.rows_out / seconds:,.0f}/s)"),
    ]
    return rows + ([("rows without a partner", f"{whole.alone:,} of them")] if whole.alone else [])


def _missing(whole: JoinMetrics, late_rows: str | None, left_out: LeftOut) -> list[Row]:
    has_table = whole.kind == "table"
    return [
        *([] if has_table else [("late rows", late(whole, late_rows))]),
        ("rows with a null key" + " or time" * (not has_table), f"{whole.null:,}"),
        *([("rows ahead of the clock", f"{whole.ahead:,}")] if whole.ahead else []),
        *([("stale results withheld", f"{whole.stale:,}")] if whole.stale else []),
        *left_out.rows(whole),
        *table_rows(whole),
    ]


def _use(totals: Totals) -> list[Row]:
    whole, mean, p95 = totals.whole, totals.mean_batch_seconds, totals.p95_batch_seconds
    return [
        ("state at the end", f"{whole.state_rows:,} rows, {size(whole.state_bytes)}"),
        ("largest state", size(totals.peak_state_bytes)),
        ("batch time", f"{mean:.2f} s mean, {p95:.2f} s p95"),
    ]


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
