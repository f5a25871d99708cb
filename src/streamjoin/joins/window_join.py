"""The exact window join of two streams (KAN-A1, GED-A1).

Tuples a of the left and b of the right join iff their keys are equal and
``-w_left <= t_a - t_b <= w_right``: a stored left tuple meets right tuples up to its window later,
and the other way round. Expiry is strict, ``age > window`` (X-6).

A batch is joined in three steps, so that each pair comes once whatever the cuts: arrivals of the
left with what is stored of the right, arrivals of the right with what is stored of the left,
arrivals with arrivals. Then the watermark moves, basic windows that no future tuple can reach are
removed, and those of the arrivals that one can reach are stored.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import pyarrow as pa

from streamjoin._typing import LEFT, RIGHT, SIDES, Positions, Side
from streamjoin.core.batch import Batch
from streamjoin.core.index import HashIndex
from streamjoin.core.keys import equal_keys
from streamjoin.core.stream import Stream
from streamjoin.core.window import BasicWindow, cut, decode, encode
from streamjoin.durations import format_duration
from streamjoin.errors import StateError
from streamjoin.joins.base import OutputColumn, Pairs, WindowStore
from streamjoin.metrics import JoinMetrics

STATE_VERSION: Final = 1
MAX_PAIRS: Final = 1 << 18
MAX_BYTES: Final = 64 << 20
"""Results handed out at once, by number and by average width, where one batch yields very many."""


@dataclass(frozen=True)
class WindowJoin:
    """Settings of a window join: values only."""

    left: Stream
    right: Stream
    output: tuple[OutputColumn, ...]

    @property
    def streams(self) -> tuple[Stream, Stream]:
        """Left and right."""
        return self.left, self.right

    def describe(self) -> dict[str, str]:
        """What a checkpoint of this join must agree on, in the user's words."""
        said = {"version": str(STATE_VERSION)}
        for name, stream in zip(("left", "right"), self.streams, strict=True):
            names = stream.schema.names
            said[f"{name} key"] = ", ".join(names[i] for i in stream.key)
            said[f"{name} time"] = names[stream.time]
            said[f"{name} window"] = format_duration(stream.window_us)
            said[f"{name} schema"] = ", ".join(f"{f.name} {f.type}" for f in stream.schema)
        return said


