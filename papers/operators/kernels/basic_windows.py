"""Match one tuple with a run of remembered tuples: compare each, or walk lists of an index.

The remembered tuples of a stream are numbered in the order in which they were fetched, so that a
basic window, or the newest part of one, is a run ``low..high-1`` of numbers (Gedik et al. 2005,
GED-A8). There are three ways through a run:

| way     | a tuple is                          | touches                                  |
|---------|-------------------------------------|------------------------------------------|
| bits    | a set of items 0..127, in two words | every tuple, a few instructions for each |
| sets    | a list of items with their weights  | every tuple and every item of it         |
| lists   | in the list of each of its items    | the lists of the items that are sought   |

A list holds the numbers of the tuples that have an item, in order: cut at a number it is cut at a
time (GED-A7), and one list for a stream serves as a list for each of its basic windows.
"""

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamjoin.core.kernels._jit import njit

Int64s = NDArray[np.int64]
Float64s = NDArray[np.float64]

BITS: Final = 0
SETS: Final = 1
LISTS: Final = 2

_BLOCK: Final = 64
_1 = np.uint64(1)
_2 = np.uint64(2)
_4 = np.uint64(4)
_56 = np.uint64(56)
_M1 = np.uint64(0x5555555555555555)
_M2 = np.uint64(0x3333333333333333)
_M4 = np.uint64(0x0F0F0F0F0F0F0F0F)
_H01 = np.uint64(0x0101010101010101)


class Tuples(NamedTuple):
    """Both streams: index 0 of an array is the left one, 1 the right one.

    ``offsets[side, row]`` is where the items of a row of the trace begin in ``items`` and
    ``weights``. Filled as tuples come: ``rows[side, number]``, the row of a tuple;
    ``bits[side, word, number]``; ``lists``, where the list of an item has ``lengths[side, item]``
    numbers from ``begins[side, item]`` on, and ``owns`` their weights. For one probe: the
    ``sought`` weight of each item, ``scores`` and ``marks`` of each number, and ``hits``, the
    numbers that match.
    """

    offsets: Int64s
    items: Int64s
    weights: Float64s
    rows: Int64s
    bits: NDArray[np.uint64]
    begins: Int64s
    lengths: Int64s
    lists: Int64s
    owns: Float64s
    sought: Float64s
    scores: Float64s
    marks: Int64s
    hits: Int64s


@njit
def remember(tuples: Tuples, way: int, side: int, number: int) -> None:
    """Enter a tuple, whose row is known, into the window of its stream. Costs its items."""
    row = tuples.rows[side, number]
    for at in range(tuples.offsets[side, row], tuples.offsets[side, row + 1]):
        item = tuples.items[at]
        if way == BITS:
            tuples.bits[side, item >> 6, number] |= _1 << np.uint64(item & 63)
        elif way == LISTS:
            entry = tuples.begins[side, item] + tuples.lengths[side, item]
            tuples.lists[entry] = number
            tuples.owns[entry] = tuples.weights[at]
            tuples.lengths[side, item] += 1


@njit
def match(
    tuples: Tuples, way: int, threshold: float, side: int, row: int, low: int, high: int
) -> tuple[int, int]:
    """Match a row of stream ``1 - side`` with tuples ``low..high-1`` of stream `side`.

    Writes the numbers that match to ``hits``. Returns how many they are and how many entries of
    lists were walked. What a run costs is in the module's table.
    """
    if way == BITS:
        return _compare_bits(tuples, threshold, side, row, low, high), 0
    if way == SETS:
        return _compare_sets(tuples, threshold, side, row, low, high), 0
    return _walk_lists(tuples, threshold, side, row, low, high)


@njit
def _compare_bits(
    tuples: Tuples, threshold: float, side: int, row: int, low: int, high: int
) -> int:
    a, b = np.uint64(0), np.uint64(0)
    for at in range(tuples.offsets[1 - side, row], tuples.offsets[1 - side, row + 1]):
        bit = _1 << np.uint64(tuples.items[at] & 63)
        if tuples.items[at] < 64:
            a |= bit
        else:
            b |= bit
    first, second, least, n = tuples.bits[side, 0], tuples.bits[side, 1], math.ceil(threshold), 0
    for block in range(low, high, _BLOCK):
        end, found = min(block + _BLOCK, high), 0
        for number in range(block, end):  # without a branch: several at once
            found += _count(a & first[number]) + _count(b & second[number]) >= least
        if found:
            for number in range(block, end):
                if _count(a & first[number]) + _count(b & second[number]) >= least:
                    tuples.hits[n] = number
                    n += 1
    return n


@njit
def _count(word: np.uint64) -> int:
    """Bits that are set; compilers know this form and use the processor's instruction."""
    word -= (word >> _1) & _M1
    word = (word & _M2) + ((word >> _2) & _M2)
    word = (word + (word >> _4)) & _M4
    return int((word * _H01) >> _56)


@njit
def _compare_sets(
    tuples: Tuples, threshold: float, side: int, row: int, low: int, high: int
) -> int:
    begin, end = tuples.offsets[1 - side, row], tuples.offsets[1 - side, row + 1]
    for at in range(begin, end):
        tuples.sought[tuples.items[at]] = tuples.weights[at]
    n = 0
    for number in range(low, high):
        other, score = tuples.rows[side, number], 0.0
        for at in range(tuples.offsets[side, other], tuples.offsets[side, other + 1]):
            score += tuples.sought[tuples.items[at]] * tuples.weights[at]
        if score >= threshold:
            tuples.hits[n] = number
            n += 1
    for at in range(begin, end):
        tuples.sought[tuples.items[at]] = 0.0
    return n


@njit
def _walk_lists(
    tuples: Tuples, threshold: float, side: int, row: int, low: int, high: int
) -> tuple[int, int]:
    """Add up the weights of common items; ``marks`` say which scores are of this probe."""
    probe, touched, walked = 2 * row + side + 1, 0, 0
    for at in range(tuples.offsets[1 - side, row], tuples.offsets[1 - side, row + 1]):
        item = tuples.items[at]
        entry = tuples.begins[side, item]
        end = entry + tuples.lengths[side, item]
        entry = _first_from(tuples.lists, entry, end, low)
        while entry < end and tuples.lists[entry] < high:
            number = tuples.lists[entry]
            score = tuples.weights[at] * tuples.owns[entry]
            if tuples.marks[number] == probe:
                tuples.scores[number] += score
            else:
                tuples.marks[number] = probe
                tuples.scores[number] = score
                tuples.hits[touched] = number
                touched += 1
            entry += 1
            walked += 1
    n = 0
    for k in range(touched):
        number = tuples.hits[k]
        if tuples.scores[number] >= threshold:
            tuples.hits[n] = number
            n += 1
    return n, walked


@njit
def _first_from(numbers: Int64s, begin: int, end: int, least: int) -> int:
    """Where numbers of at least `least` begin within a list. O(log of its length)."""
    while begin < end:
        middle = (begin + end) >> 1
        if numbers[middle] < least:
            begin = middle + 1
        else:
            end = middle
    return begin
