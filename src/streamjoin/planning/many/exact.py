"""The best allocation under freshness, as a linear programme.

With continuous amounts both steps of JAQPOT are one linear programme: the most results such that
the resources suffice, no path has more tuples than its stream, and every state is covered. JAQPOT
is greedy in its first step (JAQ-I7); this is the optimum, by the HiGHS solver.

Its variables are *runs*: a path, all the way to the root as in the paper, or without the
producer-consumer `match` also part of a path, as what refreshes a state need not probe on.
"""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from streamjoin.planning.many.cover import ROUNDING, Cover, Refresh, gh_wmscp, too_dear
from streamjoin.planning.many.jaqpot import grepp, jaqpot
from streamjoin.planning.many.plan_model import (
    Allocation,
    Floats,
    PathTable,
    PlanModel,
    check_resources,
)

MAX_COVER_RATIO: Final = 1e7
"""A run that covers a state more often than this counts as this: solvers want a small range."""


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
