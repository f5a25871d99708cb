"""Half-way joins: tuples of a node probe the state of the node's sibling (JAQ-A6, JAQ-A11)."""

from collections.abc import Iterator

from streamjoin.joins.multi.probing import Found, Probing
from streamjoin.joins.multi.settings import FAR, MultiJoin
from streamjoin.joins.multi.states import States
from streamjoin.joins.multi.tuples import Tuples, combine, overlap


class HalfwayJoin:
    """The tuples of a node that arrive in a batch, and those of them that probe.

    Parameters
    ----------
    join, states
        Settings, and what is remembered.
    node
        Whose tuples they are.
    arrived
        All of them.
    probing
        Those of them that probe.
    """

    def __init__(
        self,
        join: MultiJoin,
        states: States,
        node: int,
        arrived: Tuples,
        probing: Tuples,
    ) -> None:
        self._join, self._states, self.node = join, states, node
        self.arrived, self.probing = arrived, probing
        self._partner = states.tree.sibling(node)
        self._is_left = states.tree.children(states.tree.parents[node])[0] == node
        mine, self._span = (join.span_us(states.tree, x) for x in self._pair)
        self._by_index = Probing(probing, mine)
        is_last = states.tree.parents[node] == states.tree.root
        self._names_only = is_last and not join.is_partial
        rigid = all(x < states.tree.n_streams and join.inputs[x].end is None for x in self._pair)
        self._needs_check = join.n_axes > 1 or not rigid

    @property
    def _pair(self) -> tuple[int, int]:
        return self.node, self._partner

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

    def with_new(self, other: "HalfwayJoin") -> Iterator[Tuples]:
        """What probing tuples form with the new ones of the partner."""
        if not (len(self.probing) and len(other.arrived)):
            return
        yield from self._formed(other.arrived, self._by_index.past(other.arrived, self._span))

    def with_earlier(self, other: "HalfwayJoin") -> Iterator[Tuples]:
        """What they form with those of the partner's new tuples that begin before them.

        Of tuples that begin together the left one is the earlier.
        """
        if not (len(self.probing) and len(other.arrived)):
            return
        for mine, theirs in self._by_index.past(other.arrived, self._span):
            starts = self.probing.starts[0][mine], other.arrived.starts[0][theirs]
            later = starts[0] > starts[1] if self._is_left else starts[0] >= starts[1]
            yield from self._formed(other.arrived, iter([(mine[later], theirs[later])]))

    def _formed(self, tuples: Tuples, found: Iterator[Found]) -> Iterator[Tuples]:
        for mine, theirs in found:
            if self._needs_check:
                holds = overlap(self.probing, mine, tuples, theirs)
                mine, theirs = mine[holds], theirs[holds]
            if not len(mine):
                continue
            if self._is_left:
                formed = combine(self.probing, mine, tuples, theirs, names_only=self._names_only)
            else:
                formed = combine(tuples, theirs, self.probing, mine, names_only=self._names_only)
            if self._join.limit_of(self._states.tree.parents[self.node]) is not None:
                formed.ends[:] = FAR
            yield formed
