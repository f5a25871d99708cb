"""Rows whose sets have something in common, found by an inverted index (GED-A14)."""

from collections.abc import Iterator
from dataclasses import replace
from math import inf
from typing import Final

import numpy as np
import pyarrow as pa

from streamjoin._typing import LEFT, Side, Times
from streamjoin.core.batch import Batch
from streamjoin.core.index import PairPositions
from streamjoin.core.inverted_index import InvertedIndex
from streamjoin.core.list_index import ListIndex
from streamjoin.core.predicate import SetCondition
from streamjoin.core.sets import Sets, Vocabulary
from streamjoin.joins.base import Pairs
from streamjoin.joins.window.matching import Bounds, Matcher, Moved, piece_rows
from streamjoin.joins.window.settings import WindowJoin

_NONE: Final = ListIndex.build(np.empty(0, np.int64), np.empty(0, np.int64))


class SetMatcher(Matcher):
    """Finds rows that fulfil a condition on sets: others look up their items.

    The index counts and adds up exactly, so only the rest of the predicate is still to be checked.

    Parameters
    ----------
    join, side, rows, moved
        As of a `Matcher`.
    sets
        The condition.
    at
        Coordinates of the rows.
    """

    def __init__(
        self,
        join: WindowJoin,
        sets: SetCondition,
        side: Side,
        rows: Batch,
        at: Times,
        moved: Moved | None = None,
    ) -> None:
        rest = replace(join, predicate=sets.rest_of(join.predicate))
        super().__init__(rest, side, rows, _NONE, moved)  # not by their keys alone
        self._sets = sets
        columns = self._columns(side, rows)
        self._words = Vocabulary.over(columns)
        self._inverted = InvertedIndex.build(rows.keys, Sets.of(columns, self._words), at)

    def _candidates(
        self, other: Batch, at: Times, between: Bounds, most: int
    ) -> Iterator[PairPositions]:
        least = -inf if self._sets.least is None else self._sets.least
        before = self._inverted.walked
        yield from self._inverted.probe_chunks(
            other.keys, self._of(other), at, *between, most, self._sets.fewest, least
        )
        walked = self._inverted.walked - before
        self.walked += walked
        self.work += walked

    def touching(self, other: Batch, at: Times, between: Bounds) -> Iterator[Pairs]:
        """Pairs with any item in common: each took a step to find those with enough."""
        most = piece_rows(self._rows, other)
        found = self._inverted.probe_chunks(
            other.keys, self._of(other), at, *between, most, fewest=1
        )
        for mine, theirs in found:
            yield self._pairs(other, mine, theirs)

    def _of(self, other: Batch) -> Sets:
        return Sets.of(self._columns(1 - self._side, other), self._words)

    def _columns(self, side: int, batch: Batch) -> list[pa.Array]:
        positions = self._sets.left if side == LEFT else self._sets.right
        return [batch.rows.column(position) for position in positions]
