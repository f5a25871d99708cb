"""The n-ary join in batches, for recorded streams (Valsomatzis & Gounaris 2013).

The operator of the paper, one tuple at a time. At the end of each period it processes all that has
arrived (VAL-A2), in an order across streams that `planning.many.nary` says. What happens is counted
in steps of a batch, so that orders can be compared on any machine; and the processor's seconds are
taken of each step, so that they can be compared on this one. `joins.multi` is the join for live
streams, which processes many tuples at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from time import thread_time_ns
from typing import Final

import numpy as np
from numpy.typing import NDArray

from papers.operators.kernels import nary_window as kernel
from papers.operators.moving_window import Trace
from papers.operators.nary_window_memory import NaryMemory, Observed
from papers.operators.nary_window_settings import NaryWindowJoin, batch_ends
from streamjoin.errors import ConfigError
from streamjoin.planning.many.nary import Waiting, groups_of

__all__ = ["NaryRun", "NaryWindowJoin", "Trace", "nary_window_join"]

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

_EMPTY_CALLS: Final = 9


@dataclass(frozen=True, eq=False)
class NaryRun:
    """What was counted, by batch (rows) and step (columns); unused steps are at the end and empty.

    Parameters
    ----------
    tuples, probes, made, results, changes
        Tuples processed, looks into tables, intermediate tuples, results, changes of the driver.
    seconds
        Of the processor, less those of a step without tuples.
    waiting, left
        Tuples that wait when a batch begins and after each step, by stream (last axis).
    fingerprint
        A number that is the same for the same results, in whatever order.
    found
        All results, if they were wanted: the place in its stream of each tuple; else None.
    sequences
        Probing sequences at the end.
    """

    tuples: IntArray
    probes: IntArray
    made: IntArray
    results: IntArray
    changes: IntArray
    seconds: FloatArray
    waiting: IntArray
    left: IntArray
    fingerprint: int
    found: IntArray | None
    sequences: tuple[tuple[int, ...], ...]

    def work(self, per_change: float = 0.0) -> FloatArray:
        """Probes, results and changes of the driver at their cost, of each step (VAL-I5)."""
        work: FloatArray = self.probes + self.results + per_change * self.changes
        return work


def nary_window_join(
    traces: Sequence[Trace],
    join: NaryWindowJoin,
    *,
    keep: bool = False,
    memory: NaryMemory | None = None,
) -> NaryRun:
    """Run the join over recorded streams.

    Parameters
    ----------
    traces
        The streams.
    join
        Period, order, windows, probing sequences.
    keep
        Whether all results are wanted, and not only their number; the join then runs twice.
    memory
        Made for these streams and windows, if several joins are to share it; by default a new one.

    Examples
    --------
    >>> import numpy as np
    >>> a, b, c = (Trace(np.array([t, t + 10]), np.array([7, 8])) for t in (0, 4, 9))
    >>> run = nary_window_join([a, b, c], NaryWindowJoin(period=20, order="output-rate"), keep=True)
    >>> run.found.tolist(), int(run.changes.sum())
    ([[0, 0, 0], [1, 1, 1]], 2)
    """
    if len(traces) < 2:
        raise ConfigError(f"traces: got {len(traces)}; allowed: two or more")
    join.check(len(traces))
    if keep:
        n_results = int(nary_window_join(traces, join, memory=memory).results.sum())
        memory = NaryMemory(traces, join, room=n_results)
    run = _Run(traces, join, memory or NaryMemory(traces, join))
    for i in range(run.n_batches):
        run.batch(i)
    return run.finish(keep)


class _Run:
    def __init__(self, traces: Sequence[Trace], join: NaryWindowJoin, memory: NaryMemory) -> None:
        self.join, self.n, self.memory = join, len(traces), memory
        memory.clear()
        self.ends = batch_ends([trace.times for trace in traces], join.period)
        self.n_batches = len(self.ends)
        shape = self.n_batches, join.steps + self.n
        self.seen = np.zeros((*shape, kernel.N_COUNTS), np.int64)
        self.seconds = np.zeros(shape)
        self.left = np.zeros((*shape, self.n), np.int64)
        self.totals = tuple(len(trace) for trace in traces)
        self.observed = Observed(self.n) if join.sequences is None else None
        unseen = np.zeros(kernel.N_COUNTS, np.int64)
        calls = [self._call(0, (0,), True, unseen) for _ in range(_EMPTY_CALLS)]
        self.overhead = min(calls)

    def batch(self, i: int) -> None:
        """Process what arrived in a period."""
        memory = self.memory
        memory.admit(self.ends[i])
        waiting = memory.waiting()
        if not any(waiting):
            return
        if self.observed is not None:
            self.observed.look(memory)
        groups, turns = groups_of(
            self.join.order, Waiting(waiting, memory.remembered(), self.totals)
        )
        step = 0
        for group in groups:
            n = sum(waiting[j] for j in group)
            n_steps = min(n, -(-n * self.join.steps // sum(waiting)))
            for part in np.diff(np.linspace(0, n, n_steps + 1).astype(np.int64)):
                self._step(i, step, int(part), group, turns == "time")
                step += 1

    def _step(self, i: int, step: int, n: int, group: tuple[int, ...], by_time: bool) -> None:
        nanoseconds = self._call(n, group, by_time, self.seen[i, step])
        self.seconds[i, step] = max(1, nanoseconds - self.overhead) / 1e9  # never none: it divides
        self.left[i, step] = self.memory.waiting()

    def _call(self, n: int, group: tuple[int, ...], by_time: bool, seen: IntArray) -> int:
        """Process n tuples; nanoseconds of the processor."""
        memory, streams, sequences = self.memory, np.array(group), self._sequences()
        began = thread_time_ns()
        kernel.process(
            n, streams, by_time, sequences, memory.streams, memory.tables, memory.memory, seen
        )
        return thread_time_ns() - began

    def _sequences(self) -> IntArray:
        if self.observed is None:
            return np.array(self.join.sequences)
        return self.observed.sequences

    def finish(self, keep: bool) -> NaryRun:
        """What was counted."""
        counts = np.moveaxis(self.seen, -1, 0)
        return NaryRun(
            tuples=counts[kernel.TUPLES],
            probes=counts[kernel.PROBES],
            made=counts[kernel.MADE],
            results=counts[kernel.RESULTS],
            changes=counts[kernel.CHANGES],
            seconds=self.seconds,
            waiting=np.diff(self.ends, axis=0, prepend=0),
            left=self.left,
            fingerprint=int(counts[kernel.FINGERPRINT].sum()),
            found=self.memory.found() if keep else None,
            sequences=tuple(tuple(row) for row in self._sequences().tolist()),
        )
