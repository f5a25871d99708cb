"""What a join counts: nothing disappears without a number."""

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class JoinMetrics:
    """Counts of one join over one batch (in one shard, or added up over all).

    Parameters
    ----------
    rows_left, rows_right
        Rows that came, whatever became of them.
    late_left, late_right
        Rows older than the watermark: left out.
    null_left, null_right
        Rows without a key or a time: they can match nothing.
    pairs
        Results.
    state_rows, state_bytes
        What is remembered after the batch.

    Examples
    --------
    >>> JoinMetrics(rows_left=2, pairs=1) + JoinMetrics(rows_left=3)
    JoinMetrics(rows_left=5, rows_right=0, late_left=0, late_right=0, null_left=0, null_right=0,
    pairs=1, state_rows=0, state_bytes=0)
    """

    rows_left: int = 0
    rows_right: int = 0
    late_left: int = 0
    late_right: int = 0
    null_left: int = 0
    null_right: int = 0
    pairs: int = 0
    state_rows: int = 0
    state_bytes: int = 0

    def __add__(self, other: "JoinMetrics") -> "JoinMetrics":
        return JoinMetrics(*(getattr(self, f) + getattr(other, f) for f in METRIC_NAMES))


METRIC_NAMES: tuple[str, ...] = tuple(field.name for field in fields(JoinMetrics))
