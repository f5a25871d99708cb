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
FINGERPRINT: Final = 5
"""A sum over all results that tells sets of them apart, whatever their order."""
N_COUNTS: Final = 6

NEXT: Final = 0
"""First of what is known of a buffer: number of its next tuple."""
END: Final = 1
N_BUFFER: Final = 2

LAST: Final = 0
"""First of the clock: the stream that drove last, -1 at the beginning."""
TURN: Final = 1
"""Who had the last turn, of those that take turns."""
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
    # All in one, for speed: to hand arrays to a function for each tuple costs more than the tuple.
    keys, born, gone, windowed = streams
    slots, begins, masks, older = tables
    buffers, clock, path, out = memory
    last, ring = sequences.shape[1] - 1, len(out) - 1
    turn, drove, written = clock[TURN], clock[LAST], clock[WRITTEN]
    probes, made, changes, tuples, fingerprint = 0, 0, 0, 0, 0
    for _ in range(n):
        j = -1
        if by_time:
            for i in group:
                if buffers[i, NEXT] < buffers[i, END] and (
                    j < 0 or born[buffers[i, NEXT]] < born[buffers[j, NEXT]]
                ):
                    j = i
        else:
            for _ in range(len(group)):
                turn = 0 if turn + 1 >= len(group) else turn + 1
                if buffers[group[turn], NEXT] < buffers[group[turn], END]:
                    j = group[turn]
                    break
        if j < 0:
            break
        changes += drove >= 0 and drove != j
        drove = j
        number = buffers[j, NEXT]
        buffers[j, NEXT] += 1
        tuples += 1
        # It enters its table ...
        key = keys[number]
        mixed = mix(key)
        own = _slot(key, mixed, begins[j], masks[j], slots)
        older[number] = slots[own, NEWEST]
        slots[own, KEY], slots[own, NEWEST] = key, number
        path[_PICKED, 0], path[_HIGH, 0], path[_LOW, 0] = number, born[number], gone[number]
        # ... and goes down the tables of the others, back up where a key's tuples end.
        depth, enters = 0, True
        while depth >= 0:
            other = sequences[j, depth]
            if enters:
                probes += 1
                slot = _slot(key, mixed, begins[other], masks[other], slots)
                found = slots[slot, NEWEST]
            else:
                found = path[_AT, depth]
            enters = False
            if found < 0 or (windowed and gone[found] < path[_HIGH, depth]):
                depth -= 1  # all that are older are gone too
                continue
            path[_AT, depth] = older[found]
            if windowed:
                if born[found] > path[_LOW, depth]:
                    continue
                path[_HIGH, depth + 1] = max(path[_HIGH, depth], born[found])
                path[_LOW, depth + 1] = min(path[_LOW, depth], gone[found])
            path[_PICKED, depth + 1] = found
            if depth < last:
                made += 1
                depth += 1
                enters = True
                continue
            place = written & ring
            out[place, j] = number
            one = (number + 1) * (2 * j + 3)
            for k in range(last + 1):
                found, other = path[_PICKED, k + 1], sequences[j, k]
                out[place, other] = found
                one += (found + 1) * (2 * other + 3)
            fingerprint += one * one
            written += 1
    seen[PROBES] += probes
    seen[MADE] += made
    seen[RESULTS] += written - clock[WRITTEN]
    seen[CHANGES] += changes
    seen[TUPLES] += tuples
    seen[FINGERPRINT] += fingerprint
    clock[TURN], clock[LAST], clock[WRITTEN] = turn, drove, written


@njit
def _slot(key: np.int64, mixed: np.int64, begin: int, mask: int, slots: Int64s) -> int:
    """The slot of a key in a stream's table, or the free one where it belongs."""
    place = mixed & mask
    while slots[begin + place, NEWEST] >= 0 and slots[begin + place, KEY] != key:
        place = (place + 1) & mask
    return int(begin + place)


@njit
def count_matches(numbers: Int64s, other: int, streams: Streams, tables: Tables) -> int:
    """How many tuples of another stream's table some tuples would find now; nothing enters."""
    begin, mask, slots = tables.begins[other], tables.masks[other], tables.slots
    found = 0
    for k in range(len(numbers)):
        key, now = streams.keys[numbers[k]], streams.born[numbers[k]]
        at = int(slots[_slot(key, mix(key), begin, mask, slots), NEWEST])
        while at >= 0 and streams.gone[at] >= now:
            found += 1
            at = int(tables.older[at])
    return found
