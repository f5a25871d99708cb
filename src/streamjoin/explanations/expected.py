"""What to expect of any join: what comes out, what that takes, what budgets would mean."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from streamjoin.core.stream import Stream
from streamjoin.durations import format_duration
from streamjoin.explanations.wording import about, aligned, counted, percent
from streamjoin.joins.report import Advice

Basis = Literal["sample", "given", "assumed"]
"""Whether a sample of the streams shows something, the user said it, or it is assumed."""
Resource = Literal["cpu", "memory"]
BASES: Final[dict[Basis, str]] = {
    "sample": "as in a sample of the generated streams",
    "given": "as given",
    "assumed": "assumed: one match for each row; give `selectivities`, the share of pairs that "
    "match, if it is known",
}
ITSELF: Final = "; a stream is joined with itself, and results of a row with itself come on top"
BUDGET_PARTS: Final = (1.0, 0.5, 0.25, 0.1)
"""Parts of what is needed that budgets are explained for."""
TIGHT_SHARE: Final = 0.5
"""Spark itself needs CPU too: with more than this part of it for the join there may be too
little."""
LONG_US: Final = 86_400_000_000
"""Windows of more than a day are warned of."""
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
        if self.share > TIGHT_SHARE:
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

    resource: Resource
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

    def table(self) -> list[str]:
        """The table, aligned, and the note."""
        rows = [_HEAD, *(row.cells() for row in self.rows)] if self.rows else []
        return [*aligned(rows, "<<><"), self.note]


def numbers_of(part: Any) -> dict[str, Any] | None:
    """What programs get of a dataclass; None if nothing is known of that."""
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


def left_to_spark(conditions: Sequence[str], what: str) -> Iterator[Advice]:
    """A warning for each condition that only Spark can evaluate."""
    for text in conditions:
        yield Advice(
            "left_to_spark",
            f"{text} is left to Spark: {what} are built first and dropped afterwards, and the "
            "counters count them",
        )


def time_warnings(
    windows: Mapping[str, Stream], *, can_end: bool, every: str, kept: str
) -> Iterator[Advice]:
    """What may go wrong with time; the streams by what their windows are called."""
    if not can_end:
        yield Advice(
            "unbounded_state",
            f"unbounded state: while one input is silent the rows of the {kept}; give "
            "`idle_timeout` if that may last",
        )
    if all(stream.lateness_us == 0 for stream in windows.values()):
        yield Advice(
            "no_lateness",
            f"no lateness: a row that is older than what {every} inputs had reached a batch before "
            "is left out; give `lateness` unless rows come in order of time",
        )
    for called, stream in windows.items():
        if stream.window_us > LONG_US:
            length = format_duration(stream.window_us)
            yield Advice("long_window", f"the {called} is long ({length}): mind the state")
