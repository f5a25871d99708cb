"""Bands as buckets: ``abs(x - y) <= width`` found with an index for equality.

The rows of an index go into buckets of their values, about as wide as the band. A probing value
then looks into the few buckets that its band touches. Buckets only propose candidates; the caller
still checks the predicate, so rounding may make them a little too wide and never too narrow.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin._typing import Keys

Values = NDArray[np.float64]
_FAR: Final = 2.0**62
_NOWHERE: Final = np.iinfo(np.int64).min
_SPREAD: Final = np.int64(-7046029254386353131)  # odd: different buckets stay different


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
        lowest, highest = (
            self.of(middle - self.reach - slack),
            self.of(middle + self.reach + slack),
        )
        while len(rows):
            yield rows, lowest
            further = lowest < highest
            rows, lowest, highest = rows[further], lowest[further] + 1, highest[further]


def band_keys(keys: Keys, buckets: NDArray[np.int64]) -> Keys:
    """One number per row for key and bucket together; different ones may share a number."""
    with np.errstate(over="ignore"):
        mixed: Keys = keys ^ (buckets * _SPREAD)
    return mixed
