"""What a join counts: nothing disappears without a number."""

from dataclasses import dataclass, fields, replace


@dataclass(frozen=True)
class JoinCounts:
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
        left, right = (
            done / (done + skipped) if done + skipped else 1.0
            for done, skipped in (
                (self.compared_left, self.skipped_left),
                (self.compared_right, self.skipped_right),
            )
        )
        return left, right

    @property
    def recall(self) -> float:
        """Estimated share of the pairs that were found.

        Examples
        --------
        >>> JoinCounts(pairs=75, missed=25, missed_variance=16).recall
        0.75
        """
        return self.pairs / (self.pairs + self.missed) if self.pairs + self.missed > 0 else 1.0

    @property
    def recall_interval(self) -> tuple[float, float]:
        """Between which bounds the recall is, in 95 of 100 cases.

        Examples
        --------
        >>> low, high = JoinCounts(pairs=75, missed=25, missed_variance=16).recall_interval
        >>> round(low, 3), round(high, 3)
        (0.695, 0.814)
        """
        skipped = self.skipped_left + self.skipped_right
        return recall_interval(self.pairs, self.missed, self.missed_variance, skipped > 0)

    @property
    def recall_error(self) -> float:
        """Half the width of that interval.

        Examples
        --------
        >>> round(JoinCounts(pairs=75, missed=25, missed_variance=16).recall_error, 3)
        0.059
        """
        low, high = self.recall_interval
        return (high - low) / 2

    def __add__(self, other: "JoinCounts") -> "JoinCounts":
        return JoinCounts(*(getattr(self, f) + getattr(other, f) for f in METRIC_NAMES))

    def without_state(self) -> "JoinCounts":
        """The counts that add up over batches: sizes and maxima do not."""
        sizes = [name for name in METRIC_NAMES if name.startswith("state_")]
        return replace(self, **dict.fromkeys([*sizes, "held_rows", "busiest", "hot_keys"], 0))


METRIC_NAMES: tuple[str, ...] = tuple(field.name for field in fields(JoinCounts))


def recall_interval(
    found: float, missed: float, variance: float, skipped: bool
) -> tuple[float, float]:
    """Between which bounds the recall is, in 95 of 100 cases.

    Parameters
    ----------
    found
        Results.
    missed, variance
        Estimate of those that were not found, and its variance.
    skipped
        Whether something was left out at all.

    Examples
    --------
    >>> recall_interval(0, 0, 0.0, skipped=True), recall_interval(9, 0, 0.0, skipped=False)
    ((0.0, 1.0), (1.0, 1.0))
    """
    total = found + missed
    if missed > 0 and variance < 0:
        variance = missed  # of one batch it is a difference of two estimates, which may go down
    if total <= 0 and skipped:
        return 0.0, 1.0  # nothing was seen of what was left out
    if total <= 0 or variance <= 0:
        recall = found / total if total > 0 else 1.0
        return recall, recall
    error = 1.96 * float(variance) ** 0.5
    return found / (total + error), min(1.0, found / max(total - error, 1.0))
