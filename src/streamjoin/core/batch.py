"""The rows of one side in one arrival, ready to be joined."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamjoin._typing import Keys, Times
from streamjoin.core.keys import exact_keys, hash_keys
from streamjoin.core.order import total_order
from streamjoin.core.stream import Stream
from streamjoin.errors import DataError


class Arranged(NamedTuple):
    """A user's rows in stored form, and what is known of those that were left out."""

    rows: pa.RecordBatch
    n_null: int
    latest: int | None


def arrange(rows: pa.RecordBatch, stream: Stream) -> Arranged:
    """Bring a user's rows into the stream's stored form.

    Rows without a key or a time cannot meet anything; they are left out and counted. A row without
    a key still shows how far its stream has come, so `latest` is the largest time of all rows.

    Examples
    --------
    >>> schema = pa.schema({"k": pa.string(), "t": pa.timestamp("us")})
    >>> rows = pa.record_batch([["a", None], pa.array([1, 2], pa.timestamp("us"))], schema=schema)
    >>> stored, n_null, latest = arrange(rows, Stream(schema, key=(0,), time=1, window_us=5))
    >>> stored.num_rows, n_null, latest, stored.schema.names
    (1, 1, 2, ['c0', 'c1', '_key'])
    """
    types = stream.schema.types
    # Casts only relabel: a time zone, or large offsets where Spark is set to send them.
    columns = [
        column if column.type == kind else column.cast(kind)
        for column, kind in zip(rows.columns, types, strict=True)
    ]
    latest = pc.max(columns[stream.time].view(pa.int64())).as_py()
    needed = [columns[i] for i in (*stream.key, stream.time)]
    n_null = 0
    if any(column.null_count for column in needed):
        valid = needed[0].is_valid()
        for column in needed[1:]:
            valid = pc.and_(valid, column.is_valid())
        columns = [column.filter(valid) for column in columns]
        n_null = len(rows) - pc.sum(valid, min_count=0).as_py()
    if not stream.has_exact_key:
        columns.append(pa.array(hash_keys([columns[i] for i in stream.key])))
    return Arranged(pa.RecordBatch.from_arrays(columns, schema=stream.stored), n_null, latest)


@dataclass(frozen=True)
class Batch:
    """Rows in stored form with their keys and times as arrays."""

    rows: pa.RecordBatch
    stream: Stream

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    @cached_property
    def keys(self) -> Keys:
        """One 64-bit key per row."""
        exact = self.stream.has_exact_key
        return exact_keys(self.rows.column(self.stream.key[0] if exact else -1))

    @cached_property
    def times(self) -> Times:
        """Event times in microseconds."""
        return np.asarray(self.rows.column(self.stream.time).view(pa.int64()))

    @property
    def bytes_per_row(self) -> int:
        """Average size of a row, at least one."""
        return 1 + int(self.rows.nbytes) // max(1, len(self))

    @classmethod
    def gather(cls, chunks: list[pa.RecordBatch], stream: Stream) -> "Batch":
        """One batch of many chunks, in the total order."""
        if len(chunks) == 1:
            rows = chunks[0]
        elif chunks:
            rows = _concat(chunks)
        else:
            nothing = [pa.array([], kind) for kind in stream.stored.types]
            rows = pa.RecordBatch.from_arrays(nothing, schema=stream.stored)
        batch = cls(rows, stream)
        order = total_order(batch.times)
        return batch if order is None else cls(rows.take(pa.array(order)), stream)

    def since(self, time: int) -> "Batch":
        """The rows at or after a time; the batch must be in the total order."""
        start = int(np.searchsorted(self.times, time, side="left"))
        return self if start == 0 else Batch(self.rows.slice(start), self.stream)


def _concat(chunks: list[pa.RecordBatch]) -> pa.RecordBatch:
    try:
        return pa.concat_batches(chunks)
    except pa.ArrowInvalid:  # 32-bit offsets
        msg = (
            "one shard got more than 2 GB of one column in a single batch; allowed: less (use more "
            "shards or smaller micro-batches)"
        )
        raise DataError(msg) from None
