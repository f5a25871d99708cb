"""Basic windows: the slices of a window that are stored, probed and expired as wholes (GED-A8).

A stream's time line is cut into equal slices. What one batch brings for one slice is
one immutable `BasicWindow`: written once, read when it may match, removed when its last tuple is
too old. Tuples never move between slices.

```
window_us           |<------------- remembered ------------->|
slices     ... | 41 | 42 | 43 | 44 | 45 |    watermark = the newest time all have reached
                 ^ removed once  watermark - last > window_us
```

Time in cells: small enough to choose by, large enough to count by.

Which pairs of rows are looked for when there is no time for all depends on ``t_left - t_right``
alone. Both windows lie on this one axis: where it is positive, a left row meets older rows of the
right window; where it is negative, a right row meets older rows of the left one. The axis is cut
into *basic windows* (GED-A8), and those into cells, so that a part of one can be chosen (GED-A12).
Times are cut into the same cells, and a pair lies at the difference of its cells: how many pairs
that is follows from rows counted per cell, without looking at any pair.

```
difference of cells   -160 ... -8 | -8 ... -1 | 0 ... 7 | 8 ... 15 | ... 160
basic windows          left 19 ..     left 0     right 0   right 1   ..  right 19, 20
```
"""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin._typing import LEFT, Side, Times
from streamjoin.core.batch import Batch
from streamjoin.core.kernels.counting import pairs_by_difference
from streamjoin.core.stream import Stream
from streamjoin.errors import StateError

N_BASIC_WINDOWS: Final = 4
"""Slices of the time that a tuple is kept: at most one of them is held too long."""

MOST_SLICES: Final = 64
"""Slices of one batch at most. One that spans more, as a late stream does, has longer ones."""

_Window = TypeVar("_Window", bound="BasicWindow")
N_BASIC: Final = 20
"""Basic windows of the longer window, as in the paper's experiments."""
CELLS: Final = 8
"""Cells of a basic window."""
MOST_CELLS: Final = 1024
"""Cells of a stored basic window whose rows are counted."""
FloatArray = NDArray[np.float64]
Bounds = tuple[int, int]
T = TypeVar("T", bound=np.generic)


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


class Counted(NamedTuple):
    """Rows per cell, the earliest first; a cell may come several times."""

    cells: NDArray[np.int64]
    rows: NDArray[np.int64]


@dataclass(frozen=True)
class Axis:
    """The axis ``t_left - t_right`` in cells.

    Parameters
    ----------
    windows_us
        Windows of the left and the right stream.

    Examples
    --------
    >>> axis = Axis((20_000_000, 20_000_000))
    >>> axis.cell_us, axis.lowest, axis.highest
    (125000, -160, 160)
    >>> axis.n_basic(0), axis.n_basic(1)
    (20, 21)
    """

    windows_us: tuple[int, int]

    @cached_property
    def cell_us(self) -> int:
        """Length of a cell."""
        return max(1, -(-max(self.windows_us) // (N_BASIC * CELLS)))

    @property
    def lowest(self) -> int:
        """The smallest difference of cells of a pair in the left window."""
        return -self.windows_us[0] // self.cell_us

    @property
    def highest(self) -> int:
        """The largest difference of cells of a pair in the right window."""
        return -(-self.windows_us[1] // self.cell_us)

    def n_basic(self, side: Side) -> int:
        """Basic windows of a side's window."""
        return -(-self._sizes[side] // CELLS)

    @property
    def _sizes(self) -> tuple[int, int]:
        return -self.lowest, self.highest + 1

    def of_side(self, by_difference: NDArray[T], side: Side) -> NDArray[T]:
        """What an array says of the differences of one window, the newest first."""
        if side == LEFT:
            return by_difference[: -self.lowest][::-1]
        return by_difference[-self.lowest :]

    def in_basic(self, by_difference: FloatArray, side: Side) -> FloatArray:
        """Sums over the basic windows of a side, the newest first."""
        values = self.of_side(by_difference, side)
        return np.add.reduceat(values, np.arange(0, len(values), CELLS)) if len(values) else values

    def empty(self) -> FloatArray:
        """Zero for each difference."""
        return np.zeros(self.highest - self.lowest + 1)

    def counted(self, times: Times) -> Counted:
        """Rows per cell of times that are in order.

        Examples
        --------
        >>> Axis((160, 160)).counted(np.array([0, 0, 5]))
        Counted(cells=array([0, 5]), rows=array([2, 1]))
        """
        cells = times // self.cell_us
        first = np.flatnonzero(np.diff(cells, prepend=cells[:1] - 1))
        return Counted(cells[first], np.diff(first, append=len(cells)))

    def of_window(self, window: BasicWindow) -> Counted:
        """Rows per cell of a stored basic window; evenly spread if they were not counted."""
        if window.cells:
            first = window.first // self.cell_us
            return Counted(
                np.arange(first, first + len(window.cells)), np.array(window.cells, np.int64)
            )
        n = min(window.rows, MOST_CELLS)
        times = np.linspace(window.first, window.last, n).astype(np.int64)
        return Counted(times // self.cell_us, np.diff(np.arange(n + 1) * window.rows // n))

    def counts(self, times: Times) -> tuple[int, ...]:
        """Rows of each cell from the first time's to the last one's; nothing if they are many."""
        cells = times // self.cell_us
        if not len(cells) or cells[-1] - cells[0] >= MOST_CELLS:
            return ()
        return tuple(np.bincount(cells - cells[0]).tolist())

    def comparisons(self, left: Counted, right: Counted) -> FloatArray:
        """Pairs of rows by the difference of their cells."""
        out = self.empty()
        pairs_by_difference(*left, *right, self.lowest, out)
        return out

    def differences(self, left: Times, right: Times) -> NDArray[np.int64]:
        """Places of pairs on the axis, by their times; from 0 on."""
        found: NDArray[np.int64] = left // self.cell_us - right // self.cell_us - self.lowest
        return found

    def starts(self, times: Times) -> Times:
        """Where the cells of times begin."""
        begin: Times = times // self.cell_us * self.cell_us
        return begin

    def between(self, side: Side, chosen: NDArray[np.bool_]) -> list[Bounds]:
        """Bounds of (start of the cell of a side's row) - (time of the other's), by run of cells.

        Examples
        --------
        >>> axis = Axis((0, 160))  # cells of 1 us
        >>> axis.between(1, axis.empty() == 0)
        [(-160, 0)]
        """
        edges = np.flatnonzero(np.diff(chosen.astype(np.int8), prepend=0, append=0))
        runs = [
            (first + self.lowest, last - 1 + self.lowest)
            for first, last in edges.reshape(-1, 2).tolist()
        ]
        c = self.cell_us
        if side == LEFT:
            return [(first * c - c + 1, last * c) for first, last in runs]
        return [(1 - (last + 1) * c, -first * c) for first, last in runs]


def together(parts: Sequence[Counted]) -> Counted:
    """All rows, in the order of their cells."""
    if not parts:
        return Counted(np.empty(0, np.int64), np.empty(0, np.int64))
    cells, rows = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    order = np.argsort(cells, kind="stable")
    return Counted(cells[order], rows[order])
