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
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from streamjoin.core.index import fixed
from streamjoin.core.kernels.sets import Items, Offsets, Weights, normal_form
from streamjoin.core.keys import exact_keys, is_exact

_BYTES = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())


def can_be_item(kind: pa.DataType) -> bool:
    """Whether values of this type can be in a set.

    Examples
    --------
    >>> can_be_item(pa.string()), can_be_item(pa.float64())
    (True, False)
    """
    return is_exact(kind) or kind in _BYTES


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


def _numbers(weights: _Lists) -> tuple[Offsets, Weights]:
    """Where each row's weights lie, and all of them; NaN for null."""
    numbers = weights.values.cast(pa.float64(), safe=False)
    return weights.starts, np.array(numbers.fill_null(np.nan))  # never read-only, for the kernel


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
        if weights is not None:
            valid = valid & weights.valid & (lengths == weights.lengths)
            lengths = np.where(valid, lengths, 0)
        listed = (items.starts, np.empty(0)) if weights is None else _numbers(weights)
        codes, known = words.codes(items.values)
        offsets, n = np.empty(len(lengths) + 1, np.int64), int(lengths.sum())
        own, own_weights = np.empty(n, np.int64), np.empty(n if weighted else 0)
        normal_form(
            items.starts, lengths, fixed(codes), known, *listed, weighted,
            offsets, own, own_weights,
        )  # fmt: skip
        end = int(offsets[-1])
        return cls(offsets, own[:end], own_weights[:end], valid)
