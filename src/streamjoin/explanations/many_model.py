"""What a plan of many joins costs and yields at given rates, by the model of Mukherji et al."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from streamjoin.core.keys import column_keys
from streamjoin.errors import ConfigError
from streamjoin.explanations.asked import Sample, Selectivities, StreamRates, is_share
from streamjoin.explanations.wording import aligned, cpu_us_per_second, window_tuples, write
from streamjoin.joins.plans import MultiPlan
from streamjoin.planning.many.cover import refresh_rates
from streamjoin.planning.many.plan_model import PathTable, PlanModel
from streamjoin.planning.many.planners import PLANNERS, Analysis, analyse
from streamjoin.planning.many.timed_plan import TimedPlan
from streamjoin.planning.many.tree import Tree
from streamjoin.shedding.rows import FIRST_COST_US

ASSUMED_SELECTIVITY: Final = 0.001
"""Where none is said: as with 1,000 keys that are equally frequent."""
MIN_SELECTIVITY: Final = 1e-12
"""Stands for the selectivity of joins of which a sample has no match."""


@dataclass(frozen=True)
class HalfWay:
    """One half-way join: tuples of one node that probe the state of another."""

    tuples: str  # the first node, by its streams
    probes: str  # the other
    arriving: float  # tuples/s that come to probe, if all before them do
    selectivity: float  # share of the state that matches one of them
    productivity: float  # matches of one
    state: float  # tuples remembered of the first node
    allowance: float | None  # how many may probe per second; None where all may
    refresh: float | None  # new tuples/s that keep the first node's state fresh, where that matters


_COLUMNS: Final[dict[str, Callable[[HalfWay], str]]] = {
    "tuples -> state": lambda one: f"{one.tuples} -> {one.probes}",
    "tuples/s": lambda one: write(one.arriving),
    "sel.": lambda one: f"{one.selectivity:.3g}",
    "finds": lambda one: write(one.productivity),
    "state": lambda one: write(one.state),
    "allowance": lambda one: "all" if one.allowance is None else f"{write(one.allowance)}/s",
    "refresh": lambda one: "" if one.refresh is None else f"{write(one.refresh)}/s",
}
"""Of the table of half-way joins; what is empty everywhere is left out."""


@dataclass(frozen=True)
class PlanNumbers:
    """A plan in numbers, and how these are written."""

    rates: dict[str, float]
    selectivities: dict[str, float]
    half_way: tuple[HalfWay, ...]
    paths: tuple[dict[str, Any], ...]  # the ways of the streams' tuples to the results
    results: float  # per second, when every tuple probes
    cost: float  # of all these probes
    unit: str  # of costs
    budget: float | None  # what may be spent on probes per second
    planners: tuple[dict[str, Any], ...]  # what each makes of it; none where the budget is enough
    infeasible: str | None  # why the freshness asked for cannot be had, whoever plans

    @property
    def share(self) -> float:
        """Part of the results that the budget leaves."""
        return float(self.planners[0]["share"]) if self.planners else 1.0

    def sections(self) -> dict[str, list[str]]:
        """Lines of a report by their titles."""
        columns = [(title, *map(cell, self.half_way)) for title, cell in _COLUMNS.items()]
        shown = [column for column in columns if any(column[1:])]
        table = list(zip(*shown, strict=True))
        return {
            "half-way joins": aligned(table, "<".ljust(len(shown), ">")),
            "paths": aligned([(one["stream"], self._way(one)) for one in self.paths], "<<"),
            "costs": self._costs(),
        }

    def _way(self, path: dict[str, Any]) -> str:
        results, probes, each = (write(path[x]) for x in ("results", "probes", "productivity"))
        yields = f"{results} results for {probes} probes, {each} a {self.unit}"
        return f"{', '.join(path['steps'])}: {yields}"

    def _costs(self) -> list[str]:
        """What the budget comes to."""
        unit = "probes/s" if self.unit == "probe" else "us of CPU/s"
        whole = f"all tuples probe: {write(self.results)} results/s for {write(self.cost)} {unit}"
        if self.budget is None:
            return [whole]
        enough = "" if self.planners else ": enough, nothing is left out"
        part = 100 * self.budget / self.cost if self.cost else 100
        given = f"for probes there are {write(self.budget)} {unit}, {part:.3g} %{enough}"
        rows = []
        for one in self.planners:
            cover = f", {write(one['cover'])} {unit} of it for freshness" if one["cover"] else ""
            share = f"{100 * one['share']:5.3g} %, {write(one['results'])} results/s{cover}"
            rows.append((one["planner"], share))
        return [whole, given, *aligned(rows, "<<")]


def numbers_of(plan: MultiPlan, model: PlanModel) -> PlanNumbers:
    """A plan at the rates of its model."""
    tree, limits = plan.resolved.tree, plan.join.limits
    rates = dict(zip(tree.names, model.rates.tolist(), strict=True))
    mu, freshness = _resources(plan, rates), _freshness(plan, rates)
    analyses: list[Analysis] = []
    if limits is not None and mu is not None and mu < model.saturation_resources:
        others = [name for name in PLANNERS if name != limits.planner]
        analyses = [analyse(name, model, mu, freshness) for name in (limits.planner, *others)]
    refresh = None if freshness is None else refresh_rates(model, freshness)
    chosen = analyses[0].allocation if analyses else None
    infeasible = None if refresh is None else refresh.infeasible
    if infeasible is None and chosen is not None:
        infeasible = chosen.infeasible
    joins = {tree.label(tree.n_streams + i): left for i, (left, _) in enumerate(tree.joins)}
    half_way = [
        HalfWay(
            tuples=tree.label(node),
            probes=tree.label(tree.sibling(node)),
            arriving=float(model.saturation.produced[node]),
            selectivity=float(model.sigmas[tree.sibling(node)]),
            productivity=float(model.productivities[node]),
            state=float(model.sizes[node]),
            allowance=None if chosen is None else float(chosen.allowances[node]),
            refresh=None if refresh is None else float(refresh.rates[node]) or None,
        )
        for node in range(tree.root)
    ]
    return PlanNumbers(
        rates=rates,
        selectivities={label: float(model.sigmas[left]) for label, left in joins.items()},
        half_way=tuple(half_way),
        paths=tuple(_paths(model)),
        results=model.saturation_throughput,
        cost=model.saturation_resources,
        unit="probe" if plan.budget is None or plan.budget.rate is not None else "us",
        budget=mu,
        planners=tuple(_planner(one) for one in analyses),
        infeasible=infeasible,
    )


def sigmas_of(tree: Tree, selectivities: Selectivities) -> list[float]:
    """A selectivity for each join, in the tree's order."""
    joins = range(tree.n_streams, tree.root + 1)
    by_streams = {frozenset(tree.streams(node)): i for i, node in enumerate(joins)}
    every = ASSUMED_SELECTIVITY
    if selectivities is not None and not isinstance(selectivities, Mapping):
        every = selectivities
    sigmas = [every] * len(joins)
    for label, sigma in selectivities.items() if isinstance(selectivities, Mapping) else ():
        names = str(label).split()
        known = all(name in tree.names for name in names)
        place = by_streams.get(frozenset(map(tree.names.index, names))) if known else None
        if place is None:
            allowed = ", ".join(repr(tree.label(node)) for node in joins)
            raise ConfigError.at("selectivities", repr(label), f"the plan's joins, {allowed}")
        sigmas[place] = sigma
    for sigma in sigmas:
        if not is_share(sigma):
            raise ConfigError.at("selectivities", repr(sigma), "shares above 0 and up to 1")
    return [float(sigma) for sigma in sigmas]


