"""The workloads: what the columns beside key and time hold.

The pair `calls` and `trades` is the example of Gedik et al. (2005, section 1): a call (Pa, Pb, t1)
reached person Pb, a trade (Pb, Sx, t2) was made by Pb; an equi-join on the person within a window
finds hints that Pa may have given Pb about the stock Sx.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

SYMBOLS = pa.array(["ACME", "BOLT", "CRUX", "DUNE", "ECHO", "FLUX", "GRID", "HALO", "IRIS", "JADE"])
ACTIONS = pa.array(["buy", "sell"])


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
        Makes the payload columns of so many rows, given also the number of keys.
    """

    key: str
    time: str
    payload: pa.Schema
    fill: Callable[[np.random.Generator, int, int], list[pa.Array]]

    @property
    def schema(self) -> pa.Schema:
        """Arrow schema of the whole stream: key, time, payload.

        Examples
        --------
        >>> WORKLOADS["calls"].schema.names
        ['person', 'called_at', 'caller', 'seconds']
        """
        head = [pa.field(self.key, pa.int64()), pa.field(self.time, pa.timestamp("us", tz="UTC"))]
        return pa.schema([*head, *self.payload])


def _fill_calls(rng: np.random.Generator, n_rows: int, n_keys: int) -> list[pa.Array]:
    caller = rng.integers(1, n_keys + 1, n_rows)
    seconds = np.minimum(3 + rng.exponential(90.0, n_rows), 7200).astype(np.int32)
    return [pa.array(caller), pa.array(seconds)]


def _fill_trades(rng: np.random.Generator, n_rows: int, n_keys: int) -> list[pa.Array]:
    symbol = rng.integers(0, len(SYMBOLS), n_rows)
    action = rng.integers(0, len(ACTIONS), n_rows)
    shares = rng.integers(1, 51, n_rows).astype(np.int32) * np.int32(10)
    price = np.round(20 + 10 * symbol + rng.random(n_rows) * 10, 2)
    return [
        SYMBOLS.take(pa.array(symbol)),
        ACTIONS.take(pa.array(action)),
        pa.array(shares),
        pa.array(price),
    ]


WORKLOADS: Mapping[str, Workload] = {
    "calls": Workload(
        key="person",
        time="called_at",
        payload=pa.schema({"caller": pa.int64(), "seconds": pa.int32()}),
        fill=_fill_calls,
    ),
    "trades": Workload(
        key="person",
        time="traded_at",
        payload=pa.schema(
            {
                "symbol": pa.string(),
                "action": pa.string(),
                "shares": pa.int32(),
                "price": pa.float64(),
            }
        ),
        fill=_fill_trades,
    ),
}
