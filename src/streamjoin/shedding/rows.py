"""Rows that a batch lets in: how many of each stream (KAN-A17..A25), and which.

The *drop* semantics: a tuple that is not let in neither probes nor enters a window. (Where the
windows are probed in part instead, `comparisons`, tuples are turned away only if to receive them
costs too much.) How what there is gets divided says `planning.two.split`; here it gets what it
needs: the streams' rates as observed, and what a tuple costs. `SheddingState.plan` only returns
values; `SheddingState.keep` takes over what later batches go by.

Which rows are chosen depends on what they hold, as if at random. A choice by position would differ
when a batch is run again with its rows in another order, and between shards that are sent the same
rows; a choice by contents does not.
"""

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from streamjoin._typing import SIDES, Keys, Side, both
from streamjoin.core.batch import Batch
from streamjoin.core.kernels.hashing import fold_words
from streamjoin.planning.two.split import Allocation, Demand, Limits, Pair, output
from streamjoin.planning.two.split import plan as plan_split
from streamjoin.shedding.comparisons import BATCH_CREDIT, CREDIT, CpuAllowance, SelectiveState
from streamjoin.shedding.costs import WEIGHT, Rates
from streamjoin.shedding.limits import Gate, Shedding, StreamClock
from streamjoin.shedding.recall import RecallEstimate

FIRST_COST_US: Final = 2.0
"""CPU time of a tuple until one has been measured."""
MIN_GAIN: Final = 1.1
"""A division is changed for so many times the results, and for more than chance explains."""
STEADY_SPLITS: Final = ("best", "slower")
BORROWED: Final = 0.02
"""Part of the last allowance that a batch without any may borrow: where nothing is let in, nobody
knows what is missed."""
MIN_SHARE: Final = 0.02
"""Part of the rows that a budget of CPU always lets in. To receive rows costs something too: where
that alone is more than the budget, turning away still more of them would not help."""
MIN_RATE: Final = 1e-9
"""Stands for the rate of a stream that has brought nothing yet."""
LET_IN: Final = 0
SAMPLE: Final = 2
GROUP: Final = 4
GATE: Final = 6
TURN: Final = 8
CLOSER_LOOK: Final = 10
"""Salts, so that one choice says nothing of another; the side is added."""
CLOSER: Final = 16
"""A first choice takes so many times the rows of a sample."""


@dataclass(frozen=True)
class Arrivals:
    """What a batch brings."""

    own: tuple[int, int]  # rows of each side that take part, in this shard
    total: tuple[float, float]  # about as many in all shards
    seconds: float  # event time that has passed since the batch before
    windows: tuple[float, float]  # how long rows of the two streams are remembered, in seconds
    sizes: tuple[float, float] = (1.0, 1.0)  # units of memory that a row of each side takes
    held: tuple[float, float] = (0.0, 0.0)  # units that rows of each side take now, in this shard
    part: float | None = 1.0  # which part of all rows, late ones too, comes here; None: no rows


@dataclass(frozen=True)
class SheddingPlan:
    """What a batch may take, and what later ones are to go by."""

    let_in: tuple[float, float]  # rows of each side, with fractions
    memory: tuple[float, float] | None  # what this shard may remember of each side; None for all
    cpu: CpuAllowance | None  # CPU time to receive and to compare, where comparisons are chosen
    lagging: bool  # whether it is not even enough to receive all
    allowance: float  # rows of all shards that this batch, or the last one with some, could let in
    unspent: float  # how many were let in less or, if some were borrowed, more
    divided: list[float] | None  # parts of the memory and of the rate that the left stream has


