"""A plan of half-way joins over recorded streams, probes limited (Mukherji et al. 2011, JAQPOT).

One tuple at a time, in virtual time. A tuple of a node enters the node's state and, if the node's
allowance has credit left, probes the sibling's state. What it finds are the tuples of the node
above, which do the same, up to the root, whose tuples are the results.

```
arrival -> enter own state, the oldest leaves -> credit? probe the sibling's state -> node above
                                                 none? stays in its state, unprobed
```

A tuple is known by two keys, by which it matches the stream to its left and to its right, and by
the moment from which on it is stale: the least of (arrival + freshness) over the tuples it is of.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamjoin.core.kernels._jit import njit

Int64s = NDArray[np.int64]
Float64s = NDArray[np.float64]

INSERTED: Final = 0
"""First of the counters by node: tuples that entered its state."""
PROBES: Final = 1
OUTPUTS: Final = 2
MET: Final = 3
"""Pairs that probes looked at: tuples of the sibling's state, for each probe."""
STALE: Final = 4
N_COUNTS: Final = 5

LEFT: Final = 0
"""First of the columns of a tuple: the key it has with the stream on its left."""
RIGHT: Final = 1
STALE_AT: Final = 2
N_TUPLE: Final = 3
_BORN: Final = 3  # when it entered its state
_OLDER: Final = 4  # number of the next older tuple with the same key, -1 if there is none
N_ENTRY: Final = 5

END: Final = 0
"""First of what a state knows: how many tuples have entered it."""
LIVE: Final = 1
"""The first number that is not expired."""
N_STATE: Final = 2

_ROW: Final = 0  # next row to arrive
_WAITING: Final = 1  # tuples of the level that is to be processed
_NODE: Final = 2  # their node
_SIDE: Final = 3  # which half of the level's room they are in
_TURN: Final = 4  # levels so far: which of their tuples probe goes round
N_CLOCK: Final = 5

DONE: Final = -1
"""What `run_until` returns when all is done; else the node whose state has no room."""


class Arrivals(NamedTuple):
    """All streams in one, in the order of time: `stream`, `time` (us) and two keys of each row."""

    streams: Int64s
    times: Int64s
    keys: Int64s


class Plan(NamedTuple):
    """The tree, by node but the root: node above, sibling, and which key a tuple probes with.

    `room` has the slots of each state from `base` on, a power of two; `heads` where the buckets of
    each begin. A state holds the last `sizes` tuples, and none older than `spans` us. `freshness`
    is of [stream], in us. With `fill`, allowances do not bind below a state that has a size and was
    never full. `hashed` is 1 for a bucket for each key, 0 for one bucket that is scanned. Without
    `walk` results are only counted, by the length of buckets.
    """

    above: Int64s
    sibling: Int64s
    key: Int64s
    root: int
    base: Int64s
    room: Int64s
    heads: Int64s
    sizes: Int64s
    spans: Int64s
    freshness: Int64s
    fill: bool
    hashed: int
    walk: bool


class Memory(NamedTuple):
    """What goes on from call to call.

    `entries` is of [slot, `N_ENTRY`]; `states` of [node, `N_STATE`]; `newest` and `counts` are of
    [bucket]: the newest tuple's number plus one, and how many there are. `level` is of
    [2, place, `N_TUPLE`]: tuples of one node, and those of the node above that they make.
    """

    entries: Int64s
    states: Int64s
    newest: Int64s
    counts: Int64s
    credit: Float64s
    credited: Int64s
    level: Int64s
    clock: Int64s


class Allowed(NamedTuple):
    """Probes a second by node, and how many may be saved up."""

    rates: Float64s
    bursts: Float64s


