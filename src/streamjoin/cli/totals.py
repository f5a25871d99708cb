"""What a run adds up to, batch by batch."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from streamjoin.metrics import JoinMetrics

if TYPE_CHECKING:
    from streamjoin.spark.progress import Progress


@dataclass
class Totals:
    """Sums over the batches of a run.

    Parameters
    ----------
    rows_in, rows_out
        Rows of all sources, and results.
    join
        All that the join counted, as far as batches said; None if none did.
    peak_state_bytes
        The most that was remembered after a batch.
    batch_seconds
        How long each batch took.
    first_started, last_started
        When the first and the last batch began, in seconds since 1970.
    """

    rows_in: int = 0
    rows_out: int = 0
    join: JoinMetrics | None = None
    peak_state_bytes: int = 0
    batch_seconds: list[float] = field(default_factory=list)
    first_started: float | None = None
    last_started: float = 0.0

    def add(self, progress: "Progress") -> float:
        """Count a batch; return the seconds since the one before, the base of its rates."""
        self.rows_in += progress.rows_in
        self.rows_out += progress.rows_out
        if progress.joins:
            last = progress.whole
            self.join = last if self.join is None else self.join + last
            self.peak_state_bytes = max(self.peak_state_bytes, last.state_bytes)
        self.batch_seconds.append(progress.seconds)
        gap = 0.0 if self.first_started is None else progress.started - self.last_started
        self.first_started = self.first_started or progress.started
        self.last_started = progress.started
        return max(gap, progress.seconds, 0.001)

    @property
    def whole(self) -> JoinMetrics:
        """All that the join counted; zeros if nothing is known."""
        return JoinMetrics() if self.join is None else self.join

    @property
    def seconds(self) -> float:
        """From the start of the first batch to the end of the last."""
        if self.first_started is None:
            return 0.0
        return self.last_started - self.first_started + self.batch_seconds[-1]

    @property
    def mean_batch_seconds(self) -> float:
        """Mean duration of a batch."""
        return float(np.mean(self.batch_seconds)) if self.batch_seconds else 0.0

    @property
    def p95_batch_seconds(self) -> float:
        """Duration that 95 % of the batches stay under."""
        return float(np.percentile(self.batch_seconds, 95)) if self.batch_seconds else 0.0
