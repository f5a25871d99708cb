"""Which tree, which stream drives, and whether an n-ary join or a tree is better: by costs.

None of it changes what the results are. A tree is good when it makes few intermediate results per
second: each is inserted, stored and probes on. The results of the whole plan are the same for every
order and do not count. A new tuple of stream i meets the windows of the other streams of a set S,
so S makes ``rate_i * cardinality(S) / cardinality({i})`` results per second through it, and the sum
of that over its streams in all.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from math import inf
from operator import itemgetter
from typing import Final, Literal, TypeAlias, Union

from streamjoin.errors import ConfigError
from streamjoin.planning.many.nary import CanFollow, Groups, Sequences, Streams, probing_sequences
from streamjoin.planning.many.nary_cost import Cost, Drains, Situation, mjoin_cost, tree_cost
from streamjoin.planning.many.tree import Children, Tree

Cardinality = Callable[[Streams], float]
Connected = Callable[[Streams, Streams], bool]
TreeCost = tuple[int, float]
"""Cross products, then intermediate results per second."""
CostOfJoin = Callable[[Streams, Streams], TreeCost]
Part: TypeAlias = Union[int, "tuple[Part, Part]"]
"""A tree of streams by their numbers."""
MAX_STREAMS_ALL_TREES: Final = 10
"""Up to so many streams all trees are compared; above, the best pair is joined again and again."""
Strategy = Literal["mjoin", "tree"]
MAX_STREAMS_ALL_ORDERS: Final = 5
"""Up to so many streams all orders are compared; above, the next one is chosen again and again."""
EQUAL_COST: Final = 1.01
"""Orders that cost so little more than the cheapest are as good, and early results decide."""
CLEARLY: Final = 1.1
"""The other strategy takes over if the one that runs costs more than so many times as much."""
Way = tuple[float, float, tuple[int, ...]]
"""What an order costs, how long all its results wait together, and the order."""


def choose_tree(
    names: Sequence[str],
    rates: Sequence[float],
    cardinality: Cardinality,
    *,
    connected: Connected | None = None,
) -> Tree:
    """The tree that makes the fewest intermediate results per second.

    Up to 10 streams it is the best of all trees, bushy ones too. Above, the two parts that make the
    fewest results are joined again and again.

    Parameters
    ----------
    names
        The streams, by which they are numbered in the tree.
    rates
        Arrivals per second of each.
    cardinality
        Expected size of the join of the windows of some streams.
    connected
        Whether a predicate links two sets of streams; others are joined (a cross product) only if
        there is no way without.

    Examples
    --------
    Tuples of b and c seldom match.

    >>> def cardinality(streams: frozenset[int]) -> float:
    ...     return 10 if {1, 2} <= streams else 100
    >>> print(choose_tree(["a", "b", "c"], [10, 10, 10], cardinality))
    (b c) a
    """
    if not 2 <= len(names) == len(rates):
        raise ConfigError.at("rates", len(rates), "one for each of 2 streams or more")
    made = cache(lambda streams: produced_rate(streams, rates, cardinality))

    def cost(left: Streams, right: Streams) -> TreeCost:
        crosses = connected is not None and not connected(left, right)
        both = left | right
        return int(crosses), made(both) if len(both) < len(names) else 0.0

    find = _best_tree if len(names) <= MAX_STREAMS_ALL_TREES else _greedy_tree
    return _tree(find(len(names), cost), names)


def produced_rate(streams: Streams, rates: Sequence[float], cardinality: Cardinality) -> float:
    """Results per second that the join of some streams makes.

    Examples
    --------
    Windows of 100 and 50 tuples with 20 matches: one of a meets 0.2 of b, one of b 0.4 of a.

    >>> sizes = {frozenset([0]): 100, frozenset([1]): 50, frozenset([0, 1]): 20}
    >>> produced_rate(frozenset([0, 1]), [10, 10], sizes.__getitem__)
    6.0
    """
    size = _checked(cardinality, streams)
    own = {i: _checked(cardinality, frozenset([i])) for i in sorted(streams)}
    return float(sum(rates[i] * size / own[i] for i in own if own[i] > 0))


def _checked(cardinality: Cardinality, streams: Streams) -> float:
    size = cardinality(streams)
    if not 0 <= size < inf:
        raise ConfigError.at("cardinality", f"{size} for {sorted(streams)}", "finite, 0 or more")
    return size


def _best_tree(n_streams: int, cost: CostOfJoin) -> Part:
    """Compare all trees: the best one of a set is made of the best ones of two parts."""
    best: dict[Streams, tuple[TreeCost, Part]] = {
        frozenset([i]): ((0, 0.0), i) for i in range(n_streams)
    }

    def joined(left: Streams, right: Streams) -> tuple[TreeCost, Part]:
        costs = best[left][0], best[right][0], cost(left, right)
        total = sum(crosses for crosses, _ in costs), sum(made for _, made in costs)
        return total, _joined(best[left][1], best[right][1], left, right)

    for size in range(2, n_streams + 1):
        for streams in map(frozenset, combinations(range(n_streams), size)):
            ways = (joined(left, streams - left) for left in _parts(streams))
            best[streams] = min(ways, key=itemgetter(0))
    return best[frozenset(range(n_streams))][1]


def _parts(streams: Streams) -> Iterator[Streams]:
    """One half of every way to split a set in two: the half with its first stream."""
    first, *others = sorted(streams)
    for size in range(len(others)):
        for more in combinations(others, size):
            yield frozenset([first, *more])


def _greedy_tree(n_streams: int, cost: CostOfJoin) -> Part:
    """Join the pair that costs least, again and again."""
    parts: dict[Streams, Part] = {frozenset([i]): i for i in range(n_streams)}
    while len(parts) > 1:
        left, right = min(combinations(parts, 2), key=lambda pair: cost(*pair))
        parts[left | right] = _joined(parts.pop(left), parts.pop(right), left, right)
    return next(iter(parts.values()))


def _joined(one: Part, other: Part, left: Streams, right: Streams) -> Part:
    """Two parts of these streams, the larger to the left, as people write it."""
    return (one, other) if len(left) >= len(right) else (other, one)


def _tree(part: Part, names: Sequence[str]) -> Tree:
    """Number the joins as a `Tree` does: each after its inputs."""
    joins: list[Children] = []

    def number(part: Part) -> int:
        if isinstance(part, int):
            return part
        joins.append((number(part[0]), number(part[1])))
        return len(names) + len(joins) - 1

    number(part)
    return Tree(tuple(names), tuple(joins))


@dataclass(frozen=True)
class Choice:
    """Which of two ways to evaluate a join is the better one."""

    strategy: Strategy  # the better one
    tree: Tree  # the best tree, and the probing sequences of the n-ary join
    sequences: Sequences
    mjoin: Cost  # what a batch costs in each
    tree_cost: Cost


def adaptive_groups(situation: Situation, sequences: Sequences) -> Groups:
    """The order in which draining the streams costs least.

    Up to 5 streams all orders are compared. Of those that cost at most 1 % more than the cheapest,
    the one is taken whose results come earliest on average. Above, the next stream is the one that
    brings most results for its cost, again and again.

    Examples
    --------
    Stream 0 brings much more than is remembered of it. If it waits, the others probe little.

    >>> from streamjoin.planning.two.algorithm_choice import OperationCosts
    >>> from streamjoin.planning.many.nary import Sizes
    >>> sizes = Sizes((500, 500, 500), {3: 250, 5: 250, 6: 250, 7: 125}, keys=1000)
    >>> at = Situation((5000, 50, 50), (500, 500, 500), (4, 4, 4), sizes, OperationCosts())
    >>> adaptive_groups(at, probing_sequences(3, sizes))
    ((1,), (2,), (0,))
    """
    drains, n_streams = Drains(situation, sequences), situation.n_streams
    if n_streams > MAX_STREAMS_ALL_ORDERS:
        return _greedy_groups(drains, n_streams)
    ways = _orders(drains, n_streams)
    limit = EQUAL_COST * min(ns for ns, _, _ in ways)
    _, order = min((waited, order) for ns, waited, order in ways if ns <= limit)
    return tuple((j,) for j in order)


def _orders(drains: Drains, n_streams: int) -> list[Way]:
    """All orders; those that begin alike share what is known of their beginning."""
    ways, brief = list[Way](), cache(drains.brief)

    def go_on(ns: float, waited: float, before: int, order: tuple[int, ...]) -> None:
        if len(order) == n_streams:
            ways.append((ns, waited, order))
            return
        for j in range(n_streams):
            if not before >> j & 1:
                results, more = brief(j, before)
                later = waited + results * (ns + more / 2)
                go_on(ns + more, later, before | 1 << j, (*order, j))

    go_on(0.0, 0.0, 0, ())
    return ways


def _greedy_groups(drains: Drains, n_streams: int) -> Groups:
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

    >>> from streamjoin.planning.two.algorithm_choice import OperationCosts
    >>> from streamjoin.planning.many.nary import Sizes
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

    tree = choose_tree(names, situation.arrivals, cardinality, connected=connected)
    cost = tree_cost(tree, situation)
    return Choice(_better(mjoin, cost, stay), tree, sequences, mjoin, cost)


def _better(mjoin: Cost, tree: Cost, stay: Strategy | None) -> Strategy:
    if stay == "tree":
        return "mjoin" if tree.us > CLEARLY * mjoin.us else "tree"
    margin = CLEARLY if stay == "mjoin" else 1.0
    return "tree" if mjoin.us > margin * tree.us else "mjoin"
