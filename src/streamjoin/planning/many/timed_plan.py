"""The best allowances where joins remember tuples for a time, not a number of them.

The planners of the paper take the sizes of states as given. Where a tuple of a join is remembered
for as long as its window says, its state is as large as what is formed: who saves probes below
shrinks the states above, and the plan that is best for the sizes of now starves itself.

Which tuples probe matters as much. If each join takes others by chance, what one has formed is of
little use to the next: of four streams with half of the tuples each, a sixteenth of the results
remains. So all joins take tuples of the *same keys*, those that come first in one order of all keys
(of their hashes). A part of the keys is then joined as if the others were not there, and

- joins that all tuples of some keys pass are a *choice* of half-way joins, each on or off;
- results and costs of a choice are in proportion to the part of the keys that it is made for;
- so the best allowances mix two choices: on the upper hull of (costs, results) of all of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from streamjoin.planning.many.plan_model import Allocation, Floats, Flow, Numbers, PlanModel

PARTS: Final = 256
"""Parts of the keys, in their order, that the flow under given allowances is computed for."""
MAX_HALFWAY_JOINS_ALL_CHOICES: Final = 12
"""Up to so many half-way joins all choices are compared; above, joins are left out one by one."""
MAX_COMPARED_CHOICES: Final = 64
"""Choices close to the hull of which pairs are compared."""
EXPLORED: Final = 0.1
"""Part of the resources with which some keys pass all joins: else nobody knew what these find."""
CLEARLY: Final = 1.1
"""Joins are left out if that gives so many times the results. For a part of the keys everything on
gives that part of all results, however wrong the numbers are."""
Choices = NDArray[np.bool_]
"""One line for each choice: whether each half-way join is on."""


@dataclass(frozen=True, eq=False)
class TimedPlan(PlanModel):
    """A plan whose states of joins hold what was formed lately, for the first keys of an order.

    The sizes of such states are those under full load.

    Examples
    --------
    >>> from streamjoin.planning.many.tree import Tree
    >>> plan = TimedPlan.of(Tree.parse("(a b) c"), [10, 10, 10], [50, 50, 50, 60], [0.02] * 4)
    >>> plan.saturation_throughput, plan.saturation_resources
    (32.0, 50.0)

    What is not formed of a and b is not found by c either; half of the keys give half of it all.

    >>> plan.throughput([0, 0, 10, 0]), round(plan.throughput([5, 5, 5, 10]), 9)
    (0.0, 16.0)
    """

    def choices(self, choices: Choices) -> tuple[Floats, Floats]:
        """Tuples of each node a second, the root last, and costs, if choices are for all keys."""
        flows = self._flows([choices[:, node] for node in range(self.tree.root)], len(choices))
        return flows[0], flows[1] @ self.costs

    def flow(self, allowances: Numbers) -> Flow:
        """What happens per second under allowances: the first keys use them up."""
        produced, probes = self._flows([float(x) for x in allowances], PARTS)
        return Flow(probes.sum(axis=0) / PARTS, produced.sum(axis=0) / PARTS)

    def _flows(self, on: list[float] | list[Choices], lines: int) -> tuple[Floats, Floats]:
        """Tuples and probes of each node, in each choice or in each part of the keys."""
        tree, k = self.tree, self.tree.n_streams
        produced, probes = np.zeros((lines, tree.root + 1)), np.zeros((lines, tree.root))
        produced[:, :k] = self.rates
        fullness = np.ones((lines, tree.root))
        for node, pair in enumerate(tree.joins, start=k):
            for child in pair:
                probes[:, child] = _probing(produced[:, child], on[child])
            for child, other in (pair, pair[::-1]):
                matches = probes[:, child] * self.productivities[child]
                produced[:, node] += matches * fullness[:, other]
            if node < tree.root and self._whole[node] > 0:
                fullness[:, node] = produced[:, node] / self._whole[node]
        return produced, probes

    @cached_property
    def _whole(self) -> list[float]:
        """Tuples of each node a second under full load."""
        whole: list[float] = self.rates.tolist()
        for pair in self.tree.joins[:-1]:
            whole.append(sum(whole[child] * float(self.productivities[child]) for child in pair))
        return whole


def _probing(produced: Floats, on: float | Choices) -> Floats:
    if isinstance(on, float):  # an allowance: the first keys up to it
        before = (np.cumsum(produced) - produced) / len(produced)
        probing: Floats = np.clip((on - before) * len(produced), 0, produced)
        return probing
    return produced * on


def best_mix(planner: str, plan: TimedPlan, mu: float) -> Allocation:
    """The most results that `mu` can make, with a part of it for keys that pass all joins.

    Parameters
    ----------
    planner
        In whose name.
    plan
        The plan.
    mu
        Resources per second.

    Examples
    --------
    Many tuples of c find little each. They hardly probe, so that all others can.

    >>> from streamjoin.planning.many.tree import Tree
    >>> plan = TimedPlan.of(Tree.parse("(a b) c"), [10, 10, 80], [50, 50, 80, 6], [0.02] * 4)
    >>> best = best_mix("jaqpot", plan, 50)
    >>> best.allowances.round(1), round(best.throughput, 1), round(plan.saturation_throughput, 1)
    (array([10., 10., 10., 20.]), 33.2, 41.6)
    """
    every = np.ones((1, plan.tree.root), np.bool_)
    choices = np.vstack([~every, every, _all_choices(plan)])
    produced, costs = plan.choices(choices)
    whole = min(1.0, mu / costs[1]) if costs[1] > 0 else 1.0
    explored = EXPLORED * whole
    rest = (mu - explored * costs[1]) / (1 - explored)
    widths = (1 - explored) * _best_pair(choices, costs, produced[:, -1], rest)
    widths[1] += explored
    if widths @ produced[:, -1] < CLEARLY * whole * produced[1, -1] or not produced[1, -1]:
        widths = np.zeros(len(choices))
        widths[1] = whole
    return Allocation.of_allowances(planner, plan, widths @ (produced[:, :-1] * choices))


def _all_choices(plan: TimedPlan) -> Choices:
    m = plan.tree.root
    if m <= MAX_HALFWAY_JOINS_ALL_CHOICES:
        numbers = np.arange(1 << m)
        every: Choices = (numbers[:, np.newaxis] >> np.arange(m)) & 1 == 1
        return every
    return np.stack(list(_fewer_and_fewer(plan)))


def _fewer_and_fewer(plan: TimedPlan) -> Iterator[NDArray[np.bool_]]:
    """From all half-way joins on, leave out again and again the one that is worth least."""
    left = np.ones(plan.tree.root, np.bool_)
    while left.any():
        yield left
        ways = left & ~np.eye(len(left), dtype=np.bool_)[left]
        produced, costs = plan.choices(ways)
        left = ways[np.argmax(produced[:, -1] / np.maximum(costs, 1e-300))]


def _best_pair(choices: Choices, costs: Floats, results: Floats, mu: float) -> Floats:
    """Parts of the keys for which each choice is made: two choices, the smaller in the larger.

    So the joins of the smaller one are on for the keys of both, and a join takes the first keys.
    """
    near = _near_hull(costs, results, mu)
    one, other = (near[:, np.newaxis], near[np.newaxis])
    inside = np.all(choices[one] <= choices[other], axis=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.clip((mu - costs[one]) / (costs[other] - costs[one]), 0, 1)
    part = np.where(costs[other] > costs[one], part, 0.0)
    value = results[one] + part * (results[other] - results[one])
    value = np.where(inside & (costs[one] <= mu), value, -1.0)
    i, j = np.unravel_index(int(np.argmax(value)), value.shape)
    widths = np.zeros(len(choices))
    widths[near[i]] += 1 - part[i, j]
    widths[near[j]] += part[i, j]
    return widths


def _near_hull(costs: Floats, results: Floats, mu: float) -> NDArray[np.intp]:
    """Nothing, everything, and the choices that miss least at the price that `mu` leads to."""
    low, high = 0.0, float(np.max(results[1:] / np.maximum(costs[1:], 1e-300)))
    for _ in range(50):  # results that one more unit of resources must be worth
        price = (low + high) / 2
        best = int(np.argmax(results - price * costs))
        low, high = (price, high) if costs[best] > mu else (low, price)
    order = np.argsort(price * costs - results, kind="stable")[:MAX_COMPARED_CHOICES]
    return np.unique(np.concatenate([[0, 1], order]))
