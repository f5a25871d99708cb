"""Recorded streams for benchmarks: folders of Parquet files, one for each side."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from papers.gedik.rotating_sets import RotatingSets
from streamjoin._typing import Keys, Times

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
            pq.write_table(_rows(times, drawn, values), target / f"{number:05d}.parquet")


def _rows(times: Times, keys: Keys, values: NDArray[np.float64]) -> pa.Table:
    return pa.table(
        {
            "ts": pa.array(times + _START_US, pa.timestamp("us", tz="UTC")),
            "k": pa.array(keys),
            "v": pa.array(values),
        }
    )


@dataclass(frozen=True)
class GroupedKeys:
    """Streams that have some of their keys in common.

    Parameters
    ----------
    rows
        Rows of a file of each stream, by its name.
    seconds
        Of event time that a file covers.
    groups
        How many keys each group has, by the streams that have them, such as ``"ab"``. A row has a
        key of one of its stream's groups, all of them alike.
    """

    rows: Mapping[str, int]
    seconds: float
    groups: Mapping[str, int]

    def tables(self, number: int) -> dict[str, pa.Table]:
        """Rows of one file of each stream, in order."""
        return {name: self._table(name, number) for name in self.rows}

    def _table(self, name: str, number: int) -> pa.Table:
        rng = np.random.default_rng([ord(name), number])
        n, span = self.rows[name], round(self.seconds * 1_000_000)
        times = np.sort(rng.integers(number * span, (number + 1) * span, n)) // _MS * _MS
        sizes = np.array(list(self.groups.values()))
        mine = rng.choice([i for i, group in enumerate(self.groups) if name in group], n)
        keys = rng.integers(0, sizes[mine]) * len(sizes) + mine
        return _rows(times, keys, rng.random(n))

    def record(self, folder: Path, files: int) -> None:
        """Write `files` files of each stream."""
        for name in self.rows:
            (folder / name).mkdir(parents=True)
        for number in range(files):
            for name, rows in self.tables(number).items():
                pq.write_table(rows, folder / name / f"{number:05d}.parquet")


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
