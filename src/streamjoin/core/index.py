"""A hash index over one side's arrivals, past which the other side's rows are streamed."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamjoin._typing import Keys, Positions, Times
from streamjoin.core.kernels.equi import group_rows, mark_known, order_rows
from streamjoin.core.kernels.equi_probe import WIDTH, Bounds, fill_pairs, find_runs
from streamjoin.core.order import total_order
from streamjoin.errors import ConfigError, DataError

MAX_ROWS = 2**31 - 1
"""Positions are 32-bit numbers."""

PairPositions = tuple[Positions, Positions]


@dataclass(frozen=True, eq=False)
class HashIndex:
    """Rows by key, each key's rows next to each other in the total order; made by `build`.

    Takes 20 to 28 bytes a row and about 20 more for each distinct key. It never changes, so it may
    be probed any number of times.

    Examples
    --------
    >>> import numpy as np
    >>> index = HashIndex.build(keys=np.array([7, 8, 7]), times=np.array([10, 20, 30]))
    >>> mine, theirs = index.probe(np.array([7, 9]), np.array([12, 12]), low=-5, high=20)
    >>> mine.tolist(), theirs.tolist()
    ([0, 2], [0, 0])
    """

    _known: NDArray[np.int64]
    _bits: int
    _slots: NDArray[np.int32]
    _groups: NDArray[np.int64]
    _rows: Positions
    _row_times: Times
    _earliest: int
    _latest: int

    @classmethod
    def build(cls, keys: Keys, times: Times) -> "HashIndex":
        """Index rows by key. O(n) if they are in order of time, else they are sorted first."""
        _check(keys, times)
        order = total_order(times)
        if order is not None:
            keys, times = keys[order], times[order]
        n = len(keys)
        bits = max(1, (2 * n - 1).bit_length())  # at least two slots a row: short searches
        slots = np.zeros(1 << bits, np.int32)
        groups = np.empty(2 * (n + 1), np.int64)
        group_of = np.empty(n, np.int32)
        n_groups = group_rows(_fixed(keys), bits, slots, groups, group_of)
        rows, row_times = np.empty(n + WIDTH, np.int32), np.empty(n + WIDTH, np.int64)
        order_rows(n_groups, group_of, _fixed(times), groups, row_times, rows)
        if order is not None:
            rows[:n] = order[rows[:n]]
        earliest, latest = (int(times[0]), int(times[-1])) if n else (0, 0)
        known = np.zeros(1 << (n_groups // 4).bit_length(), np.int64)
        mark_known(n_groups, groups, known)
        return cls(known, bits, slots, groups, rows, row_times, earliest, latest)

    def probe(self, keys: Keys, times: Times, low: int, high: int) -> PairPositions:
        """All pairs of an index row and a row given here that have equal keys and times in bounds.

        Parameters
        ----------
        keys, times
            The probing rows, in any order.
        low, high
            Inclusive bounds of ``t_index - t_probe``, each a 64-bit integer. The difference is
            compared as if integers had no limit: times may lie at both ends of the 64-bit range.

        Returns
        -------
        index_positions, probe_positions
            One item per pair, each pair once: by probing row, then by time of the index row, then
            by its position.
        """
        runs = self._find(keys, times, low, high)
        return next(runs.pairs(self._rows, runs.n_pairs), runs.no_pairs())

    def probe_chunks(
        self, keys: Keys, times: Times, low: int, high: int, max_pairs: int
    ) -> Iterator[PairPositions]:
        """As `probe`, in pieces of `max_pairs` pairs (the last may be shorter, none is empty).

        Besides the piece, this holds 12 bytes for each probing row.
        """
        if max_pairs < 1:
            msg = f"max_pairs: got {max_pairs}; allowed: a positive number"
            raise ConfigError(msg)
        return self._find(keys, times, low, high).pairs(self._rows, max_pairs)

    def _find(self, keys: Keys, times: Times, low: int, high: int) -> "_Runs":
        _check(keys, times)
        for name, bound in (("low", low), ("high", high)):
            if not -(2**63) <= bound < 2**63:
                msg = f"{name}: got {bound}; allowed: a 64-bit integer"
                raise ConfigError(msg)
        bounds = Bounds.of(low, high, self._earliest, self._latest)
        n = len(keys) if bounds is not None else 0
        run_rows, run_spans = np.empty(n, np.int32), np.empty(n, np.int64)
        if bounds is None:
            return _Runs(run_rows, run_spans, 0)
        arrays = (self._known, self._bits, self._slots, self._groups, self._row_times)
        _, n_pairs = find_runs(
            _fixed(keys), _fixed(times), bounds, *arrays, WIDTH, run_rows, run_spans
        )
        return _Runs(run_rows, run_spans, n_pairs)


@dataclass(frozen=True, eq=False)
class _Runs:
    """Matches before they are written out: for each probing row that has any, a span of rows."""

    rows: Positions
    spans: NDArray[np.int64]
    n_pairs: int

    def pairs(self, index_rows: Positions, max_pairs: int) -> Iterator[PairPositions]:
        run, done, left = 0, 0, self.n_pairs
        while left:
            size = min(left, max_pairs)
            mine, theirs = np.empty(size + WIDTH, np.int32), np.empty(size + WIDTH, np.int32)
            run, done = fill_pairs(self.rows, self.spans, run, done, size, index_rows, mine, theirs)
            yield mine[:size], theirs[:size]
            left -= size

    @staticmethod
    def no_pairs() -> PairPositions:
        return np.empty(0, np.int32), np.empty(0, np.int32)


def _check(keys: Keys, times: Times) -> None:
    for name, array in (("keys", keys), ("times", times)):
        if array.dtype != np.int64 or array.ndim != 1:
            msg = f"{name}: got {array.dtype} of {array.ndim} dimensions; allowed: int64 of one"
            raise DataError(msg)
    if len(keys) != len(times):
        msg = f"times: got {len(times)} for {len(keys)} keys; allowed: one for each key"
        raise DataError(msg)
    if len(keys) > MAX_ROWS:
        msg = f"keys: got {len(keys)} rows; allowed: at most {MAX_ROWS}, use more shards"
        raise DataError(msg)


def _fixed(array: NDArray[np.int64]) -> NDArray[np.int64]:
    """A contiguous read-only view: kernels are compiled for one kind of array, as Arrow's are."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view
