"""What only the paper's examples need: discrete models and BestHJP (Mukherji 2011).

In the *discrete* model (Section 4.1; JAQ-A16, A17) a path takes all its resources or a multiple of
them, each cycle by itself: `greedy` is fast, `dynamic` is the optimum.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from streamjoin.planning.many.cover import Cover, Covering
from streamjoin.planning.many.jaqpot import fill
from streamjoin.planning.many.plan_model import Allocation, Floats, PlanModel, check_resources


@dataclass(frozen=True)
class Packing:
    """How often each path runs in a cycle.

    Parameters
    ----------
    counts
        Multiples of each path.
    output
        Results of the cycle.
    used
        Resources of the cycle.
    steps
        How many times a path was weighed against a budget (JAQ-C13).
    """

    counts: tuple[int, ...]
    output: float
    used: int
    steps: int


def greedy(
    resources: Sequence[int], outputs: Sequence[float], mu: int, *, once: bool = False
) -> Packing:
    """The most productive path as often as it fits (or once), then the next (JAQ-C5).

    Examples
    --------
    >>> greedy([15, 16, 10], [4, 5, 1], mu=30)
    Packing(counts=(0, 1, 1), output=6, used=26, steps=3)
    """
    counts = [0] * len(resources)
    left = mu
    usable = [path for path in range(len(counts)) if resources[path] > 0]
    for path in sorted(usable, key=lambda path: outputs[path] / resources[path], reverse=True):
        counts[path] = min(left // resources[path], 1 if once else left)
        left -= counts[path] * resources[path]
    return _packing(counts, resources, outputs, steps=len(usable))


def dynamic(
    resources: Sequence[int], outputs: Sequence[float], mu: int, *, once: bool = False
) -> Packing:
    """The best packing, in O(k mu) steps for k paths (JAQ-A17).

    Examples
    --------
    >>> dynamic([15, 16, 10], [4, 5, 1], mu=30)
    Packing(counts=(2, 0, 0), output=8, used=30, steps=52)
    >>> dynamic([15, 16, 10], [4, 5, 1], mu=30, once=True).output
    6
    """
    best = [0.0] * (mu + 1)
    taken = [[False] * (mu + 1) for _ in resources]
    steps = 0
    for path, need in enumerate(resources):
        # upwards, a budget builds on one that may hold the path already; downwards it never does
        budgets = range(need, mu + 1) if need > 0 else range(0)
        for budget in reversed(budgets) if once else budgets:
            steps += 1
            if (output := best[budget - need] + outputs[path]) > best[budget]:
                best[budget], taken[path][budget] = output, True
    return _packing(_unwind(taken, resources, mu, once), resources, outputs, steps)


def _unwind(taken: list[list[bool]], resources: Sequence[int], mu: int, once: bool) -> list[int]:
    counts, left = [0] * len(resources), mu
    for path in reversed(range(len(resources))):
        while taken[path][left] and not (once and counts[path]):
            counts[path] += 1
            left -= resources[path]
    return counts


def _packing(
    counts: list[int], resources: Sequence[int], outputs: Sequence[float], steps: int
) -> Packing:
    output = sum(count * out for count, out in zip(counts, outputs, strict=True))
    used = sum(count * need for count, need in zip(counts, resources, strict=True))
    return Packing(tuple(counts), output, used, steps)


def best_hjp(model: PlanModel, mu: float) -> Allocation:
    """BestHJP: the most productive half-way join up to its rate, then the next (JAQ-A7).

    The optimum of one join. In a plan of many joins it counts with the rates of full load.

    Examples
    --------
    >>> from streamjoin.planning.many.tree import Tree
    >>> model = PlanModel.of(Tree.parse("a b"), [500, 700], [5000, 500], [0.001, 0.005])
    >>> best_hjp(model, 1000).allowances, best_hjp(model, 1000).throughput
    (array([300., 700.]), 4250.0)
    """
    caps = model.costs * model.saturation.probes
    worth = model.productivities / model.costs  # matches per unit of resources
    given = fill(worth.tolist(), caps.tolist(), check_resources(mu))
    return Allocation.of_allowances("best-hjp", model, np.array(given) / model.costs)


def by_multiples(state: Covering, needs: Floats) -> Cover:
    """Search of `gh_wmscp` that ranks paths as in the discrete model.

    By the useful tuples of one whole multiple, all that the stream can give, although what is given
    may be a part of it. That is nearer to the paper and to its distance from the optimum (JAQ-C29),
    dearer, and slower.
    """
    once = state.left.copy()
    gives = state.supply * once[:, np.newaxis]
    while True:
        able = (once > 0) & (state.left > 0)
        useful = np.minimum(state.need, gives) @ needs
        gains = np.divide(useful, once, out=np.zeros_like(once), where=able)
        if not gains.any():
            return state.cover()
        state.run(int(np.argmax(gains)))
        state.steps += state.supply.size
