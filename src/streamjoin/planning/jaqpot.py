"""Throughput by productive paths, after freshness: GrePP and JAQPOT (Mukherji 2011, Section 4)."""

import numpy as np

from streamjoin.planning.allocation import Allocation
from streamjoin.planning.cover import Refresh, gh_wmscp, too_dear
from streamjoin.planning.knapsack import fill
from streamjoin.planning.path_productivity import PathTable
from streamjoin.planning.plan_model import Floats, PlanModel, check_resources


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
    >>> from streamjoin.planning.tree import Tree
    >>> sizes, sigmas = [5, 4, 1, 0.1], [1 / 11, 1 / 11, 1, 1]
    >>> model = PlanModel.of(Tree.parse("(a b) c"), [11, 11, 10], sizes, sigmas)
    >>> grepp(model, 30, capped=False).throughput, round(grepp(model, 30).throughput, 3)
    (9.375, 8.733)
    """
    table = PathTable.of(model)
    caps = table.caps if capped else np.full_like(table.caps, np.inf)
    return Allocation.of_paths("grepp", table, _fill(table, caps, check_resources(mu)))


def jaqpot(model: PlanModel, mu: float, refresh: Refresh | None = None) -> Allocation:
    """JAQPOT: cover the intermediate states, and give what is left to GrePP (JAQ-A24).

    The two parts add up (JAQ-I4). If the states cannot be covered, throughput alone decides, and
    the allocation says why.

    Examples
    --------
    Stream c is the most productive, and alone it would leave the state of "a b" to itself.

    >>> from streamjoin.planning.tree import Tree
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
    rest = _fill(table, table.caps - covered, max(mu - covered.sum(), 0.0))
    return Allocation.of_paths("jaqpot", table, covered + rest, cost, infeasible)


def _fill(table: PathTable, caps: Floats, mu: float) -> Floats:
    return np.array(fill(table.productivity.tolist(), caps.tolist(), mu), dtype=np.float64)
