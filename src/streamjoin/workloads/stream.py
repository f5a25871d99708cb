"""A generated stream: any range of its rows can be made again, exactly."""

from collections.abc import Iterator
from dataclasses import dataclass
from zlib import crc32

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin.errors import ConfigError
from streamjoin.workloads.base import Drawn, Workload, require
from streamjoin.workloads.keys import draw_keys
from streamjoin.workloads.pace import Burst, Pace
from streamjoin.workloads.payloads import WORKLOADS

BLOCK_ROWS = 8192
MAX_KEYS = 10_000_000


@dataclass(frozen=True)
class GeneratedStream:
    """An endless seeded stream of one workload.

    Row i is made at ``start_us + i / rate`` (sooner after the begin of a burst) and its event time
    lies up to `disorder_ms` before that, so rows come in order of making and out of order in event
    time. Rows are drawn in blocks; a block depends only on (seed, workload, block number), hence
    any range of rows is repeatable.

    Parameters
    ----------
    workload
        One of `WORKLOADS`.
    rate_per_second
        Rows per second of event time.
    keys
        How many distinct keys there are.
    skew
        Exponent of Zipf's law over the keys; 0 is uniform.
    cycle_s, lag_s
        After how many seconds the most frequent key has been around all keys (0: it stays), and by
        how much this stream is behind in that. Of two streams, one with a lag, rows match best
        when they are about so far apart in time (GED-D2).
    disorder_ms
        Largest delay of a row behind its event time.
    seed
        Another seed, another stream.
    start_us
        Time of row 0, in microseconds since 1970.
    burst
        When more rows come than at other times.

    Examples
    --------
    >>> stream = GeneratedStream("trades", rate_per_second=10, keys=5, seed=7)
    >>> batch = stream.rows(0, 3)
    >>> batch.num_rows, batch.schema.names[:3]
    (3, ['person', 'traded_at', 'symbol'])
    >>> stream.rows(2, 3).equals(batch.slice(2, 1))
    True
    """

    workload: str = "calls"
    rate_per_second: float = 1000.0
    keys: int = 10_000
    skew: float = 0.0
    cycle_s: float = 0.0
    lag_s: float = 0.0
    disorder_ms: int = 0
    seed: int = 0
    start_us: int = 0
    burst: Burst | None = None

    def __post_init__(self) -> None:
        if self.workload not in WORKLOADS:
            msg = f"workload: got {self.workload!r}; allowed: {', '.join(WORKLOADS)}"
            raise ConfigError(msg)
        require("rate", self.rate_per_second, 0 < self.rate_per_second <= 1e9, "0 < rate <= 1e9")
        require("keys", self.keys, 1 <= self.keys <= MAX_KEYS, f"1 to {MAX_KEYS}")
        require("skew", self.skew, 0 <= self.skew <= 10, "0 to 10")
        require("cycle", self.cycle_s, 0 <= self.cycle_s < np.inf, "0 or more seconds")
        require("lag", self.lag_s, 0 <= self.lag_s < np.inf, "0 or more seconds")
        require("disorder", self.disorder_ms, self.disorder_ms >= 0, "0 or more milliseconds")
        require("seed", self.seed, self.seed >= 0, "0 or more")

    @property
    def settings(self) -> Workload:
        """Column names and types of the workload."""
        return WORKLOADS[self.workload]

    @property
    def pace(self) -> Pace:
        """Which row is made when."""
        return Pace(self.rate_per_second, self.burst)

    def rows(self, first: int, last: int) -> pa.RecordBatch:
        """Rows ``first`` to ``last`` (exclusive) as one batch."""
        batches = list(self.batches(first, last))
        table = pa.Table.from_batches(batches, self.settings.schema).combine_chunks()
        return table.to_batches()[0] if batches else _empty(self.settings.schema)

    def batches(self, first: int, last: int) -> Iterator[pa.RecordBatch]:
        """Rows ``first`` to ``last`` (exclusive), a batch per block that they touch."""
        if not 0 <= first <= last:
            msg = f"rows: got {first} to {last}; allowed: 0 <= first <= last"
            raise ConfigError(msg)
        if first == last:
            return
        for number in range(first // BLOCK_ROWS, -(-last // BLOCK_ROWS)):
            begin = number * BLOCK_ROWS
            block = self._block(number)
            low, high = max(first - begin, 0), min(last - begin, BLOCK_ROWS)
            yield block.slice(low, high - low)

    def _block(self, number: int) -> pa.RecordBatch:
        rng = np.random.default_rng([self.seed, crc32(self.workload.encode()), number])
        row = np.arange(number * BLOCK_ROWS, (number + 1) * BLOCK_ROWS)
        made_us = np.round(self.pace.made_us(row)).astype(np.int64)
        delay_us = (rng.random(BLOCK_ROWS) * self.disorder_ms * 1000).astype(np.int64)
        ranks = draw_keys(rng.random(BLOCK_ROWS), self.keys, self.skew)
        turns = self._turns(made_us)
        keys = (ranks - 1 + (turns * self.keys).astype(np.int64)) % self.keys + 1
        times = pa.array(self.start_us + made_us - delay_us)
        columns = [pa.array(keys), times.cast(pa.timestamp("us", tz="UTC"))]
        columns += self.settings.fill(Drawn(rng, keys, turns, self.keys, self.skew))
        return pa.record_batch(columns, schema=self.settings.schema)

    def _turns(self, made_us: NDArray[np.int64]) -> NDArray[np.float64]:
        """Which part of its way around all keys the most frequent one has gone."""
        if not self.cycle_s:
            return np.zeros(len(made_us))
        turns: NDArray[np.float64] = np.mod((made_us / 1e6 - self.lag_s) / self.cycle_s, 1.0)
        return turns


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.record_batch([pa.array([], field.type) for field in schema], schema=schema)
