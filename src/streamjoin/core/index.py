"""Indexes over one side's arrivals, past which the other side's rows are streamed.

By hash of the key; or a list, with every row of which each of the other side's is compared.

Bands as buckets: ``abs(x - y) <= width`` is found with an index for equality. The rows of an index
go into buckets of their values, about as wide as the band. A probing value then looks into the few
buckets that its band touches. Buckets only propose candidates; the caller still checks the
predicate, so rounding may make them a little too wide and never too narrow.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin._typing import Keys, Positions, Times
from streamjoin.core.kernels.equi import group_rows, mark_known, order_rows
from streamjoin.core.kernels.equi_probe import (
    STRIDE,
    WIDTH,
    Bounds,
    fill_pairs,
    find_runs,
    fingerprints,
    scan_pairs,
)
from streamjoin.core.stream import total_order
from streamjoin.errors import ConfigError, DataError

MAX_ROWS = 2**31 - 1
"""Positions are 32-bit numbers."""

_MAX_RUNS = 2**16  # matching rows that are remembered before their pairs are written
_PIECE = 2**16  # pairs of a list that are found before the next array for them is made

PairPositions = tuple[Positions, Positions]
_MARK = 0x696E6465782E3031  # first and last in a file: a crash may leave the rest of it empty
_STORED = (np.int64, np.int64, np.int64, np.int32, np.int32)  # the longer numbers first: aligned
Values = NDArray[np.float64]
_FAR: Final = 2.0**62
_NOWHERE: Final = np.iinfo(np.int64).min
_SPREAD: Final = np.int64(-7046029254386353131)  # odd: different buckets stay different


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
        arrays: list[NDArray[Any]] = [known, slots, groups, rows, row_times]
        for array in arrays:
            array.flags.writeable = False
        return cls(bits, known, slots, groups, rows, row_times, earliest, latest)

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
            arrays.append(_read_only(np.frombuffer(buffer, kind, length, offset=at)))
            at += arrays[-1].nbytes
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
        bounds = _bounds(keys, times, low, high, self._earliest, self._latest)
        pieces = self._pieces(keys, times, bounds, n_runs=len(keys), max_pairs=None)
        return next(pieces, (np.empty(0, np.int32), np.empty(0, np.int32)))

    def probe_chunks(
        self, keys: Keys, times: Times, low: int, high: int, max_pairs: int
    ) -> Iterator[PairPositions]:
        """As `probe`, in pieces of 1 to `max_pairs` pairs; what comes after is not yet computed.

        Besides the piece this holds less than a megabyte, so pieces that are used and let go stay
        in the processor's cache.
        """
        bounds = _bounds(keys, times, low, high, self._earliest, self._latest, max_pairs)
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
        bounds = _bounds(keys, times, low, high, self._earliest, self._latest)
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


@dataclass(frozen=True, eq=False)
class ListIndex:
    """Rows in the total order, for nested loops; made by `build`.

    Gives what `HashIndex` gives, in the same order. It is cheaper to build and its probes cost the
    product of both sides' rows, so it is for few rows, or for few that probe. Takes 24 bytes a row.

    Examples
    --------
    >>> import numpy as np
    >>> index = ListIndex.build(keys=np.array([7, 8, 7]), times=np.array([10, 20, 30]))
    >>> mine, theirs = index.probe(np.array([7, 9]), np.array([12, 12]), low=-5, high=20)
    >>> mine.tolist(), theirs.tolist()
    ([0, 2], [0, 0])
    """

    _prints: NDArray[np.int32]
    _keys: Keys
    _times: Times
    _rows: Positions

    @classmethod
    def build(cls, keys: Keys, times: Times) -> "ListIndex":
        """Put rows in the order of time, if they are not, and take their keys' fingerprints."""
        check_rows(keys, times)
        rows = np.arange(len(keys), dtype=np.int32)
        order = total_order(times)
        if order is not None:
            keys, times, rows = keys[order], times[order], order.astype(np.int32)
        prints = np.zeros(-(-len(keys) // STRIDE) * STRIDE, np.int32)
        fingerprints(fixed(keys), prints)
        return cls(prints, fixed(keys), fixed(times), rows)

    def probe(self, keys: Keys, times: Times, low: int, high: int) -> PairPositions:
        """As `HashIndex.probe`: pairs with equal keys and ``low <= t_index - t_probe <= high``."""
        pieces = list(self.probe_chunks(keys, times, low, high, _PIECE))
        if not pieces:
            return np.empty(0, np.int32), np.empty(0, np.int32)
        mine, theirs = (np.concatenate(side) for side in zip(*pieces, strict=True))
        return mine, theirs

    def probe_chunks(
        self, keys: Keys, times: Times, low: int, high: int, max_pairs: int
    ) -> Iterator[PairPositions]:
        """As `probe`, in pieces of 1 to `max_pairs` pairs; what comes after is not yet computed."""
        ends = (int(self._times[0]), int(self._times[-1])) if len(self._times) else (0, 0)
        bounds = _bounds(keys, times, low, high, *ends, max_pairs)
        return self._pieces(fixed(keys), fixed(times), bounds, max_pairs)

    def _pieces(
        self, keys: Keys, times: Times, bounds: Bounds | None, max_pairs: int
    ) -> Iterator[PairPositions]:
        if bounds is None:
            return
        table = (self._prints, self._keys, self._times, self._rows)
        size = min(max_pairs, len(self._keys) * len(keys))
        row, at = 0, 0
        while row < len(keys):
            mine, theirs = np.empty(size, np.int32), np.empty(size, np.int32)
            row, at, filled = scan_pairs(keys, times, row, at, bounds, *table, mine, theirs)
            if filled:
                yield mine[:filled], theirs[:filled]


def _bounds(
    keys: Keys, times: Times, low: int, high: int, earliest: int, latest: int, max_pairs: int = 1
) -> Bounds | None:
    """Bounds of probes, which are checked; None if they can reach no row of an index."""
    check_rows(keys, times)
    for name, bound in (("low", low), ("high", high)):
        if not -(2**63) <= bound < 2**63:
            raise ConfigError.at(name, bound, "a 64-bit integer")
    if max_pairs < 1:
        raise ConfigError.at("max_pairs", max_pairs, "a positive number")
    return Bounds.of(low, high, earliest, latest)


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


def band_values(column: pa.Array) -> Values:
    """Values of a number column as floats; NaN for null.

    Examples
    --------
    >>> band_values(pa.array([1, None])).tolist()
    [1.0, nan]
    """
    return np.asarray(column.cast(pa.float64(), safe=False).fill_null(np.nan))


@dataclass(frozen=True)
class Buckets:
    """Buckets for the values of one index.

    Parameters
    ----------
    reach
        Half the width of the band.
    width
        Width of a bucket: not below what a float of this size can tell apart.
    limit
        Larger probing values can meet no row of the index.
    """

    reach: float
    width: float
    limit: float = np.inf

    @classmethod
    def over(cls, values: Values, reach: float) -> "Buckets":
        """Buckets for index rows with these values."""
        finite = np.abs(values[np.isfinite(values)])
        largest = float(finite.max()) if len(finite) else 0.0
        limit = (largest + reach) * (1 + 2.0**-40)
        return cls(reach, max(reach, limit * 2.0**-44, 2.0**-900), limit)

    def of(self, values: Values) -> NDArray[np.int64]:
        """Bucket of each value.

        Examples
        --------
        >>> Buckets(reach=5.0, width=5.0).of(np.array([0.0, 4.9, 5.0, -0.1])).tolist()
        [0, 0, 1, -1]
        """
        with np.errstate(over="ignore"):
            numbers = np.clip(np.floor(values / self.width), -_FAR, _FAR)
        return np.where(np.isnan(numbers), float(_NOWHERE), numbers).astype(np.int64)

    def touched(
        self, values: Values, beyond_finite: bool = False
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.int64]]]:
        """Passes of (rows, bucket of each) that together cover every bucket of every band.

        Values that are not finite meet none, or those like them if `beyond_finite`.

        Examples
        --------
        >>> buckets = Buckets(reach=5.0, width=5.0)
        >>> [(r.tolist(), b.tolist()) for r, b in buckets.touched(np.array([7.0, np.nan]))]
        [([0], [0]), ([0], [1]), ([0], [2])]
        """
        if beyond_finite:
            others = np.flatnonzero(~np.isfinite(values))
            yield others, self.of(values[others])
        rows = np.flatnonzero(np.isfinite(values) & (np.abs(values) <= self.limit))
        middle = values[rows]
        slack = self.reach * 2.0**-40 + np.abs(middle) * 2.0**-50
        low, high = middle - self.reach - slack, middle + self.reach + slack
        lowest, highest = self.of(low), self.of(high)
        while len(rows):
            yield rows, lowest
            further = lowest < highest
            rows, lowest, highest = rows[further], lowest[further] + 1, highest[further]


def band_keys(keys: Keys, buckets: NDArray[np.int64]) -> Keys:
    """One number per row for key and bucket together; different ones may share a number."""
    with np.errstate(over="ignore"):
        mixed: Keys = keys ^ (buckets * _SPREAD)
    return mixed
