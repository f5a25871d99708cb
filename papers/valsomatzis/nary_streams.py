"""Streams for joins of many inputs on one attribute (Valsomatzis & Gounaris 2013, VAL-D1..D5).

Independent keys cannot have three different pairwise selectivities on one attribute (VAL-I10). Here
some keys are common to all streams, each with a fixed number of tuples in each stream, and all
other tuples have keys of their own: every selectivity is met exactly (VAL-D3).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from papers.valsomatzis.bursts import Course, b_model
from streamjoin._typing import Keys, Times
from streamjoin.errors import ConfigError

DataSet = Literal["I", "II", "III", "IV", "V", "VI"]
DATA_SETS: Final[tuple[DataSet, ...]] = get_args(DataSet)

DURATION: Final = 10_000_000
"""Time units that all streams take."""
_N_KEYS: Final = 1000
_FAST_SLOW: Final = (5, 15, 5, 15)
_SLOW_FAST: Final = (15, 5, 15, 5)


@dataclass(frozen=True, eq=False)
class KeyedStream:
    """A recorded stream: times in time units and keys."""

    times: Times
    keys: Keys


@dataclass(frozen=True)
class ExactKeys:
    """Keys with exact selectivities (VAL-D3).

    Parameters
    ----------
    sizes
        Tuples of each stream.
    n_keys
        Keys that all streams have.
    repeats
        Tuples with each of these, by stream.

    Examples
    --------
    VAL-U1, data sets V and VI with |S2| = 1e5 (VAL-I1).

    >>> keys = ExactKeys((10**4, 10**5, 10**6), 1000, (1, 10, 100))
    >>> keys.results, keys.selectivity, [keys.results / size for size in keys.sizes]
    (1000000, 1e-09, [100.0, 10.0, 1.0])
    >>> keys.matches(0, 1), keys.matches(0, 2), keys.pair_selectivity(0, 2)
    (1.0, 10.0, 1e-05)
    """

    sizes: tuple[int, ...]
    n_keys: int
    repeats: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.sizes) != len(self.repeats):
            raise ConfigError(
                f"repeats: got {len(self.repeats)}; allowed: {len(self.sizes)}, one a stream"
            )
        least = [self.n_keys * repeat for repeat in self.repeats]
        if any(size < needed for size, needed in zip(self.sizes, least, strict=True)):
            raise ConfigError(
                f"sizes: got {self.sizes}; allowed: at least {tuple(least)}, keys times repeats"
            )

    @property
    def results(self) -> int:
        """|Mjoin|."""
        return self.n_keys * prod(self.repeats)

    @property
    def selectivity(self) -> float:
        """sigma_Mjoin."""
        return self.results / prod(self.sizes)

    def pair_selectivity(self, j: int, other: int) -> float:
        """sigma_{j,l}."""
        return self.matches(j, other) / self.sizes[other]

    def matches(self, j: int, other: int) -> float:
        """Tuples of another stream that a tuple finds on average, all tuples being there."""
        return self.n_keys * self.repeats[j] * self.repeats[other] / self.sizes[j]

    def sequences(self) -> tuple[tuple[int, ...], ...]:
        """For each stream the others, those where a tuple finds least first (VAL-A3).

        Examples
        --------
        >>> ExactKeys((10**6, 10**6, 10**6), 1000, (1, 5, 1000)).sequences()
        ((1, 2), (0, 2), (0, 1))
        """
        streams = range(len(self.sizes))
        return tuple(
            tuple(sorted((i for i in streams if i != j), key=lambda i: self.matches(j, i)))
            for j in streams
        )

    def draw(self, rng: np.random.Generator) -> list[Keys]:
        """Keys of each stream, shuffled."""
        return [self._stream(rng, j) for j in range(len(self.sizes))]

    def _stream(self, rng: np.random.Generator, j: int) -> Keys:
        common = np.repeat(np.arange(self.n_keys), self.repeats[j])
        own = self.n_keys + len(self.sizes) * np.arange(self.sizes[j] - len(common)) + j
        keys: NDArray[np.int64] = np.concatenate([common, own]).astype(np.int64)
        return rng.permutation(keys)


@dataclass(frozen=True)
class NaryStreams:
    """A data set of the paper's experiments.

    Parameters
    ----------
    data_set
        I to VI: cardinalities, selectivities and arrivals.
    scale
        Multiplies cardinalities and the number of common keys; what a tuple finds stays.
    seed
        Another seed, another order of keys, other arrivals within the same course, other bursts.

    Examples
    --------
    >>> streams = NaryStreams("V", scale=0.01).draw()
    >>> [len(stream.times) for stream in streams], NaryStreams("V", scale=0.01).keys.results
    ([100, 1000, 10000], 10000)
    """

    data_set: DataSet
    scale: float = 1.0
    seed: int = 1

    @property
    def keys(self) -> ExactKeys:
        """Cardinalities (VAL-D1) and selectivities (VAL-D2)."""
        uneven = self.data_set in ("V", "VI")
        sizes = (10**4, 10**5, 10**6) if uneven else (10**6, 10**6, 10**6)
        repeats = (1, 10, 100) if uneven else (1, 5, 1000)
        n_keys = max(1, round(_N_KEYS * self.scale))
        return ExactKeys(tuple(size * n_keys // _N_KEYS for size in sizes), n_keys, repeats)

    def courses(self) -> Sequence[Course]:
        """When tuples of each stream come (VAL-D4)."""
        steady = Course.steady()
        if self.data_set == "I":
            return steady, steady, Course.alternating(_FAST_SLOW)
        if self.data_set == "II":
            return steady, Course.alternating(_SLOW_FAST), Course.alternating(_FAST_SLOW)
        if self.data_set == "III":
            return steady, Course.alternating(_SLOW_FAST), Course.wave(0.5, periods=4)
        rng = np.random.default_rng((self.seed, 4))
        return steady, steady, Course.bursts(b_model(rng, 0.8, first=self.data_set == "V"))

    def draw(self) -> list[KeyedStream]:
        """Make the streams."""
        rng = np.random.default_rng((self.seed, DATA_SETS.index(self.data_set)))
        return [
            KeyedStream(course.arrivals(rng, len(keys), DURATION), keys)
            for course, keys in zip(self.courses(), self.keys.draw(rng), strict=True)
        ]
