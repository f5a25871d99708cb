"""The n-ary join over recorded streams, one tuple at a time (Valsomatzis & Gounaris 2013, VAL-A1).

A tuple that drives enters the table of its stream, probes the tables of the others in its probing
sequence, and is through before the next one is taken (VAL-A3). Each tuple found on the way is an
intermediate tuple, which probes the next table; a miss ends that branch.

```
streams   S_1: 0 1 2 ...   S_2: n_1, n_1 + 1, ...   a tuple's number tells its stream and its place
tables    slot of the key (open addressing) -> newest tuple -> next older of the key -> ... -> -1
```

A result is valid if no tuple of it is gone when the newest of it is born; both are moments of any
kind that grow along a stream, so the older tuples of a key need no look once one is gone. What is
valid does not depend on the order of processing.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamjoin.core.kernels._jit import njit
from streamjoin.core.kernels.equi import mix

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]

PROBES: Final = 0
"""First of the counters: looks into a table, of a tuple that drives or of an intermediate one."""
MADE: Final = 1
"""Intermediate tuples."""
RESULTS: Final = 2
CHANGES: Final = 3
"""Times that another stream drives than before."""
TUPLES: Final = 4
PRINT: Final = 5
"""A sum over all results that tells sets of them apart, whatever their order."""
N_COUNTS: Final = 6

NEXT: Final = 0
"""First of what is known of a buffer: number of its next tuple."""
END: Final = 1
N_BUFFER: Final = 2

LAST: Final = 0
"""First of the clock: the stream that drove last, -1 at the beginning."""
TURN: Final = 1
"""Whose turn it is, of those that take turns."""
WRITTEN: Final = 2
"""Results that have been written."""
N_CLOCK: Final = 3

_AT: Final = 0  # where a probe of this depth goes on
_PICKED: Final = 1  # the tuple that was found before
_HIGH: Final = 2  # when the newest so far was born
_LOW: Final = 3  # when the first so far is gone
N_PATH: Final = 4

KEY: Final = 0
"""First of the columns of a slot."""
NEWEST: Final = 1
"""Number of the newest tuple of the key, -1 in a free slot."""
N_SLOT: Final = 2


class Streams(NamedTuple):
    """All tuples, stream after stream: key, and the moments when each is born and last valid.

    `windowed` says whether any is ever gone.
    """

    keys: Int64s
    born: Int64s
    gone: Int64s
    windowed: bool


class Tables(NamedTuple):
    """A hash table for each stream.

    `slots` is of [slot, `N_SLOT`]; those of stream j begin at `begins[j]`, and their number is a
    power of two, `masks[j]` + 1, above that of the stream's keys. `older` is of [tuple]: the next
    older one with the same key, -1 if there is none.
    """

    slots: Int64s
    begins: Int64s
    masks: Int64s
    older: Int32s


class Memory(NamedTuple):
    """What goes on from call to call.

    `buffers` is of [stream, `N_BUFFER`], `clock` of [`N_CLOCK`]. `path` is of [`N_PATH`, stream]:
    room for one tuple's probes, by depth. `out` is of [results, stream], a ring whose length is a
    power of two.
    """

    buffers: Int64s
    clock: Int64s
    path: Int64s
    out: Int64s


@njit
def process(
    n: int,
    group: Int64s,
    by_time: bool,
    sequences: Int64s,
    streams: Streams,
    tables: Tables,
    memory: Memory,
    seen: Int64s,
) -> None:
    """Process up to n waiting tuples of the streams of a group; counters go into `seen`.

    They take turns by time or by position (VAL-A5, VAL-A6); a group of one is drained. `sequences`
    is of [stream, others]. A tuple costs its probes, its intermediate tuples and its results.
    """
    clock, buffers = memory.clock, memory.buffers
    for _ in range(n):
        j = _next(group, by_time, streams.born, buffers, clock)
        if j < 0:
            return
        if clock[LAST] != j:
            seen[CHANGES] += clock[LAST] >= 0
            clock[LAST] = j
        _drive(buffers[j, NEXT], j, sequences[j], streams, tables, memory, seen)
        buffers[j, NEXT] += 1


@njit
def _next(group: Int64s, by_time: bool, born: Int64s, buffers: Int64s, clock: Int64s) -> int:
    """The stream whose oldest waiting tuple is next; -1 if none waits."""
    if by_time:
        found, first = -1, np.int64(0)
        for j in group:
            if buffers[j, NEXT] < buffers[j, END]:
                time = born[buffers[j, NEXT]]
                if found < 0 or time < first:
                    found, first = j, time
        return int(found)
    for _ in range(len(group)):
        if clock[TURN] >= len(group):
            clock[TURN] = 0
        j = group[clock[TURN]]
        clock[TURN] += 1
        if buffers[j, NEXT] < buffers[j, END]:
            return int(j)
    return -1


@njit
def _slot(key: int, mixed: int, j: int, tables: Tables) -> int:
    """The slot of a key in a stream's table, or the free one where it belongs."""
    slots, begin, mask = tables.slots, tables.begins[j], tables.masks[j]
    place = mixed & mask
    while slots[begin + place, NEWEST] >= 0 and slots[begin + place, KEY] != key:
        place = (place + 1) & mask
    return int(begin + place)


