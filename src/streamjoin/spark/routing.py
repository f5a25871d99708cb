"""Which shards a row goes to.

Rows that must have equal keys to meet go to the shard of their key. Where no equality is asked for,
the shards form a grid (*fragment and replicate*): a left row goes to all cells of one row of it, a
right row to all cells of one column, so each pair meets in exactly one cell.

```
              right rows: column 0   column 1   column 2
left rows: row 0              cell 0     cell 1     cell 2
           row 1              cell 3     cell 4     cell 5
```
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from streamjoin._typing import LEFT, RIGHT, SIDES, Positions, Side
from streamjoin.core.batch import Batch
from streamjoin.core.kernels.equi import split_by_shard
from streamjoin.joins.hot_keys import HotKeys
from streamjoin.joins.window_join import How


class Split(NamedTuple):
    """Positions of rows, fragment by fragment, and where each begins (and the last ends)."""

    positions: Positions
    begin: NDArray[np.int64]


class Routing(Protocol):
    """How rows are spread over shards."""

    @property
    def n_shards(self) -> int:
        """Number of shards."""

    def split(self, batch: Batch, side: int) -> Split:
        """Positions by fragment."""

    def fragment(self, shard: int, side: int) -> int:
        """Which fragment of a side a shard gets."""

    def counts(self, shard: int, side: int) -> bool:
        """Whether a shard is the one that counts its fragment of a side."""

    def describe(self) -> str:
        """In words."""


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

    def counts(self, shard: int, side: int) -> bool:
        """Always: each row is in one shard."""
        return True

    def describe(self) -> str:
        """In words."""
        return f"{self.n_shards} by key"


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
    return Split(rows[positions], begin), Split(*hot.spread(batch, side, moved, n_shards))


@dataclass(frozen=True)
class Grid:
    """Fragment and replicate over a grid of shards.

    Examples
    --------
    >>> grid = Grid(rows=2, columns=3)
    >>> [(grid.fragment(shard, LEFT), grid.fragment(shard, RIGHT)) for shard in range(6)]
    [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
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

    def counts(self, shard: int, side: int) -> bool:
        """The first cell of each row counts for the left, of each column for the right."""
        return self.fragment(shard, RIGHT if side == LEFT else LEFT) == 0

    def describe(self) -> str:
        """In words."""
        return f"grid of {self.rows} x {self.columns}"


def copies(routing: Routing) -> tuple[int, int]:
    """To how many shards a left and a right row is sent.

    Examples
    --------
    >>> copies(ByKey(4)), copies(Grid(rows=2, columns=3))
    ((1, 1), (3, 2))
    """
    n = routing.n_shards
    left, right = (n // len({routing.fragment(i, side) for i in range(n)}) for side in SIDES)
    return left, right


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
