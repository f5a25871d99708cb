"""What a budget left out, for the live screen and the closing summary."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from streamjoin.budget import Budget
from streamjoin.metrics import JoinMetrics
from streamjoin.metrics.words import NOT_KNOWN


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
        return tuple(name for name, _ in self._shown(JoinMetrics(), JoinMetrics()))

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

    def rows(self, counted: JoinMetrics) -> list[tuple[str, str]]:
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
        rows.append(("pairs missed, about", f"{max(round(counted.missed), 0):,}"))
        return [*rows, ("recall, about", recall(counted))]

    def _shown(self, batch: JoinMetrics, so_far: JoinMetrics) -> Iterator[tuple[str, str]]:
        """Names of columns with their cells."""
        if self.budget is None:
            return
        if self.is_many:
            yield "skipped", skipped(batch)
        if self._chooses:
            yield "r_1 / r_2", " / ".join(f"{one.fraction:.2f}" for one in batch.inputs)
            yield "skipped", skipped(batch)
        if self._drops:
            yield "dropped", _numbers(batch, "dropped")
        if self.budget.memory is not None:
            yield "cut", _numbers(batch, "cut")
        yield "recall", recall(so_far)

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
    error = "" if counted.kind == "plan" else f" +- {100 * counted.recall_error:.1f}"
    return f"{100 * counted.recall:.1f} %{error}"


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
    parts = [f"{100 * (1 - one.fraction):.1f} % of the {one.name}" for one in counted.inputs]
    return f"{skipped(counted)}: {', '.join(parts)} window" if parts else skipped(counted)


def _by_input(counted: JoinMetrics, name: str) -> str:
    """How many of each input, for the summary."""
    return ", ".join(f"{getattr(one, name):,} {one.name}" for one in counted.inputs) or "0"


def _numbers(counted: JoinMetrics, name: str) -> str:
    return " / ".join(f"{getattr(one, name):,}" for one in counted.inputs) or "0"
