"""Samples of rows, and what they tell of the pairs that a budget leaves out.

There is one of the rows that memory had no room for, whose pairs only count, and one of the rows
that are remembered, which is probed everywhere where the windows are probed in part. A sample stays
small: when it grows, half of it is let go, and its share with it.

Where few rows are let in, a batch also sees some of those that it turns away: the ones that would
be let in next. Of these, and of rows for which there was no room in memory, a sample is kept as
long as their window lasts. Both meet all that they would meet without a budget, and their pairs
only count. So there is something to go by even in a batch that lets in nothing.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin._typing import LEFT, RIGHT, SIDES, Positions, Side
from streamjoin.core.batch import Batch
from streamjoin.joins.base import Arrival, Pairs, WindowStore
from streamjoin.joins.window.matching import Part, bounds, over_rows
from streamjoin.joins.window.remembered import Remembered
from streamjoin.joins.window.settings import WindowJoin, WindowJoinState
from streamjoin.metrics import JoinCounts
from streamjoin.shedding.costs import Stopwatch
from streamjoin.shedding.recall import N_GROUPS, Shares
from streamjoin.shedding.rows import SheddingState, choose, groups, in_sample, in_turn, is_chosen

CUT: Final = 8
LOOKING: Final = 10
"""First numbers of the blobs' keys; the side is added."""
_SHARES: Final = ("_let_in", "_sampled")
FEW_ROWS: Final = 4096
"""Parts with fewer rows are met together."""
SEEN_ROWS: Final = 512
"""Rows of a side that a batch sees at least: if it lets in fewer, also some that it turns away."""


class RowSample:
    """The sample of one side, during one batch; `number` is `CUT` or `LOOKING`.

    `sizes` (bytes) and `shares` (of new rows, that are taken; `most_share` is the largest) are of
    both sides, and are changed in place.
    """

    def __init__(
        self,
        join: WindowJoin,
        state: WindowJoinState,
        store: WindowStore,
        side: Side,
        number: int,
        sizes: list[int],
        shares: list[float],
        most_share: float = 1.0,
    ) -> None:
        self._state, self._store, self._side = state, store, side
        self._stream = join.streams[side]
        columns = [pa.field(name, pa.float64()) for name in _SHARES]
        self._schema = pa.schema([*self._stream.stored, *columns])
        self._key = (number + side, 0, 0)
        self._sizes, self._shares, self._most_share = sizes, shares, most_share
        self._batch = Batch.gather([], self._stream)
        self._let_in = self._sampled = np.empty(0)
        blob = store.get_blob(self._key) if sizes[side] else None
        if blob is not None:
            rows = pa.ipc.read_record_batch(pa.py_buffer(blob), self._schema)
            self._let_in, self._sampled = (np.asarray(rows.column(name)) for name in _SHARES)
            self._batch = Batch(rows.drop_columns(list(_SHARES)), self._stream)

    @property
    def part(self) -> Part:
        """The rows, each with its share."""
        return Part(self._batch, share=self._let_in * self._sampled)

    def at_most(self, share: float) -> Part:
        """Of the rows, at most a share of all that there were."""
        some = self._some(share)
        sampled = np.minimum(self._sampled[some], share)
        return Part(self._batch.where(some), share=self._let_in[some] * sampled)

    def with_new(self, new: Part, share: float) -> tuple[Part, NDArray[np.float64], int]:
        """Stored rows and those of new ones that will be stored, but at most a share of all.

        Returns the rows, each with its share, the part of it that the sample is to blame for, and
        how many are not new.
        """
        share = min(share, self._most_share)
        old = self._some(share)
        limit = min(share, self._shares[self._side])
        fresh = new.batch.where(in_sample(new.batch, self._side, limit))
        batch = Batch(
            pa.concat_batches([self._batch.where(old).rows, fresh.rows]), self._batch.stream
        )
        sampled = np.append(np.minimum(self._sampled[old], share), np.full(len(fresh), limit))
        let_in = np.append(self._let_in[old], np.full(len(fresh), new.chance))
        return Part(batch, share=let_in * sampled), sampled, len(batch) - len(fresh)

    def update(
        self, new: Sequence[Part], most_rows: int, most_bytes: float, gone: Sequence[Part] = ()
    ) -> None:
        """Add a part of some rows, let go what is too old, and write it down.

        `gone` are rows, new ones too, for which there was no room elsewhere.
        """
        share, before = self._shares[self._side], len(self._batch)
        if self._state.watermark is not None:
            self._keep(self._batch.times >= self._state.watermark - self._stream.window_us)
        if new:
            self._add(new, share)
        for part in gone:
            some = part.batch.where(in_sample(part.batch, self._side, self._most_share))
            if len(some):
                self._keep(~np.isin(self._batch.contents, some.contents))
        if not new and len(self._batch) == before:
            return
        blob = self._blob()
        while len(self._batch) > most_rows or (len(self._batch) and len(blob) > most_bytes):
            share /= 2
            self._sampled = np.minimum(self._sampled, share)
            self._keep(in_sample(self._batch, self._side, share))
            blob = self._blob()
        grows = len(self._batch) < most_rows // 4 and len(blob) < most_bytes / 4
        self._shares[self._side] = min(self._most_share, 2 * share) if grows else share
        if len(self._batch):
            self._store.put_blob(self._key, blob)
        elif self._sizes[self._side]:
            self._store.remove_blob(self._key)
        self._sizes[self._side] = len(blob) if len(self._batch) else 0

    def _some(self, share: float) -> NDArray[np.bool_]:
        """Which rows a batch meets where it may meet at most a share of all.

        Others in each batch: the share follows from what earlier ones saw of some, so were it the
        same rows again, those that matched much would be met less, and for a larger weight.
        """
        turns = share / self._sampled
        return in_turn(self._batch, self._side, self._state.sequence, turns)

    def _add(self, new: Sequence[Part], share: float) -> None:
        chosen = [part.batch.where(in_sample(part.batch, self._side, share)) for part in new]
        let_in = [np.full(len(b), p.chance) for b, p in zip(chosen, new, strict=True)]
        rows = pa.concat_batches([self._batch.rows, *(batch.rows for batch in chosen)])
        self._let_in = np.concatenate([self._let_in, *let_in])
        n = rows.num_rows - len(self._sampled)
        self._sampled = np.concatenate([self._sampled, np.full(n, share)])
        self._batch = Batch(rows, self._stream)

    def _keep(self, holds: NDArray[np.bool_]) -> None:
        self._batch = self._batch.where(holds)
        self._let_in, self._sampled = self._let_in[holds], self._sampled[holds]

    def _blob(self) -> bytes:
        columns = [*self._batch.rows.columns, pa.array(self._let_in), pa.array(self._sampled)]
        return bytes(pa.RecordBatch.from_arrays(columns, schema=self._schema).serialize())


