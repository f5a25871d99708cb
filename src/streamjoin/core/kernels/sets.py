"""Sets as runs of numbers: bring them into normal form, and compare them pair by pair.

The sets of n rows are ``items[offsets[i]:offsets[i + 1]]``, distinct and in order within a row.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from streamjoin.core.kernels._jit import njit

Offsets = NDArray[np.int64]
Items = NDArray[np.int64]
Weights = NDArray[np.float64]

_FEW: Final = 32  # so many are sorted by insertion


@njit
def _insert(items: Items, weights: Weights, begin: int, end: int, weighted: bool) -> None:
    """Sort a few items by insertion; equal ones stay in their order."""
    for j in range(begin + 1, end):
        item, at = items[j], j
        weight = weights[j] if weighted else 0.0
        while at > begin and items[at - 1] > item:
            items[at] = items[at - 1]
            if weighted:
                weights[at] = weights[at - 1]
            at -= 1
        items[at] = item
        if weighted:
            weights[at] = weight


@njit
def _merge_runs(
    items: Items, weights: Weights, begin: int, middle: int, end: int, weighted: bool
) -> None:
    """Merge two sorted runs that lie next to each other; equal items stay in their order."""
    first = items[begin:middle].copy()
    first_weights = weights[begin:middle].copy() if weighted else weights[:0].copy()
    i, j, at = 0, middle, begin
    while i < len(first):
        if j == end or first[i] <= items[j]:
            items[at] = first[i]
            if weighted:
                weights[at] = first_weights[i]
            i += 1
        else:
            items[at] = items[j]
            if weighted:
                weights[at] = weights[j]
            j += 1
        at += 1


@njit
def _sort_row(items: Items, weights: Weights, begin: int, end: int, weighted: bool) -> None:
    """Sort one row by item; equal items stay in their order.

    NumPy's stable sort would do, but takes seconds to compile.
    """
    for start in range(begin, end, _FEW):
        _insert(items, weights, start, min(start + _FEW, end), weighted)
    width = _FEW
    while width < end - begin:
        for start in range(begin, end - width, 2 * width):
            stop = min(start + 2 * width, end)
            _merge_runs(items, weights, start, start + width, stop, weighted)
        width *= 2


@njit
def _merge_equal(items: Items, weights: Weights, begin: int, end: int, weighted: bool) -> int:
    """Leave one of equal neighbours, with the sum of their weights; returns the row's new end."""
    last = begin - 1
    for j in range(begin, end):
        if last >= begin and items[last] == items[j]:
            if weighted:
                weights[last] += weights[j]
        else:
            last += 1
            items[last] = items[j]
            if weighted:
                weights[last] = weights[j]
    return last + 1


@njit
def normal_form(
    starts: Offsets,
    lengths: Offsets,
    codes: Items,
    known: NDArray[np.bool_],
    weight_starts: Offsets,
    all_weights: Weights,
    weighted: bool,
    offsets: Offsets,
    items: Items,
    weights: Weights,
) -> None:
    """Sets of n rows, of lists that lie anywhere.

    Row i has the ``codes`` from ``starts[i]`` on, ``lengths[i]`` of them, that are ``known``; and
    if ``weighted`` their ``all_weights`` from ``weight_starts[i]`` on, where NaN leaves an item
    out. Fills ``offsets`` (n + 1), ``items`` and, if ``weighted``, ``weights``, which have room for
    all. O(items log items of a row).
    """
    end = 0
    offsets[0] = 0
    for row in range(len(starts)):
        begin = end
        for j in range(lengths[row]):
            at = starts[row] + j
            weight = all_weights[weight_starts[row] + j] if weighted else 0.0
            if known[at] and not np.isnan(weight):
                items[end] = codes[at]
                if weighted:
                    weights[end] = weight
                end += 1
        _sort_row(items, weights, begin, end, weighted)
        end = _merge_equal(items, weights, begin, end, weighted)
        offsets[row + 1] = end


@njit
def common_items(
    left_offsets: Offsets,
    left_items: Items,
    right_offsets: Offsets,
    right_items: Items,
    left_rows: NDArray[np.int32],
    right_rows: NDArray[np.int32],
    counts: NDArray[np.int32],
) -> None:
    """Fill ``counts`` with the number of items that both rows of each pair have. O(items)."""
    for pair in range(len(counts)):
        i, last = left_offsets[left_rows[pair]], left_offsets[left_rows[pair] + 1]
        j, end = right_offsets[right_rows[pair]], right_offsets[right_rows[pair] + 1]
        count = 0
        while i < last and j < end:
            mine, theirs = left_items[i], right_items[j]
            count += mine == theirs
            i += mine <= theirs
            j += theirs <= mine
        counts[pair] = count


@njit
def inner_products(
    left_offsets: Offsets,
    left_items: Items,
    left_weights: Weights,
    right_offsets: Offsets,
    right_items: Items,
    right_weights: Weights,
    left_rows: NDArray[np.int32],
    right_rows: NDArray[np.int32],
    sums: Weights,
) -> None:
    """Fill ``sums`` with the products of the common items' weights, added in order. O(items)."""
    for pair in range(len(sums)):
        i, last = left_offsets[left_rows[pair]], left_offsets[left_rows[pair] + 1]
        j, end = right_offsets[right_rows[pair]], right_offsets[right_rows[pair] + 1]
        total = 0.0
        while i < last and j < end:
            mine, theirs = left_items[i], right_items[j]
            if mine == theirs:
                total += left_weights[i] * right_weights[j]
            i += mine <= theirs
            j += theirs <= mine
        sums[pair] = total