def model_of(plan: MultiPlan, rates: StreamRates, selectivities: Selectivities) -> PlanModel:
    """The plan under full load.

    A result of a join is remembered while all its rows are in their windows. So of all pairs of
    remembered tuples of its two inputs, those that match are in its state.
    """
    tree = plan.resolved.tree
    sigmas = sigmas_of(tree, selectivities)
    sizes = [window_tuples(one, rates[name]) for name, one in plan.streams.items()]
    states = plan.join.states
    for node in tree.susceptible:
        limit = states[node] if node < len(states) else None
        left, right = tree.children(node)
        full = sigmas[node - tree.n_streams] * sizes[left] * sizes[right]
        sizes.append(full if limit is None else limit * plan.n_shards)
    costs = FIRST_COST_US if plan.budget is not None and plan.budget.rate is None else 1.0
    kind = PlanModel if states else TimedPlan  # what is remembered for a time follows the flow
    return kind.of(tree, [rates[name] for name in tree.names], sizes, sigmas, costs)


def _resources(plan: MultiPlan, rates: StreamRates) -> float | None:
    """What may be spent on probes per second, over all shards."""
    limits = plan.join.limits
    if limits is None:
        return None
    if limits.rate is not None:
        return limits.rate * plan.n_shards
    cpu_us = cpu_us_per_second(limits, plan.n_shards) or 0.0
    return max(0.0, cpu_us - FIRST_COST_US * sum(rates.values()))


