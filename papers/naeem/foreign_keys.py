"""Streams of foreign keys and the tables that they refer to (Naeem et al. 2017, NAE-D1 to D4).

Keys are whole numbers from 0 on. Where each key has one tuple, tuple i of the table has key i: what
is random is which keys are popular, so that popular tuples are scattered over the table.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from papers.operators.kernels.semi_stream_draw import draw_ranks
from streamjoin.errors import ConfigError

KeyArray = NDArray[np.int32]
Shares = NDArray[np.float64]

INTERVALS: Final = 25
"""Intervals of a stream with temporal locality (NAE-D4)."""
LONGITUDES: Final = 36_001
"""Values of the join attribute of the cloud reports (NAE-D3)."""
_RESOLUTION: Final = 1 << 20


@dataclass(frozen=True)
class ForeignKeys:
    """Keys drawn by Zipf's law (NAE-D1).

    Parameters
    ----------
    n_keys
        Number of keys, and of tuples of the table.
    skew
        Exponent of Zipf's law; 0 is uniform.
    seed
        Another seed, other popular keys and other draws.
    clustered
        Whether popular tuples lie together in the table, and not scattered at random (NAE-C17).
    used
        Share of the keys that occur at all; TPC-H's orders refer to two thirds of the customers
        (NAE-I4).

    Examples
    --------
    >>> keys = ForeignKeys(n_keys=1000, skew=1.0, seed=3)
    >>> stream = keys.draw(10_000)
    >>> popular = int(keys.by_rank[0])
    >>> round(float(keys.shares[popular]), 3), round(float(np.mean(stream == popular)), 3)
    (0.134, 0.136)
    """

    n_keys: int
    skew: float
    seed: int | tuple[int, ...] = 0
    clustered: bool = False
    used: float = 1.0

    def __post_init__(self) -> None:
        _require("n_keys", self.n_keys, 1 <= self.n_keys < 2**31, "1 to 2147483647")
        _require("skew", self.skew, 0 <= self.skew <= 10, "0 to 10")
        _require("used", self.used, 0 < self.used <= 1, "more than 0, up to 1")

    @cached_property
    def by_rank(self) -> KeyArray:
        """The keys, the most frequent first."""
        keys = np.arange(self.n_keys, dtype=np.int32)
        if not self.clustered:
            np.random.default_rng([_seeded(self.seed), 1]).shuffle(keys)
        return keys[: max(1, round(self.n_keys * self.used))]

    @cached_property
    def rank_shares(self) -> Shares:
        """Probability of each rank."""
        weights = np.arange(1, len(self.by_rank) + 1, dtype=np.float64) ** -self.skew
        shares: Shares = weights / weights.sum()
        return shares

    @cached_property
    def shares(self) -> Shares:
        """Probability of each key."""
        shares = np.zeros(self.n_keys)
        shares[self.by_rank] = self.rank_shares
        return shares

    def draw(self, n: int, part: int = 0) -> KeyArray:
        """Draw a stream; other parts are independent of each other."""
        uniform = np.random.default_rng([_seeded(self.seed), 2, part]).random(n)
        return self.by_rank[_ranks(uniform, self.rank_shares)]


def local_stream(
    n_table: int, copies: int, n_stream: int, skew: float = 1.0, seed: int = 0
) -> tuple[KeyArray, KeyArray]:
    """A stream with temporal locality, and its table in which each key occurs so many times.

    Each of 25 intervals draws from a part of the domain of its own (NAE-D4, bounds as in NAE-I3).

    Returns
    -------
    tuple of arrays
        Key of each tuple of the table, and the stream.

    Examples
    --------
    >>> table, stream = local_stream(n_table=1000, copies=4, n_stream=100, seed=1)
    >>> np.bincount(table).tolist() == [4] * 250, stream[:4] // 10, stream[-4:] // 10
    (True, array([0, 0, 0, 0], dtype=int32), array([24, 24, 24, 24], dtype=int32))
    """
    domain = n_table // copies
    width = domain // INTERVALS
    _require("n_table", n_table, width >= 1, f"{INTERVALS} or more for each of {copies} copies")
    rng = np.random.default_rng([seed, 3])
    table = np.repeat(np.arange(domain, dtype=np.int32), copies)
    rng.shuffle(table)
    ends = np.linspace(0, n_stream, INTERVALS + 1).astype(np.int64)
    parts = [
        i * width + ForeignKeys(width, skew, (seed, i)).draw(int(end - begin))
        for i, (begin, end) in enumerate(pairwise(ends))
    ]
    return table, np.concatenate(parts).astype(np.int32)


def longitudes(n: int, seed: int = 0) -> KeyArray:
    """Longitudes of weather reports, in hundredths of a degree: a surrogate (NAE-D3).

    Three fifths come from six dense regions, the rest from anywhere; where the regions are and how
    dense is ours, as the recorded reports are not at hand.

    Examples
    --------
    >>> drawn = longitudes(10_000, seed=1)
    >>> int(drawn.min()) >= 0, int(drawn.max()) <= 36_000
    (True, True)
    """
    rng = np.random.default_rng([seed, 4])
    centres = np.random.default_rng(4).integers(0, LONGITUDES, 6)
    dense = np.rint(rng.normal(centres[rng.integers(0, len(centres), n)], 100.0))
    keys = np.where(rng.random(n) < 0.6, dense, rng.integers(0, LONGITUDES, n))
    return np.mod(keys, LONGITUDES).astype(np.int32)


def _ranks(uniform: NDArray[np.float64], shares: Shares) -> KeyArray:
    cumulative = np.cumsum(shares)[:-1]
    size = min(_RESOLUTION, 1 << (2 * len(shares)).bit_length())
    guide = np.searchsorted(cumulative, np.arange(size) / size, side="right").astype(np.int32)
    return draw_ranks(uniform, cumulative, guide)


def _seeded(seed: int | tuple[int, ...]) -> int:
    """One number of a seed."""
    return seed if isinstance(seed, int) else int(np.random.SeedSequence(seed).generate_state(1)[0])


def _require(name: str, value: float, holds: bool, allowed: str) -> None:
    if not holds:
        raise ConfigError(f"{name}: got {value}; allowed: {allowed}")
