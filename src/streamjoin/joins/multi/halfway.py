"""Half-way joins: tuples of a node probe the state of the node's sibling (JAQ-A6, JAQ-A11)."""

from collections.abc import Iterator
from functools import cached_property
from typing import Final

import numpy as np

from streamjoin._typing import Positions, Times
from streamjoin.core.index import HashIndex
from streamjoin.joins.base import MAX_PAIRS
from streamjoin.joins.multi.settings import FAR
from streamjoin.joins.multi.states import States
from streamjoin.joins.multi.tuples import Tuples, combine, overlap
from streamjoin.planning.many.nary_cost import FEW

_WHOLE: Final = (-(2**63), 2**63 - 1)
Found = tuple[Positions, Positions]
"""Positions of the probing tuples, and of those that they meet."""


class Probing:
    """Some tuples, which probe.

    `span` is how long they live at most, on the axis of time.

    Matches have equal keys and begin close enough to each other; whether their intervals overlap
    is still to be checked, unless both are rows of streams.
    """

    def __init__(self, tuples: Tuples, span: int) -> None:
        self.tuples, self._span = tuples, span

    def pays_to_keep(self, rows: int) -> bool:
        """Whether the index of a piece of so many rows should be used and kept."""
        return FEW * len(self.tuples) < rows

    def past(self, others: Tuples, span: int) -> Iterator[Found]:
        """Matches among others that go past an index of the probing ones."""
        low, high = self._bounds(-self._span, span)
        index, order = self._index
        found = index.probe_chunks(others.keys, others.starts[0], low, high, MAX_PAIRS)
        return found if order is None else ((order.take(mine), at) for mine, at in found)

    def into(self, index: HashIndex, span: int) -> Iterator[Found]:
        """Matches by an index of the others."""
        low, high = self._bounds(-span, self._span)
        keys, starts = self.tuples.keys, self.tuples.starts[0]
        found = index.probe_chunks(keys, starts, low, high, MAX_PAIRS)
        return ((mine, theirs) for theirs, mine in found)

    def _bounds(self, low: int, high: int) -> tuple[int, int]:
        return (low, high) if max(-low, high) < FAR else _WHOLE

    @cached_property
    def _index(self) -> tuple[HashIndex, Positions | None]:
        """An index of the probing tuples, and which of them its rows are if that is not the same.

        What an index needs in order is sorted here: it would keep the order of equal starts, which
        takes several times as long and which nobody asks for.
        """
        keys, starts = self.tuples.keys, np.ascontiguousarray(self.tuples.starts[0])
        if np.all(starts[1:] >= starts[:-1]):
            return HashIndex.build(keys, starts), None
        order = np.argsort(starts).astype(np.int32)
        return HashIndex.build(keys.take(order), starts.take(order)), order


class HalfwayJoin:
    """The tuples of a node that arrive in a batch, and those of them that probe."""

    def __init__(self, states: States, node: int, arrived: Tuples, probing: Tuples) -> None:
        join, tree = states.join, states.tree
        self._states, self.node = states, node
        self.arrived, self.probing = arrived, probing
        self._partner, formed = tree.sibling(node), tree.parents[node]
        self._is_left = tree.children(formed)[0] == node
        self._by_index = Probing(probing, states.span_us(node))
        self._span = states.span_us(self._partner)
        self._names_only = formed == tree.root and not join.is_partial
        self._never_ends = join.limit_of(formed) is not None
        pair = node, self._partner
        rigid = all(x < tree.n_streams and join.inputs[x].end is None for x in pair)
        self._needs_check = join.n_axes > 1 or not rigid

    def with_stored(self) -> Iterator[Tuples]:
        """What the probing tuples form with those that are stored of the partner."""
        probing = self.probing
        if not len(probing):
            return
        low, high = int(probing.starts[0].min()), int(probing.ends[0].max())
        for piece, tuples in self._states.stored(self._partner, low, high):
            if piece is not None and self._by_index.pays_to_keep(piece.rows):
                index = self._states.index(self._partner, piece)
                found = self._by_index.into(index, self._span)
            else:
                found = self._by_index.past(tuples, self._span)
            yield from self._formed(tuples, found)

    def with_new(self, other: "HalfwayJoin", *, earlier: bool = False) -> Iterator[Tuples]:
        """What they form with the partner's new tuples, or only with those that begin before them.

        Of tuples that begin together the left one is the earlier.
        """
        if not (len(self.probing) and len(other.arrived)):
            return
        found = self._by_index.past(other.arrived, self._span)
        if earlier:
            found = self._later(found, other.arrived.starts[0])
        yield from self._formed(other.arrived, found)

    def _later(self, found: Iterator[Found], others: Times) -> Iterator[Found]:
        """The pairs of which the probing tuple is the later one."""
        for mine, theirs in found:
            starts = self.probing.starts[0][mine], others[theirs]
            later = starts[0] > starts[1] if self._is_left else starts[0] >= starts[1]
            yield mine[later], theirs[later]

    def _formed(self, tuples: Tuples, found: Iterator[Found]) -> Iterator[Tuples]:
        for mine, theirs in found:
            if self._needs_check:
                holds = overlap(self.probing, mine, tuples, theirs)
                mine, theirs = mine[holds], theirs[holds]
            if not len(mine):
                continue
            pair = (self.probing, mine), (tuples, theirs)
            left, right = pair if self._is_left else pair[::-1]
            formed = combine(*left, *right, names_only=self._names_only)
            if self._never_ends:
                formed.ends[:] = FAR
            yield formed
