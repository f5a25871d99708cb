"""An inverted index over sets: from an item to the rows that have it, in order of time."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Final

import numpy as np

from streamjoin._typing import Keys, Positions, Times
from streamjoin.core.index import PairPositions, check_rows, fixed
from streamjoin.core.kernels.equi_probe import Bounds
from streamjoin.core.kernels.inverted import (
    Scratch,
    Table,
    fill_postings,
    find_sets,
    number_items,
)
from streamjoin.core.order import total_order
from streamjoin.core.sets import Sets
from streamjoin.errors import ConfigError

_PIECE: Final = 2**16  # pairs that are found before the next arrays for them are made


@dataclass(eq=False)
class InvertedIndex:
    """Rows by key and item, each item's rows next to each other in the total order (GED-A7).

    Made by `build`. Takes 12 to 20 bytes a row and 4 to 12 an item, and about 24 more for each
    distinct item of a key. Without items in common two rows never meet.

    Attributes
    ----------
    walked
        Postings that probes have looked at, so far.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from streamjoin.core.sets import Vocabulary
    >>> tags = [pa.array([["a", "b", "c"], ["a"], ["b", "c"]])]
    >>> words = Vocabulary.over(tags)
    >>> keys, times = np.zeros(3, np.int64), np.array([10, 20, 30])
    >>> index = InvertedIndex.build(keys, Sets.of(tags, words), times)
    >>> probing = Sets.of([pa.array([["c", "b", "x"]])], words)
    >>> found = index.probe_chunks(keys[:1], probing, times[:1], 0, 20, 100, fewest=2)
    >>> [(mine.tolist(), theirs.tolist()) for mine, theirs in found], index.walked
    ([([0, 2], [0, 0])], 4)
    """

    _table: Table
    _rows: Positions
    walked: int = 0

    @classmethod
    def build(cls, keys: Keys, sets: Sets, times: Times) -> "InvertedIndex":
        """Index rows by their items. O(items) if they are in order of time."""
        check_rows(keys, times)
        order = total_order(times)
        rows: Positions = np.arange(len(keys), dtype=np.int32)
        if order is not None:
            rows = order.astype(np.int32)
        n = len(sets.items)
        slots = np.zeros(1 << (2 * n).bit_length(), np.int32)
        entry_keys, entry_items = np.empty(n + 2, np.int64), np.empty(n + 2, np.int64)
        begins, entry_of = np.zeros(n + 2, np.int64), np.empty(n, np.int32)
        n_entries = number_items(
            rows, fixed(keys), sets.offsets, sets.items,
            slots, entry_keys, entry_items, begins, entry_of,
        )  # fmt: skip
        postings, weights = np.empty(n, np.int32), np.empty(len(sets.weights))
        fill_postings(
            n_entries, rows, sets.offsets, sets.weights, entry_of, begins, postings, weights
        )
        entries = entry_keys[:n_entries], entry_items[:n_entries], begins[: n_entries + 1]
        return cls(Table(slots, *entries, postings, weights, times[rows]), rows)

    def probe_chunks(
        self,
        keys: Keys,
        sets: Sets,
        times: Times,
        low: int,
        high: int,
        max_pairs: int,
        fewest: int,
        least: float = -inf,
    ) -> Iterator[PairPositions]:
        """Pairs of an index row and a row given here that have equal keys and enough in common.

        Parameters
        ----------
        keys, sets, times
            The probing rows, in any order; the sets numbered by the index's own vocabulary.
        low, high
            Inclusive bounds of ``t_index - t_probe``, as of `HashIndex.probe`.
        max_pairs
            Pieces have 1 to so many pairs; what comes after is at most partly computed.
        fewest
            So many items in common, at least 1.
        least
            With weights: an inner product that is not smaller.

        Returns
        -------
        pieces
            Of (index_positions, probe_positions), each pair once: by probing row, then by time of
            the index row, then by its position.
        """
        check_rows(keys, times)
        for name, value in (("max_pairs", max_pairs), ("fewest", fewest)):
            if value < 1:
                raise ConfigError.at(name, value, "a positive number")
        mine = self._table.times
        bounds = Bounds.of(low, high, int(mine[0]), int(mine[-1])) if len(mine) else None
        if bounds is None:
            return iter(())
        return self._pieces(keys, sets, times, bounds, max_pairs, fewest, least)

    def _pieces(
        self,
        keys: Keys,
        sets: Sets,
        times: Times,
        bounds: Bounds,
        max_pairs: int,
        fewest: int,
        least: float,
    ) -> Iterator[PairPositions]:
        n, row = len(self._rows), 0
        probing = fixed(keys), sets.offsets, sets.items, sets.weights, fixed(times)
        scratch = Scratch(np.zeros(n, np.int32), np.zeros(n), np.empty(n + 1, np.int32))
        size = max(n, min(_PIECE, n * len(keys)))
        while row < len(keys):
            mine, theirs = np.empty(size, np.int32), np.empty(size, np.int32)
            row, filled, walked = find_sets(
                *probing, row, bounds, self._table, fewest, least, scratch, mine, theirs
            )
            self.walked += walked
            mine = self._rows[mine[:filled]]
            for at in range(0, filled, max_pairs):
                yield mine[at : at + max_pairs], theirs[at : min(at + max_pairs, filled)]
