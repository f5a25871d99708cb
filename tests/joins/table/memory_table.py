"""A table in memory, cut into partitions, for tests."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin.errors import TableError
from streamjoin.tables.base import Changes, KeyColumns, Located, key_numbers


@dataclass
class MemoryTable:
    """Rows and where the partitions begin; `loads` counts how often each was scanned.

    `clock` is the time in nanoseconds that scans and look-ups have taken: 2 and 1 ms each.
    """

    rows: pa.Table
    key: tuple[str, ...]
    begins: list[int]
    version: str = "1"
    loads: list[int] = field(default_factory=list)
    clock: int = 0
    is_away: bool = False
    delay: int = 0

    bytes_per_row = 50.0
    has_index = True
    knows_places = True

    @property
    def partition_rows(self) -> NDArray[np.int64]:
        return np.diff([*self.begins, self.rows.num_rows])

    def scan(self, partition: int, columns: Sequence[str] | None = None) -> pa.Table:
        self._reach()
        self.loads.append(partition)
        self.clock += 2_000_000
        found = self.rows.slice(self.begins[partition], int(self.partition_rows[partition]))
        return found if columns is None else found.select(list(columns))

    def locate(self, keys: KeyColumns) -> Located:
        mine, rows = key_numbers(keys)
        self._reach()
        theirs, places = self._numbers()
        parts = np.searchsorted(self.begins, places, side="right") - 1
        pairs = sorted(
            {
                (int(row), int(part))
                for number, row in zip(mine, rows, strict=True)
                for part in parts[theirs == number]
            }
        )
        found = np.array(pairs, np.int64).reshape(-1, 2)
        return found[:, 0], found[:, 1].astype(np.int32)

    def look_up(self, keys: KeyColumns, columns: Sequence[str] | None = None) -> pa.Table:
        mine, _ = key_numbers(keys)
        self._reach()
        self.clock += 1_000_000 * len(mine) + self.delay
        theirs, places = self._numbers()
        found = self.rows.take(pa.array(places[np.isin(theirs, mine)]))
        return found if columns is None else found.select(list(columns))

    def refresh(self) -> Changes | None:
        return None

    def touched(self, changes: Changes, keys: KeyColumns) -> NDArray[np.bool_]:
        return np.ones(len(keys[0]), np.bool_)

    def close(self) -> None:
        pass

    def _reach(self) -> None:
        if self.is_away:
            msg = "the table is away"
            raise TableError(msg)

    def _numbers(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return key_numbers([self.rows[name].combine_chunks() for name in self.key])
