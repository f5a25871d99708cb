"""Planners of a plan of many joins: JAQPOT, GrePP, heuristics and the optimum (Mukherji 2011).

*GrePP and JAQPOT* (Section 4) divide the resources among paths. Paths take any amount, and filling
them in the order of their productivity, `fill`, is the optimum (JAQ-A18); JAQPOT keeps intermediate
states fresh first.

*Heuristics* (Section 2 and Appendix B) look at half-way joins only. Each divides the resources
among half-way joins by their own productivity, and does not see that one feeds the other. What a
half-way join cannot use is lost, as in the paper's Table 4; with `redistribute` it goes to those
that can use more, by the same rule (JAQ-I13).

*The optimum*. With continuous amounts both steps of JAQPOT are one linear programme: the most
results such that the resources suffice, no path has more tuples than its stream, and every state is
covered. JAQPOT is greedy in its first step (JAQ-I7); `exact` asks the HiGHS solver. Its variables
are *runs*: a path, all the way to the root as in the paper, or without the producer-consumer
`match` also part of a path, as what refreshes a state need not probe on.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from streamjoin.planning.many.cover import ROUNDING, Cover, Refresh, gh_wmscp, too_dear
from streamjoin.planning.many.plan_model import (
    Allocation,
    Floats,
    PathTable,
    PlanModel,
    check_resources,
)

Mask = NDArray[np.bool_]
Shares = Callable[[PlanModel, Mask], Floats]
"""Weights of the half-way joins, of which only those in the mask may get something."""
MAX_ROUNDS: Final = 200
"""At most so many times is given again what was left over."""
NEGLIGIBLE: Final = 1e-9
"""Part of the resources that is not worth giving again."""
MAX_COVER_RATIO: Final = 1e7
"""A run that covers a state more often than this counts as this: solvers want a small range."""


def fill(productivity: Sequence[float], caps: Sequence[float], mu: float) -> list[float]:
    """Give `mu` to the most productive paths first, to each up to its cap (JAQ-A18).

    It takes O(k log k) steps for k paths, whatever `mu` is.

    Examples
    --------
    >>> fill([0.2667, 0.3125, 0.1], caps=[15, 16, 10], mu=30)
    [14.0, 16.0, 0.0]
    """
    given = [0.0] * len(caps)
    left = float(mu)
    for path in sorted(range(len(caps)), key=productivity.__getitem__, reverse=True):
        given[path] = min(left, float(caps[path]))
        left -= given[path]
    return given


def heuristic(
    planner: str, model: PlanModel, mu: float, *, redistribute: bool = False
) -> Allocation:
    """One of the `HEURISTICS`.

    Examples
    --------
    The plan of Table 4: what reaches the second join is what it may process, by luck (JAQ-I1).

    >>> from streamjoin.planning.many.tree import Tree
    >>> tree = Tree.parse("(a b) c")
    >>> model = PlanModel.of(tree, [500, 700, 600], [5000, 500, 1000, 200], [0.001, 0.005])
    >>> allocation = heuristic("s-best-hjp", model, 300)
    >>> allocation.allowances.round(), allocation.throughput
    (array([  0.,  50.,   0., 250.]), 1250.0)
    """
    shares, mu = HEURISTICS[planner], check_resources(mu)
    given = mu * _scaled(shares(model, np.ones(model.tree.root, dtype=np.bool_)))
    for _ in range(MAX_ROUNDS if redistribute else 0):
        flow = model.flow(given / model.costs)
        used = model.costs * flow.probes
        weights = _scaled(shares(model, flow.unused > 0))
        left = mu - used.sum()
        if left <= NEGLIGIBLE * mu or not weights.any():
            break
        given = used + left * weights
    return Allocation.of_allowances(planner, model, given / model.costs)


def _worth(model: PlanModel) -> Floats:
    """Matches per unit of resources; the productivity where a probe costs 1."""
    return model.productivities / model.costs


def _scaled(weights: Floats) -> Floats:
    total = weights.sum()
    return weights / total if total > 0 else weights


def _equal(model: PlanModel, able: Mask) -> Floats:
    """The same to every half-way join (JAQ-A26)."""
    return able.astype(np.float64)


def _by_productivity(model: PlanModel, able: Mask) -> Floats:
    """In proportion to the productivity of each half-way join (JAQ-A27)."""
    return np.where(able, _worth(model), 0.0)


def _best_of_equal_joins(model: PlanModel, able: Mask) -> Floats:
    """The same to every join, and there to the more productive half (JAQ-A28)."""
    return _better_halves(model, np.ones(model.tree.n_streams - 1), able)


def _best_of_selective_joins(model: PlanModel, able: Mask) -> Floats:
    """To joins by their selectivity, and there to the more productive half (JAQ-A29)."""
    # a join whose halves differ in selectivity counts with their mean
    return _better_halves(model, model.sigmas[np.array(model.tree.joins)].mean(axis=1), able)


def _better_halves(model: PlanModel, weights: Floats, able: Mask) -> Floats:
    shares, worth = np.zeros(model.tree.root), _worth(model)
    for pair, weight in zip(model.tree.joins, weights, strict=True):
        halves = [node for node in pair if able[node]]
        if halves:
            shares[max(halves, key=worth.__getitem__)] = weight
    return shares


HEURISTICS: Final[dict[str, Shares]] = {
    "equal-hj": _equal,
    "global-hjpr": _by_productivity,
    "e-best-hjp": _best_of_equal_joins,
    "s-best-hjp": _best_of_selective_joins,
}
"""By the paper's names EqualHJ, GlobalHJPR, EBestHJP and SBestHJP."""


