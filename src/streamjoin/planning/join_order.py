"""Which streams to join first: the order of a plan.

A plan is good when it makes few intermediate results per second: each is inserted, stored and
probes on. The results of the whole plan are the same for every order and do not count.

A new tuple of stream i meets the windows of the other streams of a set S, so S makes
``rate_i * cardinality(S) / cardinality({i})`` results per second through it, and the sum of that
over its streams in all.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import combinations
from math import inf
from operator import itemgetter
from typing import Final, TypeAlias, Union

from streamjoin.errors import ConfigError
from streamjoin.planning.tree import Children, Tree

Streams = frozenset[int]
Cardinality = Callable[[Streams], float]
Connected = Callable[[Streams, Streams], bool]
Cost = tuple[int, float]
"""Cross products, then intermediate results per second."""

Part: TypeAlias = Union[int, "tuple[Part, Part]"]
"""A tree of streams by their numbers."""

EXHAUSTIVE: Final = 10
"""Up to so many streams all trees are compared; above, the best pair is joined again and again."""


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
        The streams. The tree may have them in another order.
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
        msg = f"rates: got {len(rates)}; allowed: one for each of 2 streams or more"
        raise ConfigError(msg)
    cost = _Costs(rates, cardinality, connected, len(names))
    find = _best if len(names) <= EXHAUSTIVE else _greedy
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
        msg = f"cardinality: got {size} for {sorted(streams)}; allowed: finite, 0 or more"
        raise ConfigError(msg)
    return size


class _Costs:
    """What a join costs: whether it is a cross product, and what it makes per second."""

    def __init__(
        self, rates: Sequence[float], size: Cardinality, connected: Connected | None, whole: int
    ) -> None:
        self._connected = connected
        self._whole = whole
        self._made = cache(lambda streams: produced_rate(streams, rates, size))

    def of(self, left: Streams, right: Streams) -> Cost:
        crosses = self._connected is not None and not self._connected(left, right)
        both = left | right
        return int(crosses), self._made(both) if len(both) < self._whole else 0.0


def _best(n_streams: int, cost: _Costs) -> Part:
    """Compare all trees: the best one of a set is made of the best ones of two parts."""
    best: dict[Streams, tuple[Cost, Part]] = {
        frozenset([i]): ((0, 0.0), i) for i in range(n_streams)
    }

    def joined(left: Streams, right: Streams) -> tuple[Cost, Part]:
        (crosses, made), one = best[left]
        (more_crosses, more_made), other = best[right]
        here, made_here = cost.of(left, right)
        return (crosses + more_crosses + here, made + more_made + made_here), (one, other)

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


def _greedy(n_streams: int, cost: _Costs) -> Part:
    """Join the pair that costs least, again and again."""
    parts: dict[Streams, Part] = {frozenset([i]): i for i in range(n_streams)}
    while len(parts) > 1:
        left, right = min(combinations(parts, 2), key=lambda pair: cost.of(*pair))
        parts[left | right] = (parts.pop(left), parts.pop(right))
    return next(iter(parts.values()))


def _tree(part: Part, names: Sequence[str]) -> Tree:
    """Number the nodes as a `Tree` does: leaves from left to right, each join after its inputs."""
    order: list[int] = []
    joins: list[Children] = []

    def number(part: Part) -> int:
        if isinstance(part, int):
            order.append(part)
            return len(order) - 1
        # the deeper part to the left, as people write it
        left, right = sorted(part, key=lambda side: -_count(side))
        pair = number(left), number(right)
        joins.append(pair)
        return len(names) + len(joins) - 1

    number(part)
    return Tree(tuple(names[i] for i in order), tuple(joins))


def _count(part: Part) -> int:
    return 1 if isinstance(part, int) else _count(part[0]) + _count(part[1])
