"""The window join that sheds load by selective processing, for recorded streams (Gedik 2005).

The operator of the paper, one tuple at a time and in virtual time: when it cannot keep up it keeps
every tuple, but compares a new one with chosen parts of the other window only. What it does per
virtual second and per basic window is counted, so that its policies can be judged on any machine.

| policy | under overload                                                    |
|--------|-------------------------------------------------------------------|
| "full" | processes every tuple fully; what the buffers cannot hold is lost |
| "drop" | drops tuples at random, so that the others can be processed fully |
| others | select parts of windows, see `shedding.fractions`                 |

An index is kept for each basic window (GED-A6 to A8):

| index                 | a probe of a basic window costs                | partly probed |
|-----------------------|------------------------------------------------|---------------|
| "none"                | a comparison for each tuple                    | yes           |
| "hash"                | a look-up, and the entries of the value's list | yes           |
| "inverted-time"       | so for each item of the set                    | yes           |
| "inverted-identifier" | so for each item of the set                    | no            |

An identifier-sorted list cannot be cut at a time: a basic window that the plan would probe in part
is not probed at all, so that no tuple costs more than planned.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from papers.operators.kernels import selective_window as kernel
from papers.operators.selective_adaptation import Adaptation, Observed, RandomDrop, Selective
from papers.operators.selective_best import Best
from papers.operators.selective_settings import ProbeCosts, SelectiveJoin, SetTrace
from papers.operators.selective_state import (
    basic_windows_of,
    new_join,
    new_state,
    new_tuples,
)

__all__ = ["ProbeCosts", "SelectiveJoin", "SelectiveRun", "SetTrace", "selective_window_join"]

SECOND: Final = 1_000_000

T = TypeVar("T", np.int64, np.float64)

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SelectiveRun:
    """What a join did in each virtual second (rows), for the left and the right (columns).

    Parameters
    ----------
    arrived, fetched, lost, dropped
        Tuples of each stream: come, taken in, not held by a full buffer, dropped at random.
    outputs, comparisons, entries, look_ups, planned
        Of each window that was probed: results, tuples covered, list entries walked, lists looked
        up, and the tuples that the plan allowed to cover.
    cost
        Units spent in each second.
    fraction, fractions
        r, and r_1 and r_2, as they were in each second. r_i is the part of window i that a tuple
        is compared with if it is not processed fully.
    productivity
        The last o[i][j], matches per comparison, newest basic window first.
    sampled_matches, sampled_comparisons
        What full processing saw in each basic window, in the whole run.
    waiting
        Tuples that were in the buffers at the end.
    pairs
        Rows of the left and the right trace of each result, if they were wanted.
    """

    arrived: IntArray
    fetched: IntArray
    lost: IntArray
    dropped: IntArray
    outputs: IntArray
    comparisons: IntArray
    entries: IntArray
    look_ups: IntArray
    planned: FloatArray
    cost: FloatArray
    fraction: FloatArray
    fractions: FloatArray
    productivity: tuple[FloatArray, FloatArray]
    sampled_matches: tuple[IntArray, IntArray]
    sampled_comparisons: tuple[IntArray, IntArray]
    waiting: int
    pairs: tuple[IntArray, IntArray] | None = None

    def total(self, name: str) -> float:
        """The sum of one of the series, over time and both columns."""
        return float(getattr(self, name).sum())


def selective_window_join(
    left: SetTrace, right: SetTrace, settings: SelectiveJoin, collect: bool = False
) -> SelectiveRun:
    """Join two recorded streams of sets, in the order of time, left before right.

    Two tuples match if their sets have at least `threshold` items in common, and if the earlier one
    is still in its stream's window when the later one comes: its age is at most the window.

    Parameters
    ----------
    left, right
        The streams S_1 and S_2.
    settings
        The windows, what a match is, and how load is shed.
    collect
        Whether to return the pairs.

    Examples
    --------
    >>> import numpy as np
    >>> news = SetTrace(np.array([0, 9]), np.array([0, 3, 5]), np.array([1, 2, 3, 1, 2]))
    >>> wire = SetTrace(np.array([4, 12]), np.array([0, 2, 4]), np.array([2, 3, 4, 5]))
    >>> settings = SelectiveJoin(windows_us=(10, 10), policy="full", threshold=2, basic_us=3)
    >>> run = selective_window_join(news, wire, settings, collect=True)
    >>> run.total("outputs"), [rows.tolist() for rows in run.pairs]
    (1.0, [[0], [0]])
    """
    traces = left, right
    run = _Run(traces, settings).finish()
    return _Run(traces, settings, int(run.total("outputs"))).finish() if collect else run


class _Run:
    """One pass over the traces; whoever wants pairs makes a second one that knows how many."""

    def __init__(
        self, traces: tuple[SetTrace, SetTrace], settings: SelectiveJoin, n_pairs: int | None = None
    ) -> None:
        last = max((int(trace.times[-1]) for trace in traces if len(trace)), default=0)
        n = max(basic_windows_of(settings))
        self.settings, self.n_seconds = settings, last // SECOND + 1
        self.join = new_join(traces, settings)
        self.tuples = new_tuples(traces, self.join.way)
        self.state = new_state(n)
        self.adaptation = _adaptation(settings, n)
        self.counts = np.zeros((self.n_seconds, kernel.N_COUNTS, 2))
        self.parts = np.zeros((self.n_seconds, 3))
        cells = self.adaptation.older.shape
        self.samples, self.sizes = np.zeros((2, 2, 3, cells[1])), np.zeros(cells)
        self.sampled = np.zeros((2, 3, cells[1]))
        self.collect, room = n_pairs is not None, n_pairs or 0
        self.pairs = np.empty(room, np.int64), np.empty(room, np.int64)

    def finish(self) -> SelectiveRun:
        """Go from one step of adaptation to the next one until the end."""
        settings, end = self.settings, self.n_seconds * SECOND
        rate_us = SECOND if settings.policy == "drop" else settings.rate_period_us
        correlation_us = settings.correlation_period_us
        ticks = {t for step in (SECOND, rate_us, correlation_us) for t in range(0, end + 1, step)}
        before = self.counts.sum(axis=0)
        for begin, tick in pairwise(sorted(ticks)):
            self._advance(begin // SECOND, tick)
            if tick % correlation_us == 0:
                self._adapt_correlation(tick)
            if tick % rate_us == 0 and settings.fraction is None:
                now = self.counts.sum(axis=0)
                self._adapt_rate(tick, rate_us, now - before)
                before = now
        return self._result()

    def _advance(self, second: int, until: int) -> None:
        chosen = self.adaptation
        seen = kernel.Seen(self.counts[second], self.samples, self.sizes, *self.pairs)
        plan = kernel.Plan(
            chosen.order, chosen.parts, chosen.older, chosen.sample, chosen.keep,
            1e6 / self._capacity(second),
        )  # fmt: skip
        kernel.run_until(float(until), self.join, self.tuples, self.state, plan, seen)
        self.parts[second] = chosen.fraction, *chosen.fractions

    def _adapt_correlation(self, tick: int) -> None:
        self.adaptation.adapt_correlation(self.samples, self.sizes)
        self.sampled += self.samples[kernel.FULL]
        self.samples[:], self.sizes = 0.0, np.zeros_like(self.sizes)
        self._charge(tick)

    def _adapt_rate(self, tick: int, period_us: int, counts: FloatArray) -> None:
        arrived, fetched, cost = (
            float(counts[at].sum()) for at in (kernel.ARRIVED, kernel.FETCHED, kernel.COST)
        )
        capacity = self._capacity((tick - 1) // SECOND) * period_us / SECOND
        self.adaptation.adapt_rate(Observed(arrived, fetched, cost, capacity))
        self._charge(tick)

    def _charge(self, tick: int) -> None:
        """Adaptation takes time too, but for a join that does not adapt (GED-C13)."""
        if isinstance(self.adaptation, Selective):
            cost, second = self.settings.costs.adaptation, (tick - 1) // SECOND
            self.counts[second, kernel.COST, 0] += cost
            busy_us = cost / self._capacity(second) * SECOND
            self.state.clock[0] = max(self.state.clock[0], tick) + busy_us

    def _capacity(self, second: int) -> float:
        capacity = self.settings.capacity
        if isinstance(capacity, tuple):
            return capacity[min(second, len(capacity) - 1)]
        return np.inf if capacity is None else capacity

    def _result(self) -> SelectiveRun:
        whole = self.counts.astype(np.int64)
        sampled = self.sampled + self.samples[kernel.FULL]
        per_window = sampled.reshape(2, 3, self.state.starts.shape[1], -1).sum(axis=3)
        n_left, n_right = basic_windows_of(self.settings)

        def each(array: NDArray[T]) -> tuple[NDArray[T], NDArray[T]]:
            return array[0, :n_left], array[1, :n_right]

        return SelectiveRun(
            arrived=whole[:, kernel.ARRIVED],
            fetched=whole[:, kernel.FETCHED],
            lost=whole[:, kernel.LOST],
            dropped=whole[:, kernel.DROPPED],
            outputs=whole[:, kernel.OUTPUTS],
            comparisons=whole[:, kernel.COMPARISONS],
            entries=whole[:, kernel.ENTRIES],
            look_ups=whole[:, kernel.LOOK_UPS],
            planned=self.counts[:, kernel.PLANNED],
            cost=self.counts[:, kernel.COST].sum(axis=1),
            fraction=self.parts[:, 0],
            fractions=self.parts[:, 1:],
            productivity=each(self.adaptation.productivity),
            sampled_matches=each(per_window[:, kernel.MATCHES].astype(np.int64)),
            sampled_comparisons=each(per_window[:, kernel.COVERED].astype(np.int64)),
            waiting=int((self.state.streams @ [0, 1, -1, 0]).sum()),
            pairs=self.pairs if self.collect else None,
        )


def _adaptation(settings: SelectiveJoin, n: int) -> Adaptation:
    if settings.policy == "full":
        return Adaptation(n)
    adaptation: RandomDrop | Selective
    if settings.policy == "drop":
        adaptation = RandomDrop(n)
    elif settings.policy == "best":
        adaptation = Best(n, settings)
    else:
        adaptation = Selective(n, settings)
    if settings.fraction is not None:
        adaptation.set_fraction(settings.fraction)
    return adaptation
