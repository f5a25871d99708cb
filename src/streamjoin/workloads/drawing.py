"""How keys, and sets of items, are drawn by Zipf's law; and how a setting is refused."""

from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from streamjoin.errors import ConfigError

Numbers = NDArray[np.int64]
_CHUNK_ROWS: Final = 8192


def require(name: str, value: object, holds: bool, allowed: str) -> None:
    """Refuse a setting, unless something holds."""
    if not holds:
        raise ConfigError.at(name, value, allowed)


def draw_keys(uniform: NDArray[np.float64], n_keys: int, skew: float) -> NDArray[np.int64]:
    """Turn uniform numbers in [0, 1) into keys 1..n_keys, key r with a weight of ``r ** -skew``.

    Skew 0 is uniform, 1 the classic Zipf law; key 1 is the most frequent in every stream, so two
    skewed streams are hot on the same keys.

    Examples
    --------
    >>> draw_keys(np.array([0.0, 0.5, 0.99]), n_keys=4, skew=0.0)
    array([1, 3, 4])
    >>> draw_keys(np.array([0.0, 0.4, 0.99]), n_keys=4, skew=1.0)
    array([1, 1, 4])
    """
    if skew == 0:
        return (uniform * n_keys).astype(np.int64) + 1
    return np.searchsorted(_cumulative(n_keys, skew), uniform, side="right") + 1


@lru_cache(maxsize=4)
def _cumulative(n_keys: int, skew: float) -> NDArray[np.float64]:
    """Cumulative probabilities of the keys, without the last (which would only round to 1)."""
    weights = np.arange(1, n_keys + 1, dtype=np.float64) ** -skew
    total = np.cumsum(weights)
    shares: NDArray[np.float64] = total[:-1] / total[-1]
    return shares


def draw_sizes(rng: np.random.Generator, n: int, size: tuple[float, float], domain: int) -> Numbers:
    """How many of the domain's items are in each of n sets: mean and deviation are given."""
    sizes: Numbers = np.clip(np.rint(rng.normal(*size, n)), 1, domain).astype(np.int64)
    return sizes


def draw_ranks(
    rng: np.random.Generator, sizes: Numbers, domain: int, skew: float
) -> tuple[Numbers, Numbers]:
    """Draw sets of distinct ranks from 0 on, rank r with a weight of ``(r + 1) ** -skew``.

    The law is that of drawing one after the other, each among those not yet drawn.

    Returns
    -------
    tuple of arrays
        All ranks, and where each set begins (one more for the end); within a set in drawing order.

    Examples
    --------
    >>> draw_ranks(np.random.default_rng(1), np.array([3, 2]), domain=5, skew=1.0)
    (array([4, 1, 0, 3, 1]), array([0, 3, 5]))
    """
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    if sizes.max(initial=1) == 1:
        return draw_keys(rng.random(len(sizes)), domain, skew) - 1, offsets
    chunks = [
        _draw_chunk(rng, sizes[at : at + _CHUNK_ROWS], domain, skew)
        for at in range(0, len(sizes), _CHUNK_ROWS)
    ]
    return np.concatenate(chunks), offsets


def _draw_chunk(rng: np.random.Generator, sizes: Numbers, domain: int, skew: float) -> Numbers:
    # Clocks with rates in proportion to the weights: after the first rings, the next one is among
    # the others in proportion to theirs (no memory), so the order of ringing is that of drawing.
    weights = np.arange(1, domain + 1) ** -float(skew)
    rings = rng.standard_exponential((len(sizes), domain)) / weights
    most = int(sizes.max())
    first = np.argpartition(rings, most - 1, axis=1)[:, :most]
    order = np.argsort(np.take_along_axis(rings, first, axis=1), axis=1)
    drawn: Numbers = np.take_along_axis(first, order, axis=1)
    kept: Numbers = drawn[np.arange(most) < sizes[:, None]]
    return kept
