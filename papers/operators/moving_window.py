"""The moving window join of two recorded streams, one tuple at a time (Kang et al. 2003).

This is the operator that the paper's cost model describes: it counts every access to a tuple of a
window as the model does (KAN-A1..A12) and can be given a limited number of them a second
(KAN-A26). `streamjoin.joins.window.settings` is the one for live streams, in batches.

```
arrival of A:   probe window B   ->   insert into window A   ->   invalidate window A   (active)
                invalidate, then probe window B   ->   insert into window A             (lazy)
```

| accesses       | list                                  | hash table                              |
|----------------|---------------------------------------|-----------------------------------------|
| probe          | every tuple of the window             | every tuple of the key's bucket         |
| insert         | 1                                     | 1                                       |
| active removal | 1 for each expired tuple              | the whole bucket of each expired tuple  |
| lazy removal   | looks of a binary search              | 1 for each expired tuple of the bucket  |
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from papers.operators.kernels import moving_window as kernel
from streamjoin._typing import Keys, Times
from streamjoin.errors import ConfigError, DataError

Structure = Literal["hash", "list"]
Invalidation = Literal["active", "lazy"]
Direction = Literal["both", "left to right"]
PairOf = tuple[int, int]
"""One number for the left window and one for the right window."""

_FAR = 2**62  # times and windows lie within: no difference overflows


@dataclass(frozen=True, eq=False)
class Trace:
    """A recorded stream: times in microseconds, in order, and a key for each."""

    times: Times
    keys: Keys

    def __post_init__(self) -> None:
        for name, array in (("times", self.times), ("keys", self.keys)):
            if array.dtype != np.int64 or array.ndim != 1:
                raise DataError(
                    f"{name}: got {array.dtype} of {array.ndim} dimensions; allowed: int64 of one"
                )
        if len(self.times) != len(self.keys):
            raise DataError(
                f"keys: got {len(self.keys)} for {len(self.times)} times; allowed: one for each"
            )
        if not bool(np.all(self.times[1:] >= self.times[:-1])):
            raise DataError("times: got times out of order; allowed: times that never go back")
        if len(self.times) and not -_FAR < self.times[0] <= self.times[-1] < _FAR:
            raise DataError(
                "times: got a time 2**62 us or more from zero; allowed: times nearer to zero"
            )

    def __len__(self) -> int:
        return len(self.times)


@dataclass(frozen=True)
class AccessCosts:
    """Cost of one tuple access: in a list (C_n) and in a hash table (C_h); any unit.

    Examples
    --------
    >>> round(AccessCosts(nested=0.5, hashed=0.65).ratio, 3)
    1.3
    """

    nested: float
    hashed: float

    @property
    def ratio(self) -> float:
        """C_h / C_n, called k: all that a choice between the two depends on (KAN-A13)."""
        return self.hashed / self.nested


@dataclass(frozen=True)
class Capacity:
    """A processor in virtual time: cost units a second, and what an access costs.

    A tuple's service begins when it arrives or when the tuple before is done, whichever is later.
    """

    per_second: float
    costs: AccessCosts

    def __post_init__(self) -> None:
        if not 0 < self.per_second < float("inf"):
            raise ConfigError(
                f"per_second: got {self.per_second}; allowed: a positive finite number"
            )


@dataclass(frozen=True, eq=False)
class TupleRun:
    """What a join did; pairs of numbers are those of the left and of the right window.

    `probe`, `insert` and `invalidate` are tuple accesses; `peak` is the most tuples held;
    `tuples` are the arrivals counted; `waiting` arrivals were not done at the end of the run;
    `pairs` are positions of (left, right) tuples in the order of results, if they were wanted.
    """

    structures: tuple[Structure, Structure]
    outputs: int
    probe: PairOf
    insert: PairOf
    invalidate: PairOf
    peak: PairOf
    tuples: PairOf
    waiting: int
    pairs: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None

    @property
    def accesses(self) -> PairOf:
        """All accesses to the tuples of each window."""
        left, right = (
            self.probe[side] + self.insert[side] + self.invalidate[side] for side in (0, 1)
        )
        return left, right


def cost(run: TupleRun, costs: AccessCosts) -> float:
    """Accesses of a run weighted with C_n or C_h; per second it is what the cost model predicts.

    Examples
    --------
    >>> import numpy as np
    >>> stream = Trace(np.arange(4), np.zeros(4, np.int64))
    >>> run = moving_window_join(stream, stream, windows=(1, 1), structures=("hash", "list"))
    >>> run.accesses, cost(run, AccessCosts(nested=0.5, hashed=2.0))
    ((17, 11), 39.5)
    """
    weights = _weights(run.structures, costs)
    return sum(weight * n for weight, n in zip(weights, run.accesses, strict=True))


def moving_window_join(
    left: Trace,
    right: Trace,
    windows: tuple[int, int],
    structures: tuple[Structure, Structure] = ("hash", "hash"),
    invalidation: Invalidation = "active",
    n_buckets: tuple[int, int] | None = None,
    direction: Direction = "both",
    collect: bool = False,
    capacity: Capacity | None = None,
    since_us: int | None = None,
    until_us: int | None = None,
) -> TupleRun:
    """Join two recorded streams on equal keys, in the order of time, left before right.

    Two tuples match if the earlier one is still in its stream's window when the later one comes:
    its age is at most the window.

    Parameters
    ----------
    left, right
        The streams A and B.
    windows
        T_a and T_b in microseconds.
    structures
        "hash" or "list" for the window of A and for that of B: ("hash", "list") is the paper's HNJ.
    invalidation
        When expired tuples go: "active" with each insertion, "lazy" with the next probe (of their
        bucket, in a hash table), which needs more memory.
    n_buckets
        |A| and |B|; by default one for each distinct key. If all keys of a stream are in
        ``0..n-1`` each has the bucket of its number, as the paper's model has it; else keys are
        mixed first (a multiplicative hash), and some buckets have several keys and others none.
    direction
        "left to right": left tuples probe the right window and are not kept, right tuples are only
        inserted. The paper's one-way join from A to B.
    collect
        Whether to return the positions of result pairs.
    capacity
        Service in virtual time; by default a tuple is done when it arrives. Expiry always goes by
        the tuples' times.
    since_us, until_us
        Only tuples that are done at this time or later, and before that time, are counted. Later
        ones are not even processed. With a capacity, by default until the last arrival's time.

    Examples
    --------
    >>> import numpy as np
    >>> calls = Trace(np.array([0, 10, 20]), np.array([7, 8, 7]))
    >>> trades = Trace(np.array([5, 25]), np.array([7, 7]))
    >>> run = moving_window_join(calls, trades, windows=(10, 20), collect=True)
    >>> run.outputs, [positions.tolist() for positions in run.pairs]
    (3, [[0, 2, 2], [0, 0, 1]])
    """
    _check(windows, structures, invalidation, n_buckets, direction)
    if until_us is None and capacity is not None:
        until_us = max((int(s.times[-1]) for s in (left, right) if len(s)), default=0)
    weights = (0.0, 0.0)
    if capacity is not None:
        weights = _weights(structures, capacity.costs)
    scale = 1e6 / capacity.per_second if capacity else 0.0
    settings = kernel.Run(
        direction == "both",
        scale * weights[0],
        scale * weights[1],
        -_FAR if since_us is None else max(since_us, -_FAR),
        _FAR if until_us is None else min(until_us, _FAR),
    )
    job = _Job((left, right), windows, structures, invalidation == "lazy", n_buckets, settings)
    counts, peak = job.run(np.empty(0, np.int64), np.empty(0, np.int64))
    pairs = None
    if collect:
        n = int(counts[kernel.OUTPUTS])
        pairs = np.empty(n, np.int64), np.empty(n, np.int64)
        job.run(*pairs)
    return _summary(job, counts, peak, pairs)


@dataclass(frozen=True, eq=False)
class _Job:
    """All that one pass over the traces needs, so that it can be made twice."""

    traces: tuple[Trace, Trace]
    windows: tuple[int, int]
    structures: tuple[Structure, Structure]
    lazy: bool
    n_buckets: tuple[int, int] | None
    settings: kernel.Run

    def run(
        self, found_left: NDArray[np.int64], found_right: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], PairOf]:
        """One pass with empty windows: the counters, and the most tuples held."""
        left, right = self._window(0), self._window(1)
        counts = np.zeros(kernel.N_COUNTS, np.int64)
        a, b = self.traces
        kernel.run_join(
            _fixed(a.times), _fixed(a.keys), _fixed(b.times), _fixed(b.keys), left, right,
            self.settings, counts, found_left, found_right,
        )  # fmt: skip
        return counts, (int(left[kernel.PEAK]), int(right[kernel.PEAK]))

    def _window(self, side: int) -> kernel.Window:
        """An empty window with room for all tuples that may live at once."""
        trace, length = self.traces[side], self.windows[side]
        hashed, keys = self.structures[side] == "hash", trace.keys
        most = len(trace) if self.lazy else kernel.most_held(_fixed(trace.times), length)
        n_slots = 1 << max(0, int(most) - 1).bit_length()
        n_buckets = self._n_buckets(side) if hashed else 1
        dense = bool(len(keys) == 0 or (keys.min() >= 0 and keys.max() < n_buckets))
        return kernel.new_window(hashed, self.lazy, dense, length, n_slots, n_buckets)

    def _n_buckets(self, side: int) -> int:
        if self.n_buckets is not None:
            return self.n_buckets[side]
        return max(1, len(np.unique(self.traces[side].keys)))


def _summary(
    job: _Job,
    counts: NDArray[np.int64],
    peak: PairOf,
    pairs: tuple[NDArray[np.int64], NDArray[np.int64]] | None,
) -> TupleRun:
    def pair(at: int) -> PairOf:
        return int(counts[at]), int(counts[at + 1])

    came = sum(int(np.searchsorted(t.times, job.settings.until)) for t in job.traces)
    return TupleRun(
        structures=job.structures,
        outputs=int(counts[kernel.OUTPUTS]),
        probe=pair(kernel.PROBE),
        insert=pair(kernel.INSERT),
        invalidate=pair(kernel.INVALIDATE),
        peak=peak,
        tuples=pair(kernel.TUPLES),
        waiting=came - int(counts[kernel.SERVED]),
        pairs=pairs,
    )


def _weights(structures: tuple[Structure, Structure], costs: AccessCosts) -> tuple[float, float]:
    left, right = (costs.hashed if s == "hash" else costs.nested for s in structures)
    return left, right


def _fixed(array: NDArray[np.int64]) -> NDArray[np.int64]:
    """A contiguous read-only view: kernels are compiled for one kind of array."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def _check(
    windows: tuple[int, int],
    structures: tuple[str, str],
    invalidation: str,
    n_buckets: tuple[int, int] | None,
    direction: str,
) -> None:
    for value, name, allowed in (
        (structures[0], "structures", ("hash", "list")),
        (structures[1], "structures", ("hash", "list")),
        (invalidation, "invalidation", ("active", "lazy")),
        (direction, "direction", ("both", "left to right")),
    ):
        if value not in allowed:
            raise ConfigError(f"{name}: got {value!r}; allowed: {' or '.join(allowed)}")
    for window in windows:
        if not 0 <= window < _FAR:
            raise ConfigError(f"windows: got {window} us; allowed: 0 or more, below 2**62")
    for n in n_buckets or ():
        if not 1 <= n < 2**31:
            raise ConfigError(f"n_buckets: got {n}; allowed: 1 or more, below 2**31")
