"""A window join in one shard, as an engine calls it: of its own keys, and of its cells of grids.

Where hot keys are spread, both are the same join with a directory each. They see the same times, so
they have one watermark.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa

from streamjoin._typing import LEFT, RIGHT, SIDES, both
from streamjoin.core.batch import Batch
from streamjoin.errors import StateError
from streamjoin.joins.base import Arrival, Env, Late, Outcome, Pairs
from streamjoin.joins.columns import SIDE_NAMES
from streamjoin.joins.packed import PackedRow, unpack, unpack_spread
from streamjoin.joins.packing import StreamOperator
from streamjoin.joins.routing import HotKey, HotKeys
from streamjoin.joins.window.logic import WindowJoinLogic
from streamjoin.joins.window.matching import Moved
from streamjoin.joins.window.remembered import Remembered
from streamjoin.joins.window.settings import END, WindowJoin, WindowJoinState
from streamjoin.joins.window.spread_join import MOST_KEYS, Load, Sample, SpreadState, choose_cells
from streamjoin.metrics import METRIC_NAMES, JoinCounts

SPREAD: Final = 16
"""First number in the keys of the store of rows that were spread to a shard."""


@dataclass(frozen=True)
class WindowOperator(StreamOperator):
    """A window join."""

    join: WindowJoin

    counted_inputs = SIDE_NAMES
    counter_names = METRIC_NAMES

    def build(self, values: dict[str, Any] | None, env: Env) -> "WindowShard":
        """The logic of one shard."""
        if values is None:
            return WindowShard(self.join, (WindowJoinState(), SpreadState()), env)
        own = {name: value for name, value in values.items() if name != "spread"}
        spread = values.get("spread")
        cells = SpreadState() if spread is None else SpreadState.from_dict(spread)
        return WindowShard(self.join, (WindowJoinState.from_dict(own), cells), env)


class WindowShard:
    """The `JoinLogic` of a window join.

    Decides from the committed state and the batch alone, so a batch that is run again gives the
    same rows.
    """

    def __init__(
        self, join: WindowJoin, states: tuple[WindowJoinState, SpreadState], env: Env
    ) -> None:
        self._join, self._env = join, env
        self._state, self._spread = states
        self._stores = env.store(0), env.store(SPREAD)

    def on_batch(
        self, packed: Sequence[PackedRow], now_us: int | None, end: bool = False
    ) -> Iterator[list[pa.Array]]:
        """Join a batch: of the shard's own keys, copies of spread rows among them; of its cells."""
        self._packed, self._sample = packed, Sample()
        self._check_hot()
        join, spread, channel = self._join, self._spread, self._env.channel
        seeks = channel is not None and bool(channel.tasks)
        cells = unpack_spread(join.streams, packed, self._state.watermark)
        left, right = unpack(join.streams, packed)
        self._arrivals = self._without_late_copies(left), self._without_late_copies(right)
        twin = self._state.with_windows(spread.windows)
        own = WindowJoinLogic(join, self._state, self._stores[0], self._moved(), self._env.cpu)
        self._own = own
        for emitted in own.on_batch(self._arrivals, now_us, end):
            if seeks and isinstance(emitted, Pairs):
                self._sample.add_pairs(emitted)
            yield emitted.take(join.output)
        self.metrics = own.metrics + JoinCounts(hot_keys=len(spread.keys))
        self._details, self._late = own.details, own.late
        if any(spread.windows) or any(len(arrival.batch) for arrival in cells):
            others = WindowJoinLogic(join, twin, self._stores[1])
            for emitted in others.on_batch((cells[0], cells[1]), now_us, end):
                yield emitted.take(join.output)
            self.metrics += others.metrics
            self._details += others.details
            self._late = both(lambda side: own.late[side].and_also(others.late[side]))
        self._decide_hot()  # here, so that the batch is charged with the search

    def conclude(self, cpu_us: float) -> Outcome:
        """Take in what the batch cost; decide what is let in."""
        self.metrics = replace(self.metrics, cpu_us=round(self._own.charge(cpu_us)))
        self._decide_gate()
        counts = {name: getattr(self.metrics, name) for name in METRIC_NAMES}
        windows = zip(self._stores, (self._state.windows, self._spread.windows), strict=True)
        return Outcome(counts, self._details, windows)

    @property
    def late(self) -> list[Late]:
        """Rows that came too late."""
        streams, rows, sequence = self._join.streams, self._late, self._state.sequence
        return [Late(s, SIDE_NAMES[s], streams[s], rows[s], sequence) for s in SIDES]

    def to_dict(self) -> dict[str, Any]:
        """The directory."""
        directory = self._state.to_dict()
        return {**directory, "spread": self._spread.to_dict()} if self._spread else directory

    def _check_hot(self) -> None:
        channel = self._env.channel
        if channel is not None and channel.tasks:
            channel.check_hot(self._spread.keys, {row.known for row in self._packed})
        elif self._spread:
            raise StateError(
                "hot_keys: the checkpoint holds keys that are spread over shards; allowed: a folder"
                " that all machines see, as before"
            )

    def _decide_hot(self) -> None:
        """Spread one more key if that pays."""
        channel, batch, counts = self._env.channel, self._env.batch, self.metrics
        if channel is None or not channel.tasks or batch is None:
            return
        found = self._heaviest()
        if found is None or len(self._spread.keys) >= MOST_KEYS:
            return
        own = counts.rows_left + counts.rows_right, counts.work
        rows = sum(r.task_rows for r in self._packed), sum(r.all_rows for r in self._packed)
        key, left, right, pairs = found
        load = Load(left, right, pairs, *own, *rows, n_tasks=len(channel.tasks))
        shape = load.best_shape()
        if load.pays(shape):
            cells = choose_cells(self._env.number, channel.tasks)[: shape.rows * shape.columns]
            hot = HotKey(key, self._newest(key) + 1, batch, shape.columns, cells)
            self._spread.keys.append(hot)
            channel.tell_hot(hot)

    def _heaviest(self) -> tuple[int, int, int, float] | None:
        """The key that keeps this shard busiest, its rows of each side and its pairs."""
        if any(arrival.latest is None for arrival in self._arrivals):
            return None  # the shape of a grid needs both sides
        for arrival in self._arrivals:
            self._sample.add_rows(arrival.batch)
        found = self._sample.heaviest(but=[hot.key for hot in self._spread.keys])
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
        remembered = Remembered(self._join, self._state, self._stores[0])
        for side in SIDES:
            for part in remembered.parts(side, newest + 1, END):
                newest = max(newest, _last(part.batch, key))
        return newest

    def _moved(self) -> Moved | None:
        """Which rows the grids join, as long as home has copies of such rows."""
        watermark, reach = self._state.watermark, sum(self._join.windows_us)
        settling = [
            k for k in self._spread.keys if watermark is None or watermark <= k.since + reach
        ]
        return HotKeys(settling).moved if settling else None

    def _without_late_copies(self, arrival: Arrival) -> Arrival:
        """A late row of a hot key counts in a cell of its grid, not here."""
        watermark = self._state.watermark
        if watermark is None or not self._spread.keys:
            return arrival
        batch = arrival.batch
        keep = np.ones(len(batch), np.bool_)
        late = batch.slice(0, int(np.searchsorted(batch.times, watermark)))
        keep[: len(late)] = ~HotKeys(self._spread.keys).moved(late)
        return replace(arrival, batch=batch.where(keep))

    def _decide_gate(self) -> None:
        """Decide what later batches let in; count this one if it took longer than its time."""
        channel = self._env.channel
        if channel is None or not channel.has_gate or self._env.number:
            return
        took = (self._env.now_us() - min(row.began for row in self._packed)) / 1e6
        gate = self._own.decide_gate(took)
        if gate is not None:
            channel.tell_gate((gate.shares[LEFT], gate.shares[RIGHT]))
            behind = max(self.metrics.lagging, int(gate.is_behind))
            self.metrics = replace(self.metrics, lagging=behind)


def _last(batch: Batch, key: int) -> int:
    times = batch.times[batch.keys == key]
    return int(times.max()) if len(times) else -END
