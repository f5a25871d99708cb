"""How many tuples of each node of a plan may probe, batch by batch (JAQ-A1, JAQ-A25).

The *probe-limit* semantics (X-1): every tuple is kept; the half-way joins that yield most probe.
What a batch may do was decided before it began, from what earlier ones measured; so a batch that
is run again decides the same. While it runs, the analysis for the next one does too, in a thread of
its own. Only the first one comes at once.

What a node does not use it may use later, up to what one batch gives it; so a stream that comes in
small waves loses nothing.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import numpy as np

from streamjoin.planning.many.plan_model import Floats, PlanModel
from streamjoin.planning.many.planners import Adaptation, Analysis
from streamjoin.planning.many.timed_plan import EXPLORED, TimedPlan
from streamjoin.planning.many.tree import Tree
from streamjoin.shedding.plan_averages import Averages
from streamjoin.shedding.plan_limits import Observed, PlanLimits
from streamjoin.shedding.stream_clock import StreamClock

MEMORY: Final = 8
"""Batches over which is averaged."""
CLEARLY: Final = 0.95
"""All tuples probe where that takes no more than this part of what there is; the rest is shared."""


@dataclass
class AllowanceState(StreamClock):
    """What one shard knows of its plan; part of the directory.

    Parameters
    ----------
    observed
        The last batches.
    allowances
        Probes per second of each node; None while all may.
    credit
        Probes that each node has left from batches before; less than 0 if it made too many.
    adaptation
        When to think again, and what was decided.
    infeasible
        Why the freshness asked for cannot be had; None if it can.

    Examples
    --------
    >>> state = AllowanceState(pace=1.0)
    >>> state.allow([10.0, 2.0])
    >>> state.allowed(0, seconds=1.0), state.allowed(1, seconds=1.0)
    (20.0, 4.0)
    >>> state.use(0, 14, seconds=1.0)
    >>> state.allowed(0, seconds=1.0)
    16.0
    """

    observed: list[Observed] = field(default_factory=list)
    allowances: list[float] | None = None
    credit: list[float] = field(default_factory=list)
    adaptation: Adaptation = field(default_factory=Adaptation)
    infeasible: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Values that JSON can hold."""
        return {
            "clock": self.clock,
            "pace": self.pace,
            "observed": [asdict(one) for one in self.observed],
            "allowances": self.allowances,
            "credit": self.credit,
            "adaptation": self.adaptation.to_dict(),
            "infeasible": self.infeasible,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "AllowanceState":
        """Read `to_dict` back."""
        observed = [Observed(**one) for one in values["observed"]]
        adaptation = Adaptation.from_dict(values["adaptation"])
        return cls(**{**values, "observed": observed, "adaptation": adaptation})

    def observe(self, batch: Observed) -> None:
        """Remember what a batch showed."""
        self.observed = [*self.observed, batch][-MEMORY:]

    def allow(self, allowances: list[float]) -> None:
        """Take over new allowances."""
        self.allowances = allowances
        self.credit = self.credit or [allowance * self.pace for allowance in allowances]

    def told(self, names: Sequence[str]) -> dict[str, Any]:
        """What was decided lately, in words and numbers for people."""
        allowances = self.allowances or []
        return {
            "allowances_per_second": dict(zip(names, allowances, strict=False)),
            "infeasible": self.infeasible,
            "epsilon": self.adaptation.epsilon,
            "p": self.adaptation.p,
            "decisions": [asdict(one) for one in self.adaptation.decisions],
        }

    def forget(self) -> None:
        """Start again, as another plan runs: with as many probes, the same for each node."""
        if self.allowances is not None:
            nodes = len(self.allowances)
            self.allowances = [sum(self.allowances) / nodes] * nodes
            self.credit = [sum(self.credit) / nodes] * nodes
        self.observed = []

    @property
    def part(self) -> float:
        """Part of the tuples that have probed lately."""
        arrived = sum(sum(one.arrived) for one in self.observed)
        probed = sum(sum(one.probed) for one in self.observed)
        return max(probed / arrived, 1e-6) if arrived else 1.0

    def allowed(self, node: int, seconds: float) -> float:
        """Probes of a node in a batch of so many seconds."""
        if self.allowances is None:
            return math.inf
        return self.allowances[node] * seconds + self.credit[node]

    def use(self, node: int, probes: int, seconds: float) -> None:
        """Tell how many a node has made; what is left is kept, up to what one batch gives."""
        if self.allowances is not None:
            left = self.allowed(node, seconds) - probes
            self.credit[node] = min(left, max(1.0, self.allowances[node] * self.pace))

    def finds(self, tree: Tree, *, limited: bool) -> Floats:
        """Tuples that a probe of each node forms, if all tuples probe; 0 while nothing is known."""
        averages = self.averages()
        if averages is None:
            return np.zeros(tree.root)
        make = averages.model if limited else averages.timed_plan
        return make(tree, in_time=False).productivities

    def averages(self) -> Averages | None:
        """What the last batches showed on average; None before time has moved."""
        seconds = sum(one.seconds for one in self.observed)
        return Averages(self.observed, seconds) if seconds > 0 else None


def watched(model: PlanModel, mu: float) -> dict[str, float]:
    """The numbers whose change is a reason to think again."""
    values = {
        f"rate of {name}": float(r) for name, r in zip(model.tree.names, model.rates, strict=True)
    }
    for node, rho in enumerate(model.productivities):
        values[f"productivity of {model.tree.label(node)}"] = float(rho)
    return {**values, "resources": mu}


@dataclass(frozen=True)
class Question:
    """What an analysis is asked: everything that it depends on.

    Parameters
    ----------
    model, mu
        The plan, and what may be spent.
    freshness
        Of each stream in seconds, where states can go stale.
    reason
        Why it is asked.
    """

    model: PlanModel
    mu: float
    freshness: tuple[float, ...] | None
    reason: str

    @classmethod
    def of(cls, limits: PlanLimits, state: AllowanceState, tree: Tree) -> "Question | None":
        """The question of a batch; None if nothing has changed by more than epsilon."""
        averages = state.averages()
        if averages is None:
            return None
        # operators with different keys do not choose tuples of the same ones
        timed = not (limits.limited or limits.chained) and limits.planner in ("jaqpot", "exact")
        make = averages.timed_plan if timed else averages.model
        model, mu = make(tree, in_time=limits.rate is None), averages.resources(limits, tree)
        values = watched(model, mu)
        reason = state.adaptation.should_analyse(values)
        if not reason:
            return None
        state.adaptation.analysed(values)
        last = next(iter(reversed(state.adaptation.decisions)), None)
        if last is not None and last.actuated and len(state.observed) == MEMORY:
            state.adaptation.learn(predicted=last.after, observed=averages.results(tree))
        stale = limits.limited and any(math.isfinite(age) for age in limits.freshness)
        return cls(model, mu, limits.freshness if stale else None, reason)

    def decide(self, state: AllowanceState, analysis: Analysis, at: float) -> bool:
        """Take over what an analysis recommends, if that promises enough; whether it did."""
        state.infeasible = analysis.allocation.infeasible
        model, mu = self.model, self.mu
        spare = mu - model.saturation_resources
        if spare >= (1 - CLEARLY) * mu:
            enough = model.saturation.probes + spare / model.costs / model.tree.root
            before, state.infeasible = state.allowances, None
            state.allow(enough.tolist())
            return before is None or model.throughput(before) < model.saturation_throughput
        # those that a plan starts with are nobody's decision
        current = state.allowances if state.adaptation.decisions else None
        decision = state.adaptation.decide(at, self.reason, current, analysis)
        if decision.actuated:
            state.allow(self._explored(analysis.allocation.allowances).tolist())
        return decision.actuated

    def _explored(self, allowances: Floats) -> Floats:
        """Allowances with some probes for all nodes, within the resources."""
        model, mu = self.model, self.mu
        if isinstance(model, TimedPlan) or not model.saturation_resources:
            return allowances
        some = EXPLORED * mu / model.saturation_resources * model.saturation.probes
        more: Floats = np.maximum(allowances, some)
        return more * min(1.0, mu / max(float(model.costs @ more), 1e-9))
