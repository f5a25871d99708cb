"""Which stream drives, and whether an n-ary join or a tree of joins is better: by predicted costs.

Neither changes what the results are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

from streamjoin.planning.drivers import Groups
from streamjoin.planning.join_order import choose_tree
from streamjoin.planning.nary import CanFollow, Sequences, Streams, probing_sequences
from streamjoin.planning.nary_cost import Cost, Situation
from streamjoin.planning.nary_drains import Drains, mjoin_cost
from streamjoin.planning.nary_tree import tree_cost
from streamjoin.planning.tree import Tree

Strategy = Literal["mjoin", "tree"]
EXHAUSTIVE: Final = 5
"""Up to so many streams all orders are compared; above, the next one is chosen again and again."""
ALIKE: Final = 1.01
"""Orders that cost so little more than the cheapest are as good, and early results decide."""
CLEARLY: Final = 1.1
"""The other strategy takes over if the one that runs costs more than so many times as much."""


@dataclass(frozen=True)
class Choice:
    """Which of two ways to evaluate a join is the better one.

    Parameters
    ----------
    strategy
        The better one.
    tree, sequences
        The best tree, and the probing sequences of the n-ary join.
    mjoin, tree_cost
        What a batch costs in each.
    """

    strategy: Strategy
    tree: Tree
    sequences: Sequences
    mjoin: Cost
    tree_cost: Cost


def adaptive_groups(situation: Situation, sequences: Sequences) -> Groups:
    """The order in which draining the streams costs least.

    Up to 5 streams all orders are compared. Of those that cost at most 1 % more than the cheapest,
    the one is taken whose results come earliest on average. Above, the next stream is the one that
    brings most results for its cost, again and again.

    Examples
    --------
    Stream 0 brings much more than is remembered of it. If it waits, the others probe little.

    >>> from streamjoin.planning.algorithm_choice import OperationCosts
    >>> from streamjoin.planning.nary import Sizes
    >>> sizes = Sizes((500, 500, 500), {3: 250, 5: 250, 6: 250, 7: 125}, keys=1000)
    >>> at = Situation((5000, 50, 50), (500, 500, 500), (4, 4, 4), sizes, OperationCosts())
    >>> adaptive_groups(at, probing_sequences(3, sizes))
    ((1,), (2,), (0,))
    """
    drains, n_streams = Drains(situation, sequences), situation.n_streams
    if n_streams > EXHAUSTIVE:
        return _greedy(drains, n_streams)
    ways = _orders(drains, n_streams)
    limit = ALIKE * min(ns for ns, _, _ in ways)
    _, order = min((waited, order) for ns, waited, order in ways if ns <= limit)
    return tuple((j,) for j in order)


Way = tuple[float, float, tuple[int, ...]]
"""What an order costs, how long all its results wait together, and the order."""


def _orders(drains: Drains, n_streams: int) -> list[Way]:
    """All orders; those that begin alike share what is known of their beginning."""
    found, brief = list[Way](), cache(drains.brief)

    def go_on(ns: float, waited: float, before: int, order: tuple[int, ...]) -> None:
        if len(order) == n_streams:
            found.append((ns, waited, order))
            return
        for j in range(n_streams):
            if not before >> j & 1:
                results, more = brief(j, before)
                later = waited + results * (ns + more / 2)
                go_on(ns + more, later, before | 1 << j, (*order, j))

    go_on(0.0, 0.0, 0, ())
    return found


def _greedy(drains: Drains, n_streams: int) -> Groups:
    before, order = 0, list[int]()
    while len(order) < n_streams:
        briefs = {j: drains.brief(j, before) for j in range(n_streams) if j not in order}
        rates = {j: results / ns if ns else 0.0 for j, (results, ns) in briefs.items()}
        order.append(max(rates, key=lambda j: (rates[j], -j)))
        before |= 1 << order[-1]
    return tuple((j,) for j in order)


def choose(
    names: Sequence[str],
    situation: Situation,
    *,
    can_follow: CanFollow | None = None,
    stay: Strategy | None = None,
) -> Choice:
    """Compare an n-ary join with the best tree.

    Parameters
    ----------
    names
        The streams.
    situation
        What is known.
    can_follow
        Which streams are linked to others; None if all are, by a common key.
    stay
        The strategy that runs: the other one must be clearly better, as the change has its price.

    Examples
    --------
    Tuples of a and b never match: the n-ary join lets those of c probe both.

    >>> from streamjoin.planning.algorithm_choice import OperationCosts
    >>> from streamjoin.planning.nary import Sizes
    >>> tables = (10_000.0,) * 3
    >>> sizes = Sizes(tables, {3: 0, 5: 1e6, 6: 1e6, 7: 0}, keys=100)
    >>> at = Situation((1000, 1000, 1000), tables, (10, 10, 10), sizes, OperationCosts())
    >>> choice = choose(["a", "b", "c"], at)
    >>> choice.strategy, str(choice.tree), choice.sequences
    ('tree', '(a b) c', ((1, 2), (0, 2), (0, 1)))
    """
    n, sizes, tables = len(names), situation.sizes, situation.tables
    sequences = probing_sequences(n, sizes, can_follow, tables)
    mjoin = mjoin_cost(situation, sequences, adaptive_groups(situation, sequences))

    def connected(left: Streams, right: Streams) -> bool:
        return can_follow is None or any(can_follow(left, i) for i in right)

    def cardinality(streams: Streams) -> float:
        return sizes.of(streams, tables)

    tree = choose_tree(names, situation.arrivals, cardinality, connected=connected).numbered(names)
    cost = tree_cost(tree, situation)
    return Choice(_better(mjoin, cost, stay), tree, sequences, mjoin, cost)


def _better(mjoin: Cost, tree: Cost, stay: Strategy | None) -> Strategy:
    if stay == "mjoin":
        return "tree" if mjoin.us > CLEARLY * tree.us else "mjoin"
    if stay == "tree":
        return "mjoin" if tree.us > CLEARLY * mjoin.us else "tree"
    return "mjoin" if mjoin.us <= tree.us else "tree"