def grepp(model: PlanModel, mu: float, *, capped: bool = True) -> Allocation:
    """GrePP: the most productive paths first, the most results that `mu` can make (JAQ-A18).

    Parameters
    ----------
    model
        The plan.
    mu
        Resources per second.
    capped
        Whether paths end at the rates of their streams. The paper's worked example goes on without
        end along the best one (JAQ-I3).

    Examples
    --------
    >>> from streamjoin.planning.many.tree import Tree
    >>> sizes, sigmas = [5, 4, 1, 0.1], [1 / 11, 1 / 11, 1, 1]
    >>> model = PlanModel.of(Tree.parse("(a b) c"), [11, 11, 10], sizes, sigmas)
    >>> grepp(model, 30, capped=False).throughput, round(grepp(model, 30).throughput, 3)
    (9.375, 8.733)
    """
    table = PathTable.of(model)
    caps = table.caps if capped else np.full_like(table.caps, np.inf)
    return Allocation.of_paths("grepp", table, _filled(table, caps, check_resources(mu)))


def jaqpot(model: PlanModel, mu: float, refresh: Refresh | None = None) -> Allocation:
    """JAQPOT: cover the intermediate states, and give what is left to GrePP (JAQ-A24).

    The two parts add up (JAQ-I4). If the states cannot be covered, throughput alone decides, and
    the allocation says why.

    Examples
    --------
    Stream c is the most productive, and alone it would leave the state of "a b" to itself.

    >>> from streamjoin.planning.many.tree import Tree
    >>> tree, sizes = Tree.parse("(a b) c"), [5000, 500, 100, 2000]
    >>> model = PlanModel.of(tree, [500, 700, 600], sizes, [0.001, 0.005])
    >>> refresh = Refresh(np.array([0, 0, 0, 40.0]))
    >>> jaqpot(model, 300).allowances, jaqpot(model, 300, refresh).allowances
    (array([  0.,   0., 300.,   0.]), array([  0.,   8., 252.,  40.]))
    >>> print(jaqpot(model, 30, refresh).infeasible)
    freshness: keeping intermediate states fresh costs 48 a second, 18 more than the 30 there are
    """
    table, mu = PathTable.of(model), check_resources(mu)
    covered, cost, infeasible = np.zeros_like(table.caps), 0.0, None
    if refresh is not None:
        cover = gh_wmscp(model, refresh)
        infeasible = refresh.infeasible or cover.infeasible or too_dear(cover.cost, mu)
        cost = cover.cost
        if not infeasible:
            covered = cover.resources
    rest = _filled(table, table.caps - covered, max(mu - covered.sum(), 0.0))
    return Allocation.of_paths("jaqpot", table, covered + rest, cost, infeasible)


