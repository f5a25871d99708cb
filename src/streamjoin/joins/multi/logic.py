"""What happens to a batch of a join of many streams.

1. Late rows are set apart; the watermark moves.
2. From the leaves to the root, each join is done both ways: new tuples of its left input probe what
   is stored of its right one, and the other way round; new tuples meet new tuples. So each result
   is formed once, whatever the cuts. Where CPU is limited only some tuples probe; all are stored.
3. What the root forms comes out, if it is fresh.
4. Pieces that nothing can meet any more are removed, and new tuples that something can meet stored.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import pyarrow as pa

from streamjoin.core.batch import Batch
from streamjoin.joins.ages import MAX_SAMPLED_RESULTS, AgesSeen
from streamjoin.joins.base import Arrival, WindowStore
from streamjoin.joins.multi.halfway import HalfwayJoin
from streamjoin.joins.multi.nary import NaryJoin, turns_of
from streamjoin.joins.multi.regulator import ProbeRegulator
from streamjoin.joins.multi.reordering import reorder, situation, without_limits
from streamjoin.joins.multi.rows import Rows
from streamjoin.joins.multi.settings import MultiJoin
from streamjoin.joins.multi.states import MultiJoinState, States, kept
from streamjoin.joins.multi.tuples import Tuples, gathered
from streamjoin.joins.progress import LateRows, split_late
from streamjoin.joins.window.ordering import Queue
from streamjoin.joins.window.settings import END
from streamjoin.metrics import Details
from streamjoin.metrics.catalogue import Counts
from streamjoin.planning.many.nary import (
    ALL_SETS,
    Sizes,
    Turns,
    Waiting,
    groups_of,
    probing_sequences,
)
from streamjoin.planning.many.strategy import adaptive_groups
from streamjoin.shedding.costs import MEASURED, Cpu
from streamjoin.shedding.limits import PlanLimits, span_seconds
from streamjoin.shedding.plans import AllowanceState, Observed, Whole

GATHERED: Final = 1 << 16
"""Results that come out together, if there are as many: each time has its price."""
HELD_ROWS: Final = 1 << 10
HELD_ORDER: Final = 1 << 11
"""First numbers of the blobs' keys; the input is added. Nodes have smaller ones."""


