"""Which parts of which window are probed, batch by batch, within a budget of CPU (GED-A4..A13).

The *probe-limit* semantics (X-1): every tuple is kept, comparisons are left out. A plan is made
from what earlier batches showed and cost, which is part of the state, and from what the batch
brings; so a batch that is run again decides the same. Clocks are only read to learn for the next.
"""

from dataclasses import asdict, dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from streamjoin._typing import LEFT, RIGHT, SIDES, Side
from streamjoin.core.cells import CELLS, Axis, FloatArray
from streamjoin.core.statistics import WEIGHT
from streamjoin.shedding.fractions import BasicWindows, choose_fractions
from streamjoin.shedding.productivity import Productivity

GAMMA: Final = 0.1
"""Sampling: of the comparisons that are made, the part that looks everywhere (GED-A9, A19)."""
GAMMA_EXACT: Final = 0.01
"""The same as long as all comparisons are made: nothing is to be chosen yet."""
LEAST_SAMPLE: Final = 64
"""Rows that are looked at everywhere, even if that is a larger part of the comparisons ..."""
MOST_SAMPLING: Final = 0.5
FEWER: Final = 8
"""... but for no more than this part of them, unless so many times fewer rows take that."""
MOST_RECEIVING: Final = 0.8
"""Part of a budget that may go into receiving and storing tuples before some are turned away."""
CREDIT: Final = 1.0
"""Part of a budget that may be saved for later batches, as those that bring no new time need it."""
BATCH_CREDIT: Final = 0.3
"""The same of a budget for each batch: what plans that were too careful left."""
DEBT: Final = 0.5
"""Part of a budget that earlier batches may have used."""
MOST_RISE: Final = 4.0
"""A cost may rise by so much in one batch: a worker's first one loads its code."""
LEAST_COST: Final = 0.01
"""Part of a guess that a cost never falls below."""


@dataclass
class Cost:
    """CPU time of one operation in microseconds: a ratio of two averages that forget.

    Examples
    --------
    >>> cost = Cost(guess=1.0)
    >>> cost.see(us=3000.0, n=1000.0)
    >>> cost.each
    3.0
    """

    guess: float
    us: float = 0.0
    n: float = 0.0

    def see(self, us: float, n: float) -> None:
        """Take in a batch; of one without operations nothing is learned."""
        if n > 0:
            us = min(us, MOST_RISE * self.each * n)
            self.us += WEIGHT * (us - self.us)
            self.n += WEIGHT * (n - self.n)

    @property
    def each(self) -> float:
        """Of one operation."""
        # Never nothing, as a coarse clock has it: that could not rise again.
        return max(self.us / self.n, LEAST_COST * self.guess) if self.n else self.guess


@dataclass(frozen=True, eq=False)
class SelectivePlan:
    """What a batch compares.

    Parameters
    ----------
    chosen
        Whether pairs are looked for, by the difference of their cells; None if all are.
    looking
        The share of the remembered rows that is looked at everywhere.
    comparisons, skipped
        Comparisons with the left and the right window, and those that are left out.
    """

    chosen: NDArray[np.bool_] | None
    looking: float
    comparisons: tuple[float, float]
    skipped: tuple[float, float] = (0.0, 0.0)


