"""The rows of one side in one arrival, ready to be joined."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from streamjoin._typing import Keys, Times
from streamjoin.core.keys import can_be_key, exact_keys, hash_keys
from streamjoin.core.stream import Order, Stream, total_order
from streamjoin.errors import DataError


class Arranged(NamedTuple):
    """A user's rows in stored form; those that can match nothing apart.

    `times` are those of all rows, and `valid` says which of them are among `rows` (None: all);
    `ahead` counts the loose rows whose time cannot be true.
    """

    rows: pa.RecordBatch
    loose: pa.RecordBatch
    latest: int | None
    times: pa.Array
    valid: pa.Array | None
    ahead: int = 0

    @property
    def nulls(self) -> int:
        """How many rows have no key or no time."""
        return int(self.loose.num_rows) - self.ahead

    def order(self, mine: NDArray[np.bool_] | None = None) -> Order:
        """Times of all rows that have one, and which of them are mine.

        `mine` speaks of `rows`; None for all of them.
        """
        owned = np.zeros(len(self.times), np.bool_)
        joinable = slice(None) if self.valid is None else np.asarray(self.valid)
        owned[joinable] = True if mine is None else mine
        timed = np.asarray(self.times.is_valid())
        return Order(np.asarray(self.times.drop_null()), owned[timed])


def arrange(rows: pa.RecordBatch, stream: Stream, ahead: pa.Array | None = None) -> Arranged:
    """Bring a user's rows into the stream's stored form.

    Rows without a key or a time cannot meet anything: they are `loose`. A row without a key still
    shows how far its stream has come, so `latest` is the largest time of all rows. Where `ahead` is
    true, a row's time is taken for none.

    Examples
    --------
    >>> schema = pa.schema({"k": pa.string(), "t": pa.timestamp("us")})
    >>> rows = pa.record_batch([["a", None], pa.array([1, 2], pa.timestamp("us"))], schema=schema)
    >>> arranged = arrange(rows, Stream(schema, key=(0,), time=1, window_us=5))
    >>> arranged.rows.num_rows, arranged.loose.num_rows, arranged.latest
    (1, 1, 2)
    >>> arranged.rows.schema.names
    ['c0', 'c1', '_key']
    """
    columns = relabelled(rows, stream.schema.types)
    times = columns[stream.time].view(pa.int64())
    n_ahead = 0 if ahead is None else ahead.true_count
    if n_ahead:
        times = pc.if_else(ahead, None, times)
    valid = all_valid([*(columns[i] for i in stream.key), times])
    loose = [column.slice(0, 0) for column in columns]
    if valid is not None:
        loose = [column.filter(pc.invert(valid)) for column in columns]
        columns = [column.filter(valid) for column in columns]
    return Arranged(
        rows=_stored(columns, stream),
        loose=_stored(loose, stream),
        latest=pc.max(times).as_py(),
        times=times,
        valid=valid,
        ahead=n_ahead,
    )


def relabelled(rows: pa.RecordBatch, types: Sequence[pa.DataType]) -> list[pa.Array]:
    """The columns in the types of a schema.

    Casts only relabel: a time zone, or large offsets where Spark is set to send them.
    """
    return [
        column if column.type == kind else column.cast(kind)
        for column, kind in zip(rows.columns, types, strict=True)
    ]


def all_valid(columns: Sequence[pa.Array]) -> pa.Array | None:
    """Which rows have a value in every column; None for all."""
    if not any(column.null_count for column in columns):
        return None
    return reduce(pc.and_, [column.is_valid() for column in columns])


def _stored(columns: list[pa.Array], stream: Stream) -> pa.RecordBatch:
    if not stream.has_exact_key:
        hashes = hash_keys([columns[i] for i in stream.key])
        columns = [*columns, pa.array(hashes)]
    return pa.RecordBatch.from_arrays(columns, schema=stream.stored)


@dataclass(frozen=True)
class Batch:
    """Rows in stored form with their keys and times as arrays."""

    rows: pa.RecordBatch
    stream: Stream

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    @cached_property
    def keys(self) -> Keys:
        """One 64-bit key per row; all the same where every row may meet every other."""
        if not self.stream.key:
            return np.zeros(len(self), np.int64)
        position = self.stream.key[0] if self.stream.has_exact_key else len(self.stream.schema)
        return exact_keys(self.rows.column(position))

    @cached_property
    def times(self) -> Times:
        """Event times in microseconds."""
        return np.asarray(self.rows.column(self.stream.time).view(pa.int64()))

    @cached_property
    def axis(self) -> Times:
        """What the window is measured in: times, or ranks of rows that have one."""
        if self.stream.window_rows is None:
            return self.times
        return np.asarray(self.rows.column(-1))

    @property
    def contents(self) -> NDArray[np.int64]:
        """A hash of each whole row: chooses among shards whatever order rows are met in.

        Positions would not do: where a map task is run again after a shuffle, its rows come in
        another order, and some shards keep what its first run sent.
        """
        return hash_keys([c for c in self.rows.columns if can_be_key(c.type)])

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

    def slice(self, start: int, stop: int) -> "Batch":
        """Rows by position, without a copy."""
        return Batch(self.rows.slice(start, stop - start), self.stream)

    def take(self, positions: NDArray[np.integer[Any]]) -> "Batch":
        """Rows by position, copied."""
        return Batch(self.rows.take(pa.array(positions)), self.stream)

    def where(self, holds: NDArray[np.bool_]) -> "Batch":
        """The rows for which something holds."""
        return self if holds.all() else Batch(self.rows.filter(pa.array(holds)), self.stream)


def _concat(chunks: list[pa.RecordBatch]) -> pa.RecordBatch:
    try:
        return pa.concat_batches(chunks)
    except pa.ArrowInvalid:  # 32-bit offsets
        raise DataError(
            "one shard got more than 2 GB of one column in a single batch; allowed: less (use more "
            "shards or smaller micro-batches)"
        ) from None
