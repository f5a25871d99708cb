"""What a batch costs in an n-ary join and in a tree of joins: both consist of half-way joins.

In a *half-way join* p tuples look for partners in a table of s tuples, which lies in w pieces.
Where a piece is not small and has more than 8 times p tuples, it has an index that is kept, and
each of the p looks into it; else one index is made of the p tuples, past which the piece is
streamed. Then each pair that is found becomes a tuple: its values are gathered.

An *n-ary join* (VAL-A1, VAL-A2) drains one stream after the other. Tuples of the driver probe the
others by its probing sequence; the table of a stream that was drained before has that one's new
tuples too. Intermediate tuples are formed again and again, and forgotten.

In a *tree* every join is done both ways, with stored tuples and once with new ones. Each
intermediate tuple is formed once; but it is stored, read again in each batch, and removed.

What both do alike is left out: rows that come in, are stored and read, and results that go out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, prod
from operator import add
from typing import Final, NamedTuple

from streamjoin.core.window import N_BASIC_WINDOWS
from streamjoin.planning.many.nary import Groups, Sequences, Sizes
from streamjoin.planning.many.tree import Tree
from streamjoin.planning.two.algorithm_choice import OperationCosts

FEW: Final = 8
"""Where so many times the probing tuples are fewer than those of a piece, its index is kept."""
SMALL: Final = 1 << 12
"""Pieces of fewer tuples are visited together; they have no index."""
ROUND: Final = 1 << 12
"""Tuples of a round, at least, where streams take turns."""
MOST_ROUNDS: Final = 32
INTERVAL: Final = 5
"""Values besides the names of rows that are gathered for a tuple: a key, two starts, two ends."""
STATE_STORE: Final = 90.0
"""Nanoseconds that Spark's state store takes for each value that is kept, besides what we do. It
was measured in whole queries, where a tree that keeps much took so much longer than its own work
explains; `calibrate`, which runs no query, cannot see it."""


@dataclass(frozen=True)
class Situation:
    """What is known when a batch comes."""

    arrivals: tuple[float, ...]  # tuples of each stream that a batch brings
    tables: tuple[float, ...]  # tuples of each stream that are remembered
    pieces: tuple[float, ...]  # basic windows that these lie in
    sizes: Sizes  # how large joins are
    operations: OperationCosts  # what operations cost

    @property
    def n_streams(self) -> int:
        """Streams."""
        return len(self.arrivals)

    @property
    def keys(self) -> float:
        """Distinct keys, at least one."""
        return max(self.sizes.keys, 1.0)

    @cached_property
    def after(self) -> tuple[float, ...]:
        """Tables with what the batch brings."""
        return tuple(t + a for t, a in zip(self.tables, self.arrivals, strict=True))

    def stored(self, streams: Sequence[int]) -> float:
        """Tuples that a join of some streams remembers."""
        return self.sizes.of(frozenset(streams), self.tables)

    def formed(self, streams: Sequence[int]) -> float:
        """Tuples of a join of some streams that a batch brings."""
        return self.sizes.of(frozenset(streams), self.after) - self.stored(streams)


@dataclass(frozen=True)
class Cost:
    """What one batch needs."""

    probes: float = 0.0  # tuples that look for partners in a table
    intermediate: float = 0.0  # tuples formed of some streams, and of all
    results: float = 0.0
    switches: float = 0.0  # how often another stream becomes the driver
    us: float = 0.0  # microseconds of one core

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(*map(add, vars(self).values(), vars(other).values()))

    def times(self, n: float) -> "Cost":
        """Of so many alike."""
        return Cost(*(n * value for value in vars(self).values()))


class Halfway(NamedTuple):
    """A half-way join.

    `probing` tuples, which are in order of time if `ordered` (as rows are), look for partners among
    `stored` tuples in so many `pieces` and among `new` ones of this batch, which have no index.
    They find `formed` pairs, and for each of these so many `values` are gathered.
    """

    probing: float
    ordered: bool
    stored: float
    pieces: float
    new: float
    formed: float
    values: int

    @property
    def is_indexed(self) -> bool:
        """Whether the table's own indexes are looked into."""
        return 0 < self.pieces * max(SMALL, FEW * self.probing) <= self.stored

    @property
    def happens(self) -> float:
        """In which part of the batches there is something to do."""
        return min(1.0, self.probing)

    def ns(self, keys: float, ops: OperationCosts) -> float:
        """Nanoseconds."""
        probing, _, stored, pieces, new, formed, values = self
        visits = 1.0 if stored < pieces * SMALL else pieces
        fixed = ops.visit * (visits + 1 if new else visits)
        total, streamed = (ops.touch + ops.gather * values) * formed, new
        if self.is_indexed:
            total += ops.look_up(probing * pieces, stored / pieces, stored, keys)
        else:
            streamed += stored
        if streamed:
            fixed += ops.build + ops.look_up(streamed, probing, probing, keys)
            total += ops.fill_index(probing, keys) + (0.0 if self.ordered else ops.sort * probing)
        return total + self.happens * fixed


