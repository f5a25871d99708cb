"""What a budget left out, for the live table and the closing summary."""

from streamjoin.budget import Budget
from streamjoin.metrics import JoinMetrics


def budget_columns(budget: Budget | None) -> tuple[str, ...]:
    """Columns that a budget adds to the live table; none without a budget.

    Examples
    --------
    >>> budget_columns(Budget(rate=10)), budget_columns(None)
    (('dropped', 'recall'), ())
    """
    if budget is None:
        return ()
    return (
        *(["dropped"] if _regulates(budget) else []),
        *(["cut"] if budget.memory is not None else []),
        "recall",
    )


def budget_cells(budget: Budget | None, batch: JoinMetrics, so_far: JoinMetrics) -> tuple[str, ...]:
    """Their cells: rows of left and right of the batch, and the recall of all batches so far.

    Examples
    --------
    >>> counted = JoinMetrics(dropped_left=1200, pairs=75, missed=25, missed_variance=16)
    >>> budget_cells(Budget(rate=10), counted, counted)
    ('1,200 / 0', '75.0 % +- 5.9')
    """
    if budget is None:
        return ()
    dropped = f"{batch.dropped_left:,} / {batch.dropped_right:,}"
    cut = f"{batch.cut_left:,} / {batch.cut_right:,}"
    return (
        *([dropped] if _regulates(budget) else []),
        *([cut] if budget.memory is not None else []),
        recall(so_far),
    )


def budget_rows(budget: Budget | None, counted: JoinMetrics) -> list[tuple[str, str]]:
    """Lines of the summary: the budget, what gave way, and what that cost.

    Examples
    --------
    >>> counted = JoinMetrics(cut_left=7, pairs=3000, missed=1000)
    >>> for row in budget_rows(Budget(memory="1 MB"), counted):
    ...     print(*row, sep=": ")
    budget: 1 MB of state
    rows cut from the windows: 7 left, 0 right
    pairs missed, about: 1,000
    recall, about: 75.0 % +- 0.0
    """
    if budget is None:
        return []
    dropped = f"{counted.dropped_left:,} left, {counted.dropped_right:,} right"
    cut = f"{counted.cut_left:,} left, {counted.cut_right:,} right"
    return [
        ("budget", budget.describe()),
        *([("rows dropped", dropped)] if _regulates(budget) else []),
        *([("rows cut from the windows", cut)] if budget.memory is not None else []),
        ("pairs missed, about", f"{max(counted.missed, 0):,}"),
        ("recall, about", recall(counted)),
    ]


def recall(counted: JoinMetrics) -> str:
    """The estimated share of the pairs that were found, with half its 95 % interval.

    Examples
    --------
    >>> recall(JoinMetrics(pairs=75, missed=25, missed_variance=16)), recall(JoinMetrics())
    ('75.0 % +- 5.9', '-')
    """
    if counted.pairs + counted.missed <= 0:
        return "-"
    return f"{100 * counted.recall:.1f} % +- {100 * counted.recall_error:.1f}"


def _regulates(budget: Budget) -> bool:
    """Whether rows may be turned away."""
    return budget.cpu is not None or budget.rate is not None
