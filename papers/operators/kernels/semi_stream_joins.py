"""Joins of a stream with a table on a virtual disk, a tuple at a time (NAE-A4 to A15).

```
stream -> SB_1 -> front stage (cache H_R) -> H_S and Q -> back end: a partition of the table
             ^            | hits                  | the oldest, if there is too much to do
             +--- spilled tuples <----------------+
```

An outer iteration sheds or reloads, lets the front stage take stream tuples until H_S is full or
SB_1 empty, and then reads one partition. Time is virtual: what is done adds its cost to the clock.
"""

from typing import Final

from papers.operators.kernels import semi_stream as memory
from papers.operators.kernels.semi_stream import Cache, Floats, Int64s, Waiting
from papers.operators.kernels.semi_stream_shedding import shed_or_reload, take
from papers.operators.kernels.semi_stream_types import (
    ADMITTED,
    DISK,
    ENTERED,
    EVICTED,
    HITS,
    HITS_A_MISS,
    HYBRID,
    INDEX,
    ITERATIONS,
    MESH,
    NO_SHEDDING,
    NOW,
    OUTPUTS,
    SERVED,
    WAITED,
    Costs,
    Progress,
    Setup,
    Stream,
    Table,
)
from streamjoin.core.kernels._jit import njit

_NEW: Final = 0.1  # weight of an iteration in what is known of hits


@njit
def advance(
    setup: Setup, costs: Costs, stream: Stream, table: Table, waiting: Waiting, cache: Cache,
    progress: Progress, until: float, served: int, iterations: int,
) -> bool:  # fmt: skip
    """Run until a time, a number of tuples or of iterations is reached; whether all is done.

    A stream tuple costs O(1), a tuple of the table that is read too; an admission O(log h_R).
    """
    at, clocks, counts = progress.at, progress.clocks, progress.counts
    while clocks[NOW] < until and counts[SERVED] < served and counts[ITERATIONS] < iterations:
        _arrive(clocks[NOW], stream, at)
        if setup.shedding != NO_SHEDDING:
            expected = int(_chunk(setup, at, waiting) * (1 + clocks[HITS_A_MISS]))
            shed_or_reload(setup, costs, stream, waiting, progress, expected)
        room = _chunk(setup, at, waiting)
        if setup.back_end == MESH:
            room = min(room, int(at[memory.N_FREE]))
        entered = _front_stage(setup, costs, stream, table, waiting, cache, progress, room)
        if at[memory.Q_LENGTH] == 0:  # an index join has no queue
            if not _idle(stream, at, clocks) and at[memory.SPILLED] == at[memory.BACK_TAKEN]:
                return True
            continue
        if setup.back_end == MESH:
            _mesh(setup, costs, stream, table, waiting, cache, progress, entered)
        else:
            _hybrid(setup, costs, stream, table, waiting, cache, progress)
        if setup.policy == memory.RECORDER and setup.most_evicted >= 0:
            _move_threshold(setup, cache, progress)
    return False


@njit
def _move_threshold(setup: Setup, cache: Cache, progress: Progress) -> None:
    """Down while the cache is not full, up when too many had to go within a turn of H_S."""
    at, counts = progress.at, progress.counts
    if at[memory.N_CACHE] < len(cache.keys):
        at[memory.THRESHOLD] = max(1, at[memory.THRESHOLD] - 1)
    elif counts[EVICTED] - at[memory.EVICTED_BEFORE] > setup.most_evicted:
        at[memory.THRESHOLD] += 1
        at[memory.EVICTED_BEFORE] = counts[EVICTED]
    if counts[ENTERED] - at[memory.TURN_BEGAN] > setup.turn:
        at[memory.TURN_BEGAN] = counts[ENTERED]
        at[memory.EVICTED_BEFORE] = counts[EVICTED]


@njit
def _arrive(now: float, stream: Stream, at: Int64s) -> None:
    n = at[memory.ARRIVED]
    while n < len(stream.arrivals) and stream.arrivals[n] <= now:
        n += 1
    at[memory.ARRIVED] = n


@njit
def _idle(stream: Stream, at: Int64s, clocks: Floats) -> bool:
    """Wait for the next stream tuple, if the buffer is empty; whether there will be any."""
    n = at[memory.TAKEN]
    if n < at[memory.ARRIVED] or at[memory.BACK_TAKEN] < at[memory.BACK]:
        return True
    if n == len(stream.arrivals):
        return False
    clocks[NOW] = max(clocks[NOW], stream.arrivals[n])
    return True


