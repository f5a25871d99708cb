"""An n-ary join: how large joins are, in what order a tuple looks for partners, which input drives.

The *selectivity* of a set of streams is the size of their join divided by the product of their own
sizes (VAL-A4). It belongs to the streams, not to how much of them is remembered: so what was
counted once can be scaled to other tables. From it follow the *probing sequences* (VAL-A3).

A tuple that is processed enters the table of its stream and probes those of the others; so of two
tuples of one batch that match, the later one finds the earlier. What the results are does not
depend on the order. When they come does, and so does a little of the work. Five policies are the
paper's (VAL-A5..A10). They know how many tuples of each stream wait (the *buffers*), how many are
in the *tables*, and how many each stream has brought in all. A policy says which streams *drain*
their buffers one after the other, and which take turns.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, fsum, log, prod
from typing import Any, Final, Literal, get_args

from streamjoin.errors import ConfigError

Streams = frozenset[int]
CanFollow = Callable[[Streams, int], bool]
"""Whether tuples of some streams can look for partners in another one: an equality links them."""
Sequences = tuple[tuple[int, ...], ...]
"""For each stream as the driver, the others in the order in which its tuples probe them."""
ALL_SETS: Final = 8
"""Up to so many streams, sizes of joins of all sets of them are kept; of more, those of pairs."""
Order = Literal[
    "adaptive", "timestamp", "round-robin", "consumption-rate", "initial-output-size", "output-rate"
]
ORDERS: Final[tuple[Order, ...]] = get_args(Order)
EQUAL_TOTALS: Final = 0.95
"""Streams that brought at least so much of what another one did are equal to it."""
Turns = Literal["time", "position"]
Groups = tuple[tuple[int, ...], ...]
"""Streams: those of one group take turns until their buffers are empty, then comes the next."""


@dataclass(frozen=True)
class Sizes:
    """Expected sizes of joins of the streams' tables, as they were when looked at.

    Examples
    --------
    Tables of 100, 100 and 1000 tuples, of which the last has grown to 2000 since.

    >>> sizes = Sizes((100, 100, 1000), {0b011: 50, 0b110: 500}, keys=200)
    >>> now = (100, 100, 2000)
    >>> sizes.of(frozenset([1, 2]), now)
    1000.0

    What nobody counted follows as if equalities were independent: a tuple of a and b has as many
    partners in c as one of b has.

    >>> sizes.of(frozenset([0, 1, 2]), now)
    500.0
    """

    tables: tuple[float, ...]  # tuples of each stream then
    joined: dict[int, float]
    """Size of the join of the tables of some streams, two or more, by the set's bit mask (bit i
    stands for stream i)."""
    keys: float  # distinct keys of all tables together
    _known: dict[Streams, float] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def of(self, streams: Streams, tables: Sequence[float]) -> float:
        """Size of the join of some streams with other tables."""
        return self.selectivity(streams) * prod(tables[i] for i in streams)

    def selectivity(self, streams: Streams) -> float:
        """Size of a join divided by the product of those of its inputs.

        Where the join was not looked at, the largest part of it that was is taken, and the other
        streams are added one by one by the largest selectivity of a pair that links them. With one
        key common to all that is exact if keys are uniform and those of one stream are among those
        of another. Streams that no pair links form a cross product.
        """
        if len(streams) < 2:
            return 1.0
        known = self._known.get(streams)
        if known is None:
            counted, then = self.joined.get(_mask(streams)), prod(self.tables[i] for i in streams)
            if counted is None:
                known = self._independent(streams)
            else:
                known = counted / then if then else 0.0
            self._known[streams] = known
        return known

    def pair(self, one: int, other: int) -> float:
        """Selectivity of two streams, 1 if nobody looked at them."""
        counted = self.joined.get(1 << one | 1 << other)
        then = self.tables[one] * self.tables[other]
        return 1.0 if counted is None else counted / then if then else 0.0

    def _independent(self, streams: Streams) -> float:
        whole = _mask(streams)
        parts = [_members(mask) for mask in self.joined if mask & whole == mask]
        first = max(parts, key=lambda part: (len(part), self.selectivity(part)), default=None)
        within = set(first or [min(streams)])
        selectivity, left = self.selectivity(frozenset(within)), set(streams) - within
        while left:
            best, chosen = max((self._link(within, i), -i) for i in left)
            selectivity *= best
            within.add(-chosen)
            left.remove(-chosen)
        return selectivity

    def _link(self, within: Iterable[int], other: int) -> float:
        known = [self.pair(i, other) for i in within if 1 << i | 1 << other in self.joined]
        return max(known, default=1.0)

    def to_dict(self) -> dict[str, Any]:
        """Values that JSON can hold.

        Examples
        --------
        >>> Sizes((2, 3), {0b11: 4}, keys=2).to_dict()
        {'tables': [2, 3], 'joined': {'3': 4}, 'keys': 2}
        """
        joined = {str(mask): size for mask, size in self.joined.items()}
        return {"tables": list(self.tables), "joined": joined, "keys": self.keys}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Sizes":
        """Read `to_dict` back.

        Examples
        --------
        >>> sizes = Sizes((2, 3), {0b11: 4}, keys=2)
        >>> Sizes.from_dict(sizes.to_dict()) == sizes
        True
        """
        joined = {int(mask): size for mask, size in values["joined"].items()}
        return cls(tuple(values["tables"]), joined, values["keys"])

    @classmethod
    def given(cls, selectivities: Mapping[Streams, float], n_streams: int) -> "Sizes":
        """What follows from selectivities of some sets of streams; their pairs must link all.

        A pair that is not given is as selective as the most selective one on the way from the one
        stream to the other, by the pairs that are least so. That, too, is exact where keys are
        uniform and those of the one stream are among those of the other.

        Examples
        --------
        >>> pairs = {frozenset([0, 1]): 0.01, frozenset([1, 2]): 0.001}
        >>> sizes = Sizes.given(pairs, n_streams=3)
        >>> sizes.selectivity(frozenset([0, 2])), sizes.selectivity(frozenset([0, 1, 2]))
        (0.001, 1e-05)
        >>> Sizes.given({frozenset([0, 1]): 0.01}, n_streams=3)
        Traceback (most recent call last):
            ...
        streamjoin.errors.ConfigError: selectivities: got none that links stream 2; allowed: pairs \
