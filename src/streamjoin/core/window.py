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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, TypeVar

import numpy as np
import pyarrow as pa

from streamjoin.core.batch import Batch
from streamjoin.core.stream import Stream
from streamjoin.errors import StateError

N_BASIC_WINDOWS: Final = 4
"""Slices of the time that a tuple is kept: at most one of them is held too long."""

MOST_SLICES: Final = 64
"""Slices of one batch at most. One that spans more, as a late stream does, has longer ones."""

_Window = TypeVar("_Window", bound="BasicWindow")


@dataclass(frozen=True)
class BasicWindow:
    """What the directory knows of one stored slice.

    `slice` and `sequence` (the number of the batch that brought it) name it; `first` and `last` are
    its smallest and largest event times, or ranks where the window counts tuples; `checksum` is the
    CRC-32 of its `size` bytes; `share` says which part of the tuples that came was let in; `cells`
    are the tuples of each cell of time, where they were counted.

    Checkpoints hold the fields as a list, by position, and so do those of its subclasses: a new
    field comes last in the class that needs it.
    """

    slice: int
    sequence: int
    rows: int
    first: int
    last: int
    size: int
    checksum: int
    share: float = 1.0
    cells: tuple[int, ...] = ()

    @classmethod
    def of(cls: type[_Window], values: Sequence[Any]) -> _Window:
        """From what JSON made of its fields; an older one has fewer."""
        fields: list[Any] = [tuple(v) if isinstance(v, list) else v for v in values]
        return cls(*fields)

    def may_meet(self, low: int, high: int) -> bool:
        """Whether a tuple with low <= time <= high may be in it."""
        return self.first <= high and low <= self.last


@dataclass(frozen=True)
class JoinedWindow(BasicWindow):
    """One of a join of two streams.

    `seen` says which part of the tuples that came an estimate of what is missed sees, if more than
    were let in.
    """

    seen: float | None = None

    @property
    def chance(self) -> float:
        """With which probability a tuple that came is seen."""
        return self.share if self.seen is None else self.seen


def slice_length(stream: Stream, span: int) -> int:
    """Length of the slices into which a batch of a stream is cut, by the span of its axis.

    Examples
    --------
    >>> stream = Stream(pa.schema([]), key=(), time=0, window_us=10_000_000, lateness_us=2_000_000)
    >>> slice_length(stream, span=10_000_000), slice_length(stream, span=3_200_000_000)
    (3000000, 50000000)
    """
    kept = stream.window_rows or stream.window_us + stream.lateness_us
    return max(1, -(-kept // N_BASIC_WINDOWS), -(-span // MOST_SLICES))


def cut(batch: Batch) -> Iterator[tuple[int, int, int]]:
    """Cut a batch in the total order into (slice, start, stop).

    Examples
    --------
    >>> from streamjoin.core.batch import arrange
    >>> times = pa.array([0, 2, 3, 9], pa.timestamp("us"))
    >>> rows = pa.record_batch({"k": pa.array([7, 7, 7, 7]), "t": times})
    >>> stream = Stream(rows.schema, key=(0,), time=1, window_us=12)  # slices of 3 us
    >>> list(cut(Batch(arrange(rows, stream).rows, stream)))
    [(0, 0, 2), (1, 2, 3), (3, 3, 4)]
    """
    if len(batch) == 0:
        return
    span = int(batch.axis[-1]) - int(batch.axis[0])
    slices = batch.axis // slice_length(batch.stream, span)
    edges = np.flatnonzero(np.diff(slices)) + 1
    for start, stop in pairwise([0, *edges.tolist(), len(batch)]):
        yield int(slices[start]), start, stop


def encode(
    slice_: int,
    sequence: int,
    batch: Batch,
    share: float = 1.0,
    cells: tuple[int, ...] = (),
    seen: float | None = None,
) -> tuple[JoinedWindow, pa.Buffer]:
    """A basic window's directory entry and its bytes (Arrow IPC, no schema).

    Examples
    --------
    >>> stream = Stream(pa.schema({"t": pa.timestamp("us")}), key=(), time=0, window_us=5)
    >>> rows = pa.record_batch([pa.array([3, 5], pa.timestamp("us"))], schema=stream.stored)
    >>> window, blob = encode(1, 0, Batch(rows, stream))
    >>> (window.rows, window.first, window.last), window.size == blob.size
    ((2, 3, 5), True)
    """
    blob = batch.rows.serialize()
    first, last = int(batch.axis[0]), int(batch.axis[-1])
    checksum = zlib.crc32(blob)
    window = JoinedWindow(
        slice_, sequence, len(batch), first, last, blob.size, checksum, share, cells, seen
    )
    return window, blob


def decode(blob: pa.Buffer, stream: Stream) -> Batch:
    """The rows of a basic window, without copying."""
    return Batch(pa.ipc.read_record_batch(blob, stream.kept), stream)


def check(window: BasicWindow, blob: pa.Buffer) -> None:
    """Refuse bytes that are not the ones that were stored.

    Examples
    --------
    >>> window = BasicWindow(1, 0, 2, 3, 5, size=4, checksum=zlib.crc32(b"rows"))
    >>> blob = pa.py_buffer(b"rows")
    >>> check(window, blob)
    >>> check(window, blob.slice(1))
    Traceback (most recent call last):
        ...
    streamjoin.errors.StateError: stored basic window 1 (batch 0) is damaged: its checksum differs;
    restore the checkpoint from a copy or start with a new one
    """
    if blob.size != window.size or zlib.crc32(blob) != window.checksum:
        raise StateError(
            f"stored basic window {window.slice} (batch {window.sequence}) is damaged: its checksum"
            " differs; restore the checkpoint from a copy or start with a new one"
        )