def _filled(table: PathTable, caps: Floats, mu: float) -> Floats:
    return np.array(fill(table.productivity.tolist(), caps.tolist(), mu), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class _Runs:
    """What each run (row) does per unit of resources, and the resources of all tuples it has."""

    streams: NDArray[np.int64]
    probes: Floats
    inserts: Floats
    results: Floats
    caps: Floats


def exact(
    model: PlanModel, mu: float, refresh: Refresh | None = None, *, match: bool = True
) -> Allocation:
    """The most results that `mu` can make while all states are covered.

    Should the solver fail, which the numbers of a plan give no reason for, JAQPOT decides.

    Parameters
    ----------
    model
        The plan.
    mu
        Resources per second.
    refresh
        What the states need.
    match
        Whether all tuples that are produced probe on (JAQ-A10). Without, there are never fewer
        results.

    Examples
    --------
    >>> from streamjoin.planning.many.tree import Tree
    >>> tree, sizes = Tree.parse("(a b) c"), [5000, 500, 100, 2000]
    >>> model = PlanModel.of(tree, [500, 700, 600], sizes, [0.001, 0.005])
    >>> refresh = Refresh(np.array([0, 0, 0, 40.0]))
    >>> exact(model, 300, refresh).allowances.round(6)
    array([  0.,   8., 252.,  40.])
    >>> exact(model, 300, refresh, match=False).allowances.round(6)
    array([  0.,   8., 292.,   0.])
    """
    table, mu = PathTable.of(model), check_resources(mu)
    cost = 0.0
    if refresh is not None:
        cover = exact_cover(model, refresh, match=match)
        cost = cover.cost
        infeasible = refresh.infeasible or cover.infeasible or too_dear(cost, mu)
        if infeasible:
            return replace(grepp(model, mu), planner="exact", cover=cost, infeasible=infeasible)
    runs = _runs(table, match)
    needs = np.zeros(model.tree.root) if refresh is None else refresh.rates
    # a cover that costs all there is must not fail by a rounding error
    enough = max(mu, cost * (1 + ROUNDING))
    used = _solve(runs, -runs.results, needs, np.minimum(runs.caps, enough), enough)
    if used is None:
        return replace(jaqpot(model, mu, refresh), planner="exact")
    if used.sum() > mu:
        used *= mu / used.sum()
    allowances = used @ runs.probes
    throughput, paths = float(used @ runs.results), used if match else None
    return Allocation("exact", allowances, throughput, float(used.sum()), cost, paths)


def exact_cover(
    model: PlanModel, refresh: Refresh, *, capped: bool = True, match: bool = True
) -> Cover:
    """The cheapest cover: the optimum that GH-WMSCP comes near to (JAQ-C29).

    Its resources are those of each stream.
    """
    greedy = gh_wmscp(model, refresh, capped=capped)
    if greedy.cost == 0:
        return greedy
    runs = _runs(PathTable.of(model), match, capped)
    most = np.minimum(runs.caps, greedy.cost)  # the optimum uses no more
    used = _solve(runs, np.ones_like(most), refresh.rates, most)
    if used is None:
        return greedy
    resources = np.zeros(model.tree.n_streams)
    np.add.at(resources, runs.streams, used)
    return Cover(resources, float(used.sum()))


def _runs(table: PathTable, match: bool, capped: bool = True) -> _Runs:
    """Whole paths; without `match` also their first parts."""
    model, rows = table.model, []
    for stream, path in enumerate(model.tree.paths):
        for hops in range(len(path) if match else 1, len(path) + 1):
            probes, inserts = np.zeros(model.tree.root), np.zeros(model.tree.root)
            probes[list(path[:hops])] = table.uses[stream, path[:hops]]
            inserts[list(path[1 : hops + 1])] = table.uses[stream, path[1 : hops + 1]]
            results = table.yields[stream] if hops == len(path) else 0.0
            rows.append((stream, probes, inserts, results))
    streams, probes, inserts, results = (np.array(column) for column in zip(*rows, strict=True))
    prices = probes @ model.costs
    caps = model.rates[streams] * prices if capped else np.full_like(prices, np.inf)
    each = prices[:, np.newaxis]
    return _Runs(streams, probes / each, inserts / each, results / prices, caps)


def _solve(
    runs: _Runs, prices: Floats, needs: Floats, most: Floats, mu: float = np.inf
) -> Floats | None:
    """Resources of each run so that their prices add up to the least; None if the solver fails.

    The solver sees each run as a part of its `most`, and rows that ask for 1.
    """
    # it takes half a second to load, so only those who ask for it wait
    from scipy.optimize import linprog

    states = np.flatnonzero(needs)
    cover = np.minimum(
        runs.inserts[:, states] * most[:, np.newaxis] / needs[states], MAX_COVER_RATIO
    )
    shares = np.divide(most, runs.caps, out=np.zeros_like(most), where=runs.caps > 0)
    own = (runs.streams == np.arange(runs.streams.max() + 1)[:, np.newaxis]) * shares
    budget = most / mu if mu > 0 else np.zeros_like(most)
    rows = np.vstack([-cover.T, own, budget])
    bounds = np.concatenate([np.full(len(states), -1.0), np.ones(len(own) + 1)])
    goal = prices * most
    solution = linprog(goal / max(np.abs(goal).max(), 1e-300), rows, bounds, bounds=(0, 1))
    return None if solution.x is None else np.clip(solution.x, 0, 1) * most
