"""`JoinMetrics`: one form for what any join did, in a batch or in many."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal, TypeVar

from streamjoin.metrics.catalogue import RecallEstimate, share_found
from streamjoin.metrics.details import Ages, BasicWindows, from_values, to_values, together

AnyMetrics = TypeVar("AnyMetrics", bound="Additive")
Kind = Literal["window", "plan", "table"]
"""A join of two streams, of many, or with a table."""


class Additive:
    """Metrics that add up over batches in the fields `ADDED`; others are those of the last one."""

    ADDED: ClassVar[tuple[str, ...]]

    @property
    def counts(self) -> list[float]:
        """What is added up."""
        values = vars(self)
        return [values[name] for name in self.ADDED]

    def having(self: AnyMetrics, values: Mapping[str, Any]) -> AnyMetrics:
        """The same with other values: as `dataclasses.replace`, but quick enough for each batch."""
        changed = object.__new__(type(self))
        vars(changed).update(vars(self), **values)
        return changed

    def __add__(self: AnyMetrics, later: AnyMetrics) -> AnyMetrics:
        return later.having(self.sums(later))

    def sums(self: AnyMetrics, later: AnyMetrics) -> dict[str, Any]:
        """Of what is added up."""
        before, after = vars(self), vars(later)
        return {name: before[name] + after[name] for name in self.ADDED}


@dataclass(frozen=True)
class InputMetrics(Additive):
    """One input of a join.

    Parameters
    ----------
    name
        "left" and "right" of two streams, the streams' names of many, "stream" beside a table.
    rows
        Rows that came, whatever became of them.
    late, idle_late, null, ahead
        Rows left out: older than the watermark; those of them that an idle time-out made late;
        without a key or a time; with a time too far ahead of the clock.
    dropped, cut
        Rows left out for the budget: not let in; forgotten before their time.
    alone
        Rows that came out without a partner.
    compared, skipped
        Where CPU is limited: comparisons with this input's window (of many streams: tuples that
        probed) that were made, and that were left out.
    state_rows, state_bytes
        What is remembered of it.

    Examples
    --------
    >>> InputMetrics("left", rows=10, compared=30, skipped=70).fraction
    0.3
    """

    ADDED: ClassVar = (
        "rows", "late", "idle_late", "null", "ahead", "dropped", "cut", "alone", "compared",
        "skipped",
    )  # fmt: skip

    name: str
    rows: int = 0
    late: int = 0
    idle_late: int = 0
    null: int = 0
    ahead: int = 0
    dropped: int = 0
    cut: int = 0
    alone: int = 0
    compared: int = 0
    skipped: int = 0
    state_rows: int = 0
    state_bytes: int = 0

    @property
    def fraction(self) -> float:
        """The part that was probed: r_1 and r_2 of Gedik et al."""
        return share_found(self.compared, self.skipped)


@dataclass(frozen=True)
class TableMetrics(Additive):
    """What a join with a table did besides.

    Parameters
    ----------
    hits, looked_up, loads
        Rows that the cache answered, rows that were looked up, partitions that were loaded.
    shed, reloaded
        Rows that were put off to keep within the CPU, and that came again.
    cached_rows, waiting_rows, spilled_rows
        Table rows in the cache; rows that wait in memory; rows that are put off.
    """

    ADDED: ClassVar = ("hits", "looked_up", "loads", "shed", "reloaded")

    hits: int = 0
    looked_up: int = 0
    loads: int = 0
    shed: int = 0
    reloaded: int = 0
    cached_rows: int = 0
    waiting_rows: int = 0
    spilled_rows: int = 0


class OverInputs:
    """A number of a join: the sum of that of all its inputs."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, join: "JoinMetrics", owner: object = None) -> int:
        return sum(getattr(one, self._name) for one in join.inputs)