class MultiJoinLogic:
    """Joins batch after batch; knows no engine, and takes its clock from it.

    Parameters
    ----------
    join
        Settings.
    state
        Directory of what is remembered; changed in place.
    store
        Where the pieces of that directory are.
    whole
        The plan that this operator has a part of, where limits are those of the plan.
    """

    def __init__(
        self,
        join: MultiJoin,
        state: MultiJoinState,
        store: WindowStore,
        whole: Whole | None = None,
        cpu: Cpu = MEASURED,
    ) -> None:
        self.join, self.state, self._store, self._whole = join, state, store, whole
        self._cpu, self._clock_us = cpu, cpu.clock_us

    def on_batch(
        self, arrivals: Sequence[Arrival], now_us: int | None = None, end: bool = False
    ) -> Iterator[list[pa.Array]]:
        """Join one batch and hand out its results, column by column.

        Parameters
        ----------
        arrivals
            What each input brings.
        now_us
            The clock, where idle inputs are watched.
        end
            Whether the streams end here.

        The caller must exhaust the iterator; `counts` and `late` then speak of this batch.
        """
        join, state = self.join, self.state
        self.counts = Counts()
        self._seen, self._driver = AgesSeen(), ""
        on_time = self._split_late(arrivals)
        since = state.watermark
        if join.limits is None and state.limits is not None:
            without_limits(join, state, self._store)
        if join.adaptive:  # by the watermark of before: rows of this batch may be older than it
            self.counts["reordered"] = int(reorder(join, state, self._store))
        self._advance(arrivals, end)
        self._states = states = States(join, state, self._store)
        batches = _release(states, on_time, since)
        self._regulator = None if join.limits is None else self._limited(join.limits, arrivals)
        new = [states.arrive(i, batch) for i, batch in enumerate(batches)]
        state.brings([len(tuples) for tuples in new])
        rows = Rows(states)
        yield from self._results(rows, new)
        # from the root down: tuples name rows that those of a join below carry and may drop
        for node, tuples in reversed(list(enumerate(new))):
            began = self._clock_us()
            if node < len(join.inputs):
                states.keep_rows(node, tuples)
            else:
                states.keep_tuples(node, tuples, rows.record_batch)
            self._kept(node, self._clock_us() - began)
        states.expire()
        state.see([arrival.latest for arrival in arrivals], now_us)
        state.sequence += 1
        self._count_state()

    def charge(self, cpu_us: float) -> None:
        """Take in what the batch cost, which may be counted instead."""
        if self._regulator is not None:
            if self._cpu.costs is not None:
                rows = sum(self.counts[f"rows_{name}"] for name in self.join.names)
                cpu_us = self._regulator.count(self._cpu.costs, rows)
            self._regulator.charge(cpu_us, self.counts)
        self.counts["cpu_us"] = round(cpu_us)

    @property
    def details(self) -> Details:
        """What is to be told of the batch besides its counts."""
        limits = Details() if self._regulator is None else self._regulator.details()
        algorithm = "n-ary join" if self.state.nary else f"tree {self._states.tree}"
        newest = self.state.newest if self.join.streams[0].has_instants else None
        mine = Details(newest, ages=self._seen.ages, algorithm=algorithm)
        return replace(mine + limits, driver=self._driver)

    @property
    def measured(self) -> Observed | None:
        """What a limited batch showed, by the nodes of the whole plan."""
        return None if self._regulator is None else self._regulator.measured

    def _results(self, rows: Rows, new: list[Tuples]) -> Iterator[list[pa.Array]]:
        """Do all joins, and let their results come out many at a time."""
        formed = self._driven(rows, new) if self.state.nary else self._joined(new)
        spent_us = 0.0
        for few in gathered(formed, GATHERED):
            began = self._clock_us()
            yield from self._come_out(rows, Tuples.joined(few))
            spent_us += self._clock_us() - began
        self._kept(self._states.tree.root, spent_us)
        if self._regulator is not None and not self.join.is_partial:
            self.counts["missed"] = round(self._regulator.missed(self.counts["rows_out"]))

    def _joined(self, new: list[Tuples]) -> Iterator[Tuples]:
        """Do all joins; the root's tuples are handed out, those of others added to `new`."""
        tree = self._states.tree
        for children in tree.joins:
            halves = [self._half(child, new[child]) for child in children]
            node = tree.parents[children[0]]
            formed = self._both_ways(halves[0], halves[1])
            if node == tree.root:
                yield from formed
                return
            new.append(self._states.joined(node, list(formed)))
            self.counts["intermediate"] += len(new[-1])

    def _driven(self, rows: Rows, new: list[Tuples]) -> Iterator[Tuples]:
        """Let the streams drive one after the other (VAL-A1, VAL-A2)."""
        join, k = self.join, len(new)
        sizes = join.sizes or self.state.sizes or Sizes((1.0,) * k, {}, 1.0)
        buffers = [len(tuples) for tuples in new]
        now = situation(self._states, sizes, buffers)
        tables = [stored + n for stored, n in zip(now.tables, buffers, strict=True)]
        sequences = probing_sequences(k, sizes, join.can_follow, tables)
        by: Turns = "position"
        if join.order == "adaptive" and sizes.joined and k <= ALL_SETS:
            groups = adaptive_groups(now, sequences)
        else:
            waiting = Waiting(tuple(buffers), tuple(map(int, now.tables)), tuple(self.state.totals))
            order = "initial-output-size" if join.order == "adaptive" else join.order
            groups, by = groups_of(order, waiting)
        turns = turns_of(groups, by, [tuples.starts[0] for tuples in new])
        names = [" with ".join(join.inputs[i].name for i in group) for group in groups]
        self._driver = ", then ".join(names)
        nary = NaryJoin(self._states, rows, new, sequences, self.counts)
        self.counts["nary"] = 1
        yield from nary.results(turns)

    def _half(self, node: int, arrived: Tuples) -> HalfwayJoin:
        probing = arrived if self._regulator is None else self._regulator.probing(node, arrived)
        half = HalfwayJoin(self._states, node, arrived, probing)
        inputs = self.join.inputs
        name = inputs[node].name if node < len(inputs) else "intermediate"
        self.counts[f"probed_{name}"] += len(half.probing)
        self.counts[f"skipped_{name}"] += len(arrived) - len(half.probing)
        self.counts["work"] += len(half.probing)
        return half

    def _both_ways(self, left: HalfwayJoin, right: HalfwayJoin) -> Iterator[Tuples]:
        yield from self._watched(left, left.with_stored())
        yield from self._watched(right, right.with_stored())
        if self._regulator is None:
            yield from self._watched(left, left.with_new(right))
        else:  # the later of two tuples is the one that probes, and that finds
            yield from self._watched(left, left.with_new(right, earlier=True))
            yield from self._watched(right, right.with_new(left, earlier=True))

    def _watched(self, half: HalfwayJoin, formed: Iterator[Tuples]) -> Iterator[Tuples]:
        """Hand on tuples; count them and what it took to form them."""
        began, spent_us = self._clock_us(), 0.0
        for tuples in formed:
            self.counts["work"] += len(tuples)
            if self._regulator is not None:
                self._regulator.found(half.node, tuples)
            spent_us += self._clock_us() - began
            yield tuples
            began = self._clock_us()
        if self._regulator is not None:
            self._regulator.spent(half.node, spent_us + self._clock_us() - began)

    def _kept(self, node: int, spent_us: float) -> None:
        """Count what was done with the tuples of a node to what forming them takes."""
        if self._regulator is not None:
            self._regulator.kept(node, spent_us)

    def _come_out(self, rows: Rows, found: Tuples) -> Iterator[list[pa.Array]]:
        n = rows.at_once(found)
        for start in range(0, max(len(found), 1), n):
            part = found if n >= len(found) else found.take(slice(start, start + n))
            results = rows.verified(part)
            self.counts["results"] += len(results)
            if self.join.freshness and len(results):
                fresh = rows.fresh(results, self.state.newest, self.state.released)
                self.counts["stale"] += int(len(fresh) - fresh.sum())
                results = results if fresh.all() else results.take(fresh)
            self.counts["rows_out"] += len(results)
            if len(results):
                yield rows.columns(results)
                self._look(rows, results)

    def _look(self, rows: Rows, results: Tuples) -> None:
        """See how old some results are; what joins before have formed has no time of its own."""
        newest = self.state.newest
        if newest is not None and all(one.end is None for one in self.join.inputs):
            some = results.take(slice(None, None, max(1, len(results) // MAX_SAMPLED_RESULTS)))
            self._seen.see_oldest(rows.oldest(some), newest, len(results))

    def _advance(self, arrivals: Sequence[Arrival], end: bool) -> None:
        """Move the watermark and the newest time."""
        state = self.state
        reached = [
            None if a.latest is None else a.latest - one.stream.lateness_us
            for a, one in zip(arrivals, self.join.inputs, strict=True)
        ]
        state.advance(reached, 0, self.join.idle_us)
        if end:
            state.watermark = END
        newest = [a.latest if a.newest is None else a.newest for a in arrivals]
        known = [t for t in (state.newest, *newest) if t is not None]
        state.newest = max(known, default=None)

    def _split_late(self, arrivals: Sequence[Arrival]) -> list[Arrival]:
        """Set the late rows apart; what is left arrives."""
        watermark, strict = self.state.watermark, self.state.strict_watermark
        gap = 0
        if watermark is not None:
            gap = watermark - (strict if strict is not None else watermark - END)
        self.late: list[LateRows] = []
        on_time = []
        for arrival, one in zip(arrivals, self.join.inputs, strict=True):
            late, rest = split_late(arrival, watermark)
            self.late.append(late)
            on_time.append(rest)
            self.counts[f"rows_{one.name}"] = len(arrival.batch) + arrival.nulls + arrival.ahead
            self.counts[f"null_{one.name}"] = arrival.nulls
            self.counts[f"ahead_{one.name}"] = arrival.ahead
            self.counts[f"late_{one.name}"] = len(late)
            self.counts[f"idle_late_{one.name}"] = int((late.late_by <= gap).sum())
        self.counts["work"] = sum(len(arrival.batch) for arrival in arrivals)
        return on_time

    def _limited(self, limits: PlanLimits, arrivals: Sequence[Arrival]) -> ProbeRegulator:
        known = self.state.limits = self.state.limits or AllowanceState()
        newest = min((a.latest for a in arrivals if a.latest is not None), default=None)
        span = max(span_seconds(arrival.batch.times) for arrival in arrivals)
        slack = max(one.stream.lateness_us for one in self.join.inputs)
        seconds = known.elapsed(newest, span, slack)
        return ProbeRegulator(self._states, limits, seconds, self._whole)

    def _count_state(self) -> None:
        k, nodes = len(self.join.inputs), self.state.pieces
        rows = [sum(piece.rows for piece in pieces) for pieces in nodes]
        sizes = [sum(piece.size for piece in of) for of in (*nodes, *self.state.carried)]
        for i, one in enumerate(self.join.inputs):
            self.counts[f"state_rows_{one.name}"] = rows[i]
            self.counts[f"state_bytes_{one.name}"] = sizes[i]
        self.counts["state_rows"], self.counts["intermediate_rows"] = sum(rows[:k]), sum(rows[k:])
        self.counts["state_bytes"] = sum(sizes)
        self.counts["held_rows"] = sum(self.state.held)


def _release(states: States, arrivals: Sequence[Arrival], since: int | None) -> list[Batch]:
    """The rows that take part now, with their places on the axes that count.

    Without such an axis these are all that arrive. With one, rows wait until the watermark has
    passed them (see `joins.window.ordering`).
    """
    join, state = states.join, states.state
    if not join.counted:
        return [arrival.batch for arrival in arrivals]
    queues = []
    for i, (stream, arrival) in enumerate(zip(join.streams, arrivals, strict=True)):
        keys = HELD_ROWS + i, HELD_ORDER + i
        queues.append(Queue(stream, (state, i), states.store, keys, arrival, since))
    before = list(state.released)
    batches = [queue.release(state.watermark) for queue in queues]
    placed = []
    for i, batch in enumerate(batches):
        columns = list(batch.rows.columns)
        for counted in join.counted:
            if counted == i:
                ranks = queues[i].ranks
                places = np.empty(0, np.int64) if ranks is None else ranks
            else:  # of equal times the stream with the smaller number comes first
                places = before[counted] + queues[counted].places(batch.times, ties=counted < i)
            columns.append(pa.array(places, pa.int64()))
        rows = pa.RecordBatch.from_arrays(columns, schema=kept(join, i))
        placed.append(Batch(rows, batch.stream))
    return placed
