"""Which parts of which window are probed, batch by batch, within a budget of CPU (GED-A4..A13).

The *probe-limit* semantics (X-1): every tuple is kept, comparisons are left out. A plan is made
from what earlier batches showed and cost, which is part of the state, and from what the batch
brings; so a batch that is run again decides the same.

*Productivity* (GED-A10, A11): a sample of what is remembered is compared with everything that
arrives. What is found there stands for what a full join would find, so the productivity of a basic
window is known whether it is probed or not: one that yields nothing now is seen to recover
(GED-I4).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from streamjoin._typing import SIDES, Side, both
from streamjoin.core.window import CELLS, Axis, FloatArray
from streamjoin.shedding.costs import Cost
from streamjoin.shedding.fractions import BasicWindows, choose_fractions

HALF_LIFE: Final = 0.25
"""After this part of the longer window, in time of the streams, what was seen counts half: the
period of the paper's adaptation (5 s for windows of 20 s, GED-A19)."""
GAMMA: Final = 0.1
"""Sampling: of the comparisons that are made, the part that looks everywhere (GED-A9, A19)."""
GAMMA_EXACT: Final = 0.01
"""The same as long as all comparisons are made: nothing is to be chosen yet."""
MIN_SAMPLE_ROWS: Final = 64
"""Rows that are looked at everywhere, even if that is a larger part of the comparisons ..."""
MAX_SAMPLING: Final = 0.5
FEWER_ROWS: Final = 8
"""... but for no more than this part of them, unless so many times fewer rows take that."""
MOST_RECEIVING: Final = 0.8
"""Part of a budget that may go into receiving and storing tuples before some are turned away."""
CREDIT: Final = 1.0
"""Part of a budget that may be saved for later batches, as those that bring no new time need it."""
BATCH_CREDIT: Final = 0.3
"""The same of a budget for each batch: what plans that were too careful left."""
DEBT: Final = 0.5
"""Part of a budget that earlier batches may have used."""


@dataclass
class Productivity:
    """Sums by basic window of each side, the newest first; older batches weigh less.

    Examples
    --------
    >>> axis = Axis((20_000_000, 20_000_000))
    >>> known = Productivity()
    >>> counts = axis.empty() + 1000.0
    >>> known.see(axis, [counts, counts / 10, counts / 100, counts / 100], 60.0, seconds=1.0)
    >>> known.per_comparison("found", 0)[:2].round(4).tolist()
    [0.01, 0.01]
    """

    compared: list[list[float]] = field(default_factory=list)  # pairs that a full join compares
    looked_at: list[list[float]] = field(default_factory=list)  # that an index would hand over
    found: list[list[float]] = field(default_factory=list)  # that match
    value: list[list[float]] = field(default_factory=list)  # utility of those
    sampled: float = 0.0  # matches that were really seen; the others are what they stand for
    prior: float = 0.0  # looks for each pair of rows, as long as none were compared

    @property
    def is_known(self) -> bool:
        """Whether anything was compared."""
        return any(any(side) for side in self.compared)

    def see(self, axis: Axis, seen: Sequence[FloatArray], sampled: float, seconds: float) -> None:
        """Take in what a batch showed, by difference of cells; in the order of the fields."""
        scale = HALF_LIFE * max(axis.windows_us) / 1e6
        kept = 0.5 ** (seconds / scale) if scale else 0.0
        self.sampled = kept * self.sampled + sampled
        for name, new in zip(("compared", "looked_at", "found", "value"), seen, strict=True):
            sums = [axis.in_basic(new, side) for side in SIDES]
            before = getattr(self, name)
            if before:
                sums = [kept * np.array(b) + n for b, n in zip(before, sums, strict=True)]
            setattr(self, name, [side.tolist() for side in sums])

    def per_comparison(self, name: str, side: Side) -> FloatArray:
        """Matches (or value, or looks) per pair of rows, of each basic window of a side.

        Where little was compared, as much as on average: the average counts like the comparisons
        that show one match.
        """
        compared = max(sum(map(sum, self.compared)), 1.0)
        average = sum(map(sum, getattr(self, name))) / compared
        prior = compared / max(self.sampled, 1.0)
        mine = np.array(getattr(self, name)[side])
        rates: FloatArray = (mine + average * prior) / (np.array(self.compared[side]) + prior)
        return rates


@dataclass(frozen=True, eq=False)
class FullJoin:
    """What a batch would compare if nothing were left out."""

    axis: Axis  # where the windows lie
    comparisons: FloatArray  # by the difference of cells
    met: FloatArray  # rows that are streamed past arrivals for that: each is met once by all
    arrived: int  # rows of both sides that arrived
    stored: int  # and those that are remembered

    def by_side(self, comparisons: FloatArray) -> tuple[float, float]:
        """Comparisons with the left and with the right window."""
        return both(lambda side: float(self.axis.of_side(comparisons, side).sum()))


@dataclass(frozen=True)
class CpuAllowance:
    """CPU time of a batch, in microseconds."""

    us: float  # that it may use
    allotted: float  # that it brings itself
    allowed: float  # that the last batch which brought some did
    unspent: float  # left of all


@dataclass(frozen=True, eq=False)
class ComparisonPlan:
    """What a batch compares."""

    chosen: NDArray[np.bool_] | None  # by the difference of cells; None if all are
    looking: float  # the share of the remembered rows that is looked at everywhere
    comparisons: tuple[float, float]  # with the left and the right window
    skipped: tuple[float, float] = (0.0, 0.0)  # those that are left out


