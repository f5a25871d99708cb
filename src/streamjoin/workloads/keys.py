"""Join keys drawn by Zipf's law."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray


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
