"""What a budget leaves out, as far as it is seen: the pairs that were missed, and how surely.

Where few rows are let in, a batch also sees some of those that it turns away: the ones that would
be let in next. Of these, and of rows for which there was no room in memory, a sample is kept as
long as their window lasts. Both meet all that they would meet without a budget, and their pairs
only count. So there is something to go by even in a batch that lets in nothing.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin._typing import LEFT, RIGHT, SIDES, Positions, Side
from streamjoin.core.batch import Batch
from streamjoin.joins.base import Arrival, Pairs, WindowStore
from streamjoin.joins.matching import Part, bounds, over_rows
from streamjoin.joins.remembered import Remembered
from streamjoin.joins.row_sample import CUT, RowSample
from streamjoin.joins.selective import Selective
from streamjoin.joins.stopwatch import Stopwatch
from streamjoin.joins.window_join import WindowJoin, WindowJoinState
from streamjoin.metrics import JoinCounts
from streamjoin.shedding.recall import N_GROUPS, Shares
from streamjoin.shedding.regulation import SheddingState
from streamjoin.shedding.selection import choose, groups, is_chosen

FEW_ROWS: Final = 4096
"""Parts with fewer rows are met together."""
SEEN_ROWS: Final = 512
"""Rows of a side that a batch sees at least: if it lets in fewer, also some that it turns away."""


class Missed:
    """Estimates what one batch of a join misses.

    Parameters
    ----------
    join
        Settings.
    state, known, store
        Directory, what it knows of limits, and the place of the bytes.

    Attributes
    ----------
    work
        Rows and candidates that were looked at for it.
    """

    def __init__(
        self, join: WindowJoin, state: WindowJoinState, known: SheddingState, store: WindowStore
    ) -> None:
        self._join, self._state, self._recall = join, state, known.recall
        self._samples = tuple(
            RowSample(join, state, store, side, CUT, state.sampled, known.sample_shares)
            for side in SIDES
        )
        self._shares = known.sample_shares
        self._before = known.recall.missed, known.recall.variance
        self._away: list[Part | None] = [None, None]
        self._came = [0.0, 0.0]
        self._unmet = JoinCounts()
        self.work = 0

    def split(self, side: Side, arrival: Arrival, target: float, n: int, *, see_more: bool) -> Part:
        """The `n` rows of an arrival that are let in, where `target` are on average.

        With `see_more`, if there are few of them, some of the others are seen too.
        """
        batch, came = arrival.batch, len(arrival.batch)
        self._came[side] = came / arrival.share
        enough = min(SEEN_ROWS, came)
        if not see_more or target >= enough:
            return self._chosen(side, arrival, choose(batch, side, n), target)
        some = choose(batch, side, enough)
        is_in = is_chosen(some, side, n)
        self._away[side] = self._chosen(side, arrival, some.where(~is_in), enough)
        part = self._chosen(side, arrival, some.where(is_in), enough)
        return replace(part, share=arrival.share * target / came, seen=float(part.share))

    def _chosen(self, side: Side, arrival: Arrival, rows: Batch, of: float) -> Part:
        """Rows that are among so many of an arrival."""
        share = of / len(arrival.batch)
        part = Part(rows, share=arrival.share * share)
        if arrival.share >= 1 and 0 < share < 1:  # else their number is up to chance too
            self._recall.choose(side, _groups(side, part), share)
        return part

    def count(self, pairs: Pairs, parts: tuple[Part, Part], *, found: bool = True) -> Pairs:
        """Count what pairs stand for; the pairs, with that as their weights."""
        if not len(pairs):
            return pairs
        at, (left, right) = pairs.positions, parts
        if not (found and _is_whole(left.chance) and _is_whole(right.chance)):
            self._recall.add(
                (_groups(LEFT, left)[at[LEFT]], _groups(RIGHT, right)[at[RIGHT]]),
                (_of(left.chance, at[LEFT]), _of(right.chance, at[RIGHT])),
                found=found,
            )
        if _is_whole(left.share) and _is_whole(right.share):
            return pairs
        share = _of(left.share, at[LEFT]) * _of(right.share, at[RIGHT])
        return replace(pairs, weights=np.ones(len(pairs)) / share)

    def look(
        self,
        remembered: Remembered,
        arrived: tuple[Part, Part],
        watch: Stopwatch,
        in_part: Selective | None,
    ) -> None:
        """Count the pairs that rows which were turned away or forgotten would have given.

        Parameters
        ----------
        remembered, arrived
            What is stored, and what was let in.
        watch
            Tells what it takes.
        in_part
            What is chosen where the windows are probed in part.
        """
        some = [
            one.part if in_part is None else one.at_most(in_part.looking) for one in self._samples
        ]
        self._count_unmet(arrived, some, in_part)
        for side in SIDES:
            other = RIGHT if side == LEFT else LEFT
            mine, away, theirs = arrived[side], self._away[side], self._away[other]
            if len(mine.batch) and len(some[other].batch):
                self._meet(other, some[other], [mine], watch)
            if away is not None and len(away.batch):
                (low, high), times = bounds(self._join, side), away.batch.times
                reach = int(times[0]) - high, int(times[-1]) - low
                met = [*remembered.parts(other, *reach), some[other], arrived[other]]
                both = [theirs] if side == LEFT and theirs is not None else []
                self._meet(side, away, _gathered([*met, *both]), watch)

    def remember(self, side: Side, cut: Sequence[Part], most_rows: int, most_bytes: float) -> None:
        """Keep a sample of what was turned away, and of what was `cut` for want of memory."""
        away = self._away[side]
        new = [*cut] if away is None or not len(away.batch) else [*cut, away]
        self._samples[side].update(new, most_rows, most_bytes)

    @property
    def counts(self) -> JoinCounts:
        """What the batch missed, and how surely."""
        missed, variance = self._before
        return self._unmet + JoinCounts(
            missed=_whole(self._recall.missed) - _whole(missed),
            missed_variance=self._recall.variance - variance,
        )

    def _meet(self, side: Side, mine: Part, others: Sequence[Part], watch: Stopwatch) -> None:
        """Count pairs of rows of a side with others that they did not meet."""
        matcher = over_rows(self._join, side, mine.batch, mine.batch.times)
        for other in others:
            found = matcher.meet(other.batch, other.batch.times, bounds(self._join, side))
            parts = (mine, other) if side == LEFT else (other, mine)
            for pairs in watch.over(found):
                self.count(pairs, parts, found=False)
        self.work += matcher.work

    def _count_unmet(
        self, arrived: tuple[Part, Part], some: Sequence[Part], in_part: Selective | None
    ) -> None:
        """Count pairs of rows that do not meet, and for how many of them one that is seen stands.

        Whether they are near enough in time does not matter: it is the ratio that counts.
        """
        new, old = [], []
        for side in SIDES:
            away = self._away[side]
            new.append(_numbers(arrived[side]) + (0 if away is None else _numbers(away, met=0)))
            new[side][0] = self._came[side] or new[side][0]
            windows = ((w.rows / w.chance, w.rows, w.rows) for w in self._state.windows[side])
            old.append(sum(map(np.array, windows), _numbers(some[side], met=0)))
            if self._shares[side] < 1 and not len(some[side].batch):
                old[side][0] += 1 / self._shares[side]  # a sample that is empty may miss as many
        numbers = new[LEFT] * (old[RIGHT] + new[RIGHT]) + old[LEFT] * new[RIGHT]
        every, met, seen = numbers.tolist()
        weight, apart = every / max(seen, 1.0), max(every - met, 0.0)
        self._unmet = JoinCounts(unmet=apart, unmet_weight=apart * (weight - 1))
        if in_part is not None:
            passed = in_part.skipped * met
            others = weight / in_part.seen - 1
            self._unmet += JoinCounts(unmet=passed, unmet_weight=passed * others)


def _gathered(parts: Sequence[Part]) -> list[Part]:
    """The same rows in few parts: to meet one costs more than its rows if it has few."""
    few = [part for part in parts if 0 < len(part.batch) <= FEW_ROWS]
    many = [part for part in parts if len(part.batch) > FEW_ROWS]
    if len(few) < 2:
        return [*many, *few]
    rows = pa.concat_batches([part.batch.rows for part in few])
    chances = [np.broadcast_to(part.chance, len(part.batch)) for part in few]
    return [*many, Part(Batch(rows, few[0].batch.stream), share=np.concatenate(chances))]


def _numbers(part: Part, met: int = 1) -> NDArray[np.float64]:
    """How many rows a part stands for, how many of them meet others, and how many are seen."""
    n = len(part.batch)
    return np.array([np.sum(np.ones(n) / part.chance), met * n, n])


def _groups(side: Side, part: Part) -> NDArray[np.int64]:
    """Random groups of a part's rows, made once a batch."""
    if part.groups is None:
        part.groups = groups(part.batch, side, N_GROUPS)
    return part.groups


def _whole(missed: float) -> int:
    return round(min(missed, 2.0**60))  # as far as Spark's whole numbers go, in many shards


def _is_whole(share: Shares) -> bool:
    return isinstance(share, float) and share >= 1.0


def _of(share: Shares, positions: Positions) -> Shares:
    return share if isinstance(share, float) else share[positions]
