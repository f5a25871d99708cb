"""How far the inputs of a join have come, and rows that came after the watermark."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin.joins.base import Arrival


@dataclass
class Progress:
    """Watermark and clocks; part of a join's directory.

    Parameters
    ----------
    watermark
        No tuple that counts will be older.
    strict_watermark
        What it would be had no idle input been given up on.
    latest
        The largest event time of each input.
    clock, seen
        The time of the last batch, and of the last one in which each input brought rows.

    Examples
    --------
    >>> progress = Progress(latest=[None, None, None], seen=[None, None, None])
    >>> progress.advance([50, 40, 45], lateness_us=10, idle_us=None)
    >>> progress.watermark
    30
    """

    watermark: int | None = None
    strict_watermark: int | None = None
    latest: list[int | None] = field(default_factory=list)
    clock: int | None = None
    seen: list[int | None] = field(default_factory=list)

    def advance(self, latest: Sequence[int | None], lateness_us: int, idle_us: int | None) -> None:
        """Move the watermark: the smallest of the inputs' largest times, less the lateness.

        An input that is idle does not hold it. That is judged by the clock of the batch before: a
        batch that is run again must decide the same.
        """
        idle = [latest[i] is None and self._is_idle(i, idle_us) for i in self._inputs]
        for i in self._inputs:
            known = [t for t in (self.latest[i], latest[i]) if t is not None]
            self.latest[i] = max(known, default=None)
        strict = list(self.latest)
        self.strict_watermark = _reached(self.strict_watermark, strict, lateness_us)
        awake = [self.latest[i] for i in self._inputs if not idle[i]]
        if not awake:  # nobody holds it: the one that came further leads
            awake = [max((t for t in strict if t is not None), default=None)]
        self.watermark = _reached(self.watermark, awake, lateness_us)

    def see(self, latest: Sequence[int | None], now_us: int | None) -> None:
        """Remember the clock for the next batch."""
        if now_us is None:
            return
        self.clock = now_us if self.clock is None else max(self.clock, now_us)
        for i in self._inputs:
            if latest[i] is not None or self.seen[i] is None:
                self.seen[i] = self.clock

    def _is_idle(self, i: int, idle_us: int | None) -> bool:
        seen = self.seen[i]
        return (
            idle_us is not None
            and seen is not None
            and self.clock is not None
            and self.clock - seen > idle_us
        )

    @property
    def _inputs(self) -> range:
        return range(len(self.latest))


def _reached(before: int | None, times: list[int | None], lateness_us: int) -> int | None:
    known = [t for t in times if t is not None]
    if not times or len(known) < len(times):
        return before
    reached = min(known) - lateness_us
    return reached if before is None else max(before, reached)


@dataclass(frozen=True)
class LateRows:
    """Rows of one input that came after the watermark, and how far behind it they were."""

    rows: pa.RecordBatch
    late_by: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.late_by)

    def and_also(self, more: "LateRows") -> "LateRows":
        """These rows and others of the same input."""
        rows = pa.concat_batches([self.rows, more.rows])
        return LateRows(rows, np.concatenate([self.late_by, more.late_by]))


def split_late(arrival: Arrival, watermark: int | None) -> tuple[LateRows, Arrival]:
    """The rows of an input that are older than the watermark, and what is left."""
    if watermark is None:
        nothing = arrival.batch.rows.slice(0, 0)
        return LateRows(nothing, np.empty(0, np.int64)), arrival
    batch = arrival.batch
    start = int(np.searchsorted(batch.times, watermark, side="left"))
    rows, times = [batch.rows.slice(0, start)], [batch.times[:start]]
    loose = arrival.loose
    if loose is not None and loose.num_rows:
        at = np.asarray(loose.column(batch.stream.time).view(pa.int64()).fill_null(watermark))
        rows.append(loose.filter(pa.array(at < watermark)))
        times.append(at[at < watermark])
        loose = loose.filter(pa.array(at >= watermark))
    late = LateRows(pa.concat_batches(rows), watermark - np.concatenate(times))
    on_time = replace(arrival, batch=batch.slice(start, len(batch)), loose=loose)
    return late, on_time
