"""Basic windows: the slices of a window that are stored, probed and expired as wholes (GED-A8).

A stream's time line is cut into equal slices. What one batch brings for one slice is
one immutable `BasicWindow`: written once, read when it may match, removed when its last tuple is
too old. Tuples never move between slices.

```
window_us           |<------------- remembered ------------->|
slices     ... | 41 | 42 | 43 | 44 | 45 |    watermark = the newest time all have reached
                 ^ removed once  watermark - last > window_us
```
"""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import pyarrow as pa

from streamjoin._typing import Times
from streamjoin.core.batch import Batch
from streamjoin.core.stream import Stream
from streamjoin.errors import StateError

N_BASIC_WINDOWS: Final = 4
"""Slices of the time that a tuple is kept: at most one of them is held too long."""

MOST_SLICES: Final = 64
"""Slices of one batch at most. One that spans more, as a late stream does, has longer ones."""


@dataclass(frozen=True)
class BasicWindow:
    """What the directory knows of one stored slice.

    `slice` and `sequence` (the number of the batch that brought it) name it; `first` and `last` are
    its smallest and largest event times; `checksum` is the CRC-32 of its `size` bytes.
    """

    slice: int
    sequence: int
    rows: int
    first: int
    last: int
    size: int
    checksum: int

    def may_meet(self, low: int, high: int) -> bool:
        """Whether a tuple with low <= time <= high may be in it."""
        return self.first <= high and low <= self.last


def slice_length_us(stream: Stream, span_us: int) -> int:
    """Length of the slices into which a batch of a stream is cut, by the time that it spans.

    Examples
    --------
    >>> stream = Stream(pa.schema([]), key=(), time=0, window_us=10_000_000, lateness_us=2_000_000)
    >>> slice_length_us(stream, span_us=10_000_000), slice_length_us(stream, 3_200_000_000)
    (3000000, 50000000)
    """
    kept = -(-(stream.window_us + stream.lateness_us) // N_BASIC_WINDOWS)
    return max(kept, -(-span_us // MOST_SLICES))


def cut(batch: Batch) -> Iterator[tuple[int, pa.RecordBatch, Times]]:
    """Cut a batch in the total order into (slice, rows, times) without copying rows.

    Examples
    --------
    >>> from streamjoin.core.batch import arrange
    >>> times = pa.array([0, 2, 3, 9], pa.timestamp("us"))
    >>> rows = pa.record_batch({"k": pa.array([7, 7, 7, 7]), "t": times})
    >>> stream = Stream(rows.schema, key=(0,), time=1, window_us=12)  # slices of 3 us
    >>> batch = Batch(arrange(rows, stream).rows, stream)
    >>> [(slice_, part.num_rows) for slice_, part, _ in cut(batch)]
    [(0, 2), (1, 1), (3, 1)]
    """
    if len(batch) == 0:
        return
    span = int(batch.times[-1]) - int(batch.times[0])
    slices = batch.times // slice_length_us(batch.stream, span)
    edges = np.flatnonzero(np.diff(slices)) + 1
    starts = [0, *edges.tolist(), len(batch)]
    for start, stop in pairwise(starts):
        rows = batch.rows.slice(start, stop - start)
        yield int(slices[start]), rows, batch.times[start:stop]


def encode(
    slice_: int, sequence: int, rows: pa.RecordBatch, times: Times
) -> tuple[BasicWindow, pa.Buffer]:
    """A basic window's directory entry and its bytes (Arrow IPC, no schema).

    Examples
    --------
    >>> rows = pa.record_batch({"t": pa.array([3, 5])})
    >>> window, blob = encode(1, 0, rows, np.array([3, 5]))
    >>> (window.rows, window.first, window.last), window.size == blob.size
    ((2, 3, 5), True)
    """
    blob = rows.serialize()
    first, last = int(times[0]), int(times[-1])
    checksum = zlib.crc32(blob)
    return BasicWindow(slice_, sequence, len(rows), first, last, blob.size, checksum), blob


def decode(blob: pa.Buffer, stream: Stream) -> Batch:
    """The rows of a basic window, without copying."""
    return Batch(pa.ipc.read_record_batch(blob, stream.stored), stream)


def check(window: BasicWindow, blob: pa.Buffer) -> None:
    """Refuse bytes that are not the ones that were stored.

    Examples
    --------
    >>> rows = pa.record_batch({"t": pa.array([3, 5])})
    >>> window, blob = encode(1, 0, rows, np.array([3, 5]))
    >>> check(window, blob)
    >>> check(window, blob.slice(8))
    Traceback (most recent call last):
        ...
    streamjoin.errors.StateError: stored basic window 1 (batch 0) is damaged: its checksum differs;
    restore the checkpoint from a copy or start with a new one
    """
    if blob.size != window.size or zlib.crc32(blob) != window.checksum:
        msg = (
            f"stored basic window {window.slice} (batch {window.sequence}) is damaged: its checksum"
            " differs; restore the checkpoint from a copy or start with a new one"
        )
        raise StateError(msg)
