"""What a join counts: nothing disappears without a number."""

from dataclasses import dataclass, fields, replace


@dataclass(frozen=True)
class JoinMetrics:
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
    pairs
        Pairs that match.
    alone_left, alone_right
        Rows that came out without a partner.
    rows_out
        Rows that came out; those that a condition left to Spark then removes are counted too.
    state_rows, state_bytes
        What is remembered after the batch.
    held_rows
        Rows that wait for their place in the total order, where windows count tuples.
    work
        Rows and pairs handled; a row that is sent to several shards counts in each.
    busiest
        The most work of one shard; not added up over shards.
    hot_keys
        Keys whose rows are spread over several shards.

    Examples
    --------
    >>> total = JoinMetrics(rows_left=2, pairs=1) + JoinMetrics(rows_left=3)
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
    pairs: int = 0
    alone_left: int = 0
    alone_right: int = 0
    rows_out: int = 0
    state_rows: int = 0
    state_bytes: int = 0
    held_rows: int = 0
    work: int = 0
    busiest: int = 0
    hot_keys: int = 0

    def __add__(self, other: "JoinMetrics") -> "JoinMetrics":
        return JoinMetrics(*(getattr(self, f) + getattr(other, f) for f in METRIC_NAMES))

    def without_state(self) -> "JoinMetrics":
        """The counts that add up over batches: sizes and maxima do not."""
        return replace(self, state_rows=0, state_bytes=0, held_rows=0, busiest=0, hot_keys=0)


METRIC_NAMES: tuple[str, ...] = tuple(field.name for field in fields(JoinMetrics))
