"""A plan of many joins under limited processing, for recorded streams (Mukherji et al. 2011).

The operator of the paper, one tuple at a time and in virtual time: every tuple, of a stream or made
by a join, enters its state and the oldest leave, but only as many probe as the allowance of their
half-way join permits (JAQ-A1). The unit of work is a probe. What happens per virtual second and
half-way join is counted, so that allocations can be judged on any machine.

A `Policy` decides on allowances: `Fixed`, or a planner's, `joins.plan_window_policy.Planned`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from papers.operators.kernels import plan_window as kernel
from papers.operators.plan_window_memory import Plan, merge
from papers.operators.plan_window_settings import PlanJoin, PlanTrace
from streamjoin.errors import ConfigError
from streamjoin.planning.many.tree import Tree

__all__ = ["Fixed", "PlanJoin", "PlanRun", "PlanTrace", "Policy", "Second", "plan_window_join"]

SECOND: Final = 1_000_000

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Second:
    """What was counted in a virtual second, by node but the root.

    Parameters
    ----------
    inserted
        Tuples that came, or were made, and entered the state.
    probes, outputs, met
        Of the half-way join: tuples that probed, tuples they made, and tuples of the sibling's
        state that they had as possible partners.
    held
        Tuples in the states at the end of it.
    """

    inserted: FloatArray
    probes: FloatArray
    outputs: FloatArray
    met: FloatArray
    held: FloatArray


class Policy(Protocol):
    """Decides how many tuples of each node may probe in a second; infinity for all."""

    def start(self) -> FloatArray:
        """Allowances to begin with."""

    def after(self, at_s: int, second: Second) -> FloatArray:
        """Allowances from now on, given what was counted in the second that ends."""


class Fixed:
    """Allowances that stay.

    Examples
    --------
    >>> Fixed.unlimited(Tree.parse("a b")).start()
    array([inf, inf])
    """

    def __init__(self, allowances: Sequence[float] | FloatArray) -> None:
        self.allowances = np.array(allowances, np.float64)

    @classmethod
    def unlimited(cls, tree: Tree) -> "Fixed":
        """All tuples probe."""
        return cls(np.full(tree.root, np.inf))

    def start(self) -> FloatArray:
        """The allowances."""
        return self.allowances

    def after(self, at_s: int, second: Second) -> FloatArray:
        """The same allowances."""
        return self.allowances


@dataclass(frozen=True, eq=False)
class PlanRun:
    """What a plan did in each virtual second (rows), by node but the root (columns).

    Parameters
    ----------
    inserted, probes, outputs, met
        As in `Second`.
    allowances
        In force in each second.
    made, stale
        Results in each second, and those with a tuple older than its stream's freshness.
    withheld
        Whether stale results were held back.
    """

    inserted: IntArray
    probes: IntArray
    outputs: IntArray
    met: IntArray
    allowances: FloatArray
    made: IntArray
    stale: IntArray
    withheld: bool

    @property
    def results(self) -> IntArray:
        """Results that were given out in each second."""
        return self.made - self.stale if self.withheld else self.made

    def stale_share(self, begin: int = 0, end: int | None = None) -> float:
        """Stale results as a share of all that were made between two seconds; 0 of none."""
        made = self.made[begin:end].sum()
        return float(self.stale[begin:end].sum() / made) if made else 0.0


def plan_window_join(
    traces: Sequence[PlanTrace], join: PlanJoin, policy: Policy, seconds: int | None = None
) -> PlanRun:
    """Run a plan over recorded streams, in the order of time; of one time the left one first.

    Parameters
    ----------
    traces
        The streams, from left to right.
    join
        The plan and its states.
    policy
        Who decides on allowances, once a virtual second.
    seconds
        When to stop; by default after the last tuple.

    Examples
    --------
    >>> import numpy as np
    >>> a, b, c = (PlanTrace.single(np.array([t]), np.array([7])) for t in (0, 4, 9))
    >>> join = PlanJoin(Tree.parse("(a b) c"), sizes=(5, 5, 5, 5), freshness_us=(8, None, None))
    >>> run = plan_window_join([a, b, c], join, Fixed.unlimited(join.tree))
    >>> run.results.tolist(), run.stale.tolist(), run.probes.tolist()
    ([1], [1], [[1, 1, 1, 1]])
    """
    if len(traces) != join.tree.n_streams:
        raise ConfigError(
            f"traces: got {len(traces)}; allowed: {join.tree.n_streams}, one for each stream"
        )
    last = max((int(trace.times[-1]) for trace in traces if len(trace)), default=0)
    run = _Run(traces, join, last // SECOND + 1 if seconds is None else seconds)
    return run.finish(policy)


class _Run:
    def __init__(self, traces: Sequence[PlanTrace], join: PlanJoin, n_seconds: int) -> None:
        self.join, self.n_seconds, self.n = join, n_seconds, join.tree.root
        self.arrivals = merge(traces)
        self.plan = Plan(join, traces)
        self.seen = np.zeros((n_seconds, kernel.N_COUNTS, self.n))
        self.allowances = np.zeros((n_seconds, self.n))

    def finish(self, policy: Policy) -> PlanRun:
        """Go from second to second."""
        allowed = self._allow(0, policy.start(), np.zeros(self.n))
        for second in range(self.n_seconds):
            self.allowances[second] = allowed
            self._advance(second, allowed)
            at = (second + 1) * SECOND
            allowed = self._allow(at, policy.after(second + 1, self._counted(second)), allowed)
        return self._result()

    def _allow(self, at: int, rates: FloatArray, before: FloatArray) -> FloatArray:
        """Settle what was saved up under the allowances before."""
        memory, endless = self.plan.memory, np.isinf(rates)
        earned = np.where(np.isinf(before), 0.0, before) * (at - memory.credited) / SECOND
        saved = np.where(np.isinf(memory.credit), 0.0, memory.credit) + earned
        memory.credit[:] = np.where(endless, np.inf, np.minimum(saved, self._bursts(rates)))
        memory.credited[:] = at
        return rates

    def _bursts(self, rates: FloatArray) -> FloatArray:
        bursts: FloatArray = np.maximum(1.0, rates * self.join.cycle_s)
        return bursts

    def _advance(self, second: int, rates: FloatArray) -> None:
        # Nothing is earned where credit has no end.
        allowed = kernel.Allowed(np.where(np.isinf(rates), 0.0, rates), self._bursts(rates))
        until = (second + 1) * SECOND
        while True:
            plan = self.plan
            full = kernel.run_until(
                until, self.arrivals, plan.plan, plan.memory, allowed, self.seen[second]
            )
            if full == kernel.DONE:
                return
            plan.grow(full)

    def _counted(self, second: int) -> Second:
        seen, states = self.seen[second], self.plan.memory.states
        held = (states[:, kernel.END] - states[:, kernel.LIVE]).astype(np.float64)
        return Second(
            seen[kernel.INSERTED], seen[kernel.PROBES], seen[kernel.OUTPUTS], seen[kernel.MET], held
        )

    def _result(self) -> PlanRun:
        whole = self.seen.astype(np.int64)
        into_root = self.plan.plan.above == self.n
        return PlanRun(
            inserted=whole[:, kernel.INSERTED],
            probes=whole[:, kernel.PROBES],
            outputs=whole[:, kernel.OUTPUTS],
            met=whole[:, kernel.MET],
            allowances=self.allowances,
            made=whole[:, kernel.OUTPUTS][:, into_root].sum(axis=1),
            stale=whole[:, kernel.STALE].sum(axis=1),
            withheld=self.join.withhold,
        )
