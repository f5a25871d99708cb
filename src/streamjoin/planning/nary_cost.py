"""What a batch costs in an n-ary join (an MJoin), and what it costs in a tree of joins.

Both do *half-way joins*: p tuples look for partners in a table of s tuples, which lies in w pieces.
Where a piece has more than 8 times p tuples, it has an index that is kept, and each of the p looks
into it; else one index is made of the p tuples, past which the piece is streamed. Then each pair
that is found becomes a tuple: its values are gathered.

- An *MJoin* drains one stream after the other. Tuples of the driver probe the others by its probing
  sequence; the table of a stream that was drained before has that one's new tuples too. It forms
  intermediate tuples again and again and forgets them.
- A *tree* does every join both ways, with stored tuples and once with new ones. Each intermediate
  tuple is formed once; but it is stored, read again in each batch, and removed.

What both do alike is left out: rows that come in, are stored and read, and results that go out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, prod
from typing import Final

from streamjoin.core.window import N_BASIC_WINDOWS
from streamjoin.planning.algorithm_choice import FAR_ROWS, OperationCosts
from streamjoin.planning.drivers import Groups
from streamjoin.planning.nary import Sequences, Sizes
from streamjoin.planning.tree import Tree

FEW: Final = 8
"""Where so many times the probing tuples are fewer than those of a piece, its index is kept."""
ROUND: Final = 4096
"""Tuples that streams drain before the next one's turn, where they take turns."""
INTERVAL: Final = 5
"""Values besides the names of rows that are gathered for a tuple: a key, two starts, two ends."""


@dataclass(frozen=True)
class Situation:
    """What is known when a batch comes.

    Parameters
    ----------
    arrivals
        Tuples of each stream that a batch brings.
    tables
        Tuples of each stream that are remembered.
    pieces
        Basic windows that these lie in.
    sizes
        How large joins are.
    operations
        What operations cost.
    """

    arrivals: tuple[float, ...]
    tables: tuple[float, ...]
    pieces: tuple[float, ...]
    sizes: Sizes
    operations: OperationCosts

    @property
    def n_streams(self) -> int:
        """Streams."""
        return len(self.arrivals)

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
    """What one batch needs.

    Parameters
    ----------
    probes
        Tuples that look for partners in a table.
    intermediate, results
        Tuples formed of some streams, and of all.
    switches
        How often another stream becomes the driver.
    us
        Microseconds of one core.
    """

    probes: float
    intermediate: float
    results: float
    switches: float
    us: float

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(
            self.probes + other.probes,
            self.intermediate + other.intermediate,
            self.results + other.results,
            self.switches + other.switches,
            self.us + other.us,
        )

    def times(self, n: float) -> "Cost":
        """Of so many alike."""
        return Cost(
            n * self.probes, n * self.intermediate, n * self.results, n * self.switches, n * self.us
        )