@dataclass
class SheddingState(StreamClock):
    """What one shard knows of its streams; part of the directory."""

    rates: Rates = field(default_factory=Rates)
    part: float | None = None  # of all rows, that comes to this shard; all parts add up to one
    allowance: float = 0.0  # as in `SheddingPlan`
    unspent: float = 0.0
    cpu_us: float = 0.0  # CPU time of a batch, and tuples that were let in: averages that forget
    handled: float = 0.0
    carried: list[float] = field(default_factory=lambda: [0.0, 0.0])
    """Fractions of rows that were let in less, or more, because rows are whole."""
    divided: list[float] | None = None  # as in `SheddingPlan`; None before the first plan
    sample_shares: list[float] = field(default_factory=lambda: [1.0, 1.0])
    """Of the rows of each side for which there is no room, the share that is kept as a sample."""
    recall: RecallEstimate = field(default_factory=RecallEstimate)
    selective: SelectiveState | None = None  # what is known for choosing comparisons
    gate: Gate = field(default_factory=Gate)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "SheddingState":
        """Read `asdict` back."""
        parts: dict[str, Any] = {
            "rates": Rates(**values["rates"]),
            "recall": RecallEstimate(**values["recall"]),
        }
        if values.get("selective") is not None:
            parts["selective"] = SelectiveState.from_dict(values["selective"])
        if "gate" in values:
            parts["gate"] = Gate(**values["gate"])
        return cls(**{**values, **parts})

    def see(self, arrivals: Arrivals) -> None:
        """Learn from what a batch brings; to be called before it is planned."""
        self.rates.see(arrivals.total, arrivals.seconds)
        if arrivals.part is not None:
            before = arrivals.part if self.part is None else self.part
            self.part = before + WEIGHT * (arrivals.part - before)

    def plan(self, arrivals: Arrivals, limits: Shedding) -> SheddingPlan:
        """Decide on a batch, from what is known and what it brings; changes nothing."""
        cpu, lagging, allowance, unspent = None, False, self.allowance, self.unspent
        if limits.policy is None:
            rows, allowance, unspent = self._rows_allowed(limits, arrivals)
        else:
            known = self.selective or SelectiveState()
            credit = CREDIT if limits.cpu_us_per_batch is None else BATCH_CREDIT
            cpu = known.allowance(limits.cpu_us(arrivals.seconds), credit)
            rows = _rows_receivable(known.receivable(cpu.us), arrivals)
            lagging = rows is not None
            rows = None if limits.lag else rows
        demand = self._demand(limits, arrivals)
        service = None if rows is None else max(rows / (arrivals.seconds or 1.0), MIN_RATE)
        allocation = plan_split(limits.split, demand, Limits(service, limits.memory))
        divided = self.divided
        if limits.split in STEADY_SPLITS:
            allocation, divided = self._steady(allocation, demand)
        let_in, used = _let_in(allocation, rows, arrivals)
        memory = self._memory(limits, allocation)
        return SheddingPlan(let_in, memory, cpu, lagging, allowance, unspent - used, divided)

    def keep(self, plan: SheddingPlan) -> None:
        """Take over what later batches are to go by."""
        self.allowance, self.unspent, self.divided = plan.allowance, plan.unspent, plan.divided
        if plan.cpu is not None:
            self.selective = self.selective or SelectiveState()
            self.selective.keep(plan.cpu)

    def see_gate(self, arrivals: Arrivals, took: float) -> None:
        """Decide what is let in before it is packed, from what a batch took (in seconds)."""
        known = self.rates.per_second or arrivals.total
        rates = both(lambda side: max(known[side], MIN_RATE) / self.gate.shares[side])
        self.gate.see(arrivals.seconds, took, Demand(rates, arrivals.windows))

    def charge(self, cpu_us: float, rows: int) -> None:
        """Learn what tuples cost, for the next batch."""
        if rows:
            self.cpu_us += WEIGHT * (cpu_us - self.cpu_us)
            self.handled += WEIGHT * (rows - self.handled)

    @property
    def cost_us(self) -> float:
        """CPU time of one tuple: a ratio of averages, so that a small batch weighs little."""
        return self.cpu_us / self.handled if self.handled else FIRST_COST_US

    def target(self, side: int, let_in: float) -> float:
        """Rows to let in, with what earlier batches let in less or more."""
        return max(let_in + self.carried[side], 0.1 * let_in)

    def _demand(self, limits: Shedding, arrivals: Arrivals) -> Demand:
        """What the streams would take; a stream that pauses still has what is remembered of it."""
        known = self.rates.per_second or arrivals.total
        rates = both(lambda side: max(known[side], MIN_RATE))
        sizes = both(lambda side: arrivals.sizes[side] * limits.copies[side])
        windows = arrivals.windows
        if limits.memory is not None and self.part:
            held = [units / self.part for units in arrivals.held]
            lasts = both(lambda side: held[side] / (rates[side] * sizes[side]))
            windows = both(lambda side: max(arrivals.windows[side], lasts[side]))
        return Demand(rates, windows, sizes)

    def _steady(self, new: Allocation, demand: Demand) -> tuple[Allocation, list[float] | None]:
        """Stay with the division of before unless another promises clearly more results.

        Of two streams with about the same rate now one, now the other is the slower; but a window
        that is given up fills again only slowly.
        """
        if new.memory is None:
            return new, self.divided
        if self.divided is not None:
            memory, rate = self.divided
            rates = new.rates if new.rates == demand.rates else _divide(new.rates, rate)
            kept = Allocation(rates, _divide(new.memory, memory))
            within = all(k <= d for k, d in zip(kept.rates, demand.rates, strict=True))
            least_gain = MIN_GAIN + 3 * self.rates.noise
            if within and output(new, demand) <= least_gain * output(kept, demand):
                return kept, self.divided
        return new, [_left_part(new.memory), _left_part(new.rates)]

    def _rows_allowed(
        self, limits: Shedding, arrivals: Arrivals
    ) -> tuple[float | None, float, float]:
        """Rows that all shards together can take, if they are as busy as this one.

        And the allowance and what is unspent of all with it.
        """
        own = sum(arrivals.own) / max(sum(arrivals.total), MIN_RATE)
        cost_of_all = max(self.cost_us * own, MIN_RATE)
        least = MIN_SHARE * sum(arrivals.total)
        if limits.cpu_us_per_batch is not None:
            rows = max(least, limits.cpu_us_per_batch / cost_of_all)
            return rows, self.allowance, self.unspent
        if limits.rate is not None:
            new = limits.rate * arrivals.seconds
        elif limits.cpu_us_per_second is not None:
            new = max(least, limits.cpu_us_per_second * arrivals.seconds / cost_of_all)
        else:
            return None, self.allowance, self.unspent
        allowance = new or self.allowance
        unspent = max(-allowance, min(allowance, self.unspent)) + new
        return max(unspent, BORROWED * allowance), allowance, unspent

    def _memory(self, limits: Shedding, allocation: Allocation) -> Pair | None:
        """Memory of this shard: its part of all, divided as planned.

        The part does not depend on the division, so that shards which divide differently keep the
        limit together. Where both windows fit, what is left is room for bursts.
        """
        if allocation.memory is None or limits.memory is None or self.part is None:
            return None
        return _divide((limits.memory * self.part, 0.0), _left_part(allocation.memory))