@njit
def run_until(
    until: int, arrivals: Arrivals, plan: Plan, memory: Memory, allowed: Allowed, seen: Float64s
) -> int:
    """Process what arrives before `until`; counters go into `seen` of [`N_COUNTS`, node].

    Stops early, to be called again, if a state (its number is returned) or the level (the root's
    number) needs more room. A tuple costs its probe, and what that finds below the root.
    """
    clock, n_rows = memory.clock, len(arrivals.times)
    while True:
        if clock[_WAITING] == 0:
            row = clock[_ROW]
            if row >= n_rows or arrivals.times[row] >= until:
                return DONE
            stream = arrivals.streams[row]
            first = memory.level[clock[_SIDE], 0]
            first[LEFT], first[RIGHT] = arrivals.keys[row, LEFT], arrivals.keys[row, RIGHT]
            first[STALE_AT] = arrivals.times[row] + plan.freshness[stream]
            clock[_WAITING], clock[_NODE] = 1, stream
            clock[_ROW] += 1
        full = _process(arrivals.times[clock[_ROW] - 1], plan, memory, allowed, seen)
        if full != DONE:
            return full


@njit
def _process(now: int, plan: Plan, memory: Memory, allowed: Allowed, seen: Float64s) -> int:
    """Let the tuples of a level enter their state and probe; makes the next level."""
    clock, states = memory.clock, memory.states
    node, n = clock[_NODE], clock[_WAITING]
    other, above = plan.sibling[node], plan.above[node]
    _expire(now, node, plan, memory)
    _expire(now, other, plan, memory)
    held = states[node, END] - states[node, LIVE]
    if plan.sizes[node] > plan.room[node] and held + n > plan.room[node]:
        return int(node)
    free = _fills(above, plan, states)
    n_probes = n if free else _credit(now, node, n, memory, allowed)
    shift = (clock[_TURN] * 2654435769) % n
    if above != plan.root and _matches(node, n_probes, shift, plan, memory) > memory.level.shape[1]:
        return plan.root
    _insert(now, node, plan, memory)
    seen[INSERTED, node] += n
    seen[PROBES, node] += n_probes
    seen[MET, node] += n_probes * (states[other, END] - states[other, LIVE])
    if not free:
        memory.credit[node] -= n_probes
    if above == plan.root:
        made = 0
        _emit(now, node, n_probes, shift, plan, memory, seen)
    else:
        made = _probe(node, n_probes, shift, plan, memory)
        seen[OUTPUTS, node] += made
    clock[_WAITING], clock[_NODE], clock[_SIDE] = made, above, 1 - clock[_SIDE]
    clock[_TURN] += 1
    return DONE


@njit
def _fills(above: int, plan: Plan, states: Int64s) -> bool:
    """Whether what is made goes into a state of a given size that was never full."""
    if not plan.fill or above == plan.root or plan.sizes[above] > plan.room[above]:
        return False
    return bool(states[above, END] < plan.sizes[above])


@njit
def _credit(now: int, node: int, n: int, memory: Memory, allowed: Allowed) -> int:
    """How many of n tuples may probe."""
    passed = now - memory.credited[node]
    memory.credited[node] = now
    credit = memory.credit[node] + allowed.rates[node] * passed / 1e6
    memory.credit[node] = min(credit, allowed.bursts[node])
    return max(0, int(min(float(n), memory.credit[node])))


@njit
def _chosen(place: int, n_probes: int, n: int, shift: int) -> bool:
    """Exactly `n_probes` of n places, evenly spread; `shift` treats old and new partners alike."""
    return n_probes == n or bool((place * n_probes + shift) % n < n_probes)


@njit
def _matches(node: int, n_probes: int, shift: int, plan: Plan, memory: Memory) -> int:
    """How many tuples the probes of the level will make; at most, if states are scanned."""
    n, side = memory.clock[_WAITING], memory.clock[_SIDE]
    level, counts, found = memory.level, memory.counts, 0
    first, key, hashed = plan.heads[plan.sibling[node]], plan.key[node], plan.hashed
    for place in range(n):
        if _chosen(place, n_probes, n, shift):
            found += counts[first + level[side, place, key] * hashed]
    return int(found)


@njit
def _expire(now: int, node: int, plan: Plan, memory: Memory) -> None:
    """Forget what is older than the state's span."""
    states = memory.states
    while states[node, LIVE] < states[node, END]:
        slot = plan.base[node] + (states[node, LIVE] & (plan.room[node] - 1))
        if now - memory.entries[slot, _BORN] <= plan.spans[node]:
            return
        _forget(node, plan, memory)