def _freshness(plan: MultiPlan, rates: StreamRates) -> list[float] | None:
    """Seconds that a tuple of each stream may be in results; None where no state goes stale."""
    join = plan.join
    if not join.states or not join.freshness:
        return None
    asked = {
        one.name: one.age / rates[one.name] if one.counted else one.age / 1e6
        for one in join.freshness
    }
    return [asked.get(name, math.inf) for name in plan.resolved.tree.names]


def _paths(model: PlanModel) -> Iterator[dict[str, Any]]:
    """Of each stream: its half-way joins, and what one of its tuples yields and takes."""
    tree, table = model.tree, PathTable.of(model)
    for stream, path in enumerate(tree.paths):
        yield {
            "stream": tree.names[stream],
            "steps": tuple(f"{tree.label(n)} -> {tree.label(tree.sibling(n))}" for n in path),
            "results": float(table.yields[stream]),
            "probes": float(table.uses[stream].sum()),
            "productivity": float(table.productivity[stream]),
        }


def _planner(analysis: Analysis) -> dict[str, Any]:
    """What a planner makes of the budget; `cover` of it keeps states fresh."""
    allocation, model = analysis.allocation, analysis.model
    whole = model.saturation_throughput
    results = float(np.minimum(model.throughput(allocation.allowances), whole))
    return {
        "planner": allocation.planner,
        "results": results,
        "share": results / whole if whole else 1.0,
        "cover": float(allocation.cover),
        "infeasible": allocation.infeasible,
    }


def sampled_selectivities(plan: MultiPlan, samples: Mapping[str, Sample]) -> dict[str, float]:
    """Selectivity of each join of a plan, as if keys did not depend on time or on each other."""
    tree, keys = plan.resolved.tree, plan.resolved.keys
    shares = [
        {name: _shares(samples[name].rows[column]) for name, column in one.columns.items()}
        for one in keys.classes
    ]

    def joint(streams: tuple[int, ...]) -> float:
        names = {tree.names[i] for i in streams}
        return math.prod(_equal([x for name, x in one.items() if name in names]) for one in shares)

    sigmas = {}
    for node in range(tree.n_streams, tree.root + 1):
        left, right = (tuple(tree.streams(child)) for child in tree.children(node))
        both = joint(left) * joint(right)
        sigmas[tree.label(node)] = max(joint(left + right) / both if both else 0.0, MIN_SELECTIVITY)
    return sigmas


def _shares(column: pa.ChunkedArray) -> dict[int, float]:
    """Which part of the rows has each value, by its hash."""
    hashes = column_keys(column.combine_chunks())
    values, counts = np.unique(hashes, return_counts=True)
    return dict(zip(values.tolist(), (counts / max(1, len(hashes))).tolist(), strict=True))


def _equal(shares: list[dict[int, float]]) -> float:
    """The chance that one row of each has the same value."""
    if len(shares) < 2:
        return 1.0
    first, *others = sorted(shares, key=len)
    return sum(
        share * math.prod(other.get(value, 0.0) for other in others)
        for value, share in first.items()
    )