def indexes_ns(
    rows: float, new_pieces: float, pieces: float, keys: float, ops: OperationCosts
) -> float:
    """The indexes of a table: of its new rows they are made and written, and all are opened."""
    made = ops.fill_index(rows, keys) + ops.keep * rows + new_pieces * (ops.build + ops.file)
    return made + ops.window * pieces


def values_of(n_streams: int, *, is_last: bool) -> int:
    """What is gathered for a tuple: names of rows; key and interval; and to see that it is one.

    That the intervals of two rows overlap is known when they are found.
    """
    return n_streams + (0 if is_last else INTERVAL) + (0 if n_streams == 2 else INTERVAL - 1)


class Step(NamedTuple):
    """Tuples of a driver, and of streams that they have met, probe the next stream.

    Each of them has `partners` for each tuple of that stream.
    """

    stream: int
    partners: float
    is_first: bool
    values: int


class Drains:
    """What it costs to drain a stream when others have been before.

    Parameters
    ----------
    situation, sequences
        What is known, and the probing sequence of each stream.
    """

    def __init__(self, situation: Situation, sequences: Sequences) -> None:
        self._at, self._keys = situation, situation.keys
        self._steps = [self._steps_of(j, sequence) for j, sequence in enumerate(sequences)]
        self._known: dict[tuple[int, int, int], tuple[float, float]] = {}
        self.indexed: dict[int, float] = {}
        """Tables whose indexes are kept, and in which part of the batches they are looked into."""

    def _steps_of(self, driver: int, sequence: Sequence[int]) -> list[Step]:
        steps, joined, before = list[Step](), frozenset([driver]), 1.0
        for n, stream in enumerate(sequence, start=2):
            joined |= {stream}
            sigma = self._at.sizes.selectivity(joined)
            partners = sigma / before if before else 0.0
            values = values_of(n, is_last=n == self._at.n_streams)
            steps.append(Step(stream, partners, n == 2, values))
            before = sigma
        return steps

    def brief(self, driver: int, before: int) -> tuple[float, float]:
        """Results and nanoseconds, where some streams (bits) have been drained before."""
        formed, total, drained = self._at.arrivals[driver], 0.0, 0
        for n, step in enumerate(self._steps[driver]):
            drained |= before & 1 << step.stream
            known = self._known.get((driver, n, drained))
            if known is None:
                new = self._at.arrivals[step.stream] if drained >> step.stream & 1 else 0.0
                known = self._known[driver, n, drained] = self._probe(step, formed, new)
            formed, ns = known
            total += ns
        return formed, total

    def cost(self, driver: int, new: Sequence[float], probing: float) -> Cost:
        """Of some tuples that probe, where so many new ones of each stream were before."""
        probes, intermediate, total, formed = 0.0, 0.0, 0.0, probing
        for step in self._steps[driver]:
            probes += formed
            intermediate += 0.0 if step.is_first else formed
            formed, ns = self._probe(step, formed, new[step.stream])
            total += ns
        return Cost(probes, intermediate, formed, 0.0, total / 1000)

    def _probe(self, step: Step, probing: float, new: float) -> tuple[float, float]:
        """Tuples that a step forms, and its nanoseconds."""
        stored = self._at.tables[step.stream]
        formed = probing * step.partners * (stored + new)
        half = Halfway(
            probing, step.is_first, stored, self._at.pieces[step.stream], new, formed, step.values
        )
        if half.is_indexed and probing:
            self.indexed[step.stream] = max(self.indexed.get(step.stream, 0.0), half.happens)
        return formed, half.ns(self._keys, self._at.operations)


