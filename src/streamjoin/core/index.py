"""A hash index over one side's arrivals, past which the other side's rows are streamed."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin._typing import Keys, Positions, Times
from streamjoin.core.kernels.equi import group_rows, mark_known, order_rows
from streamjoin.core.kernels.equi_probe import WIDTH, Bounds, fill_pairs, find_runs
from streamjoin.core.order import total_order
from streamjoin.errors import ConfigError, DataError

MAX_ROWS = 2**31 - 1
"""Positions are 32-bit numbers."""

_MAX_RUNS = 2**16  # matching rows that are remembered before their pairs are written

PairPositions = tuple[Positions, Positions]
_MARK = 0x696E6465782E3031  # first and last in a file: a crash may leave the rest of it empty
_STORED = (np.int64, np.int64, np.int64, np.int32, np.int32)  # the longer numbers first: aligned


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

    _bits: int
    _known: NDArray[np.int64]
    _slots: NDArray[np.int32]
    _groups: NDArray[np.int64]
    _rows: Positions
    _row_times: Times
    _earliest: int
    _latest: int

    @classmethod
    def build(cls, keys: Keys, times: Times) -> "HashIndex":
        """Index rows by key. O(n) if they are in order of time, else they are sorted first."""
        check_rows(keys, times)
        order = total_order(times)
        if order is not None:
            keys, times = keys[order], times[order]
        n = len(keys)
        bits = max(1, (2 * n - 1).bit_length())  # at least two slots a row: short searches
        slots = np.zeros(1 << bits, np.int32)
        groups = np.empty(2 * (n + 1), np.int64)
        group_of, place_of = np.empty(n, np.int32), np.empty(n, np.int32)
        n_groups = group_rows(fixed(keys), bits, slots, groups, group_of, place_of)
        rows, row_times = np.empty(n + WIDTH, np.int32), np.empty(n + WIDTH, np.int64)
        order_rows(n_groups, groups, group_of, place_of, fixed(times), rows, row_times)
        if order is not None:
            rows[:n] = order[rows[:n]]
        earliest, latest = (int(times[0]), int(times[-1])) if n else (0, 0)
        known = np.zeros(1 << (n_groups // 4).bit_length(), np.int64)
        mark_known(n_groups, groups, known)
        groups = groups[: 2 * (n_groups + 1)]
        # Read-only, as an index that was read back is: kernels are compiled for one kind of array.
        return cls(
            bits,
            _read_only(known),
            _read_only(slots),
            _read_only(groups),
            _read_only(rows),
            _read_only(row_times),
            earliest,
            latest,
        )

    def to_bytes(self) -> bytes:
        """Write it down, so that it need not be built again; `from_buffer` reads it.

        Examples
        --------
        >>> import numpy as np
        >>> index = HashIndex.build(keys=np.array([7, 8, 7]), times=np.array([10, 20, 30]))
        >>> again = HashIndex.from_buffer(index.to_bytes())
        >>> [found.tolist() for found in again.probe(np.array([8]), np.array([20]), 0, 0)]
        [[1], [0]]
        """
        arrays: list[NDArray[Any]] = [
            self._known, self._groups, self._row_times, self._slots, self._rows,
        ]  # fmt: skip
        head = [_MARK, self._bits, self._earliest, self._latest, *map(len, arrays)]
        parts = [np.array(head, np.int64).tobytes(), *(a.tobytes() for a in arrays)]
        return b"".join([*parts, _MARK.to_bytes(8, "little")])

    @classmethod
    def from_buffer(cls, buffer: bytes | pa.Buffer) -> "HashIndex":
        """Read what `to_bytes` wrote, without a copy; a ValueError if it is not whole."""
        mark, bits, earliest, latest, *lengths = np.frombuffer(buffer, np.int64, 9).tolist()
        at, arrays = 72, []
        for length, kind in zip(lengths, _STORED, strict=True):
            array = np.frombuffer(buffer, kind, length, offset=at)
            arrays.append(_read_only(array))
            at += array.nbytes
        end = int.from_bytes(memoryview(buffer)[at:], "little")
        if not mark == end == _MARK:
            raise ValueError("index: it was not written to its end")
        known, groups, row_times, slots, rows = arrays
        return cls(bits, known, slots, groups, rows, row_times, earliest, latest)

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
        bounds = self._bounds(keys, times, low, high)
        pieces = self._pieces(keys, times, bounds, n_runs=len(keys), max_pairs=None)
        return next(pieces, (np.empty(0, np.int32), np.empty(0, np.int32)))

    def probe_chunks(
        self, keys: Keys, times: Times, low: int, high: int, max_pairs: int
    ) -> Iterator[PairPositions]:
        """As `probe`, in pieces of 1 to `max_pairs` pairs; what comes after is not yet computed.

        Besides the piece this holds less than a megabyte, so pieces that are used and let go stay
        in the processor's cache.
        """
        bounds = self._bounds(keys, times, low, high)
        if max_pairs < 1:
            raise ConfigError.at("max_pairs", max_pairs, "a positive number")
        return self._pieces(keys, times, bounds, min(len(keys), _MAX_RUNS), max_pairs)

    def edge(self, keys: Keys, times: Times, low: int, high: int, *, last: bool) -> Positions:
        """Of each given row's matches the first or the last, -1 where there is none.

        Examples
        --------
        >>> import numpy as np
        >>> index = HashIndex.build(keys=np.array([7, 8, 7]), times=np.array([10, 20, 30]))
        >>> index.edge(np.array([7, 9]), np.array([40, 40]), low=-30, high=0, last=True).tolist()
        [2, -1]
        """
        found = np.full(len(keys), -1, np.int32)
        bounds = self._bounds(keys, times, low, high)
        if bounds is None or not len(keys):
            return found
        rows, spans = np.empty(len(keys), np.int32), np.zeros(len(keys), np.int64)
        table = (self._known, self._bits, self._slots, self._groups, self._row_times)
        find_runs(fixed(keys), fixed(times), 0, bounds, *table, WIDTH, rows, spans)
        count = spans & 0xFFFFFFFF
        matched = count > 0
        begin = spans[matched] >> 32
        at = begin + count[matched] - 1 if last else begin
        found[rows[matched]] = self._rows[at]
        return found

    def _bounds(self, keys: Keys, times: Times, low: int, high: int) -> Bounds | None:
        check_rows(keys, times)
        for name, bound in (("low", low), ("high", high)):
            if not -(2**63) <= bound < 2**63:
                raise ConfigError.at(name, bound, "a 64-bit integer")
        return Bounds.of(low, high, self._earliest, self._latest)

    def _pieces(
        self, keys: Keys, times: Times, bounds: Bounds | None, n_runs: int, max_pairs: int | None
    ) -> Iterator[PairPositions]:
        if bounds is None:
            return
        keys, times = fixed(keys), fixed(times)
        runs = np.empty(n_runs, np.int32), np.empty(n_runs, np.int64)
        table = (self._known, self._bits, self._slots, self._groups, self._row_times)
        start = 0
        while start < len(keys):
            start, left = find_runs(keys, times, start, bounds, *table, WIDTH, *runs)
            run, done = 0, 0
            while left:
                size = min(left, max_pairs or left)
                mine, theirs = np.empty(size + WIDTH, np.int32), np.empty(size + WIDTH, np.int32)
                run, done = fill_pairs(*runs, run, done, size, self._rows, mine, theirs)
                yield mine[:size], theirs[:size]
                left -= size


def check_rows(keys: Keys, times: Times) -> None:
    """Refuse keys and times that are not int64 arrays of one length, or too long."""
    for name, array in (("keys", keys), ("times", times)):
        if array.dtype != np.int64 or array.ndim != 1:
            raise DataError.at(name, f"{array.dtype} of {array.ndim} dimensions", "int64 of one")
    if len(keys) != len(times):
        raise DataError.at("times", f"{len(times)} for {len(keys)} keys", "one for each key")
    if len(keys) > MAX_ROWS:
        raise DataError.at("keys", f"{len(keys)} rows", f"at most {MAX_ROWS}, use more shards")


def fixed(array: NDArray[np.int64]) -> NDArray[np.int64]:
    """A contiguous read-only view: kernels are compiled for one kind of array, as Arrow's are."""
    return _read_only(np.ascontiguousarray(array))


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view