@njit
def _forget(node: int, plan: Plan, memory: Memory) -> None:
    """Take the oldest tuple out of a state; lists end at what is not live, so it stays in them."""
    slot = plan.base[node] + (memory.states[node, LIVE] & (plan.room[node] - 1))
    memory.counts[plan.heads[node] + memory.entries[slot, plan.key[node]] * plan.hashed] -= 1
    memory.states[node, LIVE] += 1


@njit
def _insert(now: int, node: int, plan: Plan, memory: Memory) -> None:
    """Let the tuples of the level enter their state."""
    # Single numbers and one call for all tuples: views of rows and calls cost more than the rest.
    level, entries, states, side = memory.level, memory.entries, memory.states, memory.clock[_SIDE]
    newest, counts, size, hashed = memory.newest, memory.counts, plan.sizes[node], plan.hashed
    first, base, mask, key = plan.heads[node], plan.base[node], plan.room[node] - 1, plan.key[node]
    for place in range(memory.clock[_WAITING] if size else 0):
        number = states[node, END]
        if number - states[node, LIVE] >= size:
            oldest = base + (states[node, LIVE] & mask)
            counts[first + entries[oldest, key] * hashed] -= 1
            states[node, LIVE] += 1
        bucket = first + level[side, place, key] * hashed
        slot = base + (number & mask)
        entries[slot, LEFT] = level[side, place, LEFT]
        entries[slot, RIGHT] = level[side, place, RIGHT]
        entries[slot, STALE_AT] = level[side, place, STALE_AT]
        entries[slot, _BORN] = now
        entries[slot, _OLDER] = newest[bucket] - 1
        newest[bucket] = number + 1
        counts[bucket] += 1
        states[node, END] += 1


@njit
def _probe(node: int, n_probes: int, shift: int, plan: Plan, memory: Memory) -> int:
    """Write the tuples of the node above, for each probe from the newest partner to the oldest."""
    level, entries, other = memory.level, memory.entries, plan.sibling[node]
    n, side, live = memory.clock[_WAITING], memory.clock[_SIDE], memory.states[other, LIVE]
    first, base, mask = plan.heads[other], plan.base[other], plan.room[other] - 1
    inner, made = plan.key[node], 0
    for place in range(n):
        if not _chosen(place, n_probes, n, shift):
            continue
        key, outer = level[side, place, inner], level[side, place, 1 - inner]
        stale_at = level[side, place, STALE_AT]
        number = memory.newest[first + key * plan.hashed] - 1
        while number >= live:
            slot = base + (number & mask)
            if entries[slot, 1 - inner] == key:
                # The outer keys stay: the left one's left, the right one's right.
                level[1 - side, made, 1 - inner] = outer
                level[1 - side, made, inner] = entries[slot, inner]
                level[1 - side, made, STALE_AT] = min(stale_at, entries[slot, STALE_AT])
                made += 1
            number = entries[slot, _OLDER]
    return made


@njit
def _emit(
    now: int, node: int, n_probes: int, shift: int, plan: Plan, memory: Memory, seen: Float64s
) -> None:
    """Count the results of the level's probes, and those that are stale."""
    level, entries, other = memory.level, memory.entries, plan.sibling[node]
    n, side, live = memory.clock[_WAITING], memory.clock[_SIDE], memory.states[other, LIVE]
    first, base, mask = plan.heads[other], plan.base[other], plan.room[other] - 1
    inner, found, stale = plan.key[node], 0, 0
    for place in range(n):
        if not _chosen(place, n_probes, n, shift):
            continue
        key = level[side, place, inner]
        if not plan.walk:
            found += memory.counts[first + key]
            continue
        all_stale = level[side, place, STALE_AT] < now
        number = memory.newest[first + key * plan.hashed] - 1
        while number >= live:
            slot = base + (number & mask)
            if entries[slot, 1 - inner] == key:
                found += 1
                if all_stale or entries[slot, STALE_AT] < now:
                    stale += 1
            number = entries[slot, _OLDER]
    seen[OUTPUTS, node] += found
    seen[STALE, node] += stale
