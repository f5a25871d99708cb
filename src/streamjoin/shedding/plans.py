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

from streamjoin.planning.many.plan_model import Floats, PlanModel
from streamjoin.planning.many.planners import Adaptation, Analysis, Decision
from streamjoin.planning.many.timed_plan import EXPLORED, TimedPlan
from streamjoin.planning.many.tree import Tree
from streamjoin.shedding.limits import PlanLimits, StreamClock

_BY_NODE: Final = ("arrived", "probed", "found", "all_arrived", "all_found", "sizes", "probe_us")
MIN_PROBES: Final = 30
"""Probes from which a half-way join's own productivity is believed; with fewer, its join's."""
MAX_BATCHES: Final = 8
"""Batches over which is averaged."""
SPARE_FROM: Final = 0.95
"""All tuples probe where that takes no more than this part of what there is; the rest is shared."""


@dataclass(frozen=True)
class Observed:
    """What one batch showed, by node where there is a list.

    Examples
    --------
    >>> one = Observed(1.0, *([[4.0, 0.0]] * 7), 10.0)
    >>> other = Observed(1.0, *([[0.0, 2.0]] * 7), 6.0)
    >>> both = Observed.together([one, other], shards=2)
    >>> both.arrived, both.receive_us
    ([2.0, 1.0], 8.0)
    """

    seconds: float  # event time that it brought
    arrived: list[float]  # tuples that came,
    probed: list[float]  # that probed,
    found: list[float]  # and that probing formed
    all_arrived: list[float]  # as many as there would be if all tuples probed; estimates
    all_found: list[float]
    sizes: list[float]  # tuples that were stored
    probe_us: list[float]  # CPU time of probes
    receive_us: float  # and of everything else

    @classmethod
    def begun(cls, seconds: float, sizes: list[float]) -> "Observed":
        """A batch of which nothing but the sizes of states is known."""
        values: dict[str, Any] = {name: [0.0] * len(sizes) for name in _BY_NODE}
        return cls(seconds, **{**values, "sizes": sizes}, receive_us=0.0)

    def on(self, nodes: Sequence[int], n_nodes: int) -> "Observed":
        """The same of nodes that have other numbers in a larger plan."""

        def placed(values: list[float]) -> list[float]:
            by_node = dict(zip(nodes, values, strict=True))
            return [by_node.get(node, 0.0) for node in range(n_nodes)]

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


@dataclass(frozen=True)
class Whole:
    """The plan that an operator has a part of."""

    tree: Tree
    nodes: tuple[int, ...]  # numbers in it of the operator's nodes
    observed: Observed | None  # what all operators showed in the batch before, if that is known


class Averages:
    """Windowed averages of what batches showed in some seconds of event time (JAQ-A25)."""

    def __init__(self, observed: list[Observed], seconds: float) -> None:
        self._n, self._seconds = len(observed), seconds
        self._batches = {
            name: np.array([getattr(one, name) for one in observed], np.float64)
            for name in _BY_NODE
        }
        sums = {name: values.sum(axis=0) for name, values in self._batches.items()}
        self._arrived, self._probed, self._found = sums["arrived"], sums["probed"], sums["found"]
        self._all_arrived, self._all_found = sums["all_arrived"], sums["all_found"]
        # in a batch in which none has probed, those that came stand for nothing that was found
        probing = self._batches["probed"] > 0
        self._all_probed = np.where(probing, self._batches["all_arrived"], 0.0).sum(axis=0)
        self._sizes: Floats = sums["sizes"] / self._n
        self._receive_us = sum(one.receive_us for one in observed)

    def model(self, tree: Tree, *, in_time: bool) -> PlanModel:
        """The plan with these numbers; `in_time`: probes cost CPU time, else one each."""
        sigmas = self._sigmas(tree, self._found, self._probed, self._sizes)
        return self._model(tree, self._sizes, sigmas, in_time)

    def timed_plan(self, tree: Tree, *, in_time: bool) -> TimedPlan:
        """The plan as it would be if all tuples probed."""
        more = np.divide(
            self._all_arrived, self._arrived, out=np.ones(tree.root), where=self._arrived > 0
        )
        sizes = self._sizes * more
        sigmas = self._sigmas(tree, self._all_found, self._all_probed, sizes)
        model = self._model(tree, sizes, sigmas, in_time)
        return TimedPlan(tree, model.rates, model.sizes, model.sigmas, model.costs)

    def _model(self, tree: Tree, sizes: Floats, sigmas: Floats, in_time: bool) -> PlanModel:
        rates: Floats = self._arrived[: tree.n_streams] / self._seconds
        return PlanModel.of(tree, rates, sizes, sigmas, self._costs(tree) if in_time else 1.0)

    def _sigmas(self, tree: Tree, matches: Floats, probed: Floats, sizes: Floats) -> Floats:
        """Selectivity on each state; where few have probed it, that of the whole join."""
        siblings = [tree.sibling(node) for node in range(tree.root)]
        pairs = probed * sizes[siblings]  # that were compared, were there no index
        own = (self._probed >= MIN_PROBES) & (pairs > 0)
        matches = np.where(own, matches, matches + matches[siblings])
        pairs = np.where(own, pairs, pairs + pairs[siblings])
        on_sibling = np.divide(matches, pairs, out=np.zeros(tree.root), where=pairs > 0)
        sigmas: Floats = on_sibling[siblings]
        return sigmas

    def _costs(self, tree: Tree) -> Floats:
        """CPU time of one probe of each node, with what it finds."""
        _, probe, find = self._prices(tree)
        total = float(self._found.sum()) / max(float(self._probed.sum()), 1.0)
        known = self._probed >= MIN_PROBES
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
        values = self._batches
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
        weights, *_ = np.linalg.lstsq(columns[:, at], values)
        error = values - columns[:, at] @ weights
        if weights.min() >= 0 and error @ error < least:
            best, least = np.zeros(columns.shape[1]), float(error @ error)
            best[at] = weights
    return best


