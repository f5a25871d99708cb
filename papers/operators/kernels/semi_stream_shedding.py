"""Load shedding of a join of a stream with a table (NAE-A10 to A13)."""

from papers.operators.kernels import semi_stream as memory
from papers.operators.kernels.semi_stream import Int32s, Int64s, Waiting
from papers.operators.kernels.semi_stream_types import (
    CONSIDERING,
    DISK,
    NOW,
    RELOADED,
    SHED,
    Costs,
    Progress,
    Setup,
    Stream,
)
from streamjoin.core.kernels._jit import njit


@njit
def _buffered(at: Int64s) -> int:
    """Size of SB_1."""
    return int(at[memory.ARRIVED] - at[memory.TAKEN] + at[memory.BACK] - at[memory.BACK_TAKEN])


@njit
def take(at: Int64s, spilled: Int32s) -> int:
    """The next stream tuple of SB_1, those that were spilled first; -1 if there is none."""
    if at[memory.BACK_TAKEN] < at[memory.BACK]:
        at[memory.BACK_TAKEN] += 1
        return int(spilled[(at[memory.BACK_TAKEN] - 1) % len(spilled)])
    if at[memory.TAKEN] < at[memory.ARRIVED]:
        at[memory.TAKEN] += 1
        return int(at[memory.TAKEN] - 1)
    return -1


@njit
def _spill(tuple_: int, progress: Progress) -> None:
    at, spilled = progress.at, progress.spilled
    spilled[at[memory.SPILLED] % len(spilled)] = tuple_
    at[memory.SPILLED] += 1
    progress.counts[SHED] += 1


@njit
def shed_or_reload(
    setup: Setup, costs: Costs, stream: Stream, waiting: Waiting, progress: Progress, expected: int
) -> None:
    """NAE-A10 and NAE-A13, with the book-keeping of NAE-I2.

    What an iteration is expected to process are the free slots, and hits as in the iterations
    before: the paper's algorithm leaves out the hits, its text does not (NAE-A11). Tuples come back
    only as far as the stream leaves room for them, else the next arrivals would mean overload.
    """
    at, clocks = progress.at, progress.clocks
    excess = _buffered(at) - 2 * expected
    moved = 0
    if excess > 0 and setup.shedding == CONSIDERING:
        at[memory.OVERLOADED] = 1
        moved = min(excess, int(at[memory.Q_LENGTH]))
        for _ in range(moved):
            tuple_ = waiting.slots[at[memory.Q_OLD], memory.TUPLE]
            memory.leave_first(stream.keys[tuple_], setup.position < 1, waiting, at)
            _spill(tuple_, progress)
        clocks[NOW] += moved * costs.remove
    elif excess > 0:
        moved = excess
        for _ in range(moved):
            _spill(take(at, progress.spilled), progress)
    elif excess < -expected:
        at[memory.OVERLOADED] = 0
        moved = min(-excess - expected, int(at[memory.SPILLED] - at[memory.BACK]))
        at[memory.BACK] += moved
        progress.counts[RELOADED] += moved
    if moved:
        spent = costs.spill_seek + moved * costs.spill_tuple
        clocks[NOW] += spent
        clocks[DISK] += spent
