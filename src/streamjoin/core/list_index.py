"""A list of one side's arrivals, with every row of which each of the other side's is compared."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from streamjoin._typing import Keys, Positions, Times
from streamjoin.core.index import PairPositions, check_rows, fixed
from streamjoin.core.kernels.equi_probe import Bounds
from streamjoin.core.kernels.scan import STRIDE, fingerprints, scan_pairs
from streamjoin.core.order import total_order
from streamjoin.errors import ConfigError

_PIECE: Final = 2**16  # pairs that are found before the next array for them is made


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
        check_rows(keys, times)
        for name, bound in (("low", low), ("high", high)):
            if not -(2**63) <= bound < 2**63:
                raise ConfigError.at(name, bound, "a 64-bit integer")
        if max_pairs < 1:
            raise ConfigError.at("max_pairs", max_pairs, "a positive number")
        return self._pieces(keys, times, low, high, max_pairs)

    def _pieces(
        self, keys: Keys, times: Times, low: int, high: int, max_pairs: int
    ) -> Iterator[PairPositions]:
        n = len(self._keys)
        earliest, latest = (int(self._times[0]), int(self._times[-1])) if n else (0, 0)
        bounds = Bounds.of(low, high, earliest, latest)
        if bounds is None:
            return
        keys, times = fixed(keys), fixed(times)
        table = (self._prints, self._keys, self._times, self._rows)
        size = min(max_pairs, n * len(keys))
        row, at = 0, 0
        while row < len(keys):
            mine, theirs = np.empty(size, np.int32), np.empty(size, np.int32)
            row, at, filled = scan_pairs(keys, times, row, at, bounds, *table, mine, theirs)
            if filled:
                yield mine[:filled], theirs[:filled]
