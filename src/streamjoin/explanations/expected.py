"""What to expect of any join: what comes out, what that takes, what budgets would mean."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from streamjoin.explanations.wording import BATCH_SECONDS, about, counted, percent
from streamjoin.joins.report import Advice, Card

if TYPE_CHECKING:
    from streamjoin.sql_text.query_plan import QueryPlan

Basis = Literal["sample", "given", "assumed"]
"""Whether a sample of the streams shows something, the user said it, or it is assumed."""
BASES: Final[dict[Basis, str]] = {
    "sample": "as in a sample of the generated streams",
    "given": "as given",
    "assumed": "assumed: one match for each row; give `selectivities`, the share of pairs that "
    "match, if it is known",
}
ITSELF: Final = "; a stream is joined with itself, and results of a row with itself come on top"
PARTS: Final = (1.0, 0.5, 0.25, 0.1)
"""Parts of what is needed that budgets are explained for."""
TIGHT: Final = 0.5
"""Spark itself needs CPU too: with more than this part of it for the join there may be too
little."""
_BESIDES: Final = "what Spark takes to read, to shuffle and to write rows comes on top"
_HEAD: Final = ("of the need", "budget", "recall", "what gives way")


@dataclass(frozen=True)
class Expected:
    """What comes out of a join and what it takes."""

    rows_per_second: float  # before conditions that are left to Spark
    selectivity: float | None  # of the pairs within two streams' windows, the part that matches
    basis: Basis
    cpu_s: float  # of the join itself, for each second of the streams
    cores: int
    output: str  # in words
    cpu: str  # in words

    @property
    def share(self) -> float:
        """CPU time as a part of all cores."""
        return self.cpu_s / self.cores

    def comes_out(self, *, limited: bool, sure: bool = False) -> str:
        """How many rows come out, without a full stop."""
        guess = ""
        if self.basis == "assumed" and not sure:
            guess = (
                ", if each row has one match" if self.selectivity else ", by assumed selectivities"
            )
        rows = f"{about(self.rows_per_second)} rows/s"
        if limited:
            return f"Without its budget about {rows} would come out{guess}"
        return f"About {rows} come out{guess}"

    def takes(self, *, limited: bool) -> str:
        """How much CPU that takes, and whether it is there."""
        needed = (
            f"It takes about {self.cpu_s:.2g} s of CPU for each second of the streams, "
            f"{percent(self.share)} of {counted(self.cores, 'core')}"
        )
        if limited:
            return f"{needed}, for everything."
        if self.share > 1:
            return f"{needed}: too much, the query would fall behind."
        if self.share > TIGHT:
            return f"{needed}: that is tight, as Spark needs CPU too."
        return f"{needed}: it fits."

    def warnings(self) -> Iterator[Advice]:
        """What is needed and not there makes a query fall behind."""
        if self.share > 1:
            yield Advice(
                "too_little_cpu",
                f"too little CPU: a second of the streams takes about {self.cpu_s:.2g} s of it and "
                f"there {'is' if self.cores == 1 else 'are'} {counted(self.cores, 'core')}, so the "
                "query would fall behind; give a `budget`",
            )


@dataclass(frozen=True)
class Meaning:
    """What a budget of some size would mean."""

    resource: Literal["cpu", "memory"]
    part: float  # of what the join needs
    budget: str  # as an argument of `streamjoin.Budget`
    gives_way: str
    recall: float  # about which part of the results would remain

    def cells(self) -> tuple[str, str, str, str]:
        """Cells of the table."""
        resource = "CPU" if self.resource == "cpu" else "memory"
        recall = f"{100 * self.recall:.3g} %"
        return f"{100 * self.part:.0f} % {resource}", self.budget, recall, self.gives_way


@dataclass(frozen=True)
class Meanings:
    """What budgets of several sizes would mean; a note of what that assumes, or why none is."""

    rows: tuple[Meaning, ...]
    note: str

    def table(self) -> Iterator[str]:
        """The table, aligned, and the note."""
        if self.rows:
            lines = [_HEAD, *(row.cells() for row in self.rows)]
            need, budget, recall = (max(len(line[i]) for line in lines) for i in range(3))
            for line in lines:
                head = f"{line[0]:<{need}}  {line[1]:<{budget}}  {line[2]:>{recall}}"
                yield f"{head}  {line[3]}"
        yield self.note


def numbers_of(part: "Expected | Meanings | None") -> dict[str, Any] | None:
    """What programs get of something that may not be known."""
    return None if part is None else asdict(part)


def expected_sections(expected: Expected | None) -> Mapping[str, Sequence[str]]:
    """Lines of a report by their titles; none if nothing is known."""
    if expected is None:
        return {}
    return {"output, about": [expected.output], "CPU, about": [expected.cpu]}


def cpu_words(receiving: float, comparing: float, cores: int, what: str) -> str:
    """CPU time in words: all of it, and what for."""
    whole = receiving + comparing
    return (
        f"{whole:.2g} s for each second of the streams, {percent(whole / cores)} of "
        f"{counted(cores, 'core')}: {receiving:.2g} s to receive rows, "
        f"{comparing:.2g} s {what}; by first guesses of the costs (they are measured while it "
        f"runs), and {_BESIDES}"
    )


def kept_within(limits: str, fits: bool, share: float, expected: Expected | None) -> str:
    """What a budget leaves of the results."""
    batches = f", for batches of {BATCH_SECONDS:g} s," if "a batch" in limits else ""
    budget = f"The budget ({limits}){batches}"
    if fits:
        return f"{budget} is enough: nothing is left out."
    rows = "" if expected is None else f", {about(share * expected.rows_per_second)} rows/s"
    return f"{budget} is less than it takes: about {percent(share)} of the results come out{rows}."


def look_out(warnings: Sequence[Advice]) -> Iterator[str]:
    """The last sentence of an answer: what is warned of below."""
    if warnings:
        codes = ", ".join(warning.code.replace("_", " ") for warning in warnings)
        yield f"Look out for: {codes} (see ! below)."


def result_card(
    operator: Card,
    columns: Sequence[str],
    expected: Expected | None,
    *,
    conditions: Sequence[str] = (),
    query: "QueryPlan | None" = None,
    share: float = 1.0,
) -> Card:
    """The result, and what Spark checks before; `share` of the exact one comes out."""
    rate = []
    if expected is not None:
        part = "" if share >= 1 else f"{about(share * expected.rows_per_second)} of "
        rate = [f"about {part}{about(expected.rows_per_second)} rows/s"]
    if query is not None:
        columns = [output.sql for output in query.outputs]
        conditions = [*conditions, *(one.text for one in query.conditions if one.place == "after")]
    if conditions:
        checked = "checked on the rows that the join hands out"
        operator = Card("check", " AND ".join(conditions), (checked, *rate), children=(operator,))
        rate = ["those of these rows that fulfil it"] if rate else []
    return Card("result", "result", (*rate, ", ".join(columns)), children=(operator,))


def stream_lines(rate: float | None, window: str | None, filters: Sequence[str]) -> list[str]:
    """Rate, window and filters of a stream, for its card.

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
    """A budget, and which part of the results it leaves, for a card.

    Examples
    --------
    >>> budget_line("at most 0.25 of the cores", 0.4321), budget_line("9 tuples/s", 1.0)
    ('budget at most 0.25 of the cores: about 43.2 % of the results', 'budget 9 tuples/s: enough')
    """
    if share is None:
        return f"budget {budget}"
    left = "enough" if share >= 1 else f"about {100 * share:.3g} % of the results"
    return f"budget {budget}: {left}"
