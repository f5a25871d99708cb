"""A join within its limits: what is let in, what is remembered, and what that cost."""

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from streamjoin._typing import LEFT, RIGHT, SIDES, Positions, Side
from streamjoin.core.index import HashIndex
from streamjoin.core.window import slice_length
from streamjoin.joins.base import Arrival, Pairs, WindowStore
from streamjoin.joins.cut_sample import CutSample
from streamjoin.joins.matching import Matcher, Part, bounds
from streamjoin.joins.remembered import Remembered
from streamjoin.joins.window_join import WindowJoin, WindowJoinState
from streamjoin.metrics import JoinMetrics
from streamjoin.shedding.memory_limit import MemoryLimit
from streamjoin.shedding.recall import N_GROUPS, Shares
from streamjoin.shedding.regulation import Came, Shedding, SheddingState
from streamjoin.shedding.selection import choose, groups

LEAST_ROWS: Final = 1e-3
"""Less than that is nothing."""
SAMPLE_PART: Final = 16
"""One part in so many of the memory is for the samples that tell what was missed."""


class Limits:
    """Keeps one batch of a join within its limits.

    Parameters
    ----------
    join, shedding
        Settings.
    state, store
        Directory, and the place of the bytes.

    Attributes
    ----------
    metrics
        What was left out.
    """

    def __init__(
        self, join: WindowJoin, shedding: Shedding, state: WindowJoinState, store: WindowStore
    ) -> None:
        self._join, self._shedding, self._state = join, shedding, state
        state.shedding = self._known = state.shedding or SheddingState()
        self._samples = tuple(CutSample(join, state, store, side) for side in SIDES)
        self._missed = self._known.recall.missed, self._known.recall.variance
        self._memory: MemoryLimit | None = None
        self.metrics = JoinMetrics()

    def let_in(
        self, arrivals: tuple[Arrival, Arrival], latest: tuple[int | None, int | None]
    ) -> tuple[Part, Part]:
        """Choose the tuples that take part (KAN-A18)."""
        came = self._came(arrivals, latest)
        plan = self._known.plan(self._shedding, came)
        if plan.memory is not None:
            self._memory = self._limit(plan.memory, came.sizes)
        left, right = (self._choose(side, arrivals[side], plan.let_in[side]) for side in SIDES)
        dropped = [
            len(arrivals[side].batch) - len(part.batch) for side, part in enumerate((left, right))
        ]
        self.metrics += JoinMetrics(dropped_left=dropped[LEFT], dropped_right=dropped[RIGHT])
        self._let_in = len(left.batch) + len(right.batch)
        return left, right

    def count(self, pairs: Pairs, parts: tuple[Part, Part], *, found: bool = True) -> None:
        """Count what pairs stand for."""
        if not len(pairs) or (found and all(_is_whole(part.share) for part in parts)):
            return
        at = pairs.positions
        self._known.recall.add(
            (_groups(LEFT, parts[LEFT])[at[LEFT]], _groups(RIGHT, parts[RIGHT])[at[RIGHT]]),
            (_of(parts[LEFT].share, at[LEFT]), _of(parts[RIGHT].share, at[RIGHT])),
            found=found,
        )

    def count_cut(self, arrived: tuple[Part, Part]) -> None:
        """Count what arrivals would have matched of the rows for which there was no room."""
        for side in SIDES:
            other = RIGHT if side == LEFT else LEFT
            cut = self._samples[other].part
            if len(cut.batch) and len(arrived[side].batch):
                for pairs in self._meet(side, arrived[side], other, cut):
                    parts = (arrived[side], cut) if side == LEFT else (cut, arrived[side])
                    self.count(pairs, parts, found=False)

    def remember(self, remembered: Remembered, arrived: tuple[Part, Part]) -> None:
        """Add what came and keep within the memory."""
        cut = remembered.update(arrived, self._memory)
        for side in SIDES:
            if self._memory is not None:
                self._samples[side].update(cut[side], self._sample_bytes())
        rows = [sum(len(part.batch) for part in cut[side]) for side in SIDES]
        self.metrics += JoinMetrics(cut_left=rows[LEFT], cut_right=rows[RIGHT])
        recall, (missed, variance) = self._known.recall, self._missed
        self.metrics += JoinMetrics(
            missed=round(recall.missed) - round(missed),
            missed_variance=round(recall.variance) - round(variance),
        )

    def charge(self, cpu_us: float) -> None:
        """Learn what the batch cost."""
        self._known.charge(cpu_us, self._let_in)

    def _came(
        self, arrivals: tuple[Arrival, Arrival], latest: tuple[int | None, int | None]
    ) -> Came:
        own = [len(arrival.batch) for arrival in arrivals]
        total = [arrivals[s].total for s in SIDES]
        earliest = [int(a.batch.times[0]) for a in arrivals if len(a.batch)]
        newest = max((t for t in latest if t is not None), default=None)
        kept = [_kept_seconds(self._join, side) for side in SIDES]
        sizes = [self._row_size(side, arrivals[side]) for side in SIDES]
        return Came(
            own=(own[0], own[1]),
            total=(_or(total[0], own[0]), _or(total[1], own[1])),
            seconds=self._known.elapsed(newest, min(earliest, default=None)),
            windows=(kept[0], kept[1]),
            sizes=(sizes[0], sizes[1]),
        )

    def _row_size(self, side: Side, arrival: Arrival) -> float:
        if self._shedding.memory_unit == "rows":
            return 1.0
        windows = self._state.windows[side]
        rows = sum(window.rows for window in windows)
        return (
            sum(window.size for window in windows) / rows if rows else arrival.batch.bytes_per_row
        )

    def _limit(self, memory: tuple[float, float], sizes: tuple[float, float]) -> MemoryLimit:
        unit = self._shedding.memory_unit
        left = 1.0 if unit == "rows" else 1 - 1 / SAMPLE_PART
        return MemoryLimit((memory[0] * left, memory[1] * left), sizes, unit)

    def _sample_bytes(self) -> float:
        """Bytes that the sample of one side may take."""
        assert self._memory is not None
        if self._memory.unit == "rows":
            return float("inf")
        return sum(self._memory.limits) / (SAMPLE_PART - 1) / 2

    def _choose(self, side: Side, arrival: Arrival, let_in: float) -> Part:
        n = len(arrival.batch)
        if let_in >= n:
            return Part(arrival.batch)
        if let_in < LEAST_ROWS:
            # One row nevertheless, or nobody would know what the others would have matched.
            return Part(choose(arrival.batch, side, 1), share=1 / n)
        chosen = choose(arrival.batch, side, self._known.whole(side, let_in))
        return Part(chosen, share=let_in / n)

    def _meet(self, side: Side, arrived: Part, other: Side, cut: Part) -> Iterator[Pairs]:
        low, high = bounds(self._join, side)
        index = HashIndex.build(cut.batch.keys, cut.batch.times)
        matcher = Matcher(self._join, other, cut.batch, index, (-high, -low))
        return matcher.meet(arrived.batch, arrived.batch.times)


def _groups(side: Side, part: Part) -> NDArray[np.int64]:
    """Random groups of a part's rows, made once a batch."""
    if part.groups is None:
        part.groups = groups(part.batch, side, N_GROUPS)
    return part.groups


def _kept_seconds(join: WindowJoin, side: Side) -> float:
    """How long a row is remembered: its window, and what lateness and slices add."""
    stream = join.streams[side]
    return (stream.window_us + stream.lateness_us + slice_length(stream, 0)) / 1e6


def _or(total: int | None, own: int) -> int:
    return own if total is None else total


def _is_whole(share: Shares) -> bool:
    return isinstance(share, float) and share >= 1.0


def _of(share: Shares, positions: Positions) -> Shares:
    return share if isinstance(share, float) else share[positions]
