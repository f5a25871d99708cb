"""The closing table of a run: what came, what was found, what was left out and why."""

from collections.abc import Sequence

from rich.table import Table

from streamjoin.cli import from_table
from streamjoin.cli.left_out import LeftOut
from streamjoin.cli.totals import Totals
from streamjoin.cli.units import clock
from streamjoin.metrics import JoinMetrics
from streamjoin.metrics.words import size

Row = tuple[str, str]


def summary(
    totals: Totals,
    results: str | None,
    checkpoint: str | None,
    late_rows: str | None = None,
    *,
    left_out: LeftOut | None = None,
    more: Sequence[Row] = (),
) -> Table:
    """Make the closing table of a run.

    Parameters
    ----------
    totals
        What the run adds up to.
    results, checkpoint, late_rows
        Where these are, if anywhere.
    left_out
        What there is to show of a budget.
    more
        Lines to end with.
    """
    table = Table(title="Summary", title_justify="left", show_header=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    rows = [*_came(totals), *_left_out(totals, late_rows, left_out or LeftOut()), *_used(totals)]
    places = (("results", results), ("checkpoint", checkpoint))
    rows += [(name, place) for name, place in places if place is not None]
    rows += more
    for row in rows:
        table.add_row(*row)
    return table


def _came(totals: Totals) -> list[Row]:
    seconds, whole = max(totals.seconds, 0.001), totals.whole
    rows = [
        ("batches", f"{len(totals.batch_seconds):,} in {clock(totals.seconds)}"),
        ("rows in", f"{totals.rows_in:,} ({totals.rows_in / seconds:,.0f}/s)"),
        ("rows out", f"{totals.rows_out:,} ({totals.rows_out / seconds:,.0f}/s)"),
    ]
    return rows + ([("rows without a partner", f"{whole.alone:,} of them")] if whole.alone else [])


def _left_out(totals: Totals, late_rows: str | None, left_out: LeftOut) -> list[Row]:
    whole = totals.whole
    has_table = whole.kind == "table"
    return [
        *([] if has_table else [("late rows", late(whole, late_rows))]),
        ("rows with a null key" + " or time" * (not has_table), f"{whole.null:,}"),
        *([("rows ahead of the clock", f"{whole.ahead:,}")] if whole.ahead else []),
        *([("stale results withheld", f"{whole.stale:,}")] if whole.stale else []),
        *left_out.rows(whole),
        *from_table.rows(whole),
    ]


def _used(totals: Totals) -> list[Row]:
    whole = totals.whole
    mean, p95 = totals.mean_batch_seconds, totals.p95_batch_seconds
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
