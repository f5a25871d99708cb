"""What the reports of all joins have in common."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from streamjoin.explanations.asked import Asked
from streamjoin.explanations.expected import Expected
from streamjoin.explanations.plans import AnyPlan
from streamjoin.explanations.wording import BATCH_SECONDS, about, listed, percent
from streamjoin.joins.report import Advice, Card, Report, ReportKind


class Explainer(ABC):
    """Makes the report of a join from what is known of it."""

    kind: ClassVar[ReportKind]
    names: Sequence[str]  # of the streams
    columns: Sequence[str]  # of the result
    expected: Expected | None = None
    warnings: tuple[Advice, ...] = ()
    freshness: Sequence[str] = ()  # which results are withheld
    budget_text: str | None = None
    share: float | None = None  # part of the results that the budget leaves, if that is known

    def __init__(self, plan: AnyPlan, asked: Asked) -> None:
        self.name, self.streaming, self.asked = plan.name, plan.streaming, asked

    @abstractmethod
    def title(self) -> str:
        """What kind of join it is."""

    @abstractmethod
    def numbers(self) -> dict[str, Any]:
        """What programs get."""

    @abstractmethod
    def sections(self, numbers: Mapping[str, Any]) -> dict[str, list[str | None]]:
        """The details in words."""

    @abstractmethod
    def answer(self) -> Iterator[str]:
        """The whole in a few sentences."""

    @abstractmethod
    def operator(self) -> Card:
        """What is drawn below the result."""

    def report(self) -> Report:
        """All of it."""
        numbers = self.numbers()
        return Report(
            self.kind,
            f"{self.name}: {self.title()}",
            self.sections(numbers),
            numbers,
            tuple(self.answer()),
            self.warnings,
            f"{self.name}: {listed(self.names)}",
            self._result(self.operator()),
        )

    def checked_after(self) -> list[str]:
        """Conditions that Spark checks on what the join hands out."""
        query = self.asked.query
        return [] if query is None else [c.text for c in query.conditions if c.place == "after"]

    def stream(self, name: str, rate: float | None, window: str | None, *more: str) -> Card:
        """A stream with its rate, window and filters."""
        lines = stream_lines(rate, window, self.asked.sources.filters.get(name, ()))
        return Card("stream" if self.streaming else "table", name, (*lines, *more))

    def limits(self) -> tuple[str, ...]:
        """What stands out: the budget with what it leaves, and which results are withheld."""
        lines = [f"freshness {text.partition(':')[0]}" for text in self.freshness]
        if self.budget_text is not None:
            lines.insert(0, budget_line(self.budget_text, self.share))
        return tuple(lines)

    def kept(self, *, fits: bool) -> str:
        """What the budget leaves of the results, in a sentence."""
        limits, share, expected = self.budget_text or "", self.share or 0.0, self.expected
        batches = f", for batches of {BATCH_SECONDS:g} s," if "a batch" in limits else ""
        budget = f"The budget ({limits}){batches}"
        if fits:
            return f"{budget} is enough: nothing is left out."
        rows = "" if expected is None else f", {about(share * expected.rows_per_second)} rows/s"
        part = f"about {percent(share)} of the results come out{rows}"
        return f"{budget} is less than it takes: {part}."

    def look_out(self) -> Iterator[str]:
        """The last sentence of an answer: what is warned of below."""
        if self.warnings:
            codes = ", ".join(warning.code.replace("_", " ") for warning in self.warnings)
            yield f"Look out for: {codes} (see ! below)."

    def _result(self, operator: Card) -> Card:
        """The result, and what Spark checks before."""
        rate, columns, conditions = [], self.columns, self.checked_after()
        if self.expected is not None:
            rows, share = self.expected.rows_per_second, self.share
            part = "" if share is None or share >= 1 else f"{about(share * rows)} of "
            rate = [f"about {part}{about(rows)} rows/s"]
        if conditions:
            checked = "checked on the rows that the join hands out"
            lines = (checked, *rate)
            operator = Card("check", " AND ".join(conditions), lines, children=(operator,))
            rate = ["those of these rows that fulfil it"] if rate else []
        if self.asked.query is not None:
            columns = [output.sql for output in self.asked.query.outputs]
        return Card("result", "result", (*rate, ", ".join(columns)), children=(operator,))


def stream_lines(rate: float | None, window: str | None, filters: Sequence[str]) -> list[str]:
    """Rate, window and filters of a stream.

    Examples
    --------
    >>> stream_lines(2000.0, "10 seconds", ["a.x > 3"])
    ['2,000 rows/s after the filter, window of 10 seconds', 'filter: a.x > 3']
    """
    after = " after the filter" if filters else ""
    rows = [] if rate is None else [f"{about(rate)} rows/s{after}"]
    kept = f"window of {window}" if window else "not remembered, only probes"
    return [", ".join([*rows, kept]), *(f"filter: {text}" for text in filters)]


def budget_line(budget: str, share: float | None) -> str:
    """A budget, and which part of the results it leaves.

    Examples
    --------
    >>> budget_line("at most 0.25 of the cores", 0.4321), budget_line("9 tuples/s", 1.0)
    ('budget at most 0.25 of the cores: about 43.2 % of the results', 'budget 9 tuples/s: enough')
    """
    if share is None:
        return f"budget {budget}"
    left = "enough" if share >= 1 else f"about {100 * share:.3g} % of the results"
    return f"budget {budget}: {left}"