def mjoin_cost(situation: Situation, sequences: Sequences, groups: Groups) -> Cost:
    """One batch of an n-ary join.

    Parameters
    ----------
    situation
        What is known.
    sequences
        The probing sequence of each stream.
    groups
        Streams that drain one after the other; those of one group take turns.
    """
    drains, arrivals = Drains(situation, sequences), situation.arrivals
    before, total = frozenset[int](), Cost()
    for group in groups:
        rounds = 1.0  # a stream that drains needs no more
        if len(group) > 1:
            rounds = max(1.0, min(MOST_ROUNDS, sum(arrivals[i] for i in group) // ROUND))
        # Streams that take turns meet half of each other's new tuples.
        part = dict.fromkeys(group, 0.5) | dict.fromkeys(before, 1.0)
        for j in group:
            new = [part.get(i, 0.0) * a if i != j else 0.0 for i, a in enumerate(arrivals)]
            total += drains.cost(j, new, arrivals[j] / rounds).times(rounds)
        total += Cost(switches=rounds * len(group))
        before |= set(group)
    keys, ops = situation.keys, situation.operations
    ns = sum(
        part * indexes_ns(arrivals[i], 1.0, situation.pieces[i], keys, ops)
        for i, part in drains.indexed.items()
    )
    return total + Cost(switches=-1.0, us=ns / 1000)


def tree_cost(tree: Tree, situation: Situation) -> Cost:
    """One batch of a tree of joins; its streams are numbered as those of the situation are."""
    nodes = range(tree.n_streams, tree.root + 1)
    return sum((_join(tree, node, situation) for node in nodes), Cost())


def _join(tree: Tree, node: int, at: Situation) -> Cost:
    """One join, both ways; what it forms is stored unless it is the last."""
    pair, streams = tree.children(node), tree.streams(node)
    is_last, keys, ops = node == tree.root, at.keys, at.operations
    new = [at.formed(tree.streams(x)) for x in pair]
    old = [at.stored(tree.streams(x)) for x in pair]
    formed, both = at.formed(streams), prod(n + o for n, o in zip(new, old, strict=True))
    sigma = at.sizes.of(frozenset(streams), at.after) / both if both else 0.0
    ns = 0.0
    for x, y, meets in ((0, 1, new[1]), (1, 0, 0.0)):
        pieces, is_stream = _pieces(tree, pair[y], at), pair[x] < tree.n_streams
        half = Halfway(
            new[x], is_stream, old[y], pieces, meets, sigma * new[x] * (old[y] + meets),
            values_of(len(streams), is_last=is_last),
        )  # fmt: skip
        ns += half.ns(keys, ops)
        if pair[y] >= tree.n_streams:
            values = len(tree.streams(pair[y])) + INTERVAL - 2
            ns += half.happens * (ops.read * pieces + ops.load * values * old[y])
        if half.is_indexed:
            cuts = _cuts(tree, pair[y], new[y])
            ns += half.happens * indexes_ns(new[y], cuts, pieces, keys, ops)
    if not is_last:
        values = len(streams) + INTERVAL - 2
        ns += (ops.store + STATE_STORE) * values * formed + ops.piece * _cuts(tree, node, formed)
    results = formed if is_last else 0.0
    return Cost(sum(new), formed - results, results, 0.0, ns / 1000)


def _cuts(tree: Tree, node: int, formed: float) -> float:
    """Pieces that are stored of the new tuples of a node.

    Those that a join forms end at different times, and are cut into pieces that end together.
    """
    most = 1.0 if node < tree.n_streams else N_BASIC_WINDOWS + 0.5
    return most * (1 - exp(-formed / most))


def _pieces(tree: Tree, node: int, at: Situation) -> float:
    """Pieces that a node's tuples lie in; of those that batches stored half are still there."""
    if node < tree.n_streams:
        return at.pieces[node]
    streams = tree.streams(node)
    batches = max(at.pieces[i] for i in streams)
    return max(1.0, min(at.stored(streams), batches * _cuts(tree, node, at.formed(streams)) / 2))
