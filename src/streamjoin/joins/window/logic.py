"""What happens to a batch (KAN-A1, GED-A1).

1. Rows below the watermark are late; the rest arrives. The watermark moves.
2. Where there are limits, only some of the arrivals are let in, or only parts of the windows are
   probed (GED-A4).
3. Arrivals of the left meet what is stored of the right; arrivals of the right meet what is stored
   of the left; arrivals meet arrivals. So each pair comes once, whatever the cuts.
4. Rows whose window the watermark has passed are *final*: those that come out without a partner do
   so now, not a batch later.
5. Basic windows that nothing can reach any more are removed, and those of the arrivals that
   something can reach are stored.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from streamjoin._typing import LEFT, RIGHT, SIDES, Side
from streamjoin.core.batch import Batch
from streamjoin.core.kernels.counting import mark_new
from streamjoin.joins.ages import PairsSeen
from streamjoin.joins.base import Alone, Arrival, Emitted, Pairs, WindowStore
from streamjoin.joins.progress import split_late
from streamjoin.joins.window.matching import Moved, Part, nearest, piece_rows
from streamjoin.joins.window.methods import Direction
from streamjoin.joins.window.ordering import release
from streamjoin.joins.window.parts import ProbedParts
from streamjoin.joins.window.regulator import Regulator
from streamjoin.joins.window.remembered import Remembered
from streamjoin.joins.window.settings import END, WindowJoin, WindowJoinState, by_side
from streamjoin.metrics import Details, JoinCounts
from streamjoin.shedding.costs import MEASURED, Cpu
from streamjoin.shedding.limits import Gate


class WindowJoinLogic:
    """Joins batch after batch; knows no engine, and takes its clock from it.

    Parameters
    ----------
    join
        Settings.
    state
        Directory of what was remembered; changed in place.
    store
        Where the basic windows of that directory are.
    moved
        Which rows meet each other in another shard.
    """

    def __init__(
        self,
        join: WindowJoin,
        state: WindowJoinState,
        store: WindowStore,
        moved: Moved | None = None,
        cpu: Cpu = MEASURED,
    ) -> None:
        self.join, self.state, self._store, self._moved = join, state, store, moved
        self._cpu = cpu

    def on_batch(
        self, arrivals: tuple[Arrival, Arrival], now_us: int | None = None, end: bool = False
    ) -> Iterator[Emitted]:
        """Join one batch and hand out its results.

        Parameters
        ----------
        arrivals
            What each side brings.
        now_us
            The clock, where idle sides are watched.
        end
            Whether the streams end here: then everything is final.

        The caller must exhaust the iterator; `metrics` and `late` then speak of this batch.
        """
        join, state = self.join, self.state
        remembered = Remembered(join, state, self._store)
        self._seen = PairsSeen(join)
        self._regulator = Regulator.of(join, state, self._store, self._cpu)
        rows = [len(a.batch) + a.nulls + a.ahead for a in arrivals]
        self.metrics = JoinCounts(work=sum(rows)) + by_side(
            rows=rows, null=[a.nulls for a in arrivals], ahead=[a.ahead for a in arrivals]
        )
        on_time = self._split_late(arrivals)
        since = state.watermark
        before = [remembered.horizon(side) for side in SIDES]
        latest = arrivals[LEFT].latest, arrivals[RIGHT].latest
        state.advance(latest, join.left.lateness_us, join.idle_us)
        if end:
            state.watermark = END
        if join.is_ordered:
            arrived = release(join, state, self._store, on_time, since)
        elif self._regulator is not None:
            n_rows = len(arrivals[LEFT].batch), len(arrivals[RIGHT].batch)
            arrived = self._regulator.let_in(on_time, n_rows)
        else:
            arrived = Part(on_time[LEFT].batch), Part(on_time[RIGHT].batch)
        for side in SIDES:
            if join.marks(side):
                arrived[side].marks = np.zeros(len(arrived[side].batch), np.bool_)
        if join.how != "asof":
            matches = self._matches(remembered, arrived)
            if self._regulator is not None:
                matches = self._regulator.watch.over(matches)
            yield from self._counting(matches)
        for side in SIDES:
            if join.keeps(side):
                loose = on_time[side].loose  # rows that can match nothing
                if loose is not None and loose.num_rows:
                    yield from self._counting(iter([Alone(side, loose)]))
                finals = self._finals(remembered, side, before[side], arrived)
                yield from self._counting(finals)
        if self._regulator is None:
            remembered.update(arrived)
        else:
            self._regulator.count_missed(remembered, arrived)
            self._regulator.remember(remembered, arrived)
            self.metrics += self._regulator.metrics
        state.see(latest, now_us)
        state.sequence += 1
        self._count_state()

    @property
    def details(self) -> Details:
        """What is to be told of the batch besides its counts; ask before it is charged."""
        newest = self.state.newest if self.join.left.has_instants else None
        seen = Details(newest=newest, ages=self._seen.ages)
        limits = Details() if self._regulator is None else self._regulator.details(self._work)
        windows = limits.windows or self._seen.windows
        return replace(seen + limits, windows=windows)

    def charge(self, cpu_us: float) -> float:
        """Take in what the batch cost, which may be counted instead; what it is charged with."""
        if self._regulator is None:
            return cpu_us
        return self._regulator.charge(cpu_us, self._work, self.metrics.pairs)

    def decide_gate(self, took: float) -> Gate | None:
        """Tell how many seconds the batch took, reading and packing included.

        What map tasks are to let in, where that is limited.
        """
        return None if self._regulator is None else self._regulator.decide_gate(took)

    def _count_state(self) -> None:
        rows, sizes = (
            [sum(getattr(w, name) for w in side) for side in self.state.windows]
            for name in ("rows", "size")
        )
        self.metrics += by_side(state_rows=rows, state_bytes=sizes)
        self.metrics += JoinCounts(
            state_rows=sum(rows),
            state_bytes=sum(sizes) + self.state.sample_bytes,
            held_rows=sum(self.state.held),
        )

    def _split_late(self, arrivals: tuple[Arrival, Arrival]) -> tuple[Arrival, Arrival]:
        """Set the late rows apart; what is left arrives."""
        watermark, strict = self.state.watermark, self.state.strict_watermark
        late, on_time = zip(*(split_late(arrival, watermark) for arrival in arrivals), strict=True)
        self.late = late
        if watermark is not None:
            # A row is late because of an idle decision if it were not without one.
            gap = watermark - (strict if strict is not None else watermark - END)
            idle = [int(np.count_nonzero(rows.late_by <= gap)) for rows in late]
            self.metrics += by_side(late=[len(rows) for rows in late], idle_late=idle)
        return on_time

    def _counting(self, results: Iterator[Emitted]) -> Iterator[Emitted]:
        """Hand out what is a result, and count it."""
        how, tally, newest = self.join.how, Counter[str](), self.state.newest
        for emitted in results:
            n = len(emitted)
            if isinstance(emitted, Pairs):
                tally.update(pairs=n, work=n)
                if how in ("semi", "anti"):
                    continue
                emitted = self._fresh(emitted)
                tally["stale"] += n - len(emitted)
                n = len(emitted)
                if n and newest is not None:
                    self._seen.see(emitted, newest)
            elif how != "semi":
                tally[("alone_left", "alone_right")[emitted.side]] += n
            if n:
                tally["rows_out"] += n
                yield emitted
        self.metrics += JoinCounts(**tally)

    def _fresh(self, pairs: Pairs) -> Pairs:
        """Leave out pairs with a tuple that is too old by now (JAQ-A9)."""
        newest = self.state.newest
        for side, age in zip(SIDES, self.join.freshness_us, strict=True):
            if age is not None and newest is not None and len(pairs):
                times = pairs.batches[side].times[pairs.positions[side]]
                pairs = pairs.where(times >= newest - age)
        return pairs

    def _matches(self, remembered: Remembered, arrived: tuple[Part, Part]) -> Iterator[Emitted]:
        """All pairs, and for a semi join the left rows that matched for the first time."""
        self._work = 0
        probed = ProbedParts(self.join) if self._regulator is None else self._regulator.probed
        for side in SIDES:
            if not len(arrived[side].batch):
                continue
            direction = Direction(
                self.join, self.state, remembered, side, arrived, probed, self._moved
            )
            for pairs, met in direction.matches():
                parts = (arrived[side], met) if side == LEFT else (met, arrived[side])
                yield from self._marked(self._weighed(pairs, parts), parts)
            self._work += direction.work
            self.metrics += direction.metrics()
        if self._regulator is not None:
            for pairs, parts in self._regulator.look(arrived):
                yield self._weighed(pairs, parts)

    def _weighed(self, pairs: Pairs, parts: tuple[Part, Part]) -> Pairs:
        """Count what pairs stand for, where some are left out."""
        return pairs if self._regulator is None else self._regulator.missed.count(pairs, parts)

    def _marked(self, pairs: Pairs, parts: tuple[Part, Part]) -> Iterator[Emitted]:
        for side in SIDES:
            marks = parts[side].marks
            if marks is not None and len(pairs):
                fresh = mark_new(marks, pairs.positions[side])
                parts[side].changed |= len(fresh) > 0
                if self.join.how == "semi":
                    yield Alone(side, parts[side].batch.take(fresh).rows)
        yield pairs

    def _finals(
        self, remembered: Remembered, side: Side, before: int | None, arrived: tuple[Part, Part]
    ) -> Iterator[Emitted]:
        """Answers for rows that have become final."""
        horizon = remembered.horizon(side)
        if horizon is None:
            return
        final = list(remembered.finals(side, before))
        stop = int(np.searchsorted(arrived[side].batch.axis, horizon))
        final.append((arrived[side], 0, stop))
        if self.join.how == "asof":
            chunks = [part.batch.slice(start, stop).rows for part, start, stop in final]
            rows = Batch.gather(chunks, self.join.streams[side])
            if len(rows):
                earliest = int(rows.times[0]) - self.join.right.window_us
                latest = int(rows.times[-1]) + self.join.left.window_us
                stored = [part.batch for part in remembered.parts(RIGHT, earliest, latest)]
                yield from nearest(self.join, rows, [*stored, arrived[RIGHT].batch])
            return
        for part, start, stop in final:
            step = piece_rows(part.batch)
            for at in range(start, stop, step):
                end = min(at + step, stop)
                if part.marks is not None:
                    rows = part.batch.slice(at, end).where(~part.marks[at:end])
                    yield Alone(side, rows.rows)
