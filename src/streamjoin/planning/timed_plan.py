"""Allowances where joins remember tuples for a time, not a number of them.

The planners of the paper take the sizes of states as given. Where a tuple of a join is remembered
for as long as its window says, its state is as large as what the join forms: who saves probes below
shrinks the states above, and a plan that was best for the sizes of now starves itself. Here sizes
follow: ``|S_x| = (tuples formed a second) * (seconds that one lives)``.

With the *shares* of the nodes' tuples that probe as variables, results and costs are both linear in
each single share, as every node is met once on the way up. So where one share changes, that of
another that makes the costs come out right is found by one division; the search tries all such
exchanges at once.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from streamjoin.planning.plan_model import Floats, PlanModel

STEPS: Final = (0.5, 0.2, 0.08, 0.03, 0.01)
"""How far a share is moved: far ones first."""
WORTH: Final = 1e-3
"""An exchange must gain this part of the results."""
MOST_MOVES: Final = 25
"""Exchanges of one length at most."""
SEARCHED: Final = 8
"""With more streams only whole candidates are compared: exchanges grow with their square."""


@dataclass(frozen=True, eq=False)
class TimedPlan:
    """A plan whose states of joins hold what was formed lately.

    Parameters
    ----------
    model
        Rates, sizes of the streams' states, selectivities, costs. Its sizes of joins do not count.
    lives
        Seconds that a tuple of each node is remembered.
    forming
        What forming one tuple costs, besides the probe.

    Examples
    --------
    >>> from streamjoin.planning.tree import Tree
    >>> model = PlanModel.of(Tree.parse("(a b) c"), [10, 10, 10], [50, 50, 50, 0], [0.02] * 4)
    >>> plan = TimedPlan(model, np.array([5.0, 5.0, 5.0, 3.0]))
    >>> plan.flow(np.ones((1, 4)))
    (array([[10., 10., 10., 20.]]), array([32.]), array([50.]))

    Probing with all of c is in vain where nothing is formed of a and b.

    >>> [x.round(1).tolist() for x in plan.flow(np.array([[0.1, 0, 1, 1]]))[1:]]
    [[1.6], [12.0]]
    """

    model: PlanModel
    lives: Floats
    forming: float = 0.0

    def flow(self, shares: Floats) -> tuple[Floats, Floats, Floats]:
        """What comes of each line of shares: tuples of each node a second, results, and costs."""
        model, tree = self.model, self.model.tree
        k = tree.n_streams
        produced = np.zeros((len(shares), tree.root + 1))
        produced[:, :k] = model.rates
        sizes = np.zeros((len(shares), tree.root))
        sizes[:, :k] = model.sizes[:k]
        costs = np.zeros(len(shares))
        for node, pair in enumerate(tree.joins, start=k):
            for child, other in (pair, pair[::-1]):
                probes = shares[:, child] * produced[:, child]
                produced[:, node] += probes * model.sigmas[other] * sizes[:, other]
                costs += model.costs[child] * probes
            costs += self.forming * produced[:, node]
            if node < tree.root:
                sizes[:, node] = produced[:, node] * self.lives[node]
        return produced[:, :-1], produced[:, -1], costs

    def within(self, shares: Floats, mu: float) -> Floats:
        """Lines of shares, made smaller alike until they cost no more than there is."""
        low, high = np.zeros((len(shares), 1)), np.ones((len(shares), 1))
        fits = self.flow(shares)[2] <= mu
        for _ in range(20):
            middle = (low + high) / 2
            dear = (self.flow(shares * middle)[2] > mu)[:, np.newaxis]
            low, high = np.where(dear, low, middle), np.where(dear, middle, high)
        return np.where(fits[:, np.newaxis], shares, shares * low)


def best_shares(plan: TimedPlan, mu: float, candidates: Floats) -> Floats:
    """Shares with the most results that `mu` pays for, found from candidates by exchanges.

    Parameters
    ----------
    plan
        The plan.
    mu
        Resources per second.
    candidates
        Lines of shares to start from; those that cost too much are made smaller.
    """
    starts = plan.within(np.vstack([candidates, _starts(plan)]), mu)
    if plan.model.tree.n_streams > SEARCHED:
        found: Floats = starts[np.argmax(plan.flow(starts)[1])]
        return found
    for step in STEPS:
        for _ in range(MOST_MOVES):
            better = _exchanged(plan, mu, starts, step)
            gains = plan.flow(better)[1] - (1 + WORTH) * plan.flow(starts)[1]
            if not np.any(gains > 0):
                break
            starts = np.where((gains > 0)[:, np.newaxis], better, starts)
    return starts[np.argmax(plan.flow(starts)[1])]


def _starts(plan: TimedPlan) -> Floats:
    """All alike, each path alone, and what forms each state with what probes it."""
    tree = plan.model.tree
    lines = [np.ones(tree.root)]
    for path in tree.paths:
        lines.append(np.zeros(tree.root))
        lines[-1][list(path)] = 1
    for node in tree.susceptible:
        lines.append(np.zeros(tree.root))
        below = set(tree.streams(node))
        inside = [x for x in range(tree.root) if set(tree.streams(x)) < below]
        lines[-1][[*inside, tree.sibling(node), *_above(plan, node)]] = 1
    return np.stack(lines)


def _above(plan: TimedPlan, node: int) -> list[int]:
    """The half-way joins above the join of a node and its sibling."""
    path = next(path for path in plan.model.tree.paths if node in path)
    return list(path[path.index(node) + 1 :])


def _exchanged(plan: TimedPlan, mu: float, starts: Floats, step: float) -> Floats:
    """Of each line the best that one exchange makes of it: one share moves, another pays."""
    n, m = starts.shape
    moves = np.concatenate([step * np.eye(m), -step * np.eye(m)])
    moved = np.clip(starts[:, np.newaxis] + moves, 0, 1)  # line, move, node
    tried = np.repeat(moved[:, :, np.newaxis], m, axis=2)  # line, move, who pays, node
    who = np.arange(m)
    without = tried.copy()
    without[:, :, who, who] = 0
    least = plan.flow(without.reshape(-1, m))[2]
    full = without
    full[:, :, who, who] = 1
    most = plan.flow(full.reshape(-1, m))[2]
    pays = np.divide(mu - least, most - least, out=np.ones_like(most), where=most > least)
    lines = tried.reshape(-1, m)
    lines[np.arange(len(lines)), np.tile(who, len(lines) // m)] = np.clip(pays, 0, 1)
    _, results, costs = plan.flow(lines)
    results = np.where(costs <= mu * (1 + 1e-9), results, -1.0).reshape(n, -1)
    best = np.argmax(results, axis=1)
    chosen: Floats = lines.reshape(n, -1, m)[np.arange(n), best]
    return chosen
