"""What a budget left out, for the live table and the closing summary."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from streamjoin.budget import Budget
from streamjoin.metrics import JoinCounts


@dataclass(frozen=True)
class LeftOut:
    """What there is to show of a budget.

    Parameters
    ----------
    budget
        None for an exact join, of which nothing is shown.
    shed
        What gives way, as the user said it.
    is_many
        Whether more than two streams are joined: then probes of whole states give way.
    """

    budget: Budget | None = None
    shed: str | Sequence[str] | None = None
    is_many: bool = False

    def columns(self) -> tuple[str, ...]:
        """Columns that a budget adds to the live table.

        Examples
        --------
        >>> LeftOut(Budget(cpu=0.5)).columns()
        ('r_1 / r_2', 'skipped', 'dropped', 'recall')
        >>> LeftOut(Budget(rate=10)).columns(), LeftOut().columns()
        (('dropped', 'recall'), ())
        >>> LeftOut(Budget(rate=10), is_many=True).columns()
        ('skipped', 'recall')
        """
        return tuple(name for name, _ in self._shown(JoinCounts(), JoinCounts()))

    def cells(self, batch: JoinCounts, so_far: JoinCounts) -> tuple[str, ...]:
        """Their cells: counts of the batch, and the recall of all batches so far.

        Examples
        --------
        >>> counted = JoinCounts(dropped_left=1200, compared_left=30, skipped_left=70,
        ...                       pairs=75, missed=25, missed_variance=16)
        >>> LeftOut(Budget(rate=10)).cells(counted, counted)
        ('1,200 / 0', '75.0 % +- 5.9')
        >>> LeftOut(Budget(cpu=0.5)).cells(counted, counted)[:2]
        ('0.30 / 1.00', '70.0 %')
        """
        return tuple(cell for _, cell in self._shown(batch, so_far))

    def rows(self, counted: JoinCounts) -> list[tuple[str, str]]:
        """Lines of the summary: the budget, what gave way, and what that cost.

        Examples
        --------
        >>> counted = JoinCounts(cut_left=7, pairs=3000, missed=1000)
        >>> for row in LeftOut(Budget(memory="1 MB")).rows(counted):
        ...     print(*row, sep=": ")
        budget: 1 MB of state
        rows cut from the windows: 7 left, 0 right
        pairs missed, about: 1,000
        recall, about: 75.0 % +- 0.0
        """
        if self.budget is None:
            return []
        by_side = "{:,} left, {:,} right"
        rows = [("budget", self.budget.describe())]
        if self.is_many:
            rows.append(("probes left out", skipped(counted)))
        if self._chooses:
            rows.append(("comparisons left out", _skipped_by_window(counted)))
        if self._drops:
            rows.append(("rows dropped", _dropped(counted, by_side)))
        if self.budget.memory is not None:
            rows.append(("rows cut from the windows", _cut(counted, by_side)))
        rows.append(("pairs missed, about", f"{max(counted.missed, 0):,}"))
        return [*rows, ("recall, about", self._recall(counted))]

    def _shown(self, batch: JoinCounts, so_far: JoinCounts) -> Iterator[tuple[str, str]]:
        """Names of columns with their cells."""
        if self.budget is None:
            return
        if self.is_many:
            yield "skipped", skipped(batch)
        if self._chooses:
            yield "r_1 / r_2", "{:.2f} / {:.2f}".format(*batch.fractions)
            yield "skipped", skipped(batch)
        if self._drops:
            yield "dropped", _dropped(batch, "{:,} / {:,}")
        if self.budget.memory is not None:
            yield "cut", _cut(batch, "{:,} / {:,}")
        yield "recall", self._recall(so_far)

    def _recall(self, counted: JoinCounts) -> str:
        """Of many streams there is no estimate of the error."""
        return recall(counted).partition(" +-")[0] if self.is_many else recall(counted)

    @property
    def _chooses(self) -> bool:
        """Whether comparisons may be left out."""
        dropping = self.shed in ("drop", ["drop"])
        has_cpu = self.budget is not None and self.budget.cpu is not None
        return has_cpu and not dropping and not self.is_many

    @property
    def _drops(self) -> bool:
        """Whether rows may be turned away."""
        return (
            self.budget is not None
            and not self.is_many
            and (self.budget.cpu is not None or self.budget.rate is not None)
        )


def recall(counted: JoinCounts) -> str:
    """The estimated share of the pairs that were found, with half its 95 % interval.

    Examples
    --------
    >>> recall(JoinCounts(pairs=75, missed=25, missed_variance=16)), recall(JoinCounts())
    ('75.0 % +- 5.9', '-')
    """
    if counted.pairs + counted.missed <= 0:
        return "-"
    return f"{100 * counted.recall:.1f} % +- {100 * counted.recall_error:.1f}"


def skipped(counted: JoinCounts) -> str:
    """The share of the comparisons that was left out.

    Examples
    --------
    >>> skipped(JoinCounts(compared_left=30, skipped_left=70)), skipped(JoinCounts())
    ('70.0 %', '0.0 %')
    """
    left_out = counted.skipped_left + counted.skipped_right
    whole = counted.compared_left + counted.compared_right + left_out
    return f"{100 * left_out / whole if whole else 0:.1f} %"


def _skipped_by_window(counted: JoinCounts) -> str:
    left, right = (100 * (1 - fraction) for fraction in counted.fractions)
    return f"{skipped(counted)}: {left:.1f} % of the left window, {right:.1f} % of the right"


def _dropped(counted: JoinCounts, form: str) -> str:
    return form.format(counted.dropped_left, counted.dropped_right)


def _cut(counted: JoinCounts, form: str) -> str:
    return form.format(counted.cut_left, counted.cut_right)
