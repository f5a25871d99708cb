"""Recorded streams for benchmarks: two folders of Parquet files, each with ten seconds of rows."""

from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

RATE: Final = 20_000
SECONDS_PER_FILE: Final = 10
ROWS_PER_FILE: Final = RATE * SECONDS_PER_FILE
_START_US: Final = 1_700_000_000_000_000


def record(folder: Path, files: int, keys: int) -> None:
    """Write `files` files of each side: 20,000 rows a second in order, uniform keys."""
    for seed, name in enumerate("ab", start=1):
        rng = np.random.default_rng(seed)
        target = folder / name
        target.mkdir(parents=True)
        for number in range(files):
            begin = number * SECONDS_PER_FILE * 1_000_000
            span = SECONDS_PER_FILE * 1_000_000
            times = np.sort(rng.integers(begin, begin + span, ROWS_PER_FILE)) + _START_US
            rows = pa.table(
                {
                    "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
                    "k": pa.array(rng.integers(0, keys, ROWS_PER_FILE)),
                    "v": pa.array(rng.random(ROWS_PER_FILE)),
                }
            )
            pq.write_table(rows, target / f"{number:05d}.parquet")
