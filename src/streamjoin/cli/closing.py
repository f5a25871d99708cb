"""How a run closes: what others would have found, and the summary."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console

from streamjoin.cli.display import Display
from streamjoin.cli.job import Job
from streamjoin.cli.summary import Row, summary

if TYPE_CHECKING:
    from streamjoin.cli.comparison import Comparison, Found

AGAIN: Final = "Joining the same rows again, to compare"
HOW: Final = (
    "The last three lines were measured after the run, by joining the same rows again without a "
    "budget. Random drop keeps so many rows of each batch, chosen at random, that it makes as many "
    "comparisons as this join made in that batch; what it keeps it compares completely."
)


def close(job: Job, display: Display) -> None:
    """Print the summary of a run, with what others would have found where that can be known."""
    console = display.console
    found = None if job.comparison is None else _find(job.comparison, console)
    rows = [] if found is None else found_rows(found, display.totals.whole.rows_out)
    places = job.pipeline.sink.place, job.kept_checkpoint, job.pipeline.late_rows
    near = (place and _near(place) for place in places)
    console.print(summary(display.totals, *near, left_out=display.left_out, more=rows))
    if rows:
        console.print(HOW, style="dim")


def found_rows(found: "Found", pairs: int) -> list[Row]:
    """Lines of the summary: what an exact join, this one and one that drops rows find.

    Examples
    --------
    >>> from streamjoin.cli.comparison import Found
    >>> for row in found_rows(Found(exact=2000, dropping=500), pairs=1500):
    ...     print(*row, sep=": ")
    an exact join finds: 2,000 pairs
    this join found: 1,500 pairs (75.0 %)
    random drop finds: 500 pairs (25.0 %)
    """

    def share(n: int) -> str:
        return f"{n:,} pairs ({100 * n / found.exact if found.exact else 100:.1f} %)"

    return [
        ("an exact join finds", f"{found.exact:,} pairs"),
        ("this join found", share(pairs)),
        ("random drop finds", share(found.dropping)),
    ]


def _find(comparison: "Comparison", console: Console) -> "Found | None":
    """Join all rows again; Ctrl-C leaves that out."""
    with console.status(f"{AGAIN} ...") as status:

        def tell(batch: int, batches: int) -> None:
            status.update(f"{AGAIN}: batch {batch} of {batches}")

        try:
            return comparison.measure(tell)
        except KeyboardInterrupt:
            return None


def _near(path: str) -> str:
    """Write a path below the current folder as the user would type it."""
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except ValueError:
        return path
