"""The basic windows of a shard: read when they may match, marked, expired and added to.

Rows of a basic window never change. Which of them have matched does, where rows come out without a
partner; so each such basic window has a bitmap of its own, written again when a bit was set.

Where memory is limited, the oldest basic windows make room before their time (KAN-A21).
"""

from collections.abc import Iterator
from operator import attrgetter
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin._typing import LEFT, RIGHT, SIDES, Side
from streamjoin.core.batch import Batch
from streamjoin.core.index import HashIndex
from streamjoin.core.window import Axis, JoinedWindow, cut, decode, encode
from streamjoin.errors import StateError
from streamjoin.joins.base import BlobKey, WindowStore
from streamjoin.joins.window.matching import Part
from streamjoin.joins.window.settings import END, WindowJoin, WindowJoinState
from streamjoin.shedding.memory import MemoryLimit, pieces

MARKS: Final = 2
"""First number of the keys of bitmaps; the side is added."""
_age: Final = attrgetter("last", "sequence")


class Remembered:
    """What is stored of both sides, during one batch.

    Parameters
    ----------
    join, state, store
        Settings, directory and the place of the bytes.
    """

    def __init__(self, join: WindowJoin, state: WindowJoinState, store: WindowStore) -> None:
        self._join, self._state, self._store = join, state, store
        self._parts: tuple[dict[JoinedWindow, Part], ...] = ({}, {})
        limits = join.shedding
        self._axis = None if limits is None or limits.policy is None else Axis(join.windows_us)

    def horizon(self, side: Side) -> int | None:
        """Rows before this point of a side's axis are final: nothing that counts can match them."""
        stream = self._join.streams[side]
        watermark = self._state.watermark
        if watermark == END:
            return END
        if stream.window_rows is not None:
            return self._state.released[side] - stream.window_rows
        return None if watermark is None else watermark - stream.window_us

    def reached(self, side: Side, earliest: int, latest: int) -> list[JoinedWindow]:
        """Basic windows that may hold rows between two points of the axis."""
        return [w for w in self._state.windows[side] if w.may_meet(earliest, latest)]

    def parts(self, side: Side, earliest: int, latest: int) -> Iterator[Part]:
        """Their rows."""
        for window in self.reached(side, earliest, latest):
            yield self.part(side, window)

    def index(self, side: Side, window: JoinedWindow) -> HashIndex:
        """The hash index of a basic window; it is made once."""
        index = self._store.get_index(side, window)
        if index is None:
            batch = self.part(side, window).batch
            index = HashIndex.build(batch.keys, batch.axis)
            self._store.put_index(side, window, index)
        return index

    def finals(self, side: Side, before: int | None) -> Iterator[tuple[Part, int, int]]:
        """Rows (part, start, stop) that have become final since the horizon was at `before`."""
        horizon = self.horizon(side)
        if horizon is None:
            return
        first = np.iinfo(np.int64).min if before is None else before
        for part in self.parts(side, first, horizon - 1):
            start, stop = np.searchsorted(part.batch.axis, [first, horizon]).tolist()
            yield part, start, stop

    def update(
        self, arrived: tuple[Part, Part], memory: MemoryLimit | None = None
    ) -> tuple[list[Part], list[Part]]:
        """Write new marks, remove what is too old and add what came.

        Returns the rows of each side for which there was no room.
        """
        for side in SIDES:
            # Lazily, a window is cleared of what is too old when it is probed (KAN-A5).
            if self._join.invalidation == "active" or len(arrived[1 - side].batch):
                self._expire(side)
            for window, part in self._parts[side].items():
                if part.changed and part.marks is not None:
                    self._put_marks(side, window, part.marks)
        if memory is None:
            for side in SIDES:
                self._append(side, arrived[side])
            return [], []
        held = remembered_units(self._state, RIGHT, memory.unit)
        needs = held + memory.sizes[RIGHT] * len(arrived[RIGHT].batch)
        left = self._fit(LEFT, arrived[LEFT], memory, memory.room(LEFT, needs))
        room = sum(memory.limits) - remembered_units(self._state, LEFT, memory.unit)
        return left, self._fit(RIGHT, arrived[RIGHT], memory, room)

    def _fit(self, side: Side, part: Part, memory: MemoryLimit, room: float) -> list[Part]:
        """Add what came; newest first, for as long as there is room."""
        start = int(np.searchsorted(part.batch.axis, self._oldest(side)))
        batch = part.batch.slice(start, len(part.batch))
        shares = float(part.share), part.seen
        cut_off = list[Part]()
        old = sorted(self._state.windows[side], key=_age)
        kept: list[JoinedWindow] = []
        # Numbers are names enough: slices with pieces would not fit into 64 bits.
        for name, (_, start, stop) in enumerate(
            pieces(list(cut(batch)), memory.piece_rows(side, room))
        ):
            while old and old[-1].last > batch.axis[stop - 1]:
                room = self._keep_if(side, old.pop(), memory.unit, room, kept, cut_off)
            piece = batch.slice(start, stop)
            window, blob = self._encode(name, piece, shares)
            room -= _units(window, memory.unit)
            if room < 0:  # what is older has no room either
                cut_off.append(Part(batch.slice(0, stop), share=shares[0], seen=shares[1]))
                break
            self._store.put(side, window, blob)
            kept.append(window)
        while old:
            room = self._keep_if(side, old.pop(), memory.unit, room, kept, cut_off)
        self._state.windows[side][:] = sorted(kept, key=_age)
        return cut_off

    def _oldest(self, side: Side) -> int:
        """Rows before this point of the axis are too old to be remembered."""
        end: int | None = self._state.watermark
        if self._join.streams[side].window_rows is not None:
            end = self.horizon(side)
        elif end is not None:
            end -= self._join.kept_us(side)
        return np.iinfo(np.int64).min if end is None else end

    def _keep_if(
        self, side: Side, window: JoinedWindow, unit: str, room: float,
        kept: list[JoinedWindow], cut_off: list[Part],
    ) -> float:  # fmt: skip
        """Keep a stored basic window if there is room for it; what room is left."""
        size = _units(window, unit)
        if size <= room:
            kept.append(window)
            return room - size
        if window.last >= self._oldest(side):
            cut_off.append(self.part(side, window))
        self._remove(side, window)
        return -1.0  # what is older goes too

    def part(self, side: Side, window: JoinedWindow) -> Part:
        """The rows of a basic window, read once a batch."""
        part = self._parts[side].get(window)
        if part is None:
            batch = decode(self._store.get(side, window), self._join.streams[side])
            part = Part(batch, share=window.share, seen=window.seen)
            if self._join.marks(side):
                part.marks = self._read_marks(side, window)
            self._parts[side][window] = part
        return part

    def _encode(
        self, slice_: int, rows: Batch, shares: tuple[float, float | None]
    ) -> tuple[JoinedWindow, pa.Buffer]:
        """A new basic window; with its rows by cell of time, where comparisons are counted."""
        cells = () if self._axis is None else self._axis.counts(rows.times)
        return encode(slice_, self._state.sequence, rows, shares[0], cells, shares[1])

    def _expire(self, side: Side) -> None:
        kept, oldest = list[JoinedWindow](), self._oldest(side)
        for window in self._state.windows[side]:
            if window.last < oldest:
                self._remove(side, window)
            else:
                kept.append(window)
        self._state.windows[side][:] = kept

    def _remove(self, side: Side, window: JoinedWindow) -> None:
        self._store.remove(side, window)
        self._parts[side].pop(window, None)
        if self._join.marks(side):
            key = _marks_key(side, window)
            self._store.remove_blob(key)
            self._state.marked.discard(key)

    def _put_marks(self, side: Side, window: JoinedWindow, marks: NDArray[np.bool_]) -> None:
        key = _marks_key(side, window)
        self._store.put_blob(key, np.packbits(marks).tobytes())
        self._state.marked.add(key)

    def _read_marks(self, side: Side, window: JoinedWindow) -> NDArray[np.bool_]:
        key = _marks_key(side, window)
        blob = self._store.get_blob(key)
        if blob is not None:
            bits = np.frombuffer(blob, np.uint8)
            return np.unpackbits(bits, count=window.rows).astype(np.bool_)
        if key in self._state.marked:
            raise StateError(
                f"which rows of basic window {window.slice} (batch {window.sequence}) have matched"
                " is missing; restore the checkpoint from a copy or start with a new one"
            )
        return np.zeros(window.rows, np.bool_)

    def _append(self, side: Side, part: Part) -> None:
        batch, marks = part.batch, part.marks
        if marks is not None and self._join.how in ("semi", "anti"):
            # Those that have matched are answered: nothing more can come of them.
            batch = batch.where(~marks)
            marks = None
        shares, oldest = (float(part.share), part.seen), self._oldest(side)
        for slice_, start, stop in cut(batch):
            if int(batch.axis[stop - 1]) < oldest:
                continue
            rows = batch.slice(start, stop)
            window, blob = self._encode(slice_, rows, shares)
            self._store.put(side, window, blob)
            self._state.windows[side].append(window)
            if marks is not None and marks[start:stop].any():
                self._put_marks(side, window, marks[start:stop])


def remembered_units(state: WindowJoinState, side: Side, unit: str) -> int:
    """Rows or bytes of a side's basic windows."""
    return sum(_units(window, unit) for window in state.windows[side])


def _units(window: JoinedWindow, unit: str) -> int:
    return window.rows if unit == "rows" else window.size


def _marks_key(side: Side, window: JoinedWindow) -> BlobKey:
    return MARKS + side, window.slice, window.sequence
