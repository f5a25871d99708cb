"""What a plan of many joins costs and yields at given rates, by the model of Mukherji et al."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from streamjoin.core.stream import Stream
from streamjoin.errors import ConfigError
from streamjoin.planning.many.cover import refresh_rates
from streamjoin.planning.many.plan_model import Floats, PathTable, PlanModel
from streamjoin.planning.many.planners import PLANNERS, Analysis, analyse
from streamjoin.planning.many.timed_plan import TimedPlan
from streamjoin.planning.many.tree import Tree
from streamjoin.shedding.rows import FIRST_COST_US
from streamjoin.spark.explain_budget import BATCH_SECONDS
from streamjoin.spark.explain_plan_numbers import (
    HalfWayExplanation,
    PathExplanation,
    PlannerExplanation,
    PlanNumbers,
)
from streamjoin.spark.explain_plan_words import inputs
from streamjoin.spark.plans import MultiPlan

StreamRates = Mapping[str, float]
Selectivities = float | Mapping[str, float] | None
"""Share of the pairs of two inputs that match: of every join, or by its streams, as in "a b"."""

SELECTIVITY: Final = 0.001
"""Where none is said: as with 1,000 keys that are equally frequent."""


def numbers(
    plan: MultiPlan, rates: StreamRates, selectivities: Selectivities = None
) -> PlanNumbers:
    """The model of a plan at given rates."""
    tree = plan.resolved.tree
    sigmas = sigmas_of(tree, selectivities)
    model = model_of(plan, rates, selectivities)
    mu = _resources(plan, rates)
    freshness = _freshness(plan, rates)
    limits = plan.resolved.steps[-1].join.limits
    short = mu is not None and mu < model.saturation_resources
    analyses: list[Analysis] = []
    if limits is not None and mu is not None and short:
        others = [name for name in PLANNERS if name != limits.planner]
        analyses = [analyse(name, model, mu, freshness) for name in (limits.planner, *others)]
    refresh = None if freshness is None else refresh_rates(model, freshness)
    infeasible = None if refresh is None else refresh.infeasible
    allowances = analyses[0].allocation.allowances if analyses else None
    return PlanNumbers(
        rates={name: float(rates[name]) for name in tree.names},
        selectivities={tree.label(tree.n_streams + i): s for i, s in enumerate(sigmas)},
        half_way=tuple(
            _half_way(model, node, allowances, None if refresh is None else refresh.rates)
            for node in range(tree.root)
        ),
        paths=tuple(_paths(model)),
        results=model.saturation_throughput,
        cost=model.saturation_resources,
        unit="probe" if plan.budget is None or plan.budget.rate is not None else "us",
        budget=mu,
        planners=tuple(_planner(one) for one in analyses),
        infeasible=infeasible or (analyses[0].allocation.infeasible if analyses else None),
    )


def check_rates(rates: object, names: Sequence[str]) -> None:
    """Refuse rates that are not positive numbers, one for each stream."""
    given = rates if isinstance(rates, Mapping) else {}
    good = all(_is_positive(rate) for rate in given.values())
    if not given or not good or set(given) != set(names):
        example = ", ".join(f"{name!r}: 300" for name in names)
        msg = f"rates: got {rates!r}; allowed: rows per second of each stream, {{{example}}}"
        raise ConfigError(msg)


def _is_positive(rate: object) -> bool:
    return isinstance(rate, int | float) and not isinstance(rate, bool) and 0 < rate < math.inf


def is_share(sigma: object) -> bool:
    """Whether something is a number above 0 and up to 1."""
    return _is_positive(sigma) and sigma <= 1  # type: ignore[operator]  # a number


def sigmas_of(tree: Tree, selectivities: Selectivities) -> list[float]:
    """A selectivity for each join, in the tree's order."""
    joins = range(tree.n_streams, tree.root + 1)
    labels = {frozenset(tree.streams(node)): i for i, node in enumerate(joins)}
    if selectivities is None or not isinstance(selectivities, Mapping):
        found = [SELECTIVITY if selectivities is None else selectivities] * len(joins)
    else:
        found = [SELECTIVITY] * len(joins)
        for label, sigma in selectivities.items():
            words = str(label).split()
            known = all(word in tree.names for word in words)
            place = labels.get(frozenset(map(tree.names.index, words))) if known else None
            if place is None:
                allowed = ", ".join(repr(tree.label(node)) for node in joins)
                msg = f"selectivities: got {label!r}; allowed: the plan's joins, {allowed}"
                raise ConfigError(msg)
            found[place] = sigma
    for sigma in found:
        if not is_share(sigma):
            msg = f"selectivities: got {sigma!r}; allowed: shares above 0 and up to 1"
            raise ConfigError(msg)
    return [float(sigma) for sigma in found]


