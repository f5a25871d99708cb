"""The join of one shard where hot keys are spread: of its own keys, and of its cells of the grids.

Both are the same join with a directory each. They see the same times, so they have one watermark.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

import numpy as np

from streamjoin._typing import SIDES
from streamjoin.core.batch import Batch
from streamjoin.core.window import JoinedWindow
from streamjoin.joins.base import Arrival, Emitted, Pairs, WindowStore
from streamjoin.joins.routing import HotKey, HotKeys
from streamjoin.joins.window.hot_detection import LEAST_ROWS, Load, Sample
from streamjoin.joins.window.logic import WindowJoinLogic
from streamjoin.joins.window.matching import Moved
from streamjoin.joins.window.remembered import Remembered
from streamjoin.joins.window.settings import END, WindowJoin, WindowJoinState
from streamjoin.metrics import JoinCounts
from streamjoin.shedding.gate import Gate

MOST_KEYS: Final = 16
"""Keys of one shard that are ever spread: with so many, none of them is a large part of it."""


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
    windows: tuple[list[JoinedWindow], list[JoinedWindow]] = field(default_factory=lambda: ([], []))

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


class SpreadJoinLogic:
    """Joins as `WindowJoinLogic` does; keys of inner joins over time windows may become hot.

    Parameters
    ----------
    join
        Settings.
    states, stores
        Directory and place of the rows of the shard's own keys; and of those spread to it.
    seeks_hot_keys
        Whether `decide` will be asked for more of them.
    """

    def __init__(
        self,
        join: WindowJoin,
        states: tuple[WindowJoinState, SpreadState],
        stores: tuple[WindowStore, WindowStore],
        seeks_hot_keys: bool = True,
    ) -> None:
        self.join = join
        self.state, self.spread = states
        self._stores = stores
        self._sample, self._seeks_hot_keys = Sample(), seeks_hot_keys

    def on_batch(
        self,
        arrivals: tuple[Arrival, Arrival],
        spread_arrivals: tuple[Arrival, Arrival],
        now_us: int | None = None,
        end: bool = False,
    ) -> Iterator[Emitted]:
        """Join one batch; `metrics` and `late` then speak of it.

        Parameters
        ----------
        arrivals
            What each side brings of the shard's own keys, copies of spread rows among it.
        spread_arrivals
            What it brings for the shard's cells.
        now_us
            The clock, where idle sides are watched.
        end
            Whether the streams end here.
        """
        left, right = (self._without_late_copies(arrival) for arrival in arrivals)
        self._arrivals = left, right
        self.own = own = WindowJoinLogic(self.join, self.state, self._stores[0], self._moved())
        twin = self.state.with_windows(self.spread.windows)
        cells = WindowJoinLogic(self.join, twin, self._stores[1])
        for emitted in own.on_batch(self._arrivals, now_us, end):
            if self._seeks_hot_keys and isinstance(emitted, Pairs):
                self._sample.add_pairs(emitted)
            yield emitted
        self.metrics = own.metrics + JoinCounts(hot_keys=len(self.spread.keys))
        self.details = own.details
        self.late = own.late
        if any(self.spread.windows) or any(len(a.batch) for a in spread_arrivals):
            yield from cells.on_batch(spread_arrivals, now_us, end)
            self.metrics += cells.metrics
            self.details += cells.details
            self.late = own.late[0].and_also(cells.late[0]), own.late[1].and_also(cells.late[1])

    def charge(self, cpu_us: float) -> None:
        """Tell what the batch cost, where the next one is to be regulated by that."""
        self.own.charge(cpu_us)

    def decide_gate(self, took: float) -> Gate | None:
        """Tell how many seconds the batch took; what map tasks are to let in."""
        return self.own.decide_gate(took)

    def decide(
        self, batch: int, rows: tuple[int, int], home: int, tasks: Sequence[Sequence[int]]
    ) -> HotKey | None:
        """Spread one more key if that pays; to be asked after a batch.

        Parameters
        ----------
        batch
            Its number.
        rows
            Rows that came to the shards of this one's task, and to all shards.
        home
            Number of this shard.
        tasks
            Numbers of the shards of each task.
        """
        found = self._heaviest()
        if found is None or len(self.spread.keys) >= MOST_KEYS:
            return None
        key, left, right, pairs = found
        own = self.metrics.rows_left + self.metrics.rows_right, self.metrics.work
        load = Load(left, right, pairs, *own, *rows, n_tasks=len(tasks))
        shape = load.best_shape()
        if left + right < LEAST_ROWS or not load.pays(shape):
            return None
        cells = choose_cells(home, tasks)[: shape.rows * shape.columns]
        hot = HotKey(key, self._newest(key) + 1, batch, shape.columns, cells)
        self.spread.keys.append(hot)
        return hot

    def _heaviest(self) -> tuple[int, int, int, float] | None:
        """The key that keeps this shard busiest, its rows of each side and its pairs."""
        if any(arrival.latest is None for arrival in self._arrivals):
            return None  # the shape of a grid needs both sides
        for arrival in self._arrivals:
            self._sample.add_rows(arrival.batch)
        found = self._sample.heaviest(but=[hot.key for hot in self.spread.keys])
        if found is None:
            return None
        key, pairs = found
        left, right = (int(np.count_nonzero(a.batch.keys == key)) for a in self._arrivals)
        return key, left, right, pairs

    def _newest(self, key: int) -> int:
        """The largest time of a key's rows that are here: what comes later can be spread.

        Only basic windows that may hold a newer row are read.
        """
        newest = max(_last(arrival.batch, key) for arrival in self._arrivals)
        remembered = Remembered(self.join, self.state, self._stores[0])
        for side in SIDES:
            for part in remembered.parts(side, newest + 1, END):
                newest = max(newest, _last(part.batch, key))
        return newest

    def _moved(self) -> Moved | None:
        """Which rows the grids join, as long as home has copies of such rows."""
        watermark, reach = (
            self.state.watermark,
            self.join.left.window_us + self.join.right.window_us,
        )
        settling = [
            k for k in self.spread.keys if watermark is None or watermark <= k.since + reach
        ]
        return HotKeys(settling).moved if settling else None

    def _without_late_copies(self, arrival: Arrival) -> Arrival:
        """A late row of a hot key counts in a cell of its grid, not here."""
        watermark = self.state.watermark
        if watermark is None or not self.spread.keys:
            return arrival
        batch = arrival.batch
        keep = np.ones(len(batch), np.bool_)
        late = batch.slice(0, int(np.searchsorted(batch.times, watermark)))
        keep[: len(late)] = ~HotKeys(self.spread.keys).moved(late)
        return replace(arrival, batch=batch.where(keep))


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


def _last(batch: Batch, key: int) -> int:
    times = batch.times[batch.keys == key]
    return int(times.max()) if len(times) else -END
