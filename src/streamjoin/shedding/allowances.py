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
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

import numpy as np

from streamjoin.planning.adaptation import Adaptation
from streamjoin.planning.analysis import Analysis
from streamjoin.planning.plan_model import Floats, PlanModel
from streamjoin.planning.timed_plan import EXPLORED, TimedPlan
from streamjoin.planning.tree import Tree
from streamjoin.shedding.stream_clock import StreamClock

MEMORY: Final = 8
"""Batches over which is averaged."""
ENOUGH: Final = 30
"""Probes from which a half-way join's own productivity is believed; with fewer, its join's."""
CLEARLY: Final = 0.95
"""All tuples probe where that takes no more than this part of what there is; the rest is shared."""


@dataclass(frozen=True)
class PlanLimits:
    """What probing may take in one shard: values only.

    Parameters
    ----------
    planner
        Who divides it, one of `planning.planners.PLANNERS`.
    rate
        Probes for a second of the streams.
    cpu_us_per_second, cpu_us_per_batch
        Or CPU time, for a second of the streams or for a batch; to receive rows is a part of it.
    freshness
        Age in seconds that a tuple of each stream may have in a result; infinity for any.
    limited
        Whether joins remember a number of tuples: only then their states can go stale.
    chained
        Whether the joins are on different keys, hence done by several operators.
    """

    planner: str = "jaqpot"
    rate: float | None = None
    cpu_us_per_second: float | None = None
    cpu_us_per_batch: float | None = None
    freshness: tuple[float, ...] = ()
    limited: bool = False
    chained: bool = False

    def over_shards(self, n_shards: int, n_cores: int) -> "PlanLimits":
        """The part of one shard.

        Examples
        --------
        >>> PlanLimits(cpu_us_per_second=5e5).over_shards(8, n_cores=4).cpu_us_per_second
        250000.0
        """
        second, batch = self.cpu_us_per_second, self.cpu_us_per_batch
        return replace(
            self,
            rate=None if self.rate is None else self.rate / n_shards,
            # A shard runs on one core at a time, however many there are.
            cpu_us_per_second=None if second is None else second * min(1.0, n_cores / n_shards),
            cpu_us_per_batch=None if batch is None else batch / n_shards,
        )


@dataclass(frozen=True)
class Observed:
    """What one batch showed.

    Parameters
    ----------
    seconds
        Event time that it brought.
    arrived, probed, found
        Tuples of each node that came, that probed, and that probing formed.
    all_arrived, all_found
        As many as there would be if all tuples probed; estimates.
    sizes
        Tuples that were stored of each node.
    probe_us
        CPU time of each node's probes.
    receive_us
        CPU time of everything else.

    Examples
    --------
    >>> one = Observed(1.0, *([[4.0, 0.0]] * 7), 10.0)
    >>> other = Observed(1.0, *([[0.0, 2.0]] * 7), 6.0)
    >>> both = Observed.together([one, other], shards=2)
    >>> both.arrived, both.receive_us
    ([2.0, 1.0], 8.0)
    """

    seconds: float
    arrived: list[float]
    probed: list[float]
    found: list[float]
    all_arrived: list[float]
    all_found: list[float]
    sizes: list[float]
    probe_us: list[float]
    receive_us: float

    def on(self, nodes: Sequence[int], n_nodes: int) -> "Observed":
        """The same of nodes that have other numbers in a larger plan."""

        def placed(values: list[float]) -> list[float]:
            found = [0.0] * n_nodes
            for node, value in zip(nodes, values, strict=True):
                found[node] = value
            return found

        values: dict[str, Any] = {name: placed(getattr(self, name)) for name in _BY_NODE}
        return replace(self, **values)

    @classmethod
    def together(cls, parts: "Sequence[Observed]", shards: int) -> "Observed":
        """What operators of one plan showed, each with so many shards: of an average shard."""
        sums = {
            name: [
                sum(values) / shards
                for values in zip(*(getattr(p, name) for p in parts), strict=True)
            ]
            for name in _BY_NODE
        }
        seconds = max(part.seconds for part in parts)
        return cls(seconds, **sums, receive_us=sum(part.receive_us for part in parts) / shards)


_BY_NODE: Final = ("arrived", "probed", "found", "all_arrived", "all_found", "sizes", "probe_us")


@dataclass(frozen=True)
class Whole:
    """The plan that an operator has a part of.

    Parameters
    ----------
    tree
        All of it.
    nodes
        Numbers in it of the operator's nodes.
    observed
        What all operators showed in the batch before; None if that is not known.
    """

    tree: Tree
    nodes: tuple[int, ...]
    observed: Observed | None


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

    def averages(self) -> "Averages | None":
        """What the last batches showed on average; None before time has moved."""
        seconds = sum(one.seconds for one in self.observed)
        return Averages(self.observed, seconds) if seconds > 0 else None


