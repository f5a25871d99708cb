"""Columns of sets and weighted sets in normal form: each row's items distinct and in order.

A set is an array; a weighted set is a map from items to weights, or an array of items beside one of
weights. Null items are in no set, nor are items with a weight that is null or NaN. Equal items of
one row count once, and their weights are added. A null array is no set at all, nor are items and
weights of different numbers.

Items become 64-bit numbers. Whole numbers, dates and times are their own. Strings and bytes get
their place in a `Vocabulary`, the items of one of both sides in order: unlike hashes such numbers
are never the same for different items, and their order is that of the items. So counts are exact
without a look at the items themselves, and sums over items in order are the same whichever rows
made the vocabulary.

An inverted index over sets leads from an item to the rows that have it, in order of time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

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
from streamjoin.core.kernels.sets import Items, Offsets, Weights, normal_form
from streamjoin.core.keys import BYTES, exact_keys, is_exact
from streamjoin.core.stream import total_order
from streamjoin.errors import ConfigError

_Probing = tuple[Keys, Offsets, Items, Weights, Times]
_PIECE: Final = 2**16  # pairs that are found before the next arrays for them are made


def can_be_item(kind: pa.DataType) -> bool:
    """Whether values of this type can be in a set.

    Examples
    --------
    >>> can_be_item(pa.string()), can_be_item(pa.float64())
    (True, False)
    """
    return is_exact(kind) or kind in BYTES


class _Lists(NamedTuple):
    """Where each row's values lie; `valid` unless it is null."""

    starts: Offsets
    lengths: Offsets
    valid: NDArray[np.bool_]
    values: pa.Array


def _lists(column: pa.Array, values: pa.Array) -> _Lists:
    valid = np.asarray(column.is_valid())
    offsets = np.asarray(column.offsets).astype(np.int64)
    first, last = int(offsets[0]), int(offsets[-1])
    lengths = np.where(valid, np.diff(offsets), 0)  # a null may have values beneath it
    return _Lists(offsets[:-1] - first, lengths, valid, values.slice(first, last - first))


def _items(columns: Sequence[pa.Array]) -> _Lists:
    column = columns[0]
    return _lists(column, column.keys if pa.types.is_map(column.type) else column.values)


def _weights(columns: Sequence[pa.Array]) -> _Lists | None:
    column = columns[-1]
    if pa.types.is_map(column.type):
        return _lists(column, column.items)
    return _lists(column, column.values) if len(columns) == 2 else None


@dataclass(frozen=True)
class Vocabulary:
    """Numbers for items, in the order of the items.

    Parameters
    ----------
    words
        The items that have a number; None where they are numbers themselves.

    Examples
    --------
    >>> words = Vocabulary.over([pa.array([["b", "a"], ["b", None]])])
    >>> [array.tolist() for array in words.codes(pa.array(["b", "c", "a"]))]
    [[1, 0, 0], [True, False, True]]
    """

    words: pa.Array | None

    @classmethod
    def over(cls, columns: Sequence[pa.Array]) -> "Vocabulary":
        """The items of a column of sets: an array, a map, or arrays of items and of weights."""
        values = _items(columns).values
        if is_exact(values.type):
            return cls(None)
        distinct = pc.unique(values.drop_null())
        return cls(distinct.take(pc.sort_indices(distinct)))

    def codes(self, values: pa.Array) -> tuple[Items, NDArray[np.bool_]]:
        """The number of each item, and whether it has one: others are not in the vocabulary."""
        if self.words is None:
            return exact_keys(values), np.asarray(values.is_valid())
        found = pc.index_in(values, value_set=self.words)
        return exact_keys(found), np.asarray(found.is_valid())


@dataclass(frozen=True, eq=False)
class Sets:
    """The sets of some rows; made by `of`.

    Parameters
    ----------
    offsets
        Where each row's items begin, and where the last ones end.
    items
        Their numbers, distinct and in order within a row.
    weights
        Of the items; empty for sets without.
    valid
        Which rows have a set.

    Examples
    --------
    >>> column = pa.array([[3, 1, 3, None], None, []])
    >>> sets = Sets.of([column], Vocabulary.over([column]))
    >>> sets.items.tolist(), sets.offsets.tolist(), sets.valid.tolist()
    ([1, 3], [0, 2, 2, 2], [True, False, True])
    """

    offsets: Offsets
    items: Items
    weights: Weights
    valid: NDArray[np.bool_]

    @classmethod
    def of(cls, columns: Sequence[pa.Array], words: Vocabulary) -> "Sets":
        """Sets of an array, a map, or arrays of items and of weights.

        Items that are not in the vocabulary are left out.
        """
        items, weights = _items(columns), _weights(columns)
        lengths, valid, weighted = items.lengths, items.valid, weights is not None
        listed = items.starts, np.empty(0)
        if weights is not None:
            valid = valid & weights.valid & (lengths == weights.lengths)
            lengths = np.where(valid, lengths, 0)
            # NaN for null; never read-only, for the kernel
            numbers = weights.values.cast(pa.float64(), safe=False)
            listed = weights.starts, np.array(numbers.fill_null(np.nan))
        codes, known = words.codes(items.values)
        offsets, n = np.empty(len(lengths) + 1, np.int64), int(lengths.sum())
        own, own_weights = np.empty(n, np.int64), np.empty(n if weighted else 0)
        normal_form(
            items.starts, lengths, fixed(codes), known, *listed, weighted,
            offsets, own, own_weights,
        )  # fmt: skip
        end = int(offsets[-1])
        return cls(offsets, own[:end], own_weights[:end], valid)


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
        probing = fixed(keys), sets.offsets, sets.items, sets.weights, fixed(times)
        return self._pieces(probing, bounds, max_pairs, (fewest, least))

    def _pieces(
        self, probing: _Probing, bounds: Bounds, max_pairs: int, enough: tuple[int, float]
    ) -> Iterator[PairPositions]:
        n, n_probing, row = len(self._rows), len(probing[0]), 0
        scratch = Scratch(np.zeros(n, np.int32), np.zeros(n), np.empty(n + 1, np.int32))
        size = max(n, min(_PIECE, n * n_probing))
        while row < n_probing:
            mine, theirs = np.empty(size, np.int32), np.empty(size, np.int32)
            row, filled, walked = find_sets(
                *probing, row, bounds, self._table, *enough, scratch, mine, theirs
            )
            self.walked += walked
            mine = self._rows[mine[:filled]]
            for at in range(0, filled, max_pairs):
                yield mine[at : at + max_pairs], theirs[at : min(at + max_pairs, filled)]
