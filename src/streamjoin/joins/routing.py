"""Which shards a row goes to.

Rows that must have equal keys to meet go to the shard of their key. Where no equality is asked for,
the shards form a grid (*fragment and replicate*): a left row goes to all cells of one row of it, a
right row to all cells of one column, so each pair meets in exactly one cell.

```
              right rows: column 0   column 1   column 2
left rows: row 0              cell 0     cell 1     cell 2
           row 1              cell 3     cell 4     cell 5
```

Where streams are joined on different attributes at once, the grid has one axis for each of them
(the *shares* of Afrati and Ullman). A row knows its place on the axes of its own attributes, and
goes to all cells along the others: so the rows of a result meet in exactly one cell, that of its
values.

```
a.x = b.x, b.y = c.y                  y: 0        1
                              x: 0   cell 0   cell 1     a row of a with x in 0: cells 0 and 1
                                 1   cell 2   cell 3     a row of c with y in 1: cells 1 and 3
```

Rows of one *hot* key are spread over several shards, each pair still once. A key's rows belong to
one shard, its *home*. From some event time on, `since`, the rows of a hot key go to a grid of
shards instead.

```
event time         since           since + window
home    all rows     |   copies         |   nothing
grid                 |   all rows       |   all rows
```

Pairs with a row from before `since` meet at home, which gets copies of the rows that such a row can
reach. Pairs of two later rows meet in the grid, so home leaves them out.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamjoin._typing import LEFT, RIGHT, Keys, Positions, Side
from streamjoin.core.batch import Batch
from streamjoin.core.kernels.equi import split_by_shard
from streamjoin.core.keys import column_keys
from streamjoin.joins.window.settings import How


class Split(NamedTuple):
    """Positions of rows, fragment by fragment, and where each begins (and the last ends)."""

    positions: Positions
    begin: NDArray[np.int64]

    @classmethod
    def by_number(cls, fragments: NDArray[np.integer[Any]], n: int) -> "Split":
        """Rows by the number of their fragment, of which there are n; else in their order."""
        begin = np.concatenate([[0], np.cumsum(np.bincount(fragments, minlength=n))])
        return cls(np.argsort(fragments, kind="stable").astype(np.int32), begin)


@dataclass(frozen=True)
class ByKey:
    """Each row in the shard of its key."""

    n_shards: int

    def split(self, batch: Batch, side: int) -> Split:
        """Positions by shard."""
        return Split(*split_by_shard(batch.keys, self.n_shards))

    def fragment(self, shard: int, side: int) -> int:
        """The shard's own."""
        return shard

    def copies(self, side: int) -> int:
        """To one shard."""
        return 1

    def counts(self, shard: int, side: int) -> bool:
        """Always: each row is in one shard."""
        return True

    def describe(self) -> str:
        """In words."""
        return f"{self.n_shards} by key"


@dataclass(frozen=True)
class Grid:
    """Fragment and replicate over a grid of shards.

    Examples
    --------
    >>> grid = Grid(rows=2, columns=3)
    >>> [(grid.fragment(shard, LEFT), grid.fragment(shard, RIGHT)) for shard in range(6)]
    [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    >>> grid.copies(LEFT), grid.copies(RIGHT)
    (3, 2)
    """

    rows: int
    columns: int

    @property
    def n_shards(self) -> int:
        """Number of cells."""
        return self.rows * self.columns

    def split(self, batch: Batch, side: int) -> Split:
        """Rows by what they hold; identical rows stay together."""
        n = self.rows if side == LEFT else self.columns
        return Split(*split_by_shard(batch.contents, n))

    def fragment(self, shard: int, side: int) -> int:
        """Row of the grid for the left, column for the right."""
        return shard // self.columns if side == LEFT else shard % self.columns

    def copies(self, side: int) -> int:
        """A left row is in all columns, a right row in all rows."""
        return self.columns if side == LEFT else self.rows

    def counts(self, shard: int, side: int) -> bool:
        """The first cell of each row counts for the left, of each column for the right."""
        return self.fragment(shard, RIGHT if side == LEFT else LEFT) == 0

    def describe(self) -> str:
        """In words."""
        return f"grid of {self.rows} x {self.columns}"


