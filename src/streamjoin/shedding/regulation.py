"""How many tuples are let in and how much is remembered, batch by batch (KAN-A17..A25).

The *drop* semantics: a tuple that is not let in neither probes nor enters a window. (Where the
windows are probed in part instead, `shedding.selective`, tuples are turned away only if to receive
them costs too much.) Plans come from
`planning.two.split`; here they get what they need, the streams' rates as observed, and what a tuple
costs. Time is the streams' own: the budget of a batch is that of the event time it covers, so a
recorded stream is regulated as the live one was, and a batch that is run again as before.
"""

from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal

from streamjoin._typing import SIDES
from streamjoin.core.statistics import WEIGHT, Rates
from streamjoin.planning.two.split import Allocation, Demand, Limits, Pair, output, plan
from streamjoin.shedding.gate import Gate
from streamjoin.shedding.recall import RecallEstimate
from streamjoin.shedding.selective import BATCH_CREDIT, SelectiveState
from streamjoin.shedding.stream_clock import StreamClock

FIRST_COST_US: Final = 2.0
"""CPU time of a tuple until one has been measured."""
CLEARLY: Final = 1.1
"""A division is changed for so many times the results, and for more than chance explains."""
STEADY: Final = ("best", "slower")
BORROWED: Final = 0.02
"""Part of the last allowance that a batch without any may borrow: where nothing is let in, nobody
knows what is missed."""
LEAST_SHARE: Final = 0.02
"""Part of the rows that a budget of CPU always lets in. To receive rows costs something too: where
that alone is more than the budget, turning away still more of them would not help."""
LEAST_RATE: Final = 1e-9
"""Stands for the rate of a stream that has brought nothing yet."""


@dataclass(frozen=True)
class Shedding:
    """Limits of one shard: values only.

    Parameters
    ----------
    split
        How what there is gets divided between the streams.
    cpu_us_per_second, cpu_us_per_batch
        CPU time of this shard, for a second of the streams or for a batch.
    rate
        Tuples per second that are let in, in all shards.
    memory, memory_unit
        What may be remembered, in all shards.
    copies
        To how many shards a left and a right row is sent.
    policy
        How the parts of the windows are chosen that are probed; None if all are probed, and tuples
        are turned away instead.
    lag
        Whether batches that are too large even so take longer; else tuples are turned away.
    """

    split: str = "best"
    cpu_us_per_second: float | None = None
    cpu_us_per_batch: float | None = None
    rate: float | None = None
    memory: float | None = None
    memory_unit: Literal["bytes", "rows"] = "bytes"
    copies: tuple[int, int] = (1, 1)
    policy: str | None = None
    lag: bool = False

    @property
    def has_gate(self) -> bool:
        """Whether rows are turned away before they are packed, if those alone take too long."""
        return self.policy is not None and not self.lag and self.cpu_us_per_second is not None

    def cpu_us(self, seconds: float) -> float:
        """CPU time for a batch that brings so much time of the streams; 0 without such a limit."""
        if self.cpu_us_per_batch is not None:
            return self.cpu_us_per_batch
        return (self.cpu_us_per_second or 0.0) * seconds


@dataclass(frozen=True)
class SheddingPlan:
    """What a batch may take.

    Parameters
    ----------
    let_in
        Rows of each side, with fractions.
    memory
        What this shard may remember of each side; None for all.
    cpu_us
        CPU time to receive and to compare, where comparisons are chosen; None for no limit.
    lagging
        Whether it is not even enough to receive all.
    """

    let_in: tuple[float, float]
    memory: tuple[float, float] | None
    cpu_us: float | None = None
    lagging: bool = False


@dataclass(frozen=True)
class Came:
    """What a batch brings.

    Parameters
    ----------
    own
        Rows of each side that take part, in this shard.
    total
        About as many in all shards.
    seconds
        Event time that has passed since the batch before.
    windows
        How long rows of the two streams are remembered, in seconds.
    sizes
        Units of memory that a row of each side takes.
    held
        Units of memory that rows of each side take now, in this shard.
    part
        Which part of all rows, late ones too, comes to this shard; None if there are none.
    """

    own: tuple[int, int]
    total: tuple[float, float]
    seconds: float
    windows: tuple[float, float]
    sizes: tuple[float, float] = (1.0, 1.0)
    held: tuple[float, float] = (0.0, 0.0)
    part: float | None = 1.0


