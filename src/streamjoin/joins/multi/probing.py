"""Tuples that look for their matches among others, by whichever index is cheaper."""

from collections.abc import Iterator
from functools import cached_property
from typing import Final

import numpy as np

from streamjoin._typing import Positions
from streamjoin.core.index import HashIndex
from streamjoin.joins.base import MAX_PAIRS
from streamjoin.joins.multi.settings import FAR
from streamjoin.joins.multi.tuples import Tuples
from streamjoin.planning.many.nary_cost import FEW

_WHOLE: Final = (-(2**63), 2**63 - 1)
Found = tuple[Positions, Positions]
"""Positions of the probing tuples, and of those that they meet."""


class Probing:
    """Some tuples, which probe.

    Parameters
    ----------
    tuples
        Them.
    span
        How long they live at most, on the axis of time.

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
