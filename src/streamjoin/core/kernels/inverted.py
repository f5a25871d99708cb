"""Kernels of the inverted index: from an item of a key to the rows that have it (GED-A6, A7).

Rows are numbered in order of time. A posting is the number of a row, and each item's postings lie
next to each other in order: a bound on time is a bound on them, found by binary search.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamjoin._typing import Keys, Positions, Times
from streamjoin.core.kernels._jit import njit
from streamjoin.core.kernels.equi import mix
from streamjoin.core.kernels.equi_probe import Bounds
from streamjoin.core.kernels.sets import Items, Offsets, Weights


class Table(NamedTuple):
    """The arrays of an index.

    Entry g, from 1 on, is item ``items[g]`` of key ``keys[g]``; its postings are those from
    ``begins[g]`` to ``begins[g + 1]``. ``slots`` (2^bits) is the hash table of entries, 0 if free.
    ``weights`` are those of the postings, or none; ``times`` those of the rows.
    """

    slots: NDArray[np.int32]
    keys: Keys
    items: Items
    begins: Offsets
    postings: Positions
    weights: Weights
    times: Times


class Scratch(NamedTuple):
    """Room for one probing row: counts and sums of each index row, zeros between rows."""

    counts: NDArray[np.int32]
    sums: Weights
    touched: Positions


@njit
def _slot_of(
    key: np.int64, item: np.int64, slots: NDArray[np.int32], keys: Keys, items: Items
) -> int:
    """The slot of an item of a key, or the free one where it belongs."""
    mask = len(slots) - 1
    slot = int(mix(mix(key) ^ item)) & mask
    while slots[slot] != 0 and (items[slots[slot]] != item or keys[slots[slot]] != key):
        slot = (slot + 1) & mask
    return slot


@njit
def number_items(
    rows: Positions,
    row_keys: Keys,
    offsets: Offsets,
    row_items: Items,
    slots: NDArray[np.int32],
    keys: Keys,
    items: Items,
    begins: Offsets,
    entry_of: Positions,
) -> int:
    """Number the distinct pairs of key and item from 1, and count the rows of each.

    ``rows`` are all positions in order of time. Fills the hash table ``slots`` (int32 zeros, a
    power of two larger than the number of items), ``keys`` and ``items`` of each entry, the counts
    in ``begins`` one place further on (all zeros), and ``entry_of`` each item in the order of rows.
    The arrays have two more places than there are items. Returns the number of entries + 1.
    """
    n_entries, at = 1, 0
    for row in rows:
        key = row_keys[row]
        for j in range(offsets[row], offsets[row + 1]):
            slot = _slot_of(key, row_items[j], slots, keys, items)
            if slots[slot] == 0:
                slots[slot] = n_entries
                keys[n_entries], items[n_entries] = key, row_items[j]
                n_entries += 1
            entry_of[at] = slots[slot]
            begins[slots[slot] + 1] += 1
            at += 1
    return n_entries


@njit
def fill_postings(
    n_entries: int,
    rows: Positions,
    offsets: Offsets,
    row_weights: Weights,
    entry_of: Positions,
    begins: Offsets,
    postings: Positions,
    weights: Weights,
) -> None:
    """Turn the counts of `number_items` into begins, and put each entry's rows there in order."""
    for entry in range(1, n_entries):
        begins[entry + 1] += begins[entry]
    free = begins[:n_entries].copy()
    at = 0
    for number in range(len(rows)):
        for j in range(offsets[rows[number]], offsets[rows[number] + 1]):
            place = free[entry_of[at]]
            free[entry_of[at]] += 1
            postings[place] = number
            if len(weights):
                weights[place] = row_weights[j]
            at += 1


@njit
def _before(times: Times, bound: int, ties: bool) -> int:
    """How many of some times in order are below a bound, or equal to it if so asked."""
    begin, end = 0, len(times)
    while begin < end:
        middle = (begin + end) >> 1
        if times[middle] < bound or (ties and times[middle] == bound):
            begin = middle + 1
        else:
            end = middle
    return begin


@njit
def _from(postings: Positions, begin: int, end: int, row: int) -> int:
    """Where the postings from ``begin`` to ``end`` reach a row."""
    while begin < end:
        middle = (begin + end) >> 1
        if postings[middle] < row:
            begin = middle + 1
        else:
            end = middle
    return begin


@njit
def _walk(
    table: Table, begin: int, end: int, weight: float, scratch: Scratch, n_touched: int
) -> int:
    """Count postings for their rows; returns how many rows have been touched."""
    counts, sums, touched = scratch
    if len(table.weights):
        for p in range(begin, end):
            sums[table.postings[p]] += weight * table.weights[p]
    for p in range(begin, end):
        row = table.postings[p]
        touched[n_touched] = row  # without a branch: the next may overwrite it
        n_touched += counts[row] == 0
        counts[row] += 1
    return n_touched


@njit
def _settle(scratch: Scratch, n_touched: int, fewest: int, least: float, weighted: bool) -> int:
    """Move the rows that match to the front of ``touched``, in order; clear what was counted."""
    counts, sums, touched = scratch
    kept = 0
    for i in range(n_touched):
        row = touched[i]
        touched[kept] = row
        kept += (counts[row] >= fewest) & ((not weighted) | (sums[row] >= least))
        counts[row] = 0
        if weighted:
            sums[row] = 0.0
    touched[:kept].sort()
    return kept


@njit
def find_sets(
    row_keys: Keys,
    offsets: Offsets,
    items: Items,
    weights: Weights,
    times: Times,
    start: int,
    bounds: Bounds,
    table: Table,
    fewest: int,
    least: float,
    scratch: Scratch,
    index_rows: Positions,
    probe_rows: Positions,
) -> tuple[int, int, int]:
    """Matches of the probing rows from ``start`` on, in whole rows, until the arrays are full.

    A row matches index rows within its bounds of time that share at least ``fewest`` items with it
    and, where the index has weights, whose inner product is at least ``least``. It walks the
    postings of its own items in their order, so every sum is added up in that order. ``scratch``
    has a place for each index row and ``touched`` one more; ``index_rows`` and ``probe_rows`` have
    room for at least all index rows. Returns the row to go on with, the number of pairs and the
    number of postings that were walked. O(postings within the bounds).
    """
    weighted = len(table.weights) > 0
    filled, walked = 0, 0
    for row in range(start, len(times)):
        time = times[row]
        if time < bounds.first or time > bounds.last or offsets[row] == offsets[row + 1]:
            continue
        first = _before(table.times, max(time, bounds.floor) + bounds.low, False)
        end = _before(table.times, min(time, bounds.ceiling) + bounds.high, True)
        n_touched, steps = 0, 0
        for j in range(offsets[row], offsets[row + 1]):
            entry = table.slots[
                _slot_of(row_keys[row], items[j], table.slots, table.keys, table.items)
            ]
            if entry == 0:
                continue
            since = _from(table.postings, table.begins[entry], table.begins[entry + 1], first)
            until = _from(table.postings, since, table.begins[entry + 1], end)
            weight = weights[j] if weighted else 0.0
            n_touched = _walk(table, since, until, weight, scratch, n_touched)
            steps += until - since
        kept = _settle(scratch, n_touched, fewest, least, weighted)
        if filled + kept > len(index_rows):
            return row, filled, walked
        for i in range(kept):
            index_rows[filled + i] = scratch.touched[i]
            probe_rows[filled + i] = row
        filled += kept
        walked += steps
    return len(times), filled, walked