@dataclass
class SheddingState(StreamClock):
    """What one shard knows of its streams; part of the directory.

    Parameters
    ----------
    rates
        Of the two streams.
    part
        Which part of all rows comes to this shard, likewise; over all shards they add up to one.
    allowance, unspent
        Rows that the last batch could let in (in all shards), and how many it let in less or, if it
        borrowed, more.
    cpu_us, handled
        CPU time of a batch and tuples that were let in, as averages that forget.
    carried
        Fractions of rows that were let in less, or more, because rows are whole.
    divided
        Parts of the memory and of the rate that the left stream has; None before the first plan.
    sample_shares
        Of the rows of each side for which there is no room, the share that is kept as a sample.
    recall
        What was missed.
    selective
        What is known for choosing comparisons.
    gate
        What map tasks let in of the rows.
    """

    rates: Rates = field(default_factory=Rates)
    part: float | None = None
    allowance: float = 0.0
    unspent: float = 0.0
    cpu_us: float = 0.0
    handled: float = 0.0
    carried: list[float] = field(default_factory=lambda: [0.0, 0.0])
    divided: list[float] | None = None
    sample_shares: list[float] = field(default_factory=lambda: [1.0, 1.0])
    recall: RecallEstimate = field(default_factory=RecallEstimate)
    selective: SelectiveState | None = None
    gate: Gate = field(default_factory=Gate)

    def to_dict(self) -> dict[str, Any]:
        """Values that JSON can hold."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "SheddingState":
        """Read `to_dict` back."""
        parts: dict[str, Any] = {
            "rates": Rates(**values["rates"]),
            "recall": RecallEstimate(**values["recall"]),
        }
        if values.get("selective") is not None:
            parts["selective"] = SelectiveState.from_dict(values["selective"])
        if "gate" in values:
            parts["gate"] = Gate(**values["gate"])
        return cls(**{**values, **parts})

    def plan(self, shedding: Shedding, came: Came) -> SheddingPlan:
        """Decide on a batch, from what was known before and what it brings."""
        self.rates.see(came.total, came.seconds)
        if came.part is not None:
            before = came.part if self.part is None else self.part
            self.part = before + WEIGHT * (came.part - before)
        demand = self._demand(shedding, came)
        cpu_us, lagging = None, False
        if shedding.policy is None:
            rows = self._rows_allowed(shedding, came)
        else:
            cpu_us = self._cpu_allowed(shedding, came)
            rows = self._rows_receivable(cpu_us, came)
            lagging = rows is not None
            rows = None if shedding.lag else rows
        service = None if rows is None else max(rows / (came.seconds or 1.0), LEAST_RATE)
        allocation = plan(shedding.split, demand, Limits(service, shedding.memory))
        if shedding.split in STEADY:
            allocation = self._steady(allocation, demand)
        return SheddingPlan(
            self._let_in(allocation, rows, came),
            self._memory(shedding, allocation),
            cpu_us,
            lagging,
        )

    def see_gate(self, came: Came, took: float) -> None:
        """Decide what is let in before it is packed, from what a batch took (in seconds)."""
        known = self.rates.per_second or came.total
        left, right = (
            max(rate, LEAST_RATE) / share
            for rate, share in zip(known, self.gate.shares, strict=True)
        )
        self.gate.see(came.seconds, took, Demand((left, right), came.windows))

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

    def _demand(self, shedding: Shedding, came: Came) -> Demand:
        """What the streams would take; a stream that pauses still has what is remembered of it."""
        known = self.rates.per_second or came.total
        rates = max(known[0], LEAST_RATE), max(known[1], LEAST_RATE)
        left, right = (
            size * copies for size, copies in zip(came.sizes, shedding.copies, strict=True)
        )
        windows = came.windows
        if shedding.memory is not None and self.part:
            held = [units / self.part for units in came.held]
            windows = (
                max(windows[0], held[0] / (rates[0] * left)),
                max(windows[1], held[1] / (rates[1] * right)),
            )
        return Demand(rates, windows, (left, right))

    def _steady(self, new: Allocation, demand: Demand) -> Allocation:
        """Stay with the division of before unless another promises clearly more results.

        Of two streams with about the same rate now one, now the other is the slower; but a window
        that is given up fills again only slowly.
        """
        if new.memory is None:
            return new
        if self.divided is not None:
            memory, rate = self.divided
            rates = new.rates if new.rates == demand.rates else _divide(new.rates, rate)
            kept = Allocation(rates, _divide(new.memory, memory))
            within = all(k <= d for k, d in zip(kept.rates, demand.rates, strict=True))
            clearly = CLEARLY + 3 * self.rates.noise
            if within and output(new, demand) <= clearly * output(kept, demand):
                return kept
        self.divided = [_left_part(new.memory), _left_part(new.rates)]
        return new

    def _rows_allowed(self, shedding: Shedding, came: Came) -> float | None:
        """Rows that all shards together can take, if they are as busy as this one."""
        own = sum(came.own) / max(sum(came.total), LEAST_RATE)
        cost_of_all = max(self.cost_us * own, LEAST_RATE)
        least = LEAST_SHARE * sum(came.total)
        if shedding.cpu_us_per_batch is not None:
            return max(least, shedding.cpu_us_per_batch / cost_of_all)
        if shedding.rate is not None:
            new = shedding.rate * came.seconds
        elif shedding.cpu_us_per_second is not None:
            new = max(least, shedding.cpu_us_per_second * came.seconds / cost_of_all)
        else:
            return None
        if new:
            self.allowance = new
        self.unspent = max(-self.allowance, min(self.allowance, self.unspent)) + new
        return max(self.unspent, BORROWED * self.allowance)

    def _cpu_allowed(self, shedding: Shedding, came: Came) -> float:
        """CPU time of this shard for the batch."""
        self.selective = self.selective or SelectiveState()
        if shedding.cpu_us_per_batch is not None:
            return self.selective.allow(shedding.cpu_us_per_batch, BATCH_CREDIT)
        assert shedding.cpu_us_per_second is not None
        return self.selective.allow(shedding.cpu_us_per_second * came.seconds)

    def _rows_receivable(self, cpu_us: float, came: Came) -> float | None:
        """Rows that all shards can receive in that time; None if they can receive all."""
        assert self.selective is not None
        own, receivable = sum(came.own), self.selective.receivable(cpu_us)
        least = LEAST_SHARE * own
        return None if receivable >= own else max(receivable, least) * sum(came.total) / own

    def _let_in(
        self, allocation: Allocation, rows: float | None, came: Came
    ) -> tuple[float, float]:
        """Rows of this shard that are let in; what one side does not use goes to the other."""
        if rows is None:
            return float(came.own[0]), float(came.own[1])
        room = [rows * rate / sum(allocation.rates) for rate in allocation.rates]
        spare = [max(0.0, room[side] - came.total[side]) for side in SIDES]
        shares = [
            min(1.0, (room[side] + spare[1 - side]) / max(came.total[side], LEAST_RATE))
            for side in SIDES
        ]
        self.unspent -= sum(shares[side] * came.total[side] for side in SIDES)
        return shares[0] * came.own[0], shares[1] * came.own[1]

    def _memory(self, shedding: Shedding, allocation: Allocation) -> Pair | None:
        """Memory of this shard: its part of all, divided as planned.

        The part does not depend on the division, so that shards which divide differently keep the
        limit together. Where both windows fit, what is left is room for bursts.
        """
        if allocation.memory is None or shedding.memory is None or self.part is None:
            return None
        return _divide((shedding.memory * self.part, 0.0), _left_part(allocation.memory))


def _left_part(pair: Pair) -> float:
    return pair[0] / max(sum(pair), LEAST_RATE)


def _divide(pair: Pair, left: float) -> Pair:
    total = sum(pair)
    return total * left, total * (1 - left)