@dataclass(frozen=True)
class JoinMetrics(Additive, RecallEstimate):
    """What a join did in a batch, or (added up) in many.

    Counts add up over batches; what is remembered, chosen or measured is that of the last one.

    Parameters
    ----------
    name, kind
        Name of its counters; what it joins.
    batch, batches
        Number of the last batch, and how many there are.
    at, seconds
        When the last batch began, in seconds since 1970; how long all of them took.
    inputs
        What was counted of each input.
    pairs, rows_out, stale
        Results found; rows that came out; results withheld because a tuple in them is too old.
    missed, missed_variance
        Estimate of the results that were not found because of a budget, and its variance.
    unmet, unmet_weight
        Of two streams: pairs of rows that could not meet because of a budget; and added up over
        them, for how many others one that a sample has stands.
    state_rows, state_bytes, held_rows
        What is remembered; rows that wait for their place in the order.
    work, busiest, hot_keys
        Rows and pairs handled, by all shards and by the busiest; keys spread over shards.
    selective, lagging
        Shards that probed in part; shards in which to receive rows takes more than the budget.
    cpu_us, budget_us
        CPU time of the join, and what it was allowed; 0 without such a budget.
    costs_us
        CPU time of one operation by name, as measured: receiving, comparing, emitting.
    planned, looked_at
        Comparisons that were chosen (of many streams: tuples that may probe in such a batch); and
        rows and candidates that were looked at for them, which an index makes fewer.
    behind
        Seconds by which the newest row is older than the end of the batch; None if not known.
    ages
        How old results are.
    windows
        Of each input by name, what was probed where.
    allowances
        Of many streams on a budget: tuples a second that may probe, by half-way join.
    algorithm, driver
        How matches were looked for; the input that drove an n-ary join last.
    table
        What a join with a table did besides.

    Examples
    --------
    >>> first = JoinMetrics(batch=0, inputs=(InputMetrics("left", rows=5),), pairs=3, state_rows=9)
    >>> then = JoinMetrics(batch=1, inputs=(InputMetrics("left", rows=2),), missed=1, state_rows=4)
    >>> total = first + then
    >>> total.batches, total.rows_in, total.pairs, total.recall, total.state_rows
    (2, 7, 3, 0.75, 4)
    >>> JoinMetrics.from_dict(total.to_dict()) == total
    True
    """

    ADDED: ClassVar = (
        "batches", "seconds", "pairs", "rows_out", "stale", "missed", "missed_variance", "unmet",
        "unmet_weight", "work", "selective", "lagging", "cpu_us", "budget_us", "planned",
        "looked_at",
    )  # fmt: skip

    name: str = "streamjoin"
    kind: Kind = "window"
    batch: int = 0
    batches: int = 1
    at: float = 0.0
    seconds: float = 0.0
    inputs: tuple[InputMetrics, ...] = ()
    pairs: int = 0
    rows_out: int = 0
    stale: int = 0
    missed: float = 0
    missed_variance: float = 0.0
    unmet: float = 0.0
    unmet_weight: float = 0.0
    state_rows: int = 0
    state_bytes: int = 0
    held_rows: int = 0
    work: int = 0
    busiest: int = 0
    hot_keys: int = 0
    selective: int = 0
    lagging: int = 0
    cpu_us: int = 0
    budget_us: int = 0
    costs_us: Mapping[str, float] = field(default_factory=dict)
    planned: int = 0
    looked_at: int = 0
    behind: float | None = None
    ages: Ages | None = None
    windows: Mapping[str, BasicWindows] = field(default_factory=dict)
    allowances: Mapping[str, float] = field(default_factory=dict)
    algorithm: str = ""
    driver: str = ""
    table: TableMetrics | None = None

    rows_in = OverInputs("rows")
    """Rows of all inputs."""
    late = OverInputs("late")
    """Rows that were too late."""
    null = OverInputs("null")
    """Rows without a key or a time."""
    ahead = OverInputs("ahead")
    """Rows whose time is too far ahead of the clock."""
    dropped = OverInputs("dropped")
    """Rows that were not let in, for the budget."""
    cut = OverInputs("cut")
    """Rows that were forgotten before their time, for the budget."""
    alone = OverInputs("alone")
    """Rows that came out without a partner."""
    compared = OverInputs("compared")
    """Comparisons made (of many streams: tuples that probed), where CPU is limited."""
    skipped = OverInputs("skipped")
    """Those that were left out."""

    @property
    def left_out(self) -> dict[str, int]:
        """All that was left out, by cause: rows, and where the cause says so something else."""
        table = self.table or TableMetrics()
        every = {
            "late": self.late,
            "null": self.null,
            "ahead": self.ahead,
            "dropped": self.dropped,
            "cut": self.cut,
            "skipped comparisons": self.skipped,
            "stale results": self.stale,
            "put off": table.shed,
        }
        return {cause: n for cause, n in every.items() if n}

    @property
    def has_interval(self) -> bool:
        """Whether the error of the recall is estimated: of many streams only the recall is."""
        return self.kind != "plan"

    @property
    def recall_interval(self) -> tuple[float, float] | None:
        """Between which bounds the recall is, in 95 of 100 cases; None if not known.

        Of many streams, of which they are never known, both are the estimate.
        """
        if not self.has_interval:
            return (share_found(self.pairs, self.missed),) * 2
        return super().recall_interval

    @property
    def hit_share(self) -> float | None:
        """Share of the rows that the cache answered; None without one."""
        if self.table is None:
            return None
        return self.table.hits / self.rows_in if self.rows_in else 0.0

    def __add__(self, later: "JoinMetrics") -> "JoinMetrics":
        inputs = {one.name: one for one in self.inputs}
        for one in later.inputs:
            inputs[one.name] = together(inputs.get(one.name), one)
        sums = self.sums(later)
        sums["inputs"] = tuple(inputs.values())
        sums["ages"] = together(self.ages, later.ages)
        sums["table"] = together(self.table, later.table)
        return later.having(sums)

    def to_dict(self) -> dict[str, Any]:
        """Values that JSON can hold; what is zero, empty or not known is left out."""
        values = to_values(self)
        values["inputs"] = [_without_zeros(vars(one)) for one in self.inputs]
        values["table"] = None if self.table is None else vars(self.table)
        if self.recall is not None and self.recall_interval not in (None, (1.0, 1.0)):
            low, high = self.recall_interval
            values["recall"] = [round(value, 6) for value in (low, self.recall, high)]
        known = {} if self.behind is None else {"behind": self.behind}  # also if that is 0
        return {"name": self.name, "batch": self.batch, **_without_zeros(values), **known}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "JoinMetrics":
        """Read `to_dict` back; what a later version adds is passed over."""
        known = from_values(known_fields(cls, values))
        inputs = values.get("inputs", ())
        known["inputs"] = tuple(InputMetrics(**known_fields(InputMetrics, one)) for one in inputs)
        if "table" in values:
            known["table"] = TableMetrics(**known_fields(TableMetrics, values["table"]))
        return cls(**known)


def known_fields(kind: type[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Values that a class has fields for; what a later version adds is not among them."""
    return {one.name: values[one.name] for one in fields(kind) if one.name in values}


def _without_zeros(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value}
