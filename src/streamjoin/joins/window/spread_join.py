"""Which key of a shard is hot, and over which shards its rows are spread.

It is found by a sample of a batch, and spread if that makes the busiest task less busy. A shard
knows its own rows and pairs, and how many rows went to which task. So it is assumed that its other
rows find as many pairs as those of other shards.
"""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamjoin._typing import LEFT, Keys
from streamjoin.core.batch import Batch
from streamjoin.core.window import JoinedWindow
from streamjoin.joins.base import Pairs
from streamjoin.joins.routing import HotKey
from streamjoin.joins.window.settings import WindowJoin, Windows

MOST_KEYS: Final = 16
"""Keys of one shard that are ever spread: with so many, none of them is a large part of it."""
SAMPLE: Final = 1024
"""Rows of a side that are looked at, and pairs of each piece: a key worth spreading has many."""
LEAST_ROWS: Final = 256
"""Rows of a key in one batch below which chance may have made it hot."""
GAIN: Final = 1.1
"""How much less the busiest task must do for a key to be spread."""
_GOLDEN: Final = 0.6180339887498949


def can_spread(join: WindowJoin) -> bool:
    """Whether hot keys of a join may be spread.

    A row that may come out without a partner must meet all of the other side in one shard, and a
    window that counts rows must see them in one order. With a budget each shard leaves out rows of
    its own keys.
    """
    exact = join.shedding is None
    return exact and join.how == "inner" and bool(join.left.key) and not join.is_ordered


@dataclass
class SpreadState:
    """What the directory holds of hot keys.

    Parameters
    ----------
    keys
        Those whose home this shard is, in the order in which they became hot.
    windows
        The basic windows of rows that were spread to this shard.
    """

    keys: list[HotKey] = field(default_factory=list)
    windows: Windows = field(default_factory=lambda: ([], []))

    def __bool__(self) -> bool:
        return bool(self.keys or any(self.windows))

    def to_dict(self) -> dict[str, Any]:
        """Values that JSON can hold."""
        windows = [[list(asdict(w).values()) for w in side] for side in self.windows]
        return {"keys": [asdict(hot) for hot in self.keys], "windows": windows}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "SpreadState":
        """Read `to_dict` back."""
        left, right = ([JoinedWindow.of(w) for w in side] for side in values["windows"])
        return cls([HotKey.from_dict(hot) for hot in values["keys"]], (left, right))


def choose_cells(home: int, tasks: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """One shard of each task, beginning at the task of a key's home.

    Keys of different homes take different shards of a task that has several.

    Examples
    --------
    >>> choose_cells(3, [[0, 3], [1, 4], [2]])
    (3, 4, 2)
    """
    first = next(i for i, shards in enumerate(tasks) if home in shards)
    turned = [*tasks[first:], *tasks[:first]]
    return tuple(shards[home // len(tasks) % len(shards)] for shards in turned)


class Sample:
    """Keys of some rows and pairs of a batch, each standing for many."""

    def __init__(self) -> None:
        self._seen: list[tuple[Keys, NDArray[np.float64], NDArray[np.float64]]] = []

    def add_rows(self, batch: Batch) -> None:
        """Look at arrivals."""
        if len(batch):
            at = _positions(len(batch))
            self._add(batch.keys[at], rows=len(batch), pairs=0)

    def add_pairs(self, pairs: Pairs) -> None:
        """Look at results."""
        if len(pairs):
            at = pairs.positions[LEFT][_positions(len(pairs))]
            self._add(pairs.batches[LEFT].keys[at], rows=0, pairs=len(pairs))

    def _add(self, keys: Keys, rows: int, pairs: int) -> None:
        n = len(keys)
        self._seen.append((keys, np.full(n, rows / n), np.full(n, pairs / n)))

    def heaviest(self, but: Collection[int]) -> tuple[int, float] | None:
        """The key of most rows and pairs that is not among some, and how many pairs it has."""
        if not self._seen:
            return None
        seen, *counts = (np.concatenate(arrays) for arrays in zip(*self._seen, strict=True))
        keys, of = np.unique(seen, return_inverse=True)
        rows, pairs = (np.bincount(of, weights) for weights in counts)
        work = np.where(np.isin(keys, list(but)), -1.0, rows + pairs)
        top = int(np.argmax(work))
        return None if work[top] < 0 else (int(keys[top]), float(pairs[top]))


def _positions(n: int) -> NDArray[np.int64]:
    """Positions spread evenly, in no rhythm that rows may have; always the same ones."""
    if n <= SAMPLE:
        return np.arange(n)
    return (np.arange(1, SAMPLE + 1) * _GOLDEN % 1.0 * n).astype(np.int64)


class Shape(NamedTuple):
    """Rows and columns of a grid."""

    rows: int
    columns: int


@dataclass(frozen=True)
class Load:
    """What a key, its home and the tasks of a join had to do in one batch.

    Parameters
    ----------
    left, right, pairs
        Rows and pairs of the key.
    own_rows, own_work
        Rows that came to its home, and rows and pairs together.
    task_rows, all_rows
        Rows that came to all shards of the home's task, and to all shards; copies among them.
    n_tasks
        Number of tasks.
    """

    left: int
    right: int
    pairs: float
    own_rows: int
    own_work: int
    task_rows: int
    all_rows: int
    n_tasks: int

    def in_cell(self, shape: Shape) -> float:
        """What one cell of a grid would have to do for the key."""
        both = self.pairs / (shape.rows * shape.columns)
        return self.left / shape.rows + self.right / shape.columns + both

    def best_shape(self) -> Shape:
        """The grid of at most a cell for each task in which each has the least to do.

        Examples
        --------
        >>> Load(900, 0, 0, 1000, 1000, 1000, 5000, n_tasks=7).best_shape()
        Shape(rows=7, columns=1)
        >>> Load(500, 400, 0, 1000, 1000, 1000, 5000, n_tasks=7).best_shape()
        Shape(rows=3, columns=2)
        """
        n = self.n_tasks
        return min((Shape(rows, n // rows) for rows in range(1, n + 1)), key=self.in_cell)

    def pays(self, shape: Shape) -> bool:
        """Whether to spread the key: if the task of its home then has much less to do.

        Work that copies make falls to all tasks. So the more copies, the larger a key must be: else
        of many keys of one size, of which some task has a few more, all would be spread in the end.

        Examples
        --------
        >>> load = Load(300, 0, 0, 1150, 1150, task_rows=1150, all_rows=2000, n_tasks=2)
        >>> load.pays(load.best_shape())
        True
        >>> load = Load(50, 50, 0, 1050, 1050, task_rows=1050, all_rows=2000, n_tasks=2)
        >>> load.pays(load.best_shape())
        False
        """
        if self.left + self.right < LEAST_ROWS:
            return False
        work = self.left + self.right + self.pairs
        rest, rest_rows = self.own_work - work, self.own_rows - self.left - self.right
        a_row = max(1.0, rest / rest_rows) if rest_rows >= LEAST_ROWS else 1.0
        beside = (self.task_rows - self.own_rows) * a_row
        others = (self.all_rows - self.task_rows) * a_row / (self.n_tasks - 1)
        before = self.own_work + beside
        after = max(rest + beside, others) + self.in_cell(shape)
        copies = shape.rows * shape.columns * self.in_cell(shape) - work
        mean = (before + others * (self.n_tasks - 1)) / self.n_tasks
        return before >= GAIN * after and work * work >= mean * copies / 3
