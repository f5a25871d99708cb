"""Streams and tables of the cases, in files: one file of each stream is one batch.

Whoever writes a checkpoint joins the first two batches and is stopped in the third; whoever goes on
has the third to run again, and a fourth. `n` numbers the rows of a stream, a thousand a batch, so
that a result says itself which of its rows came before the stop.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.spark.streams import write_batches

SECOND: Final = 1_000_000
STEP: Final = 10 * SECOND
"""Time that one batch brings."""
BEFORE, STOPPED, BATCHES = 2, 3, 4
KEYS: Final = 24
OTHERS: Final = 6
HOT: Final = 7
WORDS: Final = {x: "uvwyz"[x] if x < 5 else f"word {x}" for x in range(15) if x != 5}
"""Of most keys; those below 6 are as 0.1.0 had them."""
ROWS_OF_PARTITION: Final = 3
FOREVER: Final = "36500 days"
"""Longer than a checkpoint is kept."""
PARQUET, SQLITE = "table", "table.db"
Row = dict[str, Any]


@dataclass(frozen=True)
class Stream:
    """How a stream is made.

    Parameters
    ----------
    rows
        Of each batch.
    keys
        How many there are.
    hot
        Share of the rows that have the key `HOT` instead.
    back_us
        How far rows of a batch may reach back into the time of the one before.
    """

    rows: tuple[int, int, int, int] = (20, 20, 20, 20)
    keys: int = KEYS
    hot: float = 0.0
    back_us: int = 0

    def batch(self, seed: int, number: int) -> pa.Table:
        """Rows in disorder, some without a key."""
        rng, n = np.random.default_rng([seed, number]), self.rows[number]
        first = max(0, number * STEP - self.back_us)
        times = rng.integers(first, (number + 1) * STEP, n)
        keys, nulls = rng.integers(0, self.keys, n), rng.random(n) < 0.05
        others = rng.integers(0, OTHERS, n)
        keys = np.where(rng.random(n) < self.hot, HOT, keys)
        return pa.table(
            {
                "x": pa.array(keys, pa.int64(), mask=nulls),
                "y": pa.array(others, pa.int64()),
                "t": pa.array(times, pa.timestamp("us", "UTC")),
                "n": 1000 * number + np.arange(n),
            }
        )


_HOT: Final = Stream(rows=(240, 100, 100, 100), keys=40, hot=0.7, back_us=5 * SECOND)
STREAMS: Final = {
    "a": Stream(),
    "b": Stream(),
    "c": Stream(),
    "l": Stream(rows=(90, 90, 90, 90), keys=12),
    "r": Stream(rows=(60, 60, 60, 60), keys=12),
    "h": _HOT,
    "k": _HOT,
}
"""Few rows; more where less than all must be enough; many of one key."""


def write_streams(folder: Path, names: str, first: int, last: int) -> None:
    """Write the batches of some streams, from one number to before another."""
    for seed, (name, stream) in enumerate(STREAMS.items()):
        if name in names:
            batches = [stream.batch(seed, number) for number in range(first, last)]
            write_batches(folder / name, batches, first)


def write_tables(folder: Path) -> None:
    """The same table twice: as Parquet files, and in a database."""
    (folder / PARQUET).mkdir()
    rows = pa.table({"x": pa.array(WORDS, pa.int64()), "word": list(WORDS.values())})
    pq.write_table(rows, folder / PARQUET / "words.parquet", row_group_size=ROWS_OF_PARTITION)
    with sqlite3.connect(folder / SQLITE) as database:
        database.execute("CREATE TABLE words (x INTEGER PRIMARY KEY, word TEXT)")
        database.executemany("INSERT INTO words VALUES (?, ?)", WORDS.items())
    database.close()


def read_batches(folder: Path, name: str) -> list[list[Row]]:
    """Rows of a stream batch by batch, with times in microseconds."""
    return [
        [{**row, "t": round(row["t"].timestamp() * SECOND)} for row in rows.to_pylist()]
        for rows in map(pq.read_table, sorted((folder / name).iterdir()))
    ]


def read_rows(folder: Path, name: str) -> list[Row]:
    """All rows of a stream."""
    return [row for batch in read_batches(folder, name) for row in batch]


def watermark(streams: Sequence[list[Row]], lateness_us: int) -> int:
    """How far time has come when all of these rows are there."""
    reached: list[int] = [max(row["t"] for row in rows) for rows in streams]
    return min(reached) - lateness_us
