"""A join within its limits: what is let in, what is remembered, and what that cost."""

from collections.abc import Iterator
from math import inf
from typing import Final

from streamjoin._typing import SIDES, Side, both
from streamjoin.core.stream import Stream
from streamjoin.core.window import slice_length
from streamjoin.joins.base import Arrival, Pairs, WindowStore
from streamjoin.joins.window.matching import Part
from streamjoin.joins.window.parts import PartChooser, ProbedParts
from streamjoin.joins.window.remembered import Remembered, remembered_units
from streamjoin.joins.window.samples import LOOKING, Missed
from streamjoin.joins.window.settings import WindowJoin, WindowJoinState, by_side
from streamjoin.metrics import Details, JoinCounts
from streamjoin.shedding.costs import Cpu, Stopwatch
from streamjoin.shedding.limits import Gate, Shedding, span_seconds
from streamjoin.shedding.memory import MemoryLimit, sample_limits
from streamjoin.shedding.rows import Arrivals, SheddingPlan, SheddingState, random_number

NO_LIMIT: Final = Shedding()
"""Where a budget was taken away, what is left of it is still counted."""


class Regulator:
    """Keeps one batch of a join within its limits.

    It gathers what the policies of `shedding` go by, does what they plan, and keeps what they say.
    """

    def __init__(
        self,
        join: WindowJoin,
        shedding: Shedding,
        state: WindowJoinState,
        store: WindowStore,
        cpu: Cpu,
    ) -> None:
        self._join, self._shedding, self._state, self._costs = join, shedding, state, cpu.costs
        state.shedding = self._known = state.shedding or SheddingState()
        self._store = store
        self.missed = Missed(join, state, self._known, store)  # counts what pairs stand for
        self._parts: PartChooser | None = None
        self.watch = Stopwatch(cpu.clock_us)  # what it takes to find results and to hand them out
        self._memory: MemoryLimit | None = None
        self.metrics = JoinCounts()  # what was left out

    @classmethod
    def of(
        cls, join: WindowJoin, state: WindowJoinState, store: WindowStore, cpu: Cpu
    ) -> "Regulator | None":
        """Of a join with limits, or with what is left of a budget taken away; else None."""
        if join.shedding is not None:
            return cls(join, join.shedding, state, store, cpu)
        return None if state.shedding is None else cls(join, NO_LIMIT, state, store, cpu)

    def let_in(
        self, arrivals: tuple[Arrival, Arrival], all_rows: tuple[int, int]
    ) -> tuple[Part, Part]:
        """Choose the tuples that take part (KAN-A18), of what each side brings in time.

        `all_rows` says how many rows that is with those that are late.
        """
        brought, limits = self._brought(arrivals, all_rows), self._shedding
        self._known.see(brought)
        plan = self._known.plan(brought, limits)
        self._known.keep(plan)
        if plan.memory is not None:
            self._memory = MemoryLimit.with_samples(
                plan.memory, brought.sizes, limits.memory_unit, 1 if limits.policy is None else 2
            )
        chosen = both(lambda side: self._choose(side, arrivals[side], plan.let_in[side]))
        let_in = both(lambda side: len(chosen[side].batch))
        self.metrics += by_side(dropped=both(lambda side: brought.own[side] - let_in[side]))
        self._let_in, self._brought_in = sum(let_in), brought
        self._choose_parts(chosen, plan)
        return chosen

    @property
    def probed(self) -> ProbedParts:
        """What the batch probes."""
        return ProbedParts(self._join) if self._parts is None else self._parts.probed

    def look(self, arrived: tuple[Part, Part]) -> Iterator[tuple[Pairs, tuple[Part, Part]]]:
        """Pairs that a sample shows where the windows are not probed."""
        return iter(()) if self._parts is None else self._parts.look(arrived)

    def count_missed(self, remembered: Remembered, arrived: tuple[Part, Part]) -> None:
        """Count what was missed, as far as it is seen."""
        in_part = self._parts.seen_in_part if self._parts and self.probed.is_part else None
        self.missed.look(remembered, arrived, self.watch, in_part)

    def remember(self, remembered: Remembered, arrived: tuple[Part, Part]) -> None:
        """Add what came and keep within the memory."""
        cut = remembered.update(arrived, self._memory)
        for side in SIDES:
            self.missed.remember(side, cut[side], *sample_limits(self._memory))
        if self._parts is not None:
            most_bytes = inf if self._memory is None else self._memory.sample_bytes
            self._parts.remember(arrived, cut, most_bytes, self._brought_in.seconds)
        rows = [sum(len(part.batch) for part in cut[side]) for side in SIDES]
        self.metrics += by_side(cut=rows)
        self.metrics += self.missed.counts
        windows = [window for side in self._state.windows for window in side]
        remains = any(self._state.sampled) or any(window.share < 1 for window in windows)
        if self._shedding == NO_LIMIT and not remains:  # of a limit that there was
            self._state.shedding = None

    def charge(self, cpu_us: float, work: int, results: int) -> float:
        """Learn what the batch cost, and return it: what was measured, or its operations' costs."""
        if self._costs is not None:
            self.watch.count(self._costs, self._all_work(work), results)
            received_us = self._costs.received * self._let_in
            cpu_us = received_us + self.watch.found_us + self.watch.used_us
        self._known.charge(cpu_us, self._let_in)
        if self._parts is not None and self._known.selective is not None:
            done = self._let_in, self._all_work(work), results
            found_us, emitted_us = self.watch.found_us, self.watch.used_us
            self._known.selective.charge(cpu_us, found_us, emitted_us, done)
        return cpu_us

    def details(self, work: int) -> Details:
        """What the batch was allowed, and what it chose; to be asked before it is charged."""
        known = self._known.selective
        if self._parts is None or known is None:
            return Details(budget_us=round(self._shedding.cpu_us(self._brought_in.seconds)))
        costs = {name: getattr(known, name).each for name in ("receiving", "comparing", "emitting")}
        return Details(
            budget_us=round(known.allotted),
            planned=self.metrics.compared_left + self.metrics.compared_right,
            looked_at=self._all_work(work),
            costs_us={name: float(f"{cost:.4g}") for name, cost in costs.items()},
            windows=self._parts.strips(),
        )

    def _all_work(self, work: int) -> int:
        """That of the join, and that of looking into samples."""
        return work + self.missed.work + (self._parts.work if self._parts else 0)

    def decide_gate(self, took: float) -> Gate:
        """Decide what map tasks let in of later batches, by the seconds that this one took.

        What went into comparisons does not count: those are chosen.
        """
        compared = (self.watch.found_us + self.watch.used_us) / 1e6
        self._known.see_gate(self._brought_in, max(0.0, took - compared))
        return self._known.gate

    def _choose_parts(self, arrived: tuple[Part, Part], plan: SheddingPlan) -> None:
        """Choose the parts of the windows that are probed (GED-A12)."""
        policy, known = self._shedding.policy, self._known.selective
        if policy is not None and known is not None and plan.cpu is not None:
            self._parts = PartChooser(self._join, policy, self._state, known, self._store)
            self.metrics += self._parts.choose(arrived, plan.cpu.us)
            self.metrics += JoinCounts(lagging=int(plan.lagging))
        elif known is not None:  # there was such a budget before
            for side in SIDES:
                if known.sample_sizes[side]:
                    self._store.remove_blob((LOOKING + side, 0, 0))
            self._known.selective = None

    def _brought(self, arrivals: tuple[Arrival, Arrival], all_rows: tuple[int, int]) -> Arrivals:
        unit = self._shedding.memory_unit
        # By the slower of the sides that bring rows, as the watermark.
        newest = min((a.latest for a in arrivals if a.latest is not None), default=None)
        span = max(span_seconds(arrival.batch.times) for arrival in arrivals)
        return Arrivals(
            own=both(lambda side: len(arrivals[side].batch)),
            total=both(lambda side: _total(arrivals[side], all_rows[side])),
            seconds=self._known.elapsed(newest, span, self._join.left.lateness_us),
            windows=both(lambda side: _kept_seconds(self._join.streams[side])),
            sizes=both(lambda side: self._row_size(side, arrivals[side])),
            held=both(lambda side: remembered_units(self._state, side, unit)),
            part=self._part(arrivals, all_rows),
        )

    def _part(self, arrivals: tuple[Arrival, Arrival], all_rows: tuple[int, int]) -> float | None:
        """Of all rows that are sent, the part that comes here; all parts add up to one."""
        sent = 0
        for side, copies in zip(SIDES, self._shedding.copies, strict=True):
            total = arrivals[side].total
            sent += copies * (all_rows[side] if total is None else total)
        return sum(all_rows) / sent if sent else None

    def _row_size(self, side: Side, arrival: Arrival) -> float:
        if self._shedding.memory_unit == "rows":
            return 1.0
        rows, size = (remembered_units(self._state, side, unit) for unit in ("rows", "bytes"))
        return size / rows if rows else arrival.batch.bytes_per_row

    def _choose(self, side: Side, arrival: Arrival, let_in: float) -> Part:
        n = len(arrival.batch)
        if let_in >= n:
            return Part(arrival.batch, share=arrival.share)
        target = min(float(n), self._known.target(side, let_in))
        # Rounded up or down at random, each side for itself, so that chances multiply.
        chosen = int(target + random_number(side, self._state.sequence))
        self._known.carried[side] += let_in - chosen
        # Of a budget of CPU to look at more rows would take its part: fewer could be let in.
        see_more = self._shedding.rate is not None
        return self.missed.split(side, arrival, target, chosen, see_more=see_more)


def _kept_seconds(stream: Stream) -> float:
    """How long a row is remembered: its window, and what lateness and slices add."""
    return (stream.window_us + stream.lateness_us + slice_length(stream, 0)) / 1e6


def _total(arrival: Arrival, all_rows: int) -> float:
    """Rows of a side that are in time, in all shards, if it is with late ones as it is here."""
    own = len(arrival.batch)
    if arrival.total is None:
        return own
    return arrival.total * own / all_rows if all_rows else arrival.total