def model_of(plan: MultiPlan, rates: StreamRates, selectivities: Selectivities) -> PlanModel:
    """The plan under full load.

    A result of a join is remembered while all its rows are in their windows. So of all pairs of
    remembered tuples of its two inputs, those that match are in its state.
    """
    tree = plan.resolved.tree
    sigmas = sigmas_of(tree, selectivities)
    sizes = [window_tuples(one.stream, rates[name]) for name, one in inputs(plan).items()]
    states = plan.resolved.steps[-1].join.states
    for node in tree.susceptible:
        limit = states[node] if node < len(states) else None
        left, right = tree.children(node)
        full = sigmas[node - tree.n_streams] * sizes[left] * sizes[right]
        sizes.append(full if limit is None else limit * plan.n_shards)
    costs = FIRST_COST_US if plan.budget is not None and plan.budget.rate is None else 1.0
    kind = PlanModel if states else TimedPlan  # what is remembered for a time follows the flow
    return kind.of(tree, [rates[name] for name in tree.names], sizes, sigmas, costs)


def window_tuples(stream: Stream, rate: float) -> float:
    """Tuples in a stream's window."""
    if stream.window_rows is not None:
        return float(stream.window_rows)
    return rate * stream.window_us / 1e6


def _resources(plan: MultiPlan, rates: StreamRates) -> float | None:
    """What may be spent on probes per second, over all shards."""
    limits = plan.resolved.steps[-1].join.limits
    if limits is None:
        return None
    if limits.rate is not None:
        return limits.rate * plan.n_shards
    cpu_us = limits.cpu_us_per_second
    if cpu_us is None:
        cpu_us = (limits.cpu_us_per_batch or 0.0) / BATCH_SECONDS
    return max(0.0, cpu_us * plan.n_shards - FIRST_COST_US * sum(rates.values()))


def _freshness(plan: MultiPlan, rates: StreamRates) -> list[float] | None:
    """Seconds that a tuple of each stream may be in results; None where no state goes stale."""
    join = plan.resolved.steps[-1].join
    if not join.states or not join.freshness:
        return None
    asked = {
        one.name: one.age / rates[one.name] if one.counted else one.age / 1e6
        for one in join.freshness
    }
    return [asked.get(name, math.inf) for name in plan.resolved.tree.names]


def _half_way(
    model: PlanModel, node: int, allowances: Floats | None, refresh: Floats | None
) -> HalfWayExplanation:
    tree = model.tree
    needed = refresh is not None and refresh[node] > 0
    return HalfWayExplanation(
        tuples=tree.label(node),
        probes=tree.label(tree.sibling(node)),
        arriving=float(model.saturation.produced[node]),
        selectivity=float(model.sigmas[tree.sibling(node)]),
        productivity=float(model.productivities[node]),
        state=float(model.sizes[node]),
        allowance=None if allowances is None else float(allowances[node]),
        refresh=float(refresh[node]) if refresh is not None and needed else None,
    )


def _paths(model: PlanModel) -> Iterator[PathExplanation]:
    tree, table = model.tree, PathTable.of(model)
    for stream, path in enumerate(tree.paths):
        yield PathExplanation(
            stream=tree.names[stream],
            steps=tuple(f"{tree.label(n)} -> {tree.label(tree.sibling(n))}" for n in path),
            results=float(table.yields[stream]),
            probes=float(table.uses[stream].sum()),
            productivity=float(table.productivity[stream]),
        )


def _planner(analysis: Analysis) -> PlannerExplanation:
    allocation, model = analysis.allocation, analysis.model
    results = float(
        np.minimum(model.throughput(allocation.allowances), model.saturation_throughput)
    )
    whole = model.saturation_throughput
    return PlannerExplanation(
        planner=allocation.planner,
        results=results,
        share=results / whole if whole else 1.0,
        cover=float(allocation.cover),
        infeasible=allocation.infeasible,
    )