that link all streams
        """
        pairs = {streams: sigma for streams, sigma in selectivities.items() if len(streams) == 2}
        joined = {_mask(s): sigma for s, sigma in _all_pairs(pairs, n_streams).items()}
        joined |= {_mask(streams): sigma for streams, sigma in selectivities.items()}
        rare = [log(sigma) for sigma in pairs.values() if sigma > 0]
        keys = exp(-fsum(rare) / len(rare)) if rare else 1.0
        return cls((1.0,) * n_streams, joined, keys)


def _mask(streams: Iterable[int]) -> int:
    return sum(1 << i for i in streams)


def _members(mask: int) -> Streams:
    return frozenset(i for i in range(mask.bit_length()) if mask >> i & 1)


def _all_pairs(pairs: Mapping[Streams, float], n_streams: int) -> dict[Streams, float]:
    """Pairs that are given and those that follow: streams are linked one by one."""
    every, within = dict(pairs), [0]
    while len(within) < n_streams:
        left = [i for i in range(n_streams) if i not in within]
        links = [(pairs.get(frozenset([i, j]), -1.0), -i, -j) for i in within for j in left]
        best, at, new = max(links)
        if best < 0:
            msg = f"selectivities: got none that links stream {left[0]}; allowed: pairs that link "
            raise ConfigError(msg + "all streams")
        for i in within:
            by = every.get(frozenset([i, -at]), 1.0) if i != -at else 1.0
            every.setdefault(frozenset([i, -new]), min(best, by))
        within.append(-new)
    return every


def probing_sequences(
    n_streams: int,
    sizes: Sizes,
    can_follow: CanFollow | None = None,
    tables: Sequence[float] | None = None,
) -> Sequences:
    """In what order tuples of each stream probe the others, if it drives (VAL-A3).

    Each time the stream that leaves the fewest intermediate tuples comes next; of equal ones that
    with the smaller table, then the first.

    Parameters
    ----------
    n_streams
        How many there are.
    sizes
        What is known of their joins.
    can_follow
        Which streams are linked to others; None if all are, by a common key.
    tables
        Tuples of each stream that are remembered; None for those of `sizes`.

    Examples
    --------
    Datasets I to IV of the paper (VAL-D2): tuples of streams 0 and 1 seldom match.

    >>> pairs = {frozenset([0, 1]): 5e-9, frozenset([0, 2]): 1e-6, frozenset([1, 2]): 5e-6}
    >>> sizes = Sizes.given(pairs, n_streams=3)
    >>> probing_sequences(3, sizes)
    ((1, 2), (0, 2), (0, 1))
    """
    known = sizes.tables if tables is None else tables
    return tuple(_probing_sequence(j, sizes, can_follow, known) for j in range(n_streams))


def _probing_sequence(
    driver: int, sizes: Sizes, can_follow: CanFollow | None, known: Sequence[float]
) -> tuple[int, ...]:
    by_pairs = len(known) > ALL_SETS  # of many streams only pairs were looked at: O(n_streams^2)
    links = [sizes.pair(driver, i) for i in range(len(known))] if by_pairs else []
    joined, left, order = frozenset([driver]), set(range(len(known))) - {driver}, list[int]()

    def formed(stream: int) -> float:
        if by_pairs:
            return links[stream] * known[stream]
        return sizes.of(joined | {stream}, known)

    while left:
        linked = [i for i in left if can_follow is None or can_follow(joined, i)] or sorted(left)
        chosen = min(linked, key=lambda i: (formed(i), known[i], i))
        joined |= {chosen}
        left.remove(chosen)
        order.append(chosen)
        for i in left if by_pairs else ():
            pair = sizes.pair(chosen, i)
            links[i] = pair if links[i] == 1.0 else max(links[i], pair if pair < 1.0 else 0.0)
    return tuple(order)


@dataclass(frozen=True)
class Waiting:
    """What is known when a batch begins."""

    buffers: tuple[int, ...]  # tuples of each stream that wait: |buffer_j|
    tables: tuple[int, ...]  # tuples of each that are remembered: |ht_j|
    totals: tuple[int, ...]  # tuples of each stream in all, |S_j|, as far as they are known


def groups_of(order: Order, waiting: Waiting) -> tuple[Groups, Turns]:
    """Who drains after whom, and how those that take turns do so.

    The selectivity of the join is a factor of all estimates alike, so no policy needs it (VAL-U3).

    Examples
    --------
    >>> waiting = Waiting((10, 30, 50), (100, 200, 400), (1000, 1000, 9000))
    >>> groups_of("initial-output-size", waiting)
    (((1,), (2,), (0,)), 'position')
    >>> groups_of("output-rate", waiting)
    (((0,), (1,), (2,)), 'position')
    >>> groups_of("consumption-rate", waiting)
    (((2,), (0, 1)), 'position')
    """
    streams = range(len(waiting.buffers))
    if order == "timestamp":
        return (tuple(streams),), "time"
    if order == "round-robin":
        return (tuple(streams),), "position"
    if order == "consumption-rate":
        return _by_selectivity(waiting), "position"
    if order == "adaptive":
        raise ValueError("adaptive: what it chooses follows from costs, not from here")
    return tuple((j,) for j in _greedy_order(waiting, per_tuple=order == "output-rate")), "position"


def _by_selectivity(waiting: Waiting) -> Groups:
    """Ascending sigma_Sj = |Mjoin| / |S_j|: the largest stream first; equal ones take turns.

    The paper calls that round-robin and drains nevertheless (VAL-A7, VAL-I8). Of live streams no
    two have brought exactly as much: they are equal if little is between them.
    """
    totals, groups = waiting.totals, list[list[int]]()
    for j in sorted(range(len(totals)), key=lambda j: (-totals[j], j)):
        if groups and totals[j] >= EQUAL_TOTALS * totals[groups[-1][0]]:
            groups[-1].append(j)
        else:
            groups.append([j])
    return tuple(tuple(group) for group in groups)


def _greedy_order(waiting: Waiting, *, per_tuple: bool) -> list[int]:
    """The stream that brings most, again and again; tables grow meanwhile (VAL-A9, VAL-A10).

    Of those that bring the same the one with the larger buffer comes first, then the first one.
    """
    tables, left, order = list(waiting.tables), set(range(len(waiting.buffers))), list[int]()
    while left:

        def rank(j: int) -> tuple[int, int, int]:
            buffer = waiting.buffers[j]
            # whole numbers have no limit: many large tables would be too much for floats
            met = prod(table for i, table in enumerate(tables) if i != j)
            return -(met if per_tuple and buffer else met * buffer), -buffer, j

        chosen = min(left, key=rank)
        tables[chosen] += waiting.buffers[chosen]
        left.remove(chosen)
        order.append(chosen)
    return order
