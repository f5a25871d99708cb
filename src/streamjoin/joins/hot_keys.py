"""Hot keys: rows of one key spread over several shards, each pair still once.

A key's rows belong to one shard, its *home*. From some event time on, `since`, the rows of a hot
key go to a grid of shards instead (fragment and replicate): a left row to all cells of one row of
the grid, a right row to all cells of one column, so each pair meets in one cell.

```
event time         since           since + window
home    all rows     |   copies         |   nothing
grid                 |   all rows       |   all rows
```

Pairs with a row from before `since` meet at home, which gets copies of the rows that such a row can
reach. Pairs of two later rows meet in the grid, so home leaves them out.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamjoin._typing import LEFT, Keys, Positions, Side
from streamjoin.core.batch import Batch


def describe(keys: "Sequence[HotKey]") -> str:
    """Decisions of one shard as a text to be compared."""
    return json.dumps([asdict(hot) for hot in keys], separators=(",", ":"))


@dataclass(frozen=True)
class HotKey:
    """One key that is spread.

    Parameters
    ----------
    key
        The key as 64 bits.
    since
        First event time whose rows are spread.
    batch
        Number of the batch that decided it; those after it act on it.
    columns
        Columns of the grid.
    cells
        The shard of each cell, row by row.
    """

    key: int
    since: int
    batch: int
    columns: int
    cells: tuple[int, ...]

    @property
    def rows(self) -> int:
        """Rows of the grid."""
        return len(self.cells) // self.columns

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "HotKey":
        """Read back what JSON held."""
        return cls(**{**values, "cells": tuple(values["cells"])})


class HotKeys:
    """The keys that are spread, made to be looked up.

    Examples
    --------
    >>> hot = HotKeys([HotKey(key=7, since=100, batch=3, columns=1, cells=(0, 1))])
    >>> hot.find(np.array([5, 7, 9])).tolist()
    [-1, 0, -1]
    """

    def __init__(self, keys: Sequence[HotKey]) -> None:
        ordered = sorted(keys, key=lambda hot: hot.key)
        self._keys = np.array([hot.key for hot in ordered], np.int64)
        self._since = np.array([hot.since for hot in ordered], np.int64)
        self._rows = np.array([hot.rows for hot in ordered], np.int64)
        self._columns = np.array([hot.columns for hot in ordered], np.int64)
        self._cells = np.array([cell for hot in ordered for cell in hot.cells], np.int64)
        self._begin = np.cumsum(self._rows * self._columns) - self._rows * self._columns

    def __len__(self) -> int:
        return len(self._keys)

    def find(self, keys: Keys) -> NDArray[np.int64]:
        """Which hot key each row has; -1 for none."""
        if not len(self):
            return np.full(len(keys), -1)
        at = np.minimum(np.searchsorted(self._keys, keys), len(self) - 1)
        return np.where(self._keys[at] == keys, at, -1)

    def moved(self, batch: Batch) -> NDArray[np.bool_]:
        """Which rows are spread."""
        moved = np.zeros(len(batch), np.bool_)
        at = self.find(batch.keys)
        hot = np.flatnonzero(at >= 0)
        moved[hot] = batch.times[hot] >= self._since[at[hot]]
        return moved

    def stays(self, batch: Batch, moved: NDArray[np.bool_], reach_us: int) -> NDArray[np.bool_]:
        """Which rows go home: all others, and copies that a row from before may reach."""
        rows = np.flatnonzero(moved)
        stays = ~moved
        stays[rows] = batch.times[rows] < self._since[self.find(batch.keys[rows])] + reach_us
        return stays

    def spread(
        self, batch: Batch, side: Side, moved: NDArray[np.bool_], n_shards: int
    ) -> tuple[Positions, NDArray[np.int64]]:
        """Positions of spread rows, one for each cell that a row is sent to, and where they begin.

        Those of shard s begin at entry s if they stand for their row where rows are counted, and at
        entry ``n_shards + s`` if a copy in another shard does.
        """
        rows = np.flatnonzero(moved)
        hot = self.find(batch.keys[rows])
        n_rows, n_columns = self._rows[hot], self._columns[hot]
        fragments, copies = (n_rows, n_columns) if side == LEFT else (n_columns, n_rows)
        hashes = batch.take(rows).contents.view(np.uint64)
        fragment = (hashes % fragments.astype(np.uint64)).astype(np.int64)
        entry = np.repeat(np.arange(len(rows)), copies)
        nth = np.arange(len(entry)) - np.repeat(np.cumsum(copies) - copies, copies)
        down, across = (fragment[entry], nth) if side == LEFT else (nth, fragment[entry])
        shard = self._cells[self._begin[hot][entry] + down * n_columns[entry] + across]
        slot = (shard + n_shards * (nth > 0)).astype(np.int32)
        begin = np.concatenate(([0], np.cumsum(np.bincount(slot, minlength=2 * n_shards))))
        order = np.argsort(slot, kind="stable")
        return rows[entry[order]].astype(np.int32), begin.astype(np.int64)
