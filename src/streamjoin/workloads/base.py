"""What a workload is: the columns of a generated stream, how they are filled, and its keys."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin.errors import ConfigError


@dataclass(frozen=True, eq=False)
class Drawn:
    """Rows whose payload is to be made."""

    rng: np.random.Generator
    keys: NDArray[np.int64]  # from 1 to `n_keys`
    turns: NDArray[np.float64]  # which part of its way around all keys the most frequent has gone
    n_keys: int
    skew: float  # exponent of Zipf's law

    def __len__(self) -> int:
        return len(self.keys)


@dataclass(frozen=True)
class Workload:
    """Names of a stream's key and time columns, and its payload.

    Parameters
    ----------
    key, time
        Names of the key and the event-time column.
    payload
        Arrow fields of the other columns.
    fill
        Makes the payload columns of rows.
    """

    key: str
    time: str
    payload: pa.Schema
    fill: Callable[[Drawn], list[pa.Array]]

    @property
    def schema(self) -> pa.Schema:
        """Arrow schema of the whole stream: key, time, payload.

        Examples
        --------
        >>> import streamjoin.workloads as w
        >>> w.WORKLOADS["calls"].schema.names
        ['person', 'called_at', 'caller', 'seconds']
        """
        head = [pa.field(self.key, pa.int64()), pa.field(self.time, pa.timestamp("us", tz="UTC"))]
        return pa.schema([*head, *self.payload])


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
