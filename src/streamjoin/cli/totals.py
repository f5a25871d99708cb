"""What a run adds up to, batch by batch."""

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from streamjoin.metrics import JoinCounts

if TYPE_CHECKING:
    from streamjoin.spark.watch import BatchProgress


@dataclass
class Totals:
    """Sums over the batches of a run."""

    rows_in: int = 0
    rows_out: int = 0
    alone: int = 0
    late: int = 0
    null: int = 0
    idle_late: int = 0
    state_rows: int = 0
    state_bytes: int = 0
    peak_state_bytes: int = 0
    counters: JoinCounts = field(default_factory=JoinCounts)
    of_table: Counter[str] = field(default_factory=Counter)
    waiting_rows: int = 0
    spilled_rows: int = 0
    batch_seconds: list[float] = field(default_factory=list)
    first_started: float | None = None
    last_started: float = 0.0

    def add(self, batch: "BatchProgress") -> float:
        """Count a batch; return the seconds since the one before, the base of its rates."""
        self.rows_in += batch.rows_in
        self.rows_out += batch.rows_out
        self.alone += batch.alone
        self.late += batch.late
        self.null += batch.null
        self.idle_late += batch.idle_late
        self.counters += batch.counters
        self.of_table.update(batch.of_table)
        self.waiting_rows = batch.of_table.get("waiting_rows", 0)
        self.spilled_rows = batch.of_table.get("spilled_rows", 0)
        if batch.state_rows is not None:
            self.state_rows = batch.state_rows
        if batch.state_bytes is not None:
            self.state_bytes = batch.state_bytes
            self.peak_state_bytes = max(self.peak_state_bytes, batch.state_bytes)
        self.batch_seconds.append(batch.seconds)
        gap = 0.0 if self.first_started is None else batch.started - self.last_started
        self.first_started = self.first_started or batch.started
        self.last_started = batch.started
        return max(gap, batch.seconds, 0.001)

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
