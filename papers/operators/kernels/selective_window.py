"""The window join of two recorded streams that probes parts of windows (Gedik et al. 2005).

One tuple at a time, in virtual time: arrivals wait in a buffer before each input, a tuple that is
fetched enters its window and is matched with those basic windows of the other one that the plan
says, and what that costs decides when the next one is fetched.

```
arrival -> buffer (full: lost) -> fetch -> enter own window -> probe the other: full or selective
```
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from papers.operators.kernels.basic_windows import LISTS, Tuples, match, remember
from streamjoin.core.kernels._jit import njit

Int64s = NDArray[np.int64]
Float64s = NDArray[np.float64]

ARRIVED: Final = 0
"""First of the counters by stream; those from `OUTPUTS` on are by window probed."""
FETCHED: Final = 1
LOST: Final = 2
DROPPED: Final = 3
OUTPUTS: Final = 4
COMPARISONS: Final = 5
ENTRIES: Final = 6
LOOK_UPS: Final = 7
PLANNED: Final = 8
COST: Final = 9
N_COUNTS: Final = 10

_ROW: Final = 0  # next row of the trace to arrive
_ADMITTED: Final = 1  # tuples let into the buffer
_FETCHED: Final = 2  # tuples taken from it: they are numbers 0.. of the window
_LIVE: Final = 3  # the first number that is not expired
N_STATE: Final = 4

FULL: Final = 0
"""What was seen by full processing; next to it by selective processing."""
MATCHES: Final = 0
COVERED: Final = 1
CHARGED: Final = 2


class Join(NamedTuple):
    """What is joined and how; all times in microseconds.

    `times` and `chance` are of [side, row], after a stream's last row a time that never comes.
    `basic_us` is 0 for no basic windows. `whole` is for an index that cannot take a part of one.
    """

    times: Int64s
    chance: Float64s
    windows: Int64s
    basic_us: int
    buffer_us: int
    way: int
    threshold: float
    whole: bool
    comparison: float
    entry: float
    look_up: float


class State(NamedTuple):
    """What goes on from call to call.

    `streams` is of [side, `N_STATE`], `starts` of [side, j]: the first number of a basic window,
    the newest first. `clock` has when the join is free, in microseconds, and `found` how many pairs
    were written.
    """

    streams: Int64s
    starts: Int64s
    clock: Float64s
    found: Int64s


class Plan(NamedTuple):
    """What may be done: `order` of basic windows and `parts` of each window to probe.

    By [side, phase, rank] and [side, phase]: what a basic window holds depends on how long the
    newest one has been filled. That is the phase, in equal parts of a basic window's length.
    `older` of [side, cell] says of which end a part of it is taken. The cell of basic window j is
    ``j * phases + phase``. A tuple is processed fully if its chance is below `sample`, and dropped
    if it is not below `keep`.
    """

    order: Int64s
    parts: Float64s
    older: NDArray[np.bool_]
    sample: float
    keep: float
    us_per_cost: float


class Seen(NamedTuple):
    """Where counts are added up: `counts` by [counter, side], `samples` by [how, side, what, cell].

    `sizes` by [side, cell] are tuples of the basic windows, for all probes. Pairs of rows go into
    the last two arrays as far as they have room.
    """

    counts: Float64s
    samples: Float64s
    sizes: Float64s
    left_rows: Int64s
    right_rows: Int64s


@njit
def run_until(
    until: float, join: Join, tuples: Tuples, state: State, plan: Plan, seen: Seen
) -> None:
    """Let all happen that begins before `until`. Costs what the counters say."""
    streams = state.streams
    while True:
        start = state.clock[0]
        if _waiting(streams, 0) + _waiting(streams, 1) == 0:
            arrival = min(join.times[0, streams[0, _ROW]], join.times[1, streams[1, _ROW]])
            start = max(start, float(arrival))
        if start >= until:
            _admit(until - 1, join, tuples, streams, plan, seen.counts)
            return
        _admit(start, join, tuples, streams, plan, seen.counts)
        if _waiting(streams, 0) + _waiting(streams, 1) > 0:
            side = _older_head(join, tuples, streams)
            row = _fetch(join, tuples, state, side)
            seen.counts[FETCHED, side] += 1
            cost = _probe(join, tuples, state, plan, seen, 1 - side, row)
            seen.counts[COST, 1 - side] += cost
            state.clock[0] = start + cost * plan.us_per_cost


@njit
def _waiting(streams: Int64s, side: int) -> int:
    return int(streams[side, _ADMITTED] - streams[side, _FETCHED])


@njit
def _admit(
    now: float, join: Join, tuples: Tuples, streams: Int64s, plan: Plan, counts: Float64s
) -> None:
    """Let arrivals until now into the buffers, which hold what came in the last `buffer_us`."""
    for side in range(2):
        while join.times[side, streams[side, _ROW]] <= now:
            row = streams[side, _ROW]
            streams[side, _ROW] += 1
            counts[ARRIVED, side] += 1
            if join.chance[side, row] >= plan.keep:
                counts[DROPPED, side] += 1
                continue
            if _waiting(streams, side) > 0:
                head = tuples.rows[side, streams[side, _FETCHED]]
                if join.times[side, row] - join.times[side, head] >= join.buffer_us:
                    counts[LOST, side] += 1
                    continue
            tuples.rows[side, streams[side, _ADMITTED]] = row
            streams[side, _ADMITTED] += 1


@njit
def _older_head(join: Join, tuples: Tuples, streams: Int64s) -> int:
    """The stream whose next tuple came first, the left one if they came together."""
    if _waiting(streams, 0) == 0:
        return 1
    if _waiting(streams, 1) == 0:
        return 0
    left = join.times[0, tuples.rows[0, streams[0, _FETCHED]]]
    right = join.times[1, tuples.rows[1, streams[1, _FETCHED]]]
    return 0 if left <= right else 1


@njit
def _fetch(join: Join, tuples: Tuples, state: State, side: int) -> int:
    """Take the next tuple and enter it into its window; returns its row."""
    number = state.streams[side, _FETCHED]
    row = tuples.rows[side, number]
    state.streams[side, _FETCHED] += 1
    if join.windows[side] == 0:
        state.streams[side, _LIVE] += 1
        return int(row)
    remember(tuples, join.way, side, number)
    starts = state.starts[side]
    oldest = tuples.rows[side, starts[0]]
    if join.basic_us > 0 and join.times[side, row] - join.times[side, oldest] >= join.basic_us:
        # The last basic window is emptied and becomes the first one.
        for j in range(len(starts) - 1, 0, -1):
            starts[j] = starts[j - 1]
        starts[0] = number
    return int(row)


@njit
def _probe(
    join: Join, tuples: Tuples, state: State, plan: Plan, seen: Seen, side: int, row: int
) -> float:
    """Match a row of the other stream with the window of `side`; returns what that costs."""
    time = join.times[1 - side, row]
    end, live = state.streams[side, _FETCHED], state.streams[side, _LIVE]
    while live < end and time - join.times[side, tuples.rows[side, live]] > join.windows[side]:
        live += 1
    state.streams[side, _LIVE] = live
    n_items = tuples.offsets[1 - side, row + 1] - tuples.offsets[1 - side, row]
    starts, phases = state.starts[side], plan.parts.shape[1]
    phase = 0
    if phases > 1 and starts[0] < end:
        filled = time - join.times[side, tuples.rows[side, starts[0]]]
        phase = min(phases - 1, int(filled * phases // join.basic_us))
    for j in range(len(starts)):
        high = starts[j - 1] if j else end
        seen.sizes[side, j * phases + phase] += max(0, high - max(live, starts[j]))
    full = join.chance[1 - side, row] < plan.sample
    allowed = float(end - live) if full else plan.parts[side, phase] * (end - live)
    seen.counts[PLANNED, side] += allowed
    what = seen.samples[FULL if full else FULL + 1, side]
    left, total = int(allowed), 0.0
    for k in range(len(starts)):
        j = k if full else plan.order[side, phase, k]
        cell = j * phases + phase
        high = starts[j - 1] if j else end
        low = max(live, starts[j])
        if left == 0 or (join.whole and high - low > left):
            break
        if high <= low:
            continue
        if plan.older[side, cell]:
            high = min(high, low + left)
        low = max(low, high - left)
        left -= high - low
        hits, walked = match(tuples, join.way, join.threshold, side, row, low, high)
        cost = walked * join.entry
        if join.way == LISTS:
            cost += n_items * join.look_up
            seen.counts[LOOK_UPS, side] += n_items
        else:
            cost += (high - low) * join.comparison
        total += cost
        seen.counts[OUTPUTS, side] += hits
        seen.counts[COMPARISONS, side] += high - low
        seen.counts[ENTRIES, side] += walked
        what[MATCHES, cell] += hits
        what[COVERED, cell] += high - low
        what[CHARGED, cell] += cost
        _collect(tuples, state, seen, side, row, hits)
    return total


@njit
def _collect(tuples: Tuples, state: State, seen: Seen, side: int, row: int, hits: int) -> None:
    """Write down the pairs of a probe as far as there is room."""
    n = state.found[0]
    for k in range(min(hits, len(seen.left_rows) - n)):
        other = tuples.rows[side, tuples.hits[k]]
        seen.left_rows[n + k] = row if side else other
        seen.right_rows[n + k] = other if side else row
    state.found[0] = n + hits
