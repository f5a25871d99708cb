"""A generated stream: any range of its rows can be made again; first, when they are made."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from zlib import crc32

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin.errors import ConfigError
from streamjoin.workloads.drawing import draw_keys, require
from streamjoin.workloads.payloads import WORKLOADS, Drawn, Workload

MOST_BURST_TIMES: Final = 1000
BLOCK_ROWS = 8192
MAX_KEYS = 10_000_000


@dataclass(frozen=True)
class Burst:
    """A time in which more rows come.

    Parameters
    ----------
    at_s, lasting_s
        When it begins, in seconds after the first row, and for how long.
    times
        How many times as many rows come; less than 1 for a lull.

    Examples
    --------
    >>> Burst(at_s=30, lasting_s=20, times=0)
    Traceback (most recent call last):
    streamjoin.errors.ConfigError: burst_times: got 0; allowed: more than 0, at most 1000
    """

    at_s: float
    lasting_s: float
    times: float

    def __post_init__(self) -> None:
        require("burst_at", self.at_s, 0 <= self.at_s < np.inf, "0 or more seconds")
        lasts = 0 < self.lasting_s < np.inf
        require("burst_lasting", self.lasting_s, lasts, "more than 0 seconds")
        some = 0 < self.times <= MOST_BURST_TIMES
        require("burst_times", self.times, some, f"more than 0, at most {MOST_BURST_TIMES}")


@dataclass(frozen=True)
class Pace:
    """Which row is made when: a straight line, with a steeper piece where there is a burst.

    Examples
    --------
    >>> pace = Pace(10.0, Burst(at_s=2.0, lasting_s=1.0, times=4.0))
    >>> pace.made_us(np.array([10, 20, 40, 60, 70])).tolist()
    [1000000.0, 2000000.0, 2500000.0, 3000000.0, 4000000.0]
    >>> [pace.rows(seconds) for seconds in (1.0, 2.5, 4.0)]
    [10, 40, 70]
    """

    rate_per_second: float
    burst: Burst | None = None

    def made_us(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """When rows are made, in microseconds after the first."""
        made: NDArray[np.float64] = rows.astype(np.float64)
        if self.burst is None:
            return made * (1e6 / self.rate_per_second)
        first = self.burst.at_s * self.rate_per_second
        last = first + self.burst.lasting_s * self.rate_per_second * self.burst.times
        within = np.clip(made, first, last) - first
        return (made - within + within / self.burst.times) * (1e6 / self.rate_per_second)

    def rows(self, seconds: float) -> int:
        """How many rows are made within so many seconds."""
        rows = seconds * self.rate_per_second
        if self.burst is not None:
            within = min(max(seconds - self.burst.at_s, 0.0), self.burst.lasting_s)
            rows += within * self.rate_per_second * (self.burst.times - 1)
        return round(rows)

    def after(self, row: int, seconds: float) -> int:
        """The row that is made so many seconds after another one.

        Examples
        --------
        >>> Pace(10.0, Burst(at_s=2.0, lasting_s=1.0, times=4.0)).after(15, 1.0)
        40
        """
        return self.rows(float(self.made_us(np.array([row]))[0]) / 1e6 + seconds)


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
            raise ConfigError.at("workload", repr(self.workload), ", ".join(WORKLOADS))
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
        schema = self.settings.schema
        table = pa.Table.from_batches(self.batches(first, last), schema).combine_chunks()
        return next(iter(table.to_batches()), pa.RecordBatch.from_pylist([], schema))

    def batches(self, first: int, last: int) -> Iterator[pa.RecordBatch]:
        """Rows ``first`` to ``last`` (exclusive), a batch per block that they touch."""
        if not 0 <= first <= last:
            raise ConfigError.at("rows", f"{first} to {last}", "0 <= first <= last")
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
