"""What the reports of all joins have in common: facts, what to expect, budgets, warnings."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal

from streamjoin.core.stream import Stream
from streamjoin.durations import format_duration
from streamjoin.explanations.asked import Asked
from streamjoin.explanations.wording import (
    BATCH_SECONDS,
    Condition,
    about,
    aligned,
    counted,
    listed,
    percent,
)
from streamjoin.joins.plans import AnyPlan
from streamjoin.joins.report import Advice, Card, Report, ReportKind

Basis = Literal["sample", "given", "assumed"]
"""Whether a sample of the streams shows something, the user said it, or it is assumed."""
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
_HEAD: Final = ("of the need", "budget", "recall", "what gives way")
WARNINGS: Final = {
    "all_pairs": "no key and no band: every pair within the windows is looked at; an equality, "
    "abs(left.x - right.y) <= e or an overlap of sets in `where` would be indexed",
    "cross_join": "cross join: no key and no condition, so every pair within the windows comes "
    "out; give `on` or `where`",
    "duplicate_keys": "keys may be in the table several times: {costs}; give unique=True if each "
    "is there once",
    "hot_keys_stay": "a key with very many rows is not spread over shards while there is a budget: "
    "its shard has its part of the CPU and {does} than the others",
    "infeasible": "{why}",
    "large_row_groups": "row groups have {rows:,.0f} rows and a look-up decodes a whole one; give "
    "copy=True, or write the files with row groups of about 10,000 rows",
    "left_to_spark": "{condition} is left to Spark: {what} are built first and dropped afterwards, "
    "and the counters count them",
    "little_memory": "the memory {does}; give more of it",
    "long_window": "the {window} is long ({length}): mind the state",
    "no_index": "no index on the key: every row waits until the whole table has been read; make an "
    "index in the database",
    "no_lateness": "no lateness: a row that is older than what {every} inputs had reached a batch "
    "before is left out; give `lateness` unless rows come in order of time",
    "no_wait": "max_wait is zero: the whole table is read in every batch; let rows wait",
    "one_partition": "one core does all the work: there is one partition "
    "(spark.sql.shuffle.partitions)",
    "one_shard": "one core does all the work: {why}",
    "stale_states": "joins remember a number of results, whose rows may be of any age; give "
    "`freshness` to withhold results that are too old",
    "too_little_cpu": "too little CPU: a second of the streams takes about {cpu_s:.2g} s of it and "
    "there {cores}, so the query would fall behind; give a `budget`",
    "unbounded_state": "unbounded state: while one input is silent the rows of the {kept}; give "
    "`idle_timeout` if that may last",
    "waits_for_watermark": "a window counts rows: a row is joined when the watermark has passed "
    "it, as only then its place is known",
}


def warn(code: str, **values: object) -> Advice:
    """A warning, with what it says of this join."""
    return Advice(code, WARNINGS[code].format(**values))


@dataclass(frozen=True)
class Fact:
    """What is known of a join: for programs by its key, for people below its title."""

    key: str | None  # None if programs get it as another fact
    value: Any = None  # what JSON can hold, or a dataclass of that
    title: str | None = None  # None if it is for programs alone
    lines: Sequence[str | None] | None = None  # None if the value is the text

    @property
    def section(self) -> list[str | None]:
        """The lines below the title."""
        text = self.value if self.lines is None else self.lines
        return [text] if isinstance(text, str) else list(text or ())


def sections_of(facts: Sequence[Fact]) -> dict[str, list[str | None]]:
    """What people get."""
    return {fact.title: fact.section for fact in facts if fact.title is not None}


def numbers_of(facts: Sequence[Fact]) -> dict[str, Any]:
    """What programs get."""
    return {fact.key: fact.value for fact in facts if fact.key is not None}


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
        fits = ": it fits."
        if limited:
            fits = ", for everything."
        elif self.share > 1:
            fits = ": too much, the query would fall behind."
        elif self.share > TIGHT_SHARE:
            fits = ": that is tight, as Spark needs CPU too."
        return (
            f"It takes about {self.cpu_s:.2g} s of CPU for each second of the streams, "
            f"{percent(self.share)} of {counted(self.cores, 'core')}{fits}"
        )


def expect(
    asked: Asked,
    rows: float,
    output: str,
    basis: Basis,
    cpu: tuple[float, float],
    what: str,
    selectivity: float | None = None,
) -> Expected:
    """What comes out; and the CPU that it takes to receive rows and to do more, by guesses."""
    (receiving, more), cores = cpu, asked.cores
    whole, itself = receiving + more, ITSELF if asked.sources.is_reflexive else ""
    text = (
        f"{whole:.2g} s for each second of the streams, {percent(whole / cores)} of "
        f"{counted(cores, 'core')}: {receiving:.2g} s to receive rows, {more:.2g} s {what}; by "
        "first guesses of the costs (they are measured while it runs), and what Spark takes to "
        "read, to shuffle and to write rows comes on top"
    )
    return Expected(rows, selectivity, basis, whole, cores, f"{output}{itself}", text)


@dataclass(frozen=True)
class Meaning:
    """What a budget of some size would mean."""

    resource: Literal["cpu", "memory"]
    part: float  # of what the join needs
    budget: str  # as an argument of `streamjoin.Budget`
    gives_way: str
    recall: float  # about which part of the results would remain


@dataclass(frozen=True)
class Meanings:
    """What budgets of several sizes would mean; a note of what that assumes, or why none is."""

    rows: Sequence[Meaning]
    note: str

    def table(self) -> list[str]:
        """The table, aligned, and the note."""
        rows = [_HEAD] if self.rows else []
        for one in self.rows:
            need = f"{100 * one.part:.0f} % {'CPU' if one.resource == 'cpu' else 'memory'}"
            rows.append((need, one.budget, f"{100 * one.recall:.3g} %", one.gives_way))
        return [*aligned(rows, "<<><"), self.note]


class Explainer(ABC):
    """Makes the report of a join from what is known of it."""

    kind: ClassVar[ReportKind]
    title: str  # what kind of join it is
    names: Sequence[str]  # of the streams
    columns: Sequence[str]  # of the result
    conditions: Sequence[Condition] = ()
    expected: Expected | None = None
    meanings: Meanings | None = None
    state: Sequence[str] = ()  # about how much is remembered
    warnings: Sequence[Advice] = ()
    freshness: Sequence[str] = ()  # which results are withheld
    budget_text: str | None = None
    share: float | None = None  # part of the results that the budget leaves, if that is known

    def __init__(self, plan: AnyPlan, asked: Asked) -> None:
        self.name, self.streaming, self.asked = plan.name, plan.streaming, asked

    @abstractmethod
    def facts(self) -> list[Fact]:
        """The details, in the order of the document."""

    @abstractmethod
    def answer(self) -> Iterator[str]:
        """The whole in a few sentences."""

    @abstractmethod
    def operator(self) -> Card:
        """What is drawn below the result."""

    def report(self) -> Report:
        """All of it."""
        facts = self.facts()
        sections = sections_of(facts)
        sections["columns"] = [", ".join(self.columns)]
        if self.expected is not None:
            sections["output, about"] = [self.expected.output]
            sections["CPU, about"] = [self.expected.cpu]
        sections["state, about"] = [*self.state]
        sections["budgets"] = [] if self.meanings is None else [*self.meanings.table()]
        return Report(
            self.kind,
            f"{self.name}: {self.title}",
            sections,
            numbers_of(facts),
            tuple(self.answer()),
            tuple(self.warnings),
            f"{self.name}: {listed(self.names)}",
            self._result(self.operator()),
        )

    def time_facts(
        self, newest: str, late_us: int, late_rows: str | None, idle_us: int | None, noticed: str
    ) -> list[Fact]:
        """How far time has come, and what becomes of late rows and of a silent input."""
        if not self.streaming:
            return [Fact("watermark"), Fact("late"), Fact("idle")]
        less = f", less {format_duration(late_us)} of lateness" if late_us else " (no lateness)"
        where = "left out" if late_rows is None else f"written to {late_rows}"
        late = f"rows below the watermark that earlier batches reached: counted and {where}"
        idle = "holds the watermark until it brings a row"
        if idle_us is not None:
            after = format_duration(idle_us)
            idle = f"no longer holds the watermark after {after} without a row{noticed}"
        return [
            Fact("watermark", f"{newest}{less}; it never goes back", "watermark"),
            Fact("late", late, "late rows"),
            Fact("idle", idle, "silent input"),
        ]

    def time_warnings(
        self, windows: Mapping[str, Stream], *, can_end: bool, every: str, kept: str
    ) -> Iterator[Advice]:
        """What may go wrong with time; the streams by what their windows are called."""
        if not can_end:
            yield warn("unbounded_state", kept=kept)
        if all(stream.lateness_us == 0 for stream in windows.values()):
            yield warn("no_lateness", every=every)
        for window, stream in windows.items():
            if stream.window_us > LONG_US:
                yield warn("long_window", window=window, length=format_duration(stream.window_us))

    def cpu_warnings(self) -> Iterator[Advice]:
        """What is needed and not there makes an exact join fall behind."""
        if self.expected is not None and self.expected.share > 1:
            cores = self.expected.cores
            there = f"{'is' if cores == 1 else 'are'} {counted(cores, 'core')}"
            yield warn("too_little_cpu", cpu_s=self.expected.cpu_s, cores=there)

    def spark_conditions(self) -> list[str]:
        """Those of the join that are left to Spark, as its streams are called."""
        return [one.text for one in self.conditions if one.place == "spark"]

    def stream(self, name: str, rate: float | None, window: str | None, *more: str) -> Card:
        """A stream with its rate, window and filters."""
        filters = self.asked.sources.filters.get(name, ())
        after = " after the filter" if filters else ""
        rows = "" if rate is None else f"{about(rate)} rows/s{after}, "
        kept = f"window of {window}" if window else "not remembered, only probes"
        lines = (f"{rows}{kept}", *(f"filter: {text}" for text in filters), *more)
        return Card("stream" if self.streaming else "table", name, lines)

    def limits(self) -> tuple[str, ...]:
        """What stands out: the budget with what it leaves, and which results are withheld."""
        lines = [f"freshness {text.partition(':')[0]}" for text in self.freshness]
        if self.budget_text is not None:
            left = ""
            if self.share is not None:
                part = f"about {100 * self.share:.3g} % of the results"
                left = ": enough" if self.share >= 1 else f": {part}"
            lines.insert(0, f"budget {self.budget_text}{left}")
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
        rate, columns, query = [], self.columns, self.asked.query
        if self.expected is not None:
            rows, share = self.expected.rows_per_second, self.share
            part = "" if share is None or share >= 1 else f"{about(share * rows)} of "
            rate = [f"about {part}{about(rows)} rows/s"]
        checked = self.spark_conditions()
        if query is not None:
            checked += [one.text for one in query.conditions if one.place == "after"]
            columns = [output.sql for output in query.outputs]
        if checked:
            lines = ("checked on the rows that the join hands out", *rate)
            operator = Card("check", " AND ".join(checked), lines, children=(operator,))
            rate = ["those of these rows that fulfil it"] if rate else []
        return Card("result", "result", (*rate, ", ".join(columns)), children=(operator,))
