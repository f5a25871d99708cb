"""What a workload is: the columns of a generated stream and how they are filled."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin.errors import ConfigError


@dataclass(frozen=True, eq=False)
class Drawn:
    """Rows whose payload is to be made.

    Parameters
    ----------
    rng
        The source of chance.
    keys
        The key of each row, 1 to `n_keys`.
    turns
        At each row, which part of its way around all keys the most frequent one has gone.
    n_keys, skew
        Number of keys and exponent of Zipf's law.
    """

    rng: np.random.Generator
    keys: NDArray[np.int64]
    turns: NDArray[np.float64]
    n_keys: int
    skew: float

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


def require(name: str, value: float, holds: bool, allowed: str) -> None:
    """Refuse a setting, unless something holds."""
    if not holds:
        msg = f"{name}: got {value}; allowed: {allowed}"
        raise ConfigError(msg)