def _rows_receivable(receivable: float, arrivals: Arrivals) -> float | None:
    """Rows that all shards can receive, given those of this one; None if they can receive all."""
    own = sum(arrivals.own)
    least = MIN_SHARE * own
    return None if receivable >= own else max(receivable, least) * sum(arrivals.total) / own


def _let_in(allocation: Allocation, rows: float | None, arrivals: Arrivals) -> tuple[Pair, float]:
    """Rows of this shard that are let in, and of all; what one side leaves the other gets."""
    own, total = arrivals.own, arrivals.total
    if rows is None:
        return (float(own[0]), float(own[1])), 0.0
    room = [rows * rate / sum(allocation.rates) for rate in allocation.rates]
    spare = [max(0.0, room[side] - total[side]) for side in SIDES]
    left, right = both(
        lambda side: min(1.0, (room[side] + spare[1 - side]) / max(total[side], MIN_RATE))
    )
    return (left * own[0], right * own[1]), left * total[0] + right * total[1]


def _left_part(pair: Pair) -> float:
    return pair[0] / max(sum(pair), MIN_RATE)


def _divide(pair: Pair, left: float) -> Pair:
    total = sum(pair)
    return total * left, total * (1 - left)


def row_hashes(batch: Batch, side: Side, salt: int, *more: Keys) -> NDArray[np.uint64]:
    """A number per row that looks random, by key, time and more. O(n)."""
    hashes = np.full(len(batch), 0x5EED + salt + side, np.int64)
    for words in (batch.keys if batch.stream.key else batch.contents, batch.times, *more):
        fold_words(hashes, words)
    return hashes.view(np.uint64)


def random_number(side: Side, sequence: int) -> float:
    """A number from 0 to 1 that looks random, for a side and a batch."""
    hashes = np.array([0x5EED + LET_IN + side])
    fold_words(hashes, np.array([sequence]))
    return float(hashes.view(np.uint64)[0]) / 2.0**64


def choose(batch: Batch, side: Side, n: int) -> Batch:
    """`n` rows of a batch, in their order; all of them if there are not more. O(rows)."""
    return batch if n >= len(batch) else batch.where(is_chosen(batch, side, n))


def is_chosen(batch: Batch, side: Side, n: int) -> NDArray[np.bool_]:
    """Which rows of a batch are chosen; `n` of some that were chosen are `n` of all."""
    chosen = np.full(len(batch), n >= len(batch))
    if 0 < n < len(batch):
        # Contents tell rows of one key and time apart.
        hashes = row_hashes(batch, side, LET_IN, batch.contents)
        chosen[np.argpartition(hashes, n - 1)[:n]] = True
    return chosen


def is_let_in(batch: Batch, side: Side, share: float) -> NDArray[np.bool_]:
    """Which rows of a batch are among a share of all, each by chance and by what it holds."""
    return row_hashes(batch, side, GATE, batch.contents) < _limit(share)


def in_sample(batch: Batch, side: Side, share: float) -> NDArray[np.bool_]:
    """Which rows a sample of that share has; a smaller share has a part of the same rows.

    Rows of one key and time are told apart by their contents, which takes long: so only those are
    asked for theirs that a first choice leaves.
    """
    hashes = row_hashes(batch, side, SAMPLE)
    if share <= 0 or not batch.stream.key:  # without a key they are hashes of the contents
        return hashes < _limit(share)
    first = min(1.0, CLOSER * share)
    chosen = hashes < _limit(first)
    rows = batch.where(chosen)
    closer = row_hashes(rows, side, CLOSER_LOOK, rows.contents)
    chosen[chosen] = closer < _limit(share / first)
    return chosen


def in_turn(
    batch: Batch, side: Side, sequence: int, shares: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Which rows have their turn, each with a probability of its own, anew in every batch."""
    hashes = row_hashes(batch, side, TURN, batch.contents, np.full(len(batch), sequence))
    chosen: NDArray[np.bool_] = hashes <= np.minimum(shares, 1.0) * 2.0**64
    return chosen


def groups(batch: Batch, side: Side, n_groups: int) -> NDArray[np.int64]:
    """A random group for each row, the same whenever the row is met."""
    return (row_hashes(batch, side, GROUP) % np.uint64(n_groups)).astype(np.int64)


def _limit(share: float) -> np.uint64:
    return np.uint64(min(share, 1.0) * (2.0**64 - 2**12))