class SeenInPart(NamedTuple):
    """What a batch that probes windows in part sees nevertheless: shares."""

    looking: float  # of the rows that are looked at everywhere
    left_out: float  # of the comparisons
    seen: float  # of the rows that are looked at everywhere, as far as there is a sample


class Missed:
    """Estimates what one batch of a join misses."""

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
        self._away = [Part(Batch.gather([], stream)) for stream in join.streams]
        self._arrived = [0.0, 0.0]
        self._unmet = JoinCounts()
        self.work = 0

    def split(self, side: Side, arrival: Arrival, target: float, n: int, *, see_more: bool) -> Part:
        """The `n` rows of an arrival that are let in, where `target` are on average.

        With `see_more`, if there are few of them, some of the others are seen too.
        """
        batch, rows = arrival.batch, len(arrival.batch)
        self._arrived[side] = rows / arrival.share
        enough = min(SEEN_ROWS, rows)
        if not see_more or target >= enough:
            return self._chosen(side, arrival, choose(batch, side, n), target)
        some = choose(batch, side, enough)
        is_in = is_chosen(some, side, n)
        self._away[side] = self._chosen(side, arrival, some.where(~is_in), enough)
        part = self._chosen(side, arrival, some.where(is_in), enough)
        return replace(part, share=arrival.share * target / rows, seen=float(part.share))

    def _chosen(self, side: Side, arrival: Arrival, rows: Batch, among: float) -> Part:
        """Rows that are among so many of an arrival."""
        share = among / len(arrival.batch)
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
                (_at(left.chance, at[LEFT]), _at(right.chance, at[RIGHT])),
                found=found,
            )
        if _is_whole(left.share) and _is_whole(right.share):
            return pairs
        share = _at(left.share, at[LEFT]) * _at(right.share, at[RIGHT])
        return replace(pairs, weights=np.ones(len(pairs)) / share)

    def look(
        self,
        remembered: Remembered,
        arrived: tuple[Part, Part],
        watch: Stopwatch,
        in_part: SeenInPart | None,
    ) -> None:
        """Count the pairs that rows which were turned away or forgotten would have given.

        `watch` tells what it takes; `in_part` is None where the windows are probed whole.
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
            if len(away.batch):
                (low, high), times = bounds(self._join, side), away.batch.times
                reach = int(times[0]) - high, int(times[-1]) - low
                met = [*remembered.parts(other, *reach), some[other], arrived[other]]
                if side == LEFT:  # two rows that were turned away are met once
                    met.append(theirs)
                self._meet(side, away, _gathered(met), watch)

    def remember(self, side: Side, cut: Sequence[Part], most_rows: int, most_bytes: float) -> None:
        """Keep a sample of what was turned away, and of what was `cut` for want of memory."""
        away = self._away[side]
        new = [*cut, away] if len(away.batch) else [*cut]
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
            met = matcher.candidates(other.batch, other.batch.times, bounds(self._join, side))
            parts = (mine, other) if side == LEFT else (other, mine)
            for pairs in watch.over(map(matcher.verified, met)):
                self.count(pairs, parts, found=False)
        self.work += matcher.work

    def _count_unmet(
        self, arrived: tuple[Part, Part], some: Sequence[Part], in_part: SeenInPart | None
    ) -> None:
        """Count pairs of rows that do not meet, and for how many of them one that is seen stands.

        Whether they are near enough in time does not matter: it is the ratio that counts.
        """
        new, old = [], []
        for side in SIDES:
            new.append(_numbers(arrived[side]) + _numbers(self._away[side], met=0))
            new[side][0] = self._arrived[side] or new[side][0]
            windows = ((w.rows / w.chance, w.rows, w.rows) for w in self._state.windows[side])
            old.append(sum(map(np.array, windows), _numbers(some[side], met=0)))
            if self._shares[side] < 1 and not len(some[side].batch):
                old[side][0] += 1 / self._shares[side]  # a sample that is empty may miss as many
        numbers = new[LEFT] * (old[RIGHT] + new[RIGHT]) + old[LEFT] * new[RIGHT]
        every, met, seen = numbers.tolist()
        weight, apart = every / max(seen, 1.0), max(every - met, 0.0)
        self._unmet = JoinCounts(unmet=apart, unmet_weight=apart * (weight - 1))
        if in_part is not None:
            passed = in_part.left_out * met
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


def _at(share: Shares, positions: Positions) -> Shares:
    return share if isinstance(share, float) else share[positions]