NOTHING: Final = Cost(0.0, 0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Halfway:
    """A half-way join.

    Parameters
    ----------
    probing, ordered
        Tuples that look for partners, and whether they are in order of time, as rows are.
    stored, pieces
        Tuples of the table, and pieces that they lie in.
    new
        Tuples of this batch that are probed too; they have no index.
    formed, values
        Pairs that are found, and what is gathered for each of them.
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
        return FEW * self.probing * self.pieces < self.stored

    @property
    def happens(self) -> float:
        """In which part of the batches there is something to do."""
        return min(1.0, self.probing)

    def ns(self, keys: float, ops: OperationCosts) -> float:
        """Nanoseconds."""
        visits = self.pieces + (1 if self.new else 0)
        fixed, each = (ops.call + ops.visit) * visits, (ops.touch + ops.gather * self.values)
        found, streamed = each * self.formed, self.new
        if self.is_indexed:
            fixed += ops.window * self.pieces
            rows = self.stored / self.pieces
            found += _lookups(self.probing * self.pieces, rows, self.stored, keys, ops)
        else:
            streamed += self.stored
        if streamed:
            fixed += ops.build
            found += _made(self.probing, keys, ops)
            found += 0.0 if self.ordered else ops.sort * self.probing
            found += self.happens * _lookups(streamed, self.probing, self.probing, keys, ops)
        return found + self.happens * fixed


def _lookups(n: float, rows: float, all_rows: float, keys: float, ops: OperationCosts) -> float:
    """Lookups in an index over some rows, one of several that have so many together."""
    hits = 1 - exp(-rows / max(keys, 1))
    far = all_rows / (all_rows + FAR_ROWS)
    return n * (ops.probe + ops.found * hits * (2 - hits) + ops.far_probe * far * (1 + 4 * hits))


def _made(rows: float, keys: float, ops: OperationCosts) -> float:
    """The rows of an index."""
    hits = 1 - exp(-rows / max(keys, 1))
    far = rows / (rows + FAR_ROWS)
    return rows * (ops.insert + ops.far_insert * far) + ops.key * keys * hits


def _kept(rows: float, pieces: float, keys: float, ops: OperationCosts) -> float:
    """Indexes over new rows of a table in some pieces, written to files."""
    return _made(rows, keys, ops) + ops.keep * rows + pieces * (ops.build + ops.file)


def _values(n_streams: int, *, is_last: bool) -> int:
    """What is gathered for a tuple: names of rows; key and interval; and to see that it is one.

    That the intervals of two rows overlap is known when they are found.
    """
    return n_streams + (0 if is_last else INTERVAL) + (0 if n_streams == 2 else INTERVAL - 1)


class Drains:
    """What it costs to drain a stream when others have been before.

    Parameters
    ----------
    situation, sequences
        What is known, and the probing sequence of each stream.
    """

    def __init__(self, situation: Situation, sequences: Sequences) -> None:
        self._at, self._sequences = situation, sequences
        self._known: dict[tuple[int, ...], Cost] = {}
        self.indexed: dict[int, float] = {}
        """Tables whose indexes are kept, and in which part of the batches they are looked into."""

    def cost(self, driver: int, before: frozenset[int]) -> Cost:
        """Of all tuples that wait."""
        found, probing, joined = NOTHING, self._at.arrivals[driver], frozenset([driver])
        if not probing:
            return found
        drained = 0
        for step, stream in enumerate(self._sequences[driver]):
            joined |= {stream}
            drained |= (stream in before) << step
            name = (driver, step, drained)
            part = self._known.get(name)
            if part is None:
                new = self._at.arrivals[stream] if stream in before else 0.0
                part = self._step(probing, joined, stream, new)
                self._known[name] = part
            found += part
            probing = part.intermediate + part.results
        return found

    def turn(self, driver: int, new: Sequence[float], probing: float) -> Cost:
        """Of some of the tuples that wait, where some of other streams have been drained."""
        found, joined = NOTHING, frozenset([driver])
        for stream in self._sequences[driver] if probing else ():
            joined |= {stream}
            part = self._step(probing, joined, stream, new[stream])
            found += part
            probing = part.intermediate + part.results
        return found

    def _step(self, probing: float, joined: frozenset[int], stream: int, new: float) -> Cost:
        at, before = self._at, self._at.sizes.selectivity(joined - {stream})
        partners = at.sizes.selectivity(joined) * (at.tables[stream] + new)
        formed = probing * partners / before if before else 0.0
        is_last, is_first = len(joined) == at.n_streams, len(joined) == 2
        half = Halfway(
            probing, is_first, at.tables[stream], at.pieces[stream], new, formed,
            _values(len(joined), is_last=is_last),
        )  # fmt: skip
        if half.is_indexed:
            self.indexed[stream] = max(self.indexed.get(stream, 0.0), half.happens)
        us = half.ns(at.sizes.keys, at.operations) / 1000
        return Cost(probing, 0.0 if is_last else formed, formed if is_last else 0.0, 0.0, us)


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
    drains, before, total = Drains(situation, sequences), frozenset[int](), NOTHING
    for group in groups:
        if len(group) == 1:
            total += drains.cost(group[0], before)
        else:
            total += _turns(situation, drains, group, before)
        before |= set(group)
    ns = sum(
        part * _kept(situation.arrivals[i], 1.0, situation.sizes.keys, situation.operations)
        for i, part in drains.indexed.items()
    )
    return total + Cost(0.0, 0.0, 0.0, len(groups) - 1.0, ns / 1000)


def _turns(
    situation: Situation, drains: Drains, group: tuple[int, ...], before: frozenset[int]
) -> Cost:
    """Streams that take turns meet half of each other's new tuples."""
    arrivals = situation.arrivals
    new = [a if i in before else a / 2 if i in group else 0.0 for i, a in enumerate(arrivals)]
    rounds = max(1, -(-sum(arrivals[i] for i in group) // ROUND))
    total = Cost(0.0, 0.0, 0.0, rounds * len(group) - 1, 0.0)
    for j in group:
        one = drains.turn(j, new, arrivals[j] / rounds)
        total += Cost(
            *(rounds * x for x in (one.probes, one.intermediate, one.results)), 0.0, rounds * one.us
        )
    return total


def tree_cost(tree: Tree, situation: Situation) -> Cost:
    """One batch of a tree of joins; its streams are numbered as those of the situation are."""
    total = NOTHING
    for node in range(tree.n_streams, tree.root + 1):
        total += _join(tree, node, situation)
    return total


def _join(tree: Tree, node: int, at: Situation) -> Cost:
    """One join, both ways; what it forms is stored unless it is the last."""
    pair, streams = tree.children(node), tree.streams(node)
    is_last, keys, ops = node == tree.root, at.sizes.keys, at.operations
    new = [at.formed(tree.streams(x)) for x in pair]
    old = [at.stored(tree.streams(x)) for x in pair]
    formed, both = at.formed(streams), prod(n + o for n, o in zip(new, old, strict=True))
    sigma = at.sizes.of(frozenset(streams), at.after) / both if both else 0.0
    ns = 0.0
    for x, y, meets in ((0, 1, new[1]), (1, 0, 0.0)):
        pieces, is_stream = _pieces(tree, pair[y], at), pair[x] < tree.n_streams
        half = Halfway(
            new[x], is_stream, old[y], pieces, meets, sigma * new[x] * (old[y] + meets),
            _values(len(streams), is_last=is_last),
        )  # fmt: skip
        ns += half.ns(keys, ops)
        if pair[y] >= tree.n_streams:
            ns += half.happens * ops.read * pieces
        if half.is_indexed:
            ns += half.happens * _kept(new[y], _cuts(tree, pair[y], new[y]), keys, ops)
    if not is_last:
        values = len(streams) + INTERVAL - 2
        ns += ops.store * values * formed + ops.piece * _cuts(tree, node, formed)
    forms = (0.0, formed) if is_last else (formed, 0.0)
    return Cost(sum(new), *forms, 0.0, ns / 1000)


def _cuts(tree: Tree, node: int, formed: float) -> float:
    """Pieces that are stored of the new tuples of a node.

    Those that a join forms end at different times, and are cut into pieces that end together.
    """
    return min(formed, 1.0 if node < tree.n_streams else N_BASIC_WINDOWS + 1.0)


def _pieces(tree: Tree, node: int, at: Situation) -> float:
    """Pieces that a node's tuples lie in; of those that batches stored half are still there."""
    if node < tree.n_streams:
        return at.pieces[node]
    streams = tree.streams(node)
    batches = max(at.pieces[i] for i in streams)
    return max(1.0, min(at.stored(streams), batches * _cuts(tree, node, at.formed(streams)) / 2))