@dataclass
class AllowanceState(StreamClock):
    """What one shard knows of its plan; part of the directory.

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

    observed: list[Observed] = field(default_factory=list)  # the last batches
    allowances: list[float] | None = None  # probes per second of each node; None while all may
    credit: list[float] = field(default_factory=list)
    """Probes that each node has left from batches before; less than 0 if it made too many."""
    adaptation: Adaptation = field(default_factory=Adaptation)
    infeasible: str | None = None  # why the freshness asked for cannot be had; None if it can

    def to_dict(self) -> dict[str, Any]:
        """Values that JSON can hold."""
        observed = [asdict(one) for one in self.observed]
        return {**vars(self), "observed": observed, "adaptation": self.adaptation.to_dict()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "AllowanceState":
        """Read `to_dict` back."""
        observed = [Observed(**one) for one in values["observed"]]
        adaptation = Adaptation.from_dict(values["adaptation"])
        return cls(**{**values, "observed": observed, "adaptation": adaptation})

    def observe(self, batch: Observed) -> None:
        """Remember what a batch showed."""
        self.observed = [*self.observed, batch][-MAX_BATCHES:]

    def allow(self, allowances: list[float]) -> None:
        """Take over new allowances."""
        self.allowances = allowances
        self.credit = self.credit or [allowance * self.pace for allowance in allowances]

    def ask(self, question: "Question") -> None:
        """Keep what an analysis starts from, and learn how well the last prediction held."""
        self.adaptation.analysed(question.values)
        if question.outcome is not None:
            self.adaptation.learn(*question.outcome)

    def keep(self, verdict: "Verdict") -> None:
        """Take over what became of an analysis."""
        self.infeasible = verdict.infeasible
        if verdict.decision is not None:
            self.adaptation.record(verdict.decision, is_first=verdict.is_first)
        if verdict.allowances is not None:
            self.allow(verdict.allowances)

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


@dataclass(frozen=True)
class Verdict:
    """What became of an analysis."""

    allowances: list[float] | None  # to be taken over; None if those of before stay
    adapted: bool  # whether that changes what the plan gives
    infeasible: str | None = None  # why the freshness asked for cannot be had
    decision: Decision | None = None  # for the log
    is_first: bool = False  # whether there was none before


@dataclass(frozen=True)
class Question:
    """What an analysis is asked: everything that it depends on, and why."""

    model: PlanModel
    mu: float  # what may be spent
    freshness: tuple[float, ...] | None  # of each stream in seconds, where states can go stale
    reason: str
    values: Mapping[str, float]  # that are watched
    outcome: tuple[float, float] | None  # results that the last decision promised, and those seen

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
        rates = zip(tree.names, model.rates, strict=True)
        values = {f"rate of {name}": float(rate) for name, rate in rates}
        for node, rho in enumerate(model.productivities):
            values[f"productivity of {tree.label(node)}"] = float(rho)
        values["resources"] = mu
        reason = state.adaptation.should_analyse(values)
        if not reason:
            return None
        last, outcome = next(iter(reversed(state.adaptation.decisions)), None), None
        if last is not None and last.actuated and len(state.observed) == MAX_BATCHES:
            outcome = last.after, averages.results(tree)
        stale = limits.limited and any(math.isfinite(age) for age in limits.freshness)
        return cls(model, mu, limits.freshness if stale else None, reason, values, outcome)

    def judge(self, state: AllowanceState, analysis: Analysis, at: float) -> Verdict:
        """Whether to take over what an analysis recommends: if that promises enough."""
        model, mu, before = self.model, self.mu, state.allowances
        spare = mu - model.saturation_resources
        if spare >= (1 - SPARE_FROM) * mu:
            enough = model.saturation.probes + spare / model.costs / model.tree.root
            gains = before is None or model.throughput(before) < model.saturation_throughput
            return Verdict(enough.tolist(), gains)
        # those that a plan starts with are nobody's decision
        current = before if state.adaptation.decisions else None
        decision = state.adaptation.judge(at, self.reason, current, analysis)
        recommended = analysis.allocation
        allowances = self._explored(recommended.allowances).tolist() if decision.actuated else None
        return Verdict(
            allowances, decision.actuated, recommended.infeasible, decision, current is None
        )

    def _explored(self, allowances: Floats) -> Floats:
        """Allowances with some probes for all nodes, within the resources."""
        model, mu = self.model, self.mu
        if isinstance(model, TimedPlan) or not model.saturation_resources:
            return allowances
        some = EXPLORED * mu / model.saturation_resources * model.saturation.probes
        more: Floats = np.maximum(allowances, some)
        return more * min(1.0, mu / max(float(model.costs @ more), 1e-9))
