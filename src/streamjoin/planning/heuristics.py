"""Planners that look at half-way joins only (Mukherji 2011, Section 2 and Appendix B).

Each divides the resources among half-way joins by their own productivity, and does not see that
one feeds the other. What a half-way join cannot use is lost, as in the paper's Table 4; with
`redistribute` it goes to those that can use more, by the same rule (JAQ-I13).
"""

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from streamjoin.planning.allocation import Allocation
from streamjoin.planning.knapsack import fill
from streamjoin.planning.plan_model import Floats, PlanModel, check_resources

Mask = NDArray[np.bool_]
Shares = Callable[[PlanModel, Mask], Floats]
"""Weights of the half-way joins, of which only those in the mask may get something."""

ROUNDS: Final = 200
"""At most so many times is given again what was left over."""

NEGLIGIBLE: Final = 1e-9
"""Part of the resources that is not worth giving again."""


def best_hjp(model: PlanModel, mu: float) -> Allocation:
    """BestHJP: the most productive half-way join up to its rate, then the next (JAQ-A7).

    The optimum of one join. In a plan of many joins it counts with the rates of full load.

    Examples
    --------
    >>> from streamjoin.planning.tree import Tree
    >>> model = PlanModel.of(Tree.parse("a b"), [500, 700], [5000, 500], [0.001, 0.005])
    >>> best_hjp(model, 1000).allowances, best_hjp(model, 1000).throughput
    (array([300., 700.]), 4250.0)
    """
    caps = model.costs * model.saturation.probes
    given = fill(_worth(model).tolist(), caps.tolist(), check_resources(mu))
    return Allocation.of_allowances("best-hjp", model, np.array(given) / model.costs)


def equal_hj(model: PlanModel, mu: float, *, redistribute: bool = False) -> Allocation:
    """EqualHJ: the same to every half-way join (JAQ-A26)."""
    return _divide("equal-hj", _equal, model, mu, redistribute)


def global_hjpr(model: PlanModel, mu: float, *, redistribute: bool = False) -> Allocation:
    """GlobalHJPR: in proportion to the productivity of each half-way join (JAQ-A27)."""
    return _divide("global-hjpr", _by_productivity, model, mu, redistribute)


def e_best_hjp(model: PlanModel, mu: float, *, redistribute: bool = False) -> Allocation:
    """EBestHJP: the same to every join, and there to the more productive half (JAQ-A28)."""
    return _divide("e-best-hjp", _best_of_equal_joins, model, mu, redistribute)


def s_best_hjp(model: PlanModel, mu: float, *, redistribute: bool = False) -> Allocation:
    """SBestHJP: to joins by their selectivity, and there to the more productive half (JAQ-A29).

    Examples
    --------
    The plan of Table 4: what reaches the second join is what it may process, by luck (JAQ-I1).

    >>> from streamjoin.planning.tree import Tree
    >>> tree = Tree.parse("(a b) c")
    >>> model = PlanModel.of(tree, [500, 700, 600], [5000, 500, 1000, 200], [0.001, 0.005])
    >>> s_best_hjp(model, 300).allowances.round(), s_best_hjp(model, 300).throughput
    (array([  0.,  50.,   0., 250.]), 1250.0)
    """
    return _divide("s-best-hjp", _best_of_selective_joins, model, mu, redistribute)


def _divide(
    planner: str, shares: Shares, model: PlanModel, mu: float, redistribute: bool
) -> Allocation:
    mu = check_resources(mu)
    given = mu * _scaled(shares(model, np.ones(model.tree.root, dtype=np.bool_)))
    for _ in range(ROUNDS if redistribute else 0):
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
    return able.astype(np.float64)


def _by_productivity(model: PlanModel, able: Mask) -> Floats:
    return np.where(able, _worth(model), 0.0)


def _best_of_equal_joins(model: PlanModel, able: Mask) -> Floats:
    return _better_halves(model, np.ones(model.tree.n_streams - 1), able)


def _best_of_selective_joins(model: PlanModel, able: Mask) -> Floats:
    # a join whose halves differ in selectivity counts with their mean
    sigmas = [(model.sigmas[left] + model.sigmas[right]) / 2 for left, right in model.tree.joins]
    return _better_halves(model, np.array(sigmas), able)


def _better_halves(model: PlanModel, weights: Floats, able: Mask) -> Floats:
    shares, worth = np.zeros(model.tree.root), _worth(model)
    for pair, weight in zip(model.tree.joins, weights, strict=True):
        halves = [node for node in pair if able[node]]
        if halves:
            shares[max(halves, key=worth.__getitem__)] = weight
    return shares
