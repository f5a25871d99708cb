"""The catalogue of counters: what a join counts, so that nothing disappears without a number.

Two streams count the fields of `JoinCounts`; many streams some of each input and some of the whole
plan; a join with a table has its own. Shards send numbers to the driver in their order.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from math import floor, sqrt
from typing import Final


class RecallEstimate:
    """Of what was found and what was missed, as estimated: the recall."""

    pairs: int
    missed: float
    missed_variance: float
    unmet: float
    unmet_weight: float

    @property
    def recall(self) -> float | None:
        """Estimated share of the results that were found; None if not known.

        Examples
        --------
        >>> JoinCounts(pairs=75, missed=25, missed_variance=16).recall
        0.75
        """
        return None if self.recall_interval is None else share_found(self.pairs, self.missed)

    @property
    def recall_interval(self) -> tuple[float, float] | None:
        """Between which bounds the recall is, in 95 of 100 cases; None if not known.

        Examples
        --------
        >>> low, high = JoinCounts(pairs=75, missed=25, missed_variance=16).recall_interval
        >>> round(low, 3), round(high, 3)
        (0.687, 0.815)
        """
        return recall_interval(
            self.pairs, self.missed, self.missed_variance, self.unmet, self.unmet_weight
        )

    @property
    def recall_error(self) -> float | None:
        """Half the width of that interval; None if not known.

        Examples
        --------
        >>> round(JoinCounts(pairs=75, missed=25, missed_variance=16).recall_error, 3)
        0.064
        """
        interval = self.recall_interval
        return None if interval is None else (interval[1] - interval[0]) / 2


@dataclass(frozen=True)
class JoinCounts(RecallEstimate):
    """Counts of one join over one batch (in one shard, or added up over all).

    Parameters
    ----------
    rows_left, rows_right
        Rows that came, whatever became of them.
    late_left, late_right
        Rows older than the watermark: left out.
    idle_late_left, idle_late_right
        Those of them that would have been in time, had an idle side not been given up on.
    null_left, null_right
        Rows without a key or a time: they can match nothing.
    ahead_left, ahead_right
        Rows whose time is too far ahead of the clock: they are taken to have none.
    pairs
        Pairs that match.
    alone_left, alone_right
        Rows that came out without a partner.
    stale
        Pairs that were withheld, because one of their rows is older than the freshness asked for.
    rows_out
        Rows that came out; those that a condition left to Spark then removes are counted too.
    state_rows, state_bytes
        What is remembered after the batch; and of that the rows of each side (``state_rows_left``
        and so on).
    held_rows
        Rows that wait for their place in the total order, where windows count tuples.
    work
        Rows and pairs handled; a row that is sent to several shards counts in each.
    busiest
        The most work of one shard; not added up over shards.
    hot_keys
        Keys whose rows are spread over several shards.
    dropped_left, dropped_right
        Rows that were not let in, to keep within the budget of CPU.
    compared_left, compared_right
        Where comparisons are budgeted: pairs of an arriving row and a row of the left (right)
        window that were compared, an index's work counted as if there were none.
    skipped_left, skipped_right
        Those that were left out to keep within the budget of CPU.
    windows_read, windows_skipped
        Stored basic windows that were probed, and those within reach that were not read.
    selective
        Shards that probed their windows in part; none: everything was compared.
    lagging
        Shards in which to receive the rows alone takes more than the budget.
    cut_left, cut_right
        Rows that were forgotten before their time, to keep within the memory.
    missed, missed_variance
        Estimate of the pairs that were not found because of that, and its variance.
    unmet, unmet_weight
        Pairs of rows that could not meet because of that; and added up over them, for how many
        others one that a sample has stands.
    by_batch, by_hash, by_nested
        Directions, of all shards, whose stored rows were met by each method.
    cpu_us
        CPU time of the join itself in microseconds, all shards together.

    Examples
    --------
    >>> total = JoinCounts(rows_left=2, pairs=1) + JoinCounts(rows_left=3)
    >>> total.rows_left, total.pairs, total.late_left
    (5, 1, 0)
    """

    rows_left: int = 0
    rows_right: int = 0
    late_left: int = 0
    late_right: int = 0
    idle_late_left: int = 0
    idle_late_right: int = 0
    null_left: int = 0
    null_right: int = 0
    ahead_left: int = 0
    ahead_right: int = 0
    pairs: int = 0
    alone_left: int = 0
    alone_right: int = 0
    stale: int = 0
    rows_out: int = 0
    state_rows: int = 0
    state_bytes: int = 0
    state_rows_left: int = 0
    state_rows_right: int = 0
    state_bytes_left: int = 0
    state_bytes_right: int = 0
    held_rows: int = 0
    work: int = 0
    busiest: int = 0
    hot_keys: int = 0
    dropped_left: int = 0
    dropped_right: int = 0
    compared_left: int = 0
    compared_right: int = 0
    skipped_left: int = 0
    skipped_right: int = 0
    windows_read: int = 0
    windows_skipped: int = 0
    selective: int = 0
    lagging: int = 0
    cut_left: int = 0
    cut_right: int = 0
    missed: int = 0
    missed_variance: float = 0.0
    unmet: float = 0.0
    unmet_weight: float = 0.0
    by_batch: int = 0
    by_hash: int = 0
    by_nested: int = 0
    cpu_us: int = 0

    @property
    def fractions(self) -> tuple[float, float]:
        """Part of the left and of the right window that was probed: r_1 and r_2 of Gedik et al.

        Examples
        --------
        >>> JoinCounts(compared_left=30, skipped_left=70).fractions
        (0.3, 1.0)
        """
        left, right = self.compared_left, self.compared_right
        return share_found(left, self.skipped_left), share_found(right, self.skipped_right)

    def __add__(self, other: "JoinCounts") -> "JoinCounts":
        return JoinCounts(*(getattr(self, f) + getattr(other, f) for f in METRIC_NAMES))

    def without_state(self) -> "JoinCounts":
        """The counts that add up over batches: sizes and maxima do not."""
        sizes = [name for name in METRIC_NAMES if name.startswith("state_")]
        return replace(self, **dict.fromkeys([*sizes, "held_rows", "busiest", "hot_keys"], 0))


METRIC_NAMES: tuple[str, ...] = tuple(field.name for field in fields(JoinCounts))

Z: Final = 1.96
"""Deviations within which 95 of 100 cases lie."""
MOST_APART: Final = 4.0
"""If the number of all results may as well be so many times as large, the recall is not known."""


def recall_interval(
    pairs: float, missed: float, variance: float, unmet: float = 0.0, unmet_weight: float = 0.0
) -> tuple[float, float] | None:
    """Between which bounds the recall is, in 95 of 100 cases; None if not known.

    What was missed comes in lumps: a pair that a sample has stands for several, and pairs that
    share a row come together. A lump is ``variance / missed`` pairs by what was seen; one that was
    not seen has at least as many as a pair in the sample stands for. The numbers of lumps that are
    possible are those of Poisson's distribution: if none was seen there may be up to four, and of
    those that were seen one may be luck.

    Examples
    --------
    >>> recall_interval(9, 0, 0.0)
    (1.0, 1.0)
    >>> recall_interval(900, 0, 0.0, unmet=1e6, unmet_weight=9e6)
    (0.963..., 1.0)
    >>> recall_interval(9, 0, 0.0, unmet=1e6, unmet_weight=9e6) is None
    True
    """
    missed = max(missed, 0.0)
    if variance < 0:
        variance = missed  # of one batch it is a difference of two estimates, which may go down
    lump = variance / max(missed, 1.0)
    unseen = max(lump, unmet_weight / unmet if unmet > 0 else 0.0)
    least = floor(_bound(max(missed - lump, 0.0), lump, lump, -Z))
    most = _bound(missed, lump, unseen, Z)
    if pairs + most > MOST_APART * (pairs + least):
        return None
    return share_found(pairs, most), share_found(pairs, least)


def _bound(missed: float, lump: float, unseen: float, z: float) -> float:
    """How many may be missed at least or at most (Wilson's bound), `z` deviations away."""
    half = z**2 * unseen / 2
    return missed + half + z * sqrt(lump * missed + half * unseen / 2)


def share_found(pairs: float, missed: float) -> float:
    """The part of all results that was found; all of them if there are none."""
    return pairs / (pairs + missed) if pairs + missed > 0 else 1.0


PER_INPUT: Final = (
    "rows", "late", "idle_late", "null", "ahead", "probed", "skipped", "state_rows", "state_bytes",
)  # fmt: skip
"""Counted of each input: rows that came, that were late, late because an idle input was given up
on, without a key or a time, with a time too far ahead of the clock; those that probed and that did
not, to keep within the budget; and what is remembered of it."""
OF_ALL: Final = (
    "intermediate",
    "probed_intermediate",
    "skipped_intermediate",
    "results",
    "stale",
    "rows_out",
    "missed",
    "state_rows",
    "state_bytes",
    "intermediate_rows",
    "held_rows",
    "work",
    "busiest",
    "cpu_us",
    "analysed",
    "adapted",
    "infeasible",
    "reordered",
    "nary",
    "driver_changes",
)
"""Counted of the whole plan.

`intermediate` are tuples that joins below the root have formed, of which some probe on and some are
skipped; `results` those of the root, of which `stale` ones are withheld and `rows_out` come out;
`missed` is an estimate of the results that were not found; `state_rows` are remembered rows of the
streams and `intermediate_rows` remembered tuples of joins; `analysed` and `adapted` count how often
allowances were thought over and changed, `infeasible` shards in which the freshness asked for
cannot be had, `reordered` changes of the plan, `nary` shards that work as one n-ary join and
`driver_changes` how often another of its inputs drove.
"""

Counts = Counter[str]

TOGETHER: Final = "+"
"""Between the streams of partial results, in the name of an input: no stream's own name has it."""

TABLE_COUNTERS: Final = (
    "rows", "null", "hits", "looked_up", "loads", "pairs", "alone", "waiting_rows", "spilled_rows",
    "shed", "reloaded", "cached_rows", "state_bytes", "work", "busiest", "cpu_us",
)  # fmt: skip
"""Rows that came, that had no key, that the front stage answered, that were looked up; partitions
loaded; results with a table row and without; rows that wait, that are spilled, that were spilled
now and that came again now; table rows that are cached; bytes of all that is kept."""


def many_stream_counters(inputs: Sequence[str]) -> tuple[str, ...]:
    """What a join of these inputs counts.

    Examples
    --------
    >>> many_stream_counters(["a", "b"])[:4]
    ('rows_a', 'rows_b', 'late_a', 'late_b')
    """
    return (*(f"{what}_{name}" for what in PER_INPUT for name in inputs), *OF_ALL)