@njit
def _chunk(setup: Setup, at: Int64s, waiting: Waiting) -> int:
    """Stream tuples that the back end is to take: w_B, the free slots of H_S (NAE-I1).

    Of a scan, what fills H_S in a turn of the table: rounded up, so that all of it is used.
    """
    if setup.back_end == INDEX:
        return 1
    if setup.back_end == HYBRID:
        return int(at[memory.N_FREE])
    n_partitions = -(-at[memory.N_TABLE] // setup.partition)
    return int(-(-len(waiting.free) // n_partitions))


@njit
def _front_stage(
    setup: Setup, costs: Costs, stream: Stream, table: Table, waiting: Waiting, cache: Cache,
    progress: Progress, room: int,
) -> int:  # fmt: skip
    """NAE-A8: hits are emitted, misses go on, until the back end has enough or SB_1 is empty.

    Returns how many went on; those of an index join are answered at once.
    """
    at, clocks, counts, arrivals = progress.at, progress.clocks, progress.counts, stream.arrivals
    cached, has_cache, marked = cache.cached, len(cache.keys) > 0, setup.position < 1
    look_up = costs.look_up * (2 if setup.policy == memory.SKETCH else 1)
    now, entered, iteration, before = clocks[NOW], 0, counts[ITERATIONS], counts[HITS]
    while entered < room:
        arrived = at[memory.ARRIVED]
        if arrived < len(arrivals) and arrivals[arrived] <= now:
            at[memory.ARRIVED] += 1
        tuple_ = take(at, progress.spilled)
        if tuple_ < 0:
            break
        key = stream.keys[tuple_]
        if has_cache:
            now += look_up
            if setup.policy == memory.SKETCH:
                memory.count_seen(key, cache.sketch)
                _age(setup, cache, at)
            place = cached[key, memory.PLACE]
            if place >= 0 and cached[key, memory.READY] <= iteration:
                if setup.policy == memory.AGEING:
                    cache.frequencies[place] += 1
                n = table.copies[key]
                stream.outputs[tuple_] += n
                now += n * costs.output
                clocks[WAITED] += look_up + n * costs.output
                counts[HITS] += 1
                counts[SERVED] += 1
                counts[OUTPUTS] += n
                continue
            if setup.policy == memory.AGEING:
                _age(setup, cache, at)
        counts[ENTERED] += 1
        entered += 1
        if setup.back_end == INDEX:
            clocks[NOW] = now
            _index(tuple_, key, setup, costs, stream, table, cache, progress)
            now = clocks[NOW]
        else:
            now += costs.read + costs.append
            memory.enter(tuple_, key, now, marked, waiting, at)
    clocks[NOW] = now
    if entered > 0:
        clocks[HITS_A_MISS] += _NEW * ((counts[HITS] - before) / entered - clocks[HITS_A_MISS])
    return entered


@njit
def _age(setup: Setup, cache: Cache, at: Int64s) -> None:
    at[memory.SINCE_AGED] += 1
    if at[memory.SINCE_AGED] >= setup.age_after:
        at[memory.SINCE_AGED] = 0
        memory.age(setup.policy, cache)


@njit
def _offer(key: int, f: int, setup: Setup, cache: Cache, progress: Progress, at: Int64s) -> None:
    """Offer a tuple of the table to the cache.

    If keys may have several tuples, all have been seen after one more scan of the table.
    """
    ready = 0
    if not setup.unique:
        ready = progress.counts[ITERATIONS] - (-at[memory.N_TABLE] // setup.partition)
    taken = memory.admit(key, f, setup.policy, ready, cache, at)
    progress.counts[ADMITTED] += taken > 0
    progress.counts[EVICTED] += taken == 2


@njit
def _index(
    tuple_: int, key: int, setup: Setup, costs: Costs, stream: Stream, table: Table, cache: Cache,
    progress: Progress,
) -> None:  # fmt: skip
    """One access through the index, and a look whether the key is frequent (NAE-A15)."""
    at, clocks, counts = progress.at, progress.clocks, progress.counts
    counts[ITERATIONS] += 1
    counts[SERVED] += 1
    place = table.places[key]
    found = 0 <= place < at[memory.N_TABLE]
    n = table.copies[key] if found else 0
    spent = costs.seek + costs.page_read
    clocks[NOW] += costs.read + costs.probe + spent + n * costs.output
    clocks[DISK] += spent
    stream.outputs[tuple_] += n
    counts[OUTPUTS] += n
    clocks[WAITED] += spent + costs.read + costs.probe + n * costs.output
    if not found or len(cache.keys) == 0:
        return
    if counts[SERVED] - at[memory.TURN_BEGAN] > setup.turn:
        at[memory.SPAN] += 1
        at[memory.TURN_BEGAN] = counts[SERVED]
    recent = cache.recent
    if recent[key, 0] != at[memory.SPAN]:
        recent[key, 0], recent[key, 1] = at[memory.SPAN], 0
    recent[key, 1] += 1
    if recent[key, 1] >= 2:
        _offer(key, int(recent[key, 1]), setup, cache, progress, at)


@njit
def _read_partition(
    first: int, end: int, setup: Setup, costs: Costs, stream: Stream, table: Table,
    waiting: Waiting, cache: Cache, progress: Progress,
) -> None:  # fmt: skip
    """Read places of the table and probe each tuple in H_S; a scan removes none that match."""
    at, clocks, counts = progress.at, progress.clocks, progress.counts
    chains, slots, since = waiting.chains, waiting.slots, waiting.since
    removes, marked, has_cache = setup.back_end == HYBRID, setup.position < 1, len(cache.keys) > 0
    spent = costs.seek + (end - first) * costs.tuple_read
    clocks[DISK] += spent
    now = clocks[NOW] + spent
    counts[ITERATIONS] += 1
    for place in range(first, end):
        now += costs.probe
        key = table.keys[place]
        f = chains[key, memory.COUNT]
        if f == 0:
            continue
        slot = chains[key, memory.OLDEST]
        while slot >= 0:
            after = slots[slot, memory.AFTER]
            stream.outputs[slots[slot, memory.TUPLE]] += 1
            now += costs.output
            clocks[WAITED] += now - since[slot]
            if removes:
                now += costs.remove
                memory.leave(slot, marked, waiting, at)
            slot = after
        counts[OUTPUTS] += f
        if removes:
            chains[key, memory.OLDEST], chains[key, memory.COUNT] = -1, 0
            counts[SERVED] += f
        if has_cache:
            _offer(key, int(f), setup, cache, progress, at)
    clocks[NOW] = now


@njit
def _mesh(
    setup: Setup, costs: Costs, stream: Stream, table: Table, waiting: Waiting, cache: Cache,
    progress: Progress, entered: int,
) -> None:  # fmt: skip
    """The next partition; then the chunk that has met the whole table leaves (NAE-A4)."""
    at, chunks, ring = progress.at, progress.chunks, len(progress.chunks)
    partition, size = at[memory.PARTITION], setup.partition
    chunks[at[memory.CHUNK_END] % ring, 0] = partition
    chunks[at[memory.CHUNK_END] % ring, 1] = entered
    at[memory.CHUNK_END] += 1
    end = min((partition + 1) * size, at[memory.N_TABLE])
    _read_partition(partition * size, end, setup, costs, stream, table, waiting, cache, progress)
    partition = partition + 1 if end < at[memory.N_TABLE] else 0
    at[memory.PARTITION] = partition
    while at[memory.CHUNK_FIRST] < at[memory.CHUNK_END]:
        first = at[memory.CHUNK_FIRST] % ring
        if chunks[first, 0] != partition:
            break
        at[memory.CHUNK_FIRST] += 1
        for _ in range(chunks[first, 1]):
            key = stream.keys[waiting.slots[at[memory.Q_OLD], memory.TUPLE]]
            links = waiting.chains[key, memory.COUNT] - 1
            progress.clocks[NOW] += costs.remove + links * costs.link
            memory.leave_first(key, False, waiting, at)
        progress.counts[SERVED] += chunks[first, 1]


@njit
def _hybrid(
    setup: Setup, costs: Costs, stream: Stream, table: Table, waiting: Waiting, cache: Cache,
    progress: Progress,
) -> None:  # fmt: skip
    """The partition that a queued key asks for; all tuples that it matches leave (NAE-A7).

    A join that sheds looks for the key at its position under overload only, else at the oldest.
    """
    at, size, marked = progress.at, setup.partition, setup.position < 1
    position = setup.position
    if setup.shedding != NO_SHEDDING and not at[memory.OVERLOADED]:
        position = 1.0
    while at[memory.Q_LENGTH]:
        slot = memory.look_up_slot(position, waiting, at)
        key = stream.keys[waiting.slots[slot, memory.TUPLE]]
        place = table.places[key]
        if 0 <= place < at[memory.N_TABLE]:
            first = place // size * size
            end = min(first + size, at[memory.N_TABLE])
            _read_partition(first, end, setup, costs, stream, table, waiting, cache, progress)
            return
        progress.counts[SERVED] += waiting.chains[key, memory.COUNT]  # without a partner
        while waiting.chains[key, memory.COUNT]:
            progress.clocks[NOW] += costs.remove
            memory.leave_first(key, marked, waiting, at)
