"""Recorded tables and streams for joins with a table: customers, and orders that name one each.

A customer takes about 120 bytes (NAE-A20). Customers are on disk in random order, and which of them
order often is random too (NAE-D1).
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from papers.naeem.foreign_keys import ForeignKeys
from streamjoin._typing import Keys

ROW_BYTES: Final = 120
KEY: Final = "id"
ON: Final = "customer"
"""The key of the table, and the column of the stream that refers to it."""
ORDER: Final = "number"
"""Column of the stream that tells its rows apart."""
STREAM: Final = pa.schema({ON: pa.int64(), ORDER: pa.int64(), "amount": pa.float64()})
_PER_FILE: Final = 1_000_000
_LETTERS: Final = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz 01234", np.uint8)
_SEGMENTS: Final = ("building", "furniture", "machinery", "household", "automobile")
_DRAWN: Final = 1_000_000
"""Keys that are drawn at once."""


def customers(n_rows: int, seed: int = 1) -> Iterator[pa.Table]:
    """The table, a million rows at a time: keys 0 to `n_rows` - 1 in random order.

    Examples
    --------
    >>> (table,) = customers(1000)
    >>> table.num_rows, round(table.nbytes / 1000)
    (1000, 120)
    """
    rng = np.random.default_rng(seed)
    keys = rng.permutation(n_rows)
    for start in range(0, n_rows, _PER_FILE):
        some = keys[start : start + _PER_FILE]
        n = len(some)
        segments = pa.DictionaryArray.from_arrays(rng.integers(0, 5, n), _SEGMENTS)
        yield pa.table(
            {
                KEY: some,
                "name": _texts(rng, n, 21),
                "address": _texts(rng, n, 38),
                "phone": _texts(rng, n, 16),
                "segment": segments.dictionary_decode(),
                "balance": rng.normal(4000, 2000, n).round(2),
                "since": pa.array(rng.integers(10_000, 20_000, n).astype(np.int32), pa.date32()),
            }
        )


def _texts(rng: np.random.Generator, n: int, width: int) -> pa.Array:
    """Random texts of equal length, without making Python's."""
    letters = _LETTERS[rng.integers(0, len(_LETTERS), n * width, np.uint8)]
    ends = np.arange(0, (n + 1) * width, width, dtype=np.int32)
    return pa.StringArray.from_buffers(n, pa.py_buffer(ends), pa.py_buffer(letters))


def record_customers(folder: Path, n_rows: int, group_rows: int) -> None:
    """Write the table, a million rows a file."""
    folder.mkdir(parents=True)
    for number, table in enumerate(customers(n_rows)):
        pq.write_table(table, folder / f"{number:05d}.parquet", row_group_size=group_rows)


class Orders:
    """A stream without an end: each row names a customer.

    Parameters
    ----------
    n_keys, skew
        Customers that there are, and Zipf's exponent.

    Examples
    --------
    >>> orders = Orders(n_keys=1000, skew=1.0)
    >>> orders.take(3).num_rows, orders.take(2)["number"].to_pylist()
    (3, [3, 4])
    """

    def __init__(self, n_keys: int, skew: float) -> None:
        self._keys = ForeignKeys(n_keys, skew, seed=2)
        self._drawn: Keys = np.empty(0, np.int64)
        self._part = self._taken = 0

    def take(self, n: int) -> pa.Table:
        """The next rows."""
        while len(self._drawn) < n:
            more = self._keys.draw(max(n, _DRAWN), self._part).astype(np.int64)
            self._drawn = np.concatenate([self._drawn, more])
            self._part += 1
        keys, self._drawn = self._drawn[:n], self._drawn[n:]
        numbers = np.arange(self._taken, self._taken + n)
        self._taken += n
        return pa.table([keys, numbers, (numbers % 1000) / 8], schema=STREAM)

    def record(self, folder: Path, files: int, rows: int) -> None:
        """Write the next rows as so many files."""
        folder.mkdir(parents=True)
        for number in range(files):
            pq.write_table(self.take(rows), folder / f"{number:05d}.parquet")