@njit
def _drive(
    number: int,
    j: int,
    sequence: Int64s,
    streams: Streams,
    tables: Tables,
    memory: Memory,
    seen: Int64s,
) -> None:
    """Let a tuple enter its table and find its results, the newest tuples first."""
    slots, older, path = tables.slots, tables.older, memory.path
    key, windowed, last = streams.keys[number], streams.windowed, len(sequence) - 1
    mixed = mix(key)
    own = _slot(key, mixed, j, tables)
    older[number] = slots[own, NEWEST]
    slots[own, KEY], slots[own, NEWEST] = key, number
    path[_PICKED, 0] = number
    path[_HIGH, 0], path[_LOW, 0] = streams.born[number], streams.gone[number]
    path[_AT, 0] = slots[_slot(key, mixed, sequence[0], tables), NEWEST]
    depth, probes, made, results = 0, 1, 0, 0
    while depth >= 0:
        found = path[_AT, depth]
        if found < 0:
            depth -= 1
            continue
        path[_AT, depth] = older[found]
        if windowed:
            if streams.gone[found] < path[_HIGH, depth]:
                depth -= 1  # and so are all that are older
                continue
            if streams.born[found] > path[_LOW, depth]:
                continue
            path[_HIGH, depth + 1] = max(path[_HIGH, depth], streams.born[found])
            path[_LOW, depth + 1] = min(path[_LOW, depth], streams.gone[found])
        path[_PICKED, depth + 1] = found
        if depth == last:
            results += 1
            _write(j, sequence, memory, seen)
        else:
            made += 1
            probes += 1
            depth += 1
            path[_AT, depth] = slots[_slot(key, mixed, sequence[depth], tables), NEWEST]
    seen[PROBES] += probes
    seen[MADE] += made
    seen[RESULTS] += results
    seen[TUPLES] += 1


@njit
def _write(j: int, sequence: Int64s, memory: Memory, seen: Int64s) -> None:
    """Write a result, its tuples in the order of streams."""
    out, path, clock = memory.out, memory.path, memory.clock
    place = clock[WRITTEN] & (len(out) - 1)
    out[place, j] = path[_PICKED, 0]
    one = (path[_PICKED, 0] + 1) * (2 * j + 3)
    for depth in range(len(sequence)):
        out[place, sequence[depth]] = path[_PICKED, depth + 1]
        one += (path[_PICKED, depth + 1] + 1) * (2 * sequence[depth] + 3)
    seen[PRINT] += one * one
    clock[WRITTEN] += 1


@njit
def count_matches(numbers: Int64s, other: int, streams: Streams, tables: Tables) -> int:
    """How many tuples of another stream's table some tuples would find now; nothing enters."""
    found = 0
    for number in numbers:
        key = streams.keys[number]
        at = tables.slots[_slot(key, mix(key), other, tables), NEWEST]
        while at >= 0 and streams.gone[at] >= streams.born[number]:
            found += 1
            at = np.int64(tables.older[at])
    return found
