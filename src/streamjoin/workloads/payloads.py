"""The workloads: what the columns beside key and time hold.

They are the examples of Gedik et al. (2005, section 1). `calls` and `trades`: a call (Pa, Pb, t1)
reached person Pb, a trade (Pb, Sx, t2) was made by Pb; an equi-join on the person within a window
finds hints that Pa may have given Pb about the stock Sx. `news` and `alerts`: see `set_payloads`.
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from streamjoin.workloads.base import Drawn, Workload
from streamjoin.workloads.set_payloads import DESCRIPTORS, WORDS, fill_alerts, fill_news

SYMBOLS = pa.array(["ACME", "BOLT", "CRUX", "DUNE", "ECHO", "FLUX", "GRID", "HALO", "IRIS", "JADE"])
ACTIONS = pa.array(["buy", "sell"])


def _fill_calls(rows: Drawn) -> list[pa.Array]:
    rng, n_rows = rows.rng, len(rows)
    caller = rng.integers(1, rows.n_keys + 1, n_rows)
    seconds = np.minimum(3 + rng.exponential(90.0, n_rows), 7200).astype(np.int32)
    return [pa.array(caller), pa.array(seconds)]


def _fill_trades(rows: Drawn) -> list[pa.Array]:
    rng, n_rows = rows.rng, len(rows)
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
    "news": Workload(
        key="story",
        time="printed_at",
        payload=pa.schema({"words": WORDS}),
        fill=fill_news,
    ),
    "alerts": Workload(
        key="target",
        time="seen_at",
        payload=pa.schema(
            {"source": pa.int64(), "severity": pa.int32(), "descriptors": DESCRIPTORS}
        ),
        fill=fill_alerts,
    ),
}