@dataclass
class SelectiveState:
    """What one shard knows; part of the directory."""

    productivity: Productivity = field(default_factory=Productivity)
    receiving: Cost = field(default_factory=lambda: Cost(guess=1.0))  # and storing a tuple
    comparing: Cost = field(default_factory=lambda: Cost(guess=0.02))  # a row or a candidate
    emitting: Cost = field(default_factory=lambda: Cost(guess=0.2))  # a result
    allotted: float = 0.0  # as in `CpuAllowance`
    allowed: float = 0.0
    unspent: float = 0.0
    sample_sizes: list[int] = field(default_factory=lambda: [0, 0])  # bytes, of each side
    sample_shares: list[float] = field(default_factory=lambda: [GAMMA, GAMMA])  # of new rows

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "SelectiveState":
        """Read `asdict` back."""
        costs = {name: Cost(**values[name]) for name in ("receiving", "comparing", "emitting")}
        return cls(**{**values, **costs, "productivity": Productivity(**values["productivity"])})

    def allowance(self, us: float, credit: float = CREDIT) -> CpuAllowance:
        """CPU time that a batch may use, given what it was allotted.

        What earlier ones used less may be used now, up to `credit` times as much as is allotted.
        """
        allowed = us if us > 0 else self.allowed
        if not allowed:  # nothing is known of the streams' time yet
            return CpuAllowance(float("inf"), us, allowed, self.unspent)
        unspent = float(np.clip(self.unspent, -DEBT * allowed, credit * allowed)) + us
        # Where time stands still, as when one stream is behind the other, some is lent.
        usable = max(unspent, (1 - DEBT) * max(us, DEBT * allowed))
        return CpuAllowance(usable, us, allowed, unspent)

    def keep(self, allowance: CpuAllowance) -> None:
        """Take over what later batches are to go by."""
        self.allotted, self.allowed = allowance.allotted, allowance.allowed
        self.unspent = allowance.unspent

    def receivable(self, us: float) -> float:
        """Tuples that can be received for a batch's CPU time."""
        return MOST_RECEIVING * us / self._arrival

    def plan(self, full: FullJoin, policy: str, us: float) -> ComparisonPlan:
        """Decide what a batch compares in some CPU time; changes nothing.

        `policy` is one of `fractions.POLICIES`.
        """
        axis, comparisons = full.axis, full.comparisons
        each = [self._costs(full, side) for side in SIDES]
        costs = [met + seen for met, seen in each]
        need = sum(float(cost.sum()) for cost in costs)
        to_look = sum(float(seen.sum()) for _, seen in each)
        room = max(us - self._arrival * full.arrived, (1 - MOST_RECEIVING) * us)
        least = min(GAMMA, MIN_SAMPLE_ROWS / max(full.stored, 1))
        looking = max(_looking(GAMMA_EXACT * need, to_look), least)
        if need + looking * to_look <= room:
            return ComparisonPlan(None, looking, full.by_side(comparisons))
        looking = max(_looking(GAMMA * room, to_look), least)
        looking = max(min(looking, _looking(MAX_SAMPLING * room, to_look)), least / FEWER_ROWS)
        sides = both(lambda side: self._basic(full, costs[side], side))
        fractions = choose_fractions(policy, sides, max(0.0, room - looking * to_look))
        chosen = axis.empty() > 0
        for side in SIDES:
            axis.of_side(chosen, side)[:] = _cells(fractions[side], costs[side])
        every, done = full.by_side(comparisons), full.by_side(np.where(chosen, comparisons, 0.0))
        return ComparisonPlan(chosen, looking, done, (every[0] - done[0], every[1] - done[1]))

    def priorities(self, full: FullJoin, side: Side) -> FloatArray:
        """Results for each microsecond that the basic windows of a side take, the newest first."""
        basic = self._basic(full, np.asarray(sum(self._costs(full, side))), side)
        priorities: FloatArray = basic.values / np.maximum(basic.costs, 1e-9)
        return np.where(basic.costs > 0, priorities, 0.0)

    def charge(
        self, cpu_us: float, finding_us: float, emitting_us: float, done: tuple[int, int, int]
    ) -> None:
        """Learn what a batch cost: all of it, and of that to find results and to hand them out.

        `done` says how many tuples it received, rows and candidates it looked at, and results.
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

    def _costs(self, full: FullJoin, side: Side) -> tuple[FloatArray, FloatArray]:
        """CPU time at each difference of a side's window, the newest first.

        What it takes to meet rows, and what it takes to look at those that are found.
        """
        axis, known = full.axis, self.productivity
        number = axis.of_side(full.comparisons, side)
        meeting: FloatArray = axis.of_side(full.met, side) * self.comparing.each
        if not known.is_known:  # as of the first batch
            return meeting, number * (known.prior * self.comparing.each)
        looks, matches = (
            np.repeat(known.per_comparison(name, side), CELLS)[: len(number)]
            for name in ("looked_at", "found")
        )
        return meeting, number * (looks * self.comparing.each + matches * self.emitting.each)

    def _basic(self, full: FullJoin, costs: FloatArray, side: Side) -> BasicWindows:
        number = full.axis.in_basic(full.comparisons, side)
        at = np.arange(0, len(costs), CELLS)
        known = self.productivity
        worth = known.per_comparison("value", side) if known.is_known else np.ones(len(number))
        return BasicWindows(number * worth, np.add.reduceat(costs, at) if len(costs) else costs)


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
