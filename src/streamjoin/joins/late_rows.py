"""Rows that came after the watermark."""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin.joins.base import Arrival


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