@dataclass
class WindowJoinState:
    """The directory: everything remembered but the rows themselves."""

    sequence: int = 0
    watermark: int | None = None
    latest: list[int | None] = field(default_factory=lambda: [None, None])
    windows: tuple[list[BasicWindow], list[BasicWindow]] = field(default_factory=lambda: ([], []))

    def to_dict(self) -> dict[str, Any]:
        """Values that JSON can hold."""
        windows = [[list(asdict(w).values()) for w in side] for side in self.windows]
        return {
            "sequence": self.sequence,
            "watermark": self.watermark,
            "latest": self.latest,
            "windows": windows,
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "WindowJoinState":
        """Read `to_dict` back."""
        left, right = ([BasicWindow(*w) for w in side] for side in values["windows"])
        return cls(values["sequence"], values["watermark"], values["latest"], (left, right))


class WindowJoinLogic:
    """Joins batch after batch; knows no engine and no clock.

    Parameters
    ----------
    join
        Settings.
    state
        Directory of what was remembered; changed in place.
    store
        Where the basic windows of that directory are.
    """

    def __init__(self, join: WindowJoin, state: WindowJoinState, store: WindowStore) -> None:
        self.join = join
        self.state = state
        self._store = store

    def on_batch(
        self, arrivals: tuple[Batch, Batch], latest: tuple[int | None, int | None]
    ) -> Iterator[Pairs]:
        """Join one batch, hand out its pairs, then move the watermark, expire and store.

        Parameters
        ----------
        arrivals
            The new rows of each side in the total order.
        latest
            The largest event time of each side in the whole batch, in all shards.

        The caller must exhaust the iterator; `metrics` then speaks of this batch.
        """
        on_time = tuple(self._on_time(batch) for batch in arrivals)
        left, right = on_time
        n_pairs = 0
        for pairs in self._probe(left, right):
            n_pairs += len(pairs)
            yield pairs
        self._advance(latest)
        self._expire()
        for side in SIDES:
            self._append(side, on_time[side])
        self.state.sequence += 1
        self.metrics = JoinMetrics(
            rows_left=len(arrivals[LEFT]),
            rows_right=len(arrivals[RIGHT]),
            late_left=len(arrivals[LEFT]) - len(left),
            late_right=len(arrivals[RIGHT]) - len(right),
            pairs=n_pairs,
            state_rows=sum(w.rows for side in self.state.windows for w in side),
            state_bytes=sum(w.size for side in self.state.windows for w in side),
        )

    def _on_time(self, batch: Batch) -> Batch:
        watermark = self.state.watermark
        return batch if watermark is None else batch.since(watermark)

    def _probe(self, left: Batch, right: Batch) -> Iterator[Pairs]:
        index = HashIndex.build(left.keys, left.times) if len(left) else None
        if index:
            for stored in self._stored(RIGHT, left):
                yield from self._meet(LEFT, left, index, stored)
            if len(right):
                yield from self._meet(LEFT, left, index, right)
        if len(right):
            stored_left = self._stored(LEFT, right)
            first = next(stored_left, None)
            if first is not None:
                index = HashIndex.build(right.keys, right.times)
                yield from self._meet(RIGHT, right, index, first)
                for stored in stored_left:
                    yield from self._meet(RIGHT, right, index, stored)

    def _bounds(self, side: Side) -> tuple[int, int]:
        """Inclusive bounds of t_side - t_other for a pair."""
        low, high = -self.join.left.window_us, self.join.right.window_us
        return (low, high) if side == LEFT else (-high, -low)

    def _stored(self, side: Side, arrivals: Batch) -> Iterator[Batch]:
        """Basic windows of a side that arrivals of the other side may meet."""
        low, high = self._bounds(side)
        earliest, latest = int(arrivals.times[0]) + low, int(arrivals.times[-1]) + high
        for window in self.state.windows[side]:
            if window.may_meet(earliest, latest):
                yield decode(self._store.get(side, window), self.join.streams[side])

    def _meet(self, side: Side, arrivals: Batch, index: HashIndex, other: Batch) -> Iterator[Pairs]:
        """Stream rows of the other side past the index of this side's arrivals."""
        low, high = self._bounds(side)
        width = arrivals.bytes_per_row + other.bytes_per_row
        most = max(1, min(MAX_PAIRS, MAX_BYTES // width))
        for mine, theirs in index.probe_chunks(other.keys, other.times, low, high, most):
            if side == LEFT:
                pairs = Pairs((arrivals, other), (mine, theirs))
            else:
                pairs = Pairs((other, arrivals), (theirs, mine))
            yield self._verified(pairs)

    def _verified(self, pairs: Pairs) -> Pairs:
        """Leave out pairs whose hashes agree but whose keys do not."""
        if self.join.left.has_exact_key and self.join.right.has_exact_key:
            return pairs
        columns: list[list[pa.Array]] = []
        for side in SIDES:
            at = pa.array(pairs.positions[side])
            rows = pairs.batches[side].rows
            columns.append([rows.column(i).take(at) for i in self.join.streams[side].key])
        same = equal_keys(*columns)
        if same.all():
            return pairs
        kept: list[Positions] = [positions[same] for positions in pairs.positions]
        return Pairs(pairs.batches, (kept[0], kept[1]))

    def _append(self, side: Side, batch: Batch) -> None:
        for slice_, rows, times in cut(batch):
            if self._may_still_match(side, int(times[-1])):
                window, blob = encode(slice_, self.state.sequence, rows, times)
                self._store.put(side, window, blob)
                self.state.windows[side].append(window)

    def _advance(self, latest: tuple[int | None, int | None]) -> None:
        """The watermark: the smaller of the sides' largest times, less the lateness."""
        state = self.state
        for side in SIDES:
            known = [t for t in (state.latest[side], latest[side]) if t is not None]
            state.latest[side] = max(known, default=None)
        reached = [t for t in state.latest if t is not None]
        if len(reached) == len(SIDES):
            watermark = min(reached) - self.join.left.lateness_us
            before = state.watermark
            state.watermark = watermark if before is None else max(before, watermark)

    def _may_still_match(self, side: Side, time: int) -> bool:
        watermark = self.state.watermark
        return watermark is None or watermark - time <= self.join.streams[side].window_us

    def _expire(self) -> None:
        for side in SIDES:
            kept: list[BasicWindow] = []
            gone: list[BasicWindow] = []
            for window in self.state.windows[side]:
                (kept if self._may_still_match(side, window.last) else gone).append(window)
            for window in gone:
                self._store.remove(side, window)
            self.state.windows[side][:] = kept


def refuse_other(stored: dict[str, str], wanted: dict[str, str]) -> None:
    """Refuse a checkpoint that another join wrote, saying what differs.

    Examples
    --------
    >>> refuse_other({"left window": "10 seconds"}, {"left window": "1 minute"})
    Traceback (most recent call last):
        ...
    streamjoin.errors.StateError: the checkpoint was written by another join: left window was
    '10 seconds' and is now '1 minute'; go on with the old settings or use a new checkpoint folder
    """
    names = [n for n in {**stored, **wanted} if stored.get(n) != wanted.get(n)]
    if names:
        parts = [f"{n} was {stored.get(n)!r} and is now {wanted.get(n)!r}" for n in names]
        msg = (
            f"the checkpoint was written by another join: {'; '.join(parts)}; "
            "go on with the old settings or use a new checkpoint folder"
        )
        raise StateError(msg)