@dataclass
class SelectiveState:
    """What one shard knows; part of the directory.

    Parameters
    ----------
    productivity
        Of the basic windows.
    receiving, comparing, emitting
        What it costs to receive and store a tuple, to look at a row or a candidate, to hand out a
        result.
    allotted, allowed, unspent
        CPU time of the last batch and of the last one that had some, in microseconds; and what is
        left of all.
    sample_sizes, sample_shares
        Of the rows of each side that are looked at everywhere: bytes, and the share of new rows.
    """

    productivity: Productivity = field(default_factory=Productivity)
    receiving: Cost = field(default_factory=lambda: Cost(guess=1.0))
    comparing: Cost = field(default_factory=lambda: Cost(guess=0.02))
    emitting: Cost = field(default_factory=lambda: Cost(guess=0.2))
    allotted: float = 0.0
    allowed: float = 0.0
    unspent: float = 0.0
    sample_sizes: list[int] = field(default_factory=lambda: [0, 0])
    sample_shares: list[float] = field(default_factory=lambda: [GAMMA, GAMMA])

    def to_dict(self) -> dict[str, Any]:
        """Values that JSON can hold."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "SelectiveState":
        """Read `to_dict` back."""
        costs = {name: Cost(**values[name]) for name in ("receiving", "comparing", "emitting")}
        return cls(**{**values, **costs, "productivity": Productivity(**values["productivity"])})

    def allow(self, us: float, credit: float = CREDIT) -> float:
        """CPU time that a batch may use, given what it was allotted.

        What earlier ones used less may be used now, up to `credit` times as much as is allotted.
        """
        self.allotted = us
        if us > 0:
            self.allowed = us
        elif not self.allowed:
            return float("inf")  # nothing is known of the streams' time yet
        saved = float(np.clip(self.unspent, -DEBT * self.allowed, credit * self.allowed))
        self.unspent = saved + us
        # Where time stands still, as when one stream is behind the other, some is lent.
        return max(self.unspent, (1 - DEBT) * max(us, DEBT * self.allowed))

    def receivable(self, us: float) -> float:
        """Tuples that can be received for a batch's CPU time."""
        return MOST_RECEIVING * us / self._arrival

    def plan(
        self,
        policy: str,
        axis: Axis,
        comparisons: FloatArray,
        met: FloatArray,
        came: int,
        stored: int,
        us: float,
    ) -> SelectivePlan:
        """Decide what a batch compares.

        Parameters
        ----------
        policy
            One of `shedding.fractions.POLICIES`.
        axis
            Where the windows lie.
        comparisons
            Of a full join, by the difference of cells.
        met
            Rows that are streamed past arrivals for that: each is met once by all that probe.
        came, stored
            Rows of both sides that arrived, and those that are remembered.
        us
            CPU time for the batch.
        """
        full = _sum(axis, comparisons)
        each = [self._costs(axis, comparisons, met, side) for side in SIDES]
        costs = [met + seen for met, seen in each]
        need = sum(float(cost.sum()) for cost in costs)
        to_look = sum(float(seen.sum()) for _, seen in each)
        room = max(us - self._arrival * came, (1 - MOST_RECEIVING) * us)
        least = min(GAMMA, LEAST_SAMPLE / max(stored, 1))
        looking = max(_looking(GAMMA_EXACT * need, to_look), least)
        if need + looking * to_look <= room:
            return SelectivePlan(None, looking, full)
        looking = max(_looking(GAMMA * room, to_look), least)
        looking = max(min(looking, _looking(MOST_SAMPLING * room, to_look)), least / FEWER)
        sides = [self._basic(axis, comparisons, costs[side], side) for side in SIDES]
        left, right = choose_fractions(
            policy, (sides[LEFT], sides[RIGHT]), max(0.0, room - looking * to_look)
        )
        chosen = axis.empty() > 0
        for side, fractions in zip(SIDES, (left, right), strict=True):
            axis.of_side(chosen, side)[:] = _cells(fractions, costs[side])
        done = _sum(axis, np.where(chosen, comparisons, 0.0))
        skipped = full[0] - done[0], full[1] - done[1]
        return SelectivePlan(chosen, looking, done, skipped)

    def priorities(
        self, axis: Axis, comparisons: FloatArray, met: FloatArray, side: Side
    ) -> FloatArray:
        """Results for each microsecond that the basic windows of a side take, the newest first."""
        costs = sum(self._costs(axis, comparisons, met, side))
        basic = self._basic(axis, comparisons, np.asarray(costs), side)
        priorities: FloatArray = basic.values / np.maximum(basic.costs, 1e-9)
        return np.where(basic.costs > 0, priorities, 0.0)

    def charge(
        self, cpu_us: float, finding_us: float, emitting_us: float, done: tuple[int, int, int]
    ) -> None:
        """Learn what a batch cost.

        Parameters
        ----------
        cpu_us
            All of it.
        finding_us, emitting_us
            Of that, to find results and to hand them out.
        done
            Tuples received, rows and candidates looked at, results.
        """
        receiving_us = max(0.0, cpu_us - finding_us - emitting_us)
        if not self.receiving.n:  # that code is loaded is no reason to turn rows away
            receiving_us = min(receiving_us, self.receiving.guess * done[0])
        self.receiving.see(receiving_us, done[0])
        self.comparing.see(finding_us, done[1])
        self.emitting.see(emitting_us, done[2])
        self.unspent -= cpu_us

    @property
    def _arrival(self) -> float:
        """CPU time of a tuple that arrives: it is stored, indexed, and looked up in a sample."""
        return self.receiving.each + 2 * self.comparing.each

    def _costs(
        self, axis: Axis, comparisons: FloatArray, met: FloatArray, side: Side
    ) -> tuple[FloatArray, FloatArray]:
        """CPU time at each difference of a side's window, the newest first.

        What it takes to meet rows, and what it takes to look at those that are found.
        """
        number, known = axis.of_side(comparisons, side), self.productivity
        meeting: FloatArray = axis.of_side(met, side) * self.comparing.each
        if not known.is_known:  # as of the first batch
            return meeting, number * (known.prior * self.comparing.each)
        looks, found = (
            np.repeat(known.per_comparison(name, side), CELLS)[: len(number)]
            for name in ("looked_at", "found")
        )
        return meeting, number * (looks * self.comparing.each + found * self.emitting.each)

    def _basic(
        self, axis: Axis, comparisons: FloatArray, costs: FloatArray, side: Side
    ) -> BasicWindows:
        number = axis.in_basic(comparisons, side)
        at = np.arange(0, len(costs), CELLS)
        known = self.productivity
        worth = known.per_comparison("value", side) if known.is_known else np.ones(len(number))
        return BasicWindows(number * worth, np.add.reduceat(costs, at) if len(costs) else costs)


def _sum(axis: Axis, comparisons: FloatArray) -> tuple[float, float]:
    left, right = (float(axis.of_side(comparisons, side).sum()) for side in SIDES)
    return left, right


def _looking(us: float, to_look: float) -> float:
    """The share of the remembered rows that can be looked at everywhere in some time."""
    return min(GAMMA, us / to_look) if to_look > 0 else GAMMA


def _cells(fractions: FloatArray, costs: FloatArray) -> NDArray[np.bool_]:
    """The newest cells of each basic window that cost no more than its fraction."""
    n = -(-len(costs) // CELLS)
    of_basic = np.zeros((n, CELLS))
    of_basic.reshape(-1)[: len(costs)] = costs
    spent = of_basic.cumsum(axis=1)
    limits = fractions * spent[:, -1] * (1 + 1e-9)
    chosen: NDArray[np.bool_] = (spent <= limits[:, None]).reshape(-1)[: len(costs)]
    return chosen
