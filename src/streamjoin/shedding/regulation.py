"""How many tuples are let in and how much is remembered, batch by batch (KAN-A17..A25).

The *drop* semantics: a tuple that is not let in neither probes nor enters a window. Plans come from
`planning.split`; here they get what they need, the streams' rates as observed, and what a tuple
costs. Time is the streams' own: the budget of a batch is that of the event time it covers, so a
recorded stream is regulated as the live one was, and a batch that is run again as before.
"""

from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal

from streamjoin._typing import SIDES
from streamjoin.core.statistics import WEIGHT, Rates
from streamjoin.planning.split import Allocation, Demand, Limits, Pair, output, plan
from streamjoin.shedding.recall import RecallEstimate

FIRST_COST_US: Final = 2.0
"""CPU time of a tuple until one has been measured."""
CLEARLY: Final = 1.1
"""A division is changed for so many times the results, and for more than chance explains."""
STEADY: Final = ("best", "slower")
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
    """

    split: str = "best"
    cpu_us_per_second: float | None = None
    cpu_us_per_batch: float | None = None
    rate: float | None = None
    memory: float | None = None
    memory_unit: Literal["bytes", "rows"] = "bytes"
    copies: tuple[int, int] = (1, 1)


@dataclass(frozen=True)
class SheddingPlan:
    """What a batch may take.

    Parameters
    ----------
    let_in
        Rows of each side; fractions are carried to the next batch.
    memory
        What this shard may remember of each side; None for all.
    """

    let_in: tuple[float, float]
    memory: tuple[float, float] | None


@dataclass(frozen=True)
class Came:
    """What a batch brings.

    Parameters
    ----------
    own
        Rows of each side that take part, in this shard.
    total
        Rows of each side in all shards.
    seconds
        Event time that has passed since the batch before.
    windows
        Windows of the two streams, in seconds.
    sizes
        Units of memory that a row of each side takes.
    """

    own: tuple[int, int]
    total: tuple[int, int]
    seconds: float
    windows: tuple[float, float]
    sizes: tuple[float, float]


@dataclass
class SheddingState:
    """What one shard knows of its streams; part of the directory.

    Parameters
    ----------
    latest
        The newest event time.
    rates
        Of the two streams.
    own, total
        Rows of each side that come to this shard in a batch and to all, as averages that forget.
    unspent
        Rows that could have been let in but did not come.
    cpu_us, handled
        CPU time of a batch and tuples that were let in, as averages that forget.
    carried
        Fractions of rows that may still be let in.
    divided
        Parts of the memory and of the rate that the left stream has; None before the first plan.
    sample_shares
        Of the rows of each side for which there is no room, the share that is kept as a sample.
    recall
        What was missed.
    """

    latest: int | None = None
    rates: Rates = field(default_factory=Rates)
    own: list[float] = field(default_factory=lambda: [0.0, 0.0])
    total: list[float] = field(default_factory=lambda: [0.0, 0.0])
    unspent: float = 0.0
    cpu_us: float = 0.0
    handled: float = 0.0
    carried: list[float] = field(default_factory=lambda: [0.0, 0.0])
    divided: list[float] | None = None
    sample_shares: list[float] = field(default_factory=lambda: [1.0, 1.0])
    recall: RecallEstimate = field(default_factory=RecallEstimate)

    def to_dict(self) -> dict[str, Any]:
        """Values that JSON can hold."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "SheddingState":
        """Read `to_dict` back."""
        parts = {
            "rates": Rates(**values["rates"]),
            "recall": RecallEstimate(**values["recall"]),
        }
        return cls(**{**values, **parts})

    def elapsed(self, latest: int | None, earliest: int | None) -> float:
        """Seconds of event time since the batch before; of the first batch, those that it spans."""
        if latest is None:
            return 0.0
        since = self.latest if self.latest is not None else earliest
        self.latest = latest if self.latest is None else max(self.latest, latest)
        return 0.0 if since is None else max(0, latest - since) / 1e6

    def plan(self, shedding: Shedding, came: Came) -> SheddingPlan:
        """Decide on a batch, from what was known before and what it brings."""
        self.rates.see(came.total, came.seconds)
        self.own = [o + WEIGHT * (n - o) for o, n in zip(self.own, came.own, strict=True)]
        self.total = [t + WEIGHT * (n - t) for t, n in zip(self.total, came.total, strict=True)]
        known = self.rates.per_second or came.total
        left, right = (
            size * copies for size, copies in zip(came.sizes, shedding.copies, strict=True)
        )
        demand = Demand(
            (max(known[0], LEAST_RATE), max(known[1], LEAST_RATE)), came.windows, (left, right)
        )
        rows = self._rows_allowed(shedding, came.seconds)
        service = None if rows is None else max(rows / (came.seconds or 1.0), LEAST_RATE)
        allocation = plan(shedding.split, demand, Limits(service, shedding.memory))
        if shedding.split in STEADY:
            allocation = self._steady(allocation, demand)
        return SheddingPlan(
            self._let_in(allocation, rows, came), self._memory(shedding, allocation)
        )

    def charge(self, cpu_us: float, rows: int) -> None:
        """Learn what tuples cost, for the next batch."""
        if rows:
            self.cpu_us += WEIGHT * (cpu_us - self.cpu_us)
            self.handled += WEIGHT * (rows - self.handled)

    @property
    def cost_us(self) -> float:
        """CPU time of one tuple: a ratio of averages, so that a small batch weighs little."""
        return self.cpu_us / self.handled if self.handled else FIRST_COST_US

    def whole(self, side: int, let_in: float) -> int:
        """Rows to let in, carrying the fraction."""
        exact = let_in + self.carried[side]
        self.carried[side] = exact - int(exact)
        return int(exact)

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

    def _rows_allowed(self, shedding: Shedding, seconds: float) -> float | None:
        """Rows that all shards together can take, if they are as busy as this one."""
        if shedding.cpu_us_per_batch is not None:
            return shedding.cpu_us_per_batch / self._cost_of_all()
        if shedding.rate is not None:
            new = shedding.rate * seconds
        elif shedding.cpu_us_per_second is not None:
            new = shedding.cpu_us_per_second * seconds / self._cost_of_all()
        else:
            return None
        # What was not used is there for a batch that brings no newer time; but no more than the
        # last one had, or a silence would pay for a flood.
        self.unspent = min(self.unspent, new) if new else self.unspent
        return new + self.unspent

    def _cost_of_all(self) -> float:
        """CPU time of this shard for each row that comes to all."""
        return self.cost_us * max(sum(self.own), LEAST_RATE) / max(sum(self.total), LEAST_RATE)

    def _let_in(
        self, allocation: Allocation, rows: float | None, came: Came
    ) -> tuple[float, float]:
        """Rows of this shard that are let in; what one side does not use goes to the other."""
        if rows is None:
            return float(came.own[0]), float(came.own[1])
        room = [rows * rate / sum(allocation.rates) for rate in allocation.rates]
        spare = [max(0.0, room[side] - came.total[side]) for side in SIDES]
        shares = [
            min(1.0, (room[side] + spare[1 - side]) / max(came.total[side], 1)) for side in SIDES
        ]
        self.unspent = max(0.0, rows - sum(shares[side] * came.total[side] for side in SIDES))
        return shares[0] * came.own[0], shares[1] * came.own[1]

    def _memory(self, shedding: Shedding, allocation: Allocation) -> Pair | None:
        """Memory of this shard, by its part of each side's rows; all parts add up to one."""
        if allocation.memory is None or shedding.memory is None:
            return None
        # Where both windows fit, what is left is room for bursts.
        unused = max(1.0, shedding.memory / max(sum(allocation.memory), LEAST_RATE))
        left, right = (
            unused
            * allocation.memory[side]
            * self.own[side]
            / max(self.total[side] * shedding.copies[side], LEAST_RATE)
            for side in SIDES
        )
        return left, right


def _left_part(pair: Pair) -> float:
    return pair[0] / max(sum(pair), LEAST_RATE)


def _divide(pair: Pair, left: float) -> Pair:
    total = sum(pair)
    return total * left, total * (1 - left)
