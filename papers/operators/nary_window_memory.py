"""The arrays that the kernel of the n-ary join works on, and probing sequences by what is seen."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from papers.operators.kernels import nary_window as kernel
from papers.operators.moving_window import Trace
from papers.operators.nary_window_settings import NaryWindowJoin

IntArray = NDArray[np.int64]

_NEVER: Final = 2**62
_SAMPLE: Final = 256  # waiting tuples of a stream that are looked at, a batch
_FADE: Final = 0.5  # what earlier batches count


class NaryMemory:
    """Streams, tables, buffers, and room for results; to be used for one join after the other.

    Parameters
    ----------
    traces
        The streams.
    join
        Whose windows say how long tuples are valid.
    room
        Results that are kept, the last ones.
    """

    def __init__(self, traces: Sequence[Trace], join: NaryWindowJoin, room: int = 4096) -> None:
        n, sizes = len(traces), [len(trace) for trace in traces]
        self.base = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        born, gone = _moments(traces, join, self.base)
        self.streams = kernel.Streams(
            keys=np.concatenate([trace.keys for trace in traces]),
            born=born,
            gone=gone,
            windowed=join.spans is not None or join.sizes is not None,
        )
        n_slots = np.array([_power_of_two(2 * size) for size in sizes])  # at most half are taken
        self.tables = kernel.Tables(
            slots=np.empty((int(n_slots.sum()), kernel.N_SLOT), np.int64),
            begins=np.cumsum(n_slots) - n_slots,
            masks=n_slots - 1,
            older=np.empty(int(self.base[-1]), np.int32),
        )
        self.memory = kernel.Memory(
            buffers=np.zeros((n, kernel.N_BUFFER), np.int64),
            clock=np.zeros(kernel.N_CLOCK, np.int64),
            path=np.zeros((kernel.N_PATH, n), np.int64),
            out=np.zeros((_power_of_two(room), n), np.int64),
        )

    def clear(self) -> None:
        """Begin anew."""
        # All of it is written, so that the system gives memory now and not when it is timed.
        self.tables.slots[:] = -1
        self.tables.older[:] = -1
        self.memory.buffers[:] = self.base[:-1, None]
        self.memory.clock[:] = 0
        self.memory.clock[kernel.LAST] = -1

    def admit(self, ends: IntArray) -> None:
        """Let tuples up to these places of their streams wait."""
        self.memory.buffers[:, kernel.END] = self.base[:-1] + ends
        self.memory.clock[kernel.TURN] = -1

    def waiting(self) -> tuple[int, ...]:
        """Tuples of each stream that wait."""
        buffers = self.memory.buffers
        return tuple((buffers[:, kernel.END] - buffers[:, kernel.NEXT]).tolist())

    def remembered(self) -> tuple[int, ...]:
        """Tuples of each stream that have entered and are not gone: |ht_j|."""
        born, gone = self.streams.born, self.streams.gone
        bounds = list(
            zip(self.base[:-1].tolist(), self.memory.buffers[:, kernel.NEXT].tolist(), strict=True)
        )
        now = max((int(born[end - 1]) for first, end in bounds if end > first), default=0)
        return tuple(
            end - first - int(np.searchsorted(gone[first:end], now)) for first, end in bounds
        )

    def found(self) -> IntArray:
        """Places in their streams of the tuples of all results, in order."""
        rows = self.memory.out[: self.memory.clock[kernel.WRITTEN]] - self.base[:-1]
        return rows[np.lexsort(rows.T[::-1])]


class Observed:
    """Probing sequences by what a sample of waiting tuples would find (VAL-A3)."""

    def __init__(self, n_streams: int) -> None:
        self.matches = np.zeros((n_streams, n_streams))
        self.sequences = self._by_matches()

    def look(self, memory: NaryMemory) -> None:
        """Look at a batch before it is processed."""
        n = len(self.matches)
        for j, (first, end) in enumerate(memory.memory.buffers.tolist()):
            numbers = np.unique(np.linspace(first, end - 1, _SAMPLE).astype(np.int64))
            if end == first:
                continue
            found = [
                kernel.count_matches(numbers, i, memory.streams, memory.tables) / len(numbers)
                for i in range(n)
            ]
            self.matches[j] = _FADE * self.matches[j] + np.array(found)
        self.sequences = self._by_matches()

    def _by_matches(self) -> IntArray:
        ranked = np.argsort(self.matches, axis=1, kind="stable")
        others = [[i for i in row if i != j] for j, row in enumerate(ranked.tolist())]
        return np.array(others, np.int64)


def _moments(
    traces: Sequence[Trace], join: NaryWindowJoin, base: IntArray
) -> tuple[IntArray, IntArray]:
    """When each tuple is born and last valid: times, or, for count windows, ranks in time."""
    times = np.concatenate([trace.times for trace in traces])
    gone = np.full(len(times), _NEVER)
    if join.spans is not None:
        for j, span in enumerate(join.spans):
            part = slice(base[j], base[j + 1])
            gone[part] = times[part] + span if span is not None else _NEVER
    if join.sizes is None:
        return times, gone
    rank = np.empty(len(times), np.int64)
    rank[np.argsort(times, kind="stable")] = np.arange(len(times))
    for j, size in enumerate(join.sizes):
        if size is not None:
            # The tuple that comes `size` places later takes its place.
            later = rank[base[j] + size : base[j + 1]]
            gone[base[j] : base[j] + len(later)] = later - 1
    return rank, gone


def _power_of_two(least: int) -> int:
    return 1 << max(0, least - 1).bit_length()