class Averages:
    """Windowed averages of what batches showed (JAQ-A25).

    Parameters
    ----------
    observed
        The batches.
    seconds
        Event time of all of them.
    """

    def __init__(self, observed: list[Observed], seconds: float) -> None:
        self._n, self._seconds, self._observed = len(observed), seconds, observed
        self._arrived, self._probed, self._found, sizes, self._probe_us = (
            np.array([getattr(one, name) for one in observed], np.float64).sum(axis=0)
            for name in ("arrived", "probed", "found", "sizes", "probe_us")
        )
        self._all_arrived, self._all_found = (
            np.array([getattr(one, name) for one in observed], np.float64).sum(axis=0)
            for name in ("all_arrived", "all_found")
        )
        # in a batch in which none has probed, those that came stand for nothing that was found
        self._all_probed: Floats = np.sum(
            [np.where(np.array(one.probed) > 0, one.all_arrived, 0.0) for one in observed], axis=0
        )
        self._sizes: Floats = sizes / self._n
        self._receive_us = sum(one.receive_us for one in observed)

    def model(self, tree: Tree, *, in_time: bool) -> PlanModel:
        """The plan with these numbers; `in_time`: probes cost CPU time, else one each."""
        sigmas = self._sigmas(tree, self._found, self._probed, self._sizes)
        costs = self._costs(tree) if in_time else 1.0
        return PlanModel.of(tree, self._rates(tree), self._sizes, sigmas, costs)

    def timed_plan(self, tree: Tree, *, in_time: bool) -> TimedPlan:
        """The plan as it would be if all tuples probed."""
        more = np.divide(
            self._all_arrived, self._arrived, out=np.ones(tree.root), where=self._arrived > 0
        )
        sizes = self._sizes * more
        sigmas = self._sigmas(tree, self._all_found, self._all_probed, sizes)
        costs = self._costs(tree) if in_time else 1.0
        model = PlanModel.of(tree, self._rates(tree), sizes, sigmas, costs)
        return TimedPlan(tree, model.rates, model.sizes, model.sigmas, model.costs)

    def _rates(self, tree: Tree) -> Floats:
        rates: Floats = self._arrived[: tree.n_streams] / self._seconds
        return rates

    def _sigmas(self, tree: Tree, found: Floats, probed: Floats, sizes: Floats) -> Floats:
        """Selectivity on each state; where few have probed it, that of the whole join."""
        siblings = [tree.sibling(node) for node in range(tree.root)]
        pairs = probed * sizes[siblings]  # that were compared, were there no index
        own = (self._probed >= ENOUGH) & (pairs > 0)
        found = np.where(own, found, found + found[siblings])
        pairs = np.where(own, pairs, pairs + pairs[siblings])
        on_sibling = np.divide(found, pairs, out=np.zeros(tree.root), where=pairs > 0)
        sigmas: Floats = on_sibling[siblings]
        return sigmas

    def _costs(self, tree: Tree) -> Floats:
        """CPU time of one probe of each node, with what it finds."""
        _, probe, find = self._prices(tree)
        total = float(self._found.sum()) / max(float(self._probed.sum()), 1.0)
        known = self._probed >= ENOUGH
        finds = np.divide(
            self._found, self._probed, out=np.full_like(self._probed, total), where=known
        )
        floor: Floats = np.maximum(probe + find * finds, 1e-3)
        return floor

    def _prices(self, tree: Tree) -> Floats:
        """CPU time of passing a tuple of the partner, of a probe, and of a tuple that it forms.

        The first is to be paid however few tuples probe.
        """
        siblings = [tree.sibling(node) for node in range(tree.root)]
        values = {
            name: np.array([getattr(one, name) for one in self._observed], np.float64)
            for name in ("arrived", "sizes", "probed", "found", "probe_us")
        }
        passed = (values["arrived"] + values["sizes"])[:, siblings]
        columns = np.stack([x.ravel() for x in (passed, values["probed"], values["found"])], axis=1)
        return _not_negative(columns, values["probe_us"].ravel())

    def results(self, tree: Tree) -> float:
        """Results per second."""
        return float(self._found[list(tree.children(tree.root))].sum()) / self._seconds

    def resources(self, limits: PlanLimits, tree: Tree) -> float:
        """What may be spent on probes per second, in the model's unit."""
        if limits.rate is not None:
            return limits.rate
        per_second = limits.cpu_us_per_second
        if per_second is None:
            assert limits.cpu_us_per_batch is not None
            per_second = limits.cpu_us_per_batch * self._n / self._seconds
        passed = float((self._arrived + self._n * self._sizes).sum())
        fixed = self._receive_us + float(self._prices(tree)[0]) * passed
        return max(0.0, per_second - fixed / self._seconds)


def _not_negative(columns: Floats, values: Floats) -> Floats:
    """The weights of columns that come nearest to values, none below 0: the best of all subsets."""
    best, least = np.zeros(columns.shape[1]), float(values @ values)
    for chosen in range(1, 1 << columns.shape[1]):
        at = [i for i in range(columns.shape[1]) if chosen >> i & 1]
        found, *_ = np.linalg.lstsq(columns[:, at], values)
        error = values - columns[:, at] @ found
        if found.min() >= 0 and error @ error < least:
            best, least = np.zeros(columns.shape[1]), float(error @ error)
            best[at] = found
    return best


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