def grid_for(n_shards: int, how: How, rates: tuple[float, float]) -> Grid:
    """The grid that sends the fewest copies.

    A left row is sent to `columns` cells and a right row to `rows` cells. A row that may come out
    without a partner must meet the whole other side in one cell, so its side is never copied.

    Examples
    --------
    >>> grid_for(6, "inner", (1.0, 1.0)), grid_for(6, "inner", (100.0, 1.0))
    (Grid(rows=2, columns=3), Grid(rows=6, columns=1))
    >>> grid_for(6, "left", (1.0, 1.0)), grid_for(6, "full", (1.0, 1.0))
    (Grid(rows=6, columns=1), Grid(rows=1, columns=1))
    """
    if how == "full":
        return Grid(1, 1)
    if how == "right":
        return Grid(1, n_shards)
    if how != "inner":
        return Grid(n_shards, 1)
    left, right = rates
    shapes = [Grid(n, n_shards // n) for n in range(1, n_shards + 1) if n_shards % n == 0]
    return min(shapes, key=lambda shape: shape.columns * left + shape.rows * right)


@dataclass(frozen=True)
class Shares:
    """A grid of shards with an axis for each attribute.

    Parameters
    ----------
    lengths
        Of each axis.
    attributes
        For each axis, the inputs that have the attribute and the position of its column.

    Examples
    --------
    >>> grid = Shares((2, 2), ({0: 0, 1: 0}, {1: 1, 2: 0}))
    >>> [[grid.fragment(shard, side) for shard in range(4)] for side in range(3)]
    [[0, 0, 1, 1], [0, 1, 2, 3], [0, 1, 0, 1]]
    """

    lengths: tuple[int, ...]
    attributes: tuple[Mapping[int, int], ...]

    @property
    def n_shards(self) -> int:
        """Number of cells."""
        return prod(self.lengths)

    def split(self, batch: Batch, side: int) -> Split:
        """Rows by their places on the axes of their own attributes."""
        places = np.zeros(len(batch), np.int32)
        for axis in self._axes(side):
            column = batch.rows.column(self.attributes[axis][side])
            order, begin = split_by_shard(column_keys(column), self.lengths[axis])
            here = np.empty(len(batch), np.int32)
            here[order] = np.repeat(np.arange(self.lengths[axis]), np.diff(begin))
            places = places * self.lengths[axis] + here
        return Split.by_number(places, prod(self.lengths[axis] for axis in self._axes(side)))

    def fragment(self, shard: int, side: int) -> int:
        """The cell's places on the axes of a side's attributes, as one number."""
        place, fragment = self._place(shard), 0
        for axis in self._axes(side):
            fragment = fragment * self.lengths[axis] + place[axis]
        return fragment

    def counts(self, shard: int, side: int) -> bool:
        """The first of the cells that a row of a side goes to counts it."""
        mine, place = set(self._axes(side)), self._place(shard)
        return all(axis in mine or not at for axis, at in enumerate(place))

    def describe(self) -> str:
        """In words."""
        return f"grid of {' x '.join(map(str, self.lengths))} by key"

    def copies(self, side: int) -> int:
        """To how many cells a row goes."""
        return self.n_shards // prod(self.lengths[axis] for axis in self._axes(side))

    def _axes(self, side: int) -> list[int]:
        return [axis for axis, one in enumerate(self.attributes) if side in one]

    def _place(self, shard: int) -> list[int]:
        """Place of a cell on each axis."""
        return [int(at) for at in np.unravel_index(shard, self.lengths)]


Routing = ByKey | Grid | Shares
"""How rows are spread over shards: into fragments (`split`), of which each shard gets one of a side
(`fragment`) and several may get the same (`copies`), where one of them `counts` its rows."""


def shares_for(n_shards: int, attributes: Sequence[Mapping[int, int]], n_inputs: int) -> Shares:
    """A grid that sends few copies, if all streams are as fast.

    One prime factor after the other makes that axis longer which then sends the fewest.

    Examples
    --------
    >>> shares_for(4, ({0: 0, 1: 0}, {1: 1, 2: 0}), n_inputs=3).lengths
    (2, 2)
    """
    lengths = [1] * len(attributes)
    for factor in _primes(n_shards):

        def sent(axis: int, factor: int = factor) -> int:
            longer = [n * factor if i == axis else n for i, n in enumerate(lengths)]
            grid = Shares(tuple(longer), tuple(attributes))
            return sum(grid.copies(side) for side in range(n_inputs))

        lengths[min(range(len(lengths)), key=sent)] *= factor
    return Shares(tuple(lengths), tuple(attributes))


def _primes(n: int) -> list[int]:
    """The prime factors of a number, the largest first."""
    found, factor = [], 2
    while n > 1:
        while n % factor == 0:
            found.append(factor)
            n //= factor
        factor += 1
    return found[::-1]


def describe_hot(keys: "Sequence[HotKey]") -> str:
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

    def spread(self, batch: Batch, side: Side, moved: NDArray[np.bool_], n_shards: int) -> Split:
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
        split = Split.by_number(slot, 2 * n_shards)
        return Split(rows[entry[split.positions]].astype(np.int32), split.begin)


def split_hot(
    hot: HotKeys, batch: Batch, side: Side, n_shards: int, reach_us: int
) -> tuple[Split, Split] | None:
    """Positions by shard where keys are hot: of rows at home and of spread ones, if there are any.

    `reach_us` is how much later than an older row of the other side a row may match it.
    """
    moved = hot.moved(batch)
    if not moved.any():
        return None
    rows = np.flatnonzero(hot.stays(batch, moved, reach_us)).astype(np.int32)
    positions, begin = split_by_shard(batch.keys[rows], n_shards)
    return Split(rows[positions], begin), hot.spread(batch, side, moved, n_shards)
