"""Recorded streams for benchmarks: two folders of Parquet files, one for each side."""

from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from streamjoin.workloads.rotating_sets import RotatingSets

RATE: Final = 20_000
SECONDS_PER_FILE: Final = 10
ROWS_PER_FILE: Final = RATE * SECONDS_PER_FILE
HOT_KEY: Final = 0
_START_US: Final = 1_700_000_000_000_000
_MS: Final = (
    1000  # times are whole milliseconds, as Spark's watermark is: both agree on what passed
)


def record(
    folder: Path,
    files: int,
    keys: int,
    *,
    rate: int = RATE,
    hot: tuple[float, ...] = (0.0, 0.0),
) -> None:
    """Write `files` files of each side: `rate` rows a second in order, uniform keys.

    There are as many sides as `hot` has numbers, called a, b and so on. The share ``hot[side]`` of
    a side's rows has the same key, `HOT_KEY`; the keys of the others stay uniform. Column ``v`` is
    uniform between 0 and 1.
    """
    n_rows, span = rate * SECONDS_PER_FILE, SECONDS_PER_FILE * 1_000_000
    for side, name in enumerate("abcdefgh"[: len(hot)]):
        rng = np.random.default_rng(side + 1)
        target = folder / name
        target.mkdir(parents=True)
        for number in range(files):
            times = np.sort(rng.integers(number * span, (number + 1) * span, n_rows)) // _MS * _MS
            drawn = rng.integers(0, keys, n_rows)
            values = rng.random(n_rows)
            drawn[rng.random(n_rows) < hot[side]] = HOT_KEY
            rows = pa.table(
                {
                    "ts": pa.array(times + _START_US, pa.timestamp("us", tz="UTC")),
                    "k": pa.array(drawn),
                    "v": pa.array(values),
                }
            )
            pq.write_table(rows, target / f"{number:05d}.parquet")


def record_sets(folder: Path, files: int, rate: int, keys: int) -> None:
    """Write `files` files of each side, a second of rotating sets each (GED-D1, D2), with a key.

    Windows of 20 seconds match best at an age of 15 in that of the right stream.
    """
    for side, name in enumerate("ab"):
        cycle, shift = 40.0, 25.0 * side
        drawn = RotatingSets(
            ((float(files), float(rate)),), skew=0.8, cycle_s=cycle, shift_s=shift, seed=side
        ).draw()
        drawn_keys = np.random.default_rng(side + 10).integers(0, keys, len(drawn))
        rows = pa.table(
            {
                "ts": pa.array(drawn.times // _MS * _MS + _START_US, pa.timestamp("us", tz="UTC")),
                "k": pa.array(drawn_keys),
                "s": pa.ListArray.from_arrays(
                    pa.array(drawn.offsets.astype(np.int32)),
                    pa.array(drawn.items.astype(np.int32)),
                ),
            }
        )
        target = folder / name
        target.mkdir(parents=True)
        for number, second in enumerate(drawn.times // 1_000_000 == at for at in range(files)):
            pq.write_table(rows.filter(pa.array(second)), target / f"{number:05d}.parquet")
