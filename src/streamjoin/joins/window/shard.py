"""A window join in one shard: its own keys and the cells of hot ones, as an engine calls it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import pyarrow as pa

from streamjoin._typing import LEFT, RIGHT, SIDES
from streamjoin.errors import StateError
from streamjoin.joins.base import Env, Late, Outcome
from streamjoin.joins.columns import SIDE_NAMES
from streamjoin.joins.packed import PackedRow, unpack, unpack_spread
from streamjoin.joins.packing import StreamOperator
from streamjoin.joins.window.settings import WindowJoin, WindowJoinState
from streamjoin.joins.window.spread_join import SpreadJoinLogic, SpreadState
from streamjoin.metrics import METRIC_NAMES
from streamjoin.shedding.costs import Costs

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
        """Join a batch."""
        self._packed = packed
        self._check_hot()
        join, state = self._join, self._state
        left, right = unpack(join.streams, packed)
        cells = unpack_spread(join.streams, packed, state.watermark)
        channel = self._env.channel
        seeks = channel is not None and bool(channel.tasks)
        self._logic = SpreadJoinLogic(join, (state, self._spread), self._stores, seeks)
        for emitted in self._logic.on_batch((left, right), (cells[0], cells[1]), now_us, end):
            yield emitted.take(join.output)
        self.metrics = self._logic.metrics
        self._decide_hot()  # here, so that the batch is charged with the search

    def conclude(self, cpu_us: float) -> Outcome:
        """Take in what the batch cost; decide what is let in."""
        self._logic.charge(cpu_us)
        self.metrics = replace(self.metrics, cpu_us=round(cpu_us))
        self._decide_gate()
        counts = {name: getattr(self.metrics, name) for name in METRIC_NAMES}
        windows = zip(self._stores, (self._state.windows, self._spread.windows), strict=True)
        return Outcome(counts, self._logic.details, windows)

    def counted_us(self, costs: Costs) -> float | None:
        """What the batch cost by what operations are said to; None where nothing is limited."""
        own = self._logic.own
        return own.counted_us(costs) if own.is_limited else None

    @property
    def late(self) -> list[Late]:
        """Rows that came too late."""
        rows, sequence = self._logic.late, self._state.sequence
        return [Late(s, SIDE_NAMES[s], self._join.streams[s], rows[s], sequence) for s in SIDES]

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
        channel, batch = self._env.channel, self._env.batch
        if channel is None or not channel.tasks or batch is None:
            return
        rows = sum(r.task_rows for r in self._packed), sum(r.all_rows for r in self._packed)
        hot = self._logic.decide(batch, rows, self._env.number, channel.tasks)
        if hot is not None:
            channel.tell_hot(hot)

    def _decide_gate(self) -> None:
        """Decide what later batches let in; count this one if it took longer than its time."""
        channel = self._env.channel
        if channel is None or not channel.has_gate or self._env.number:
            return
        took = (self._env.now_us() - min(row.began for row in self._packed)) / 1e6
        gate = self._logic.decide_gate(took)
        if gate is not None:
            channel.tell_gate((gate.shares[LEFT], gate.shares[RIGHT]))
            behind = max(self.metrics.lagging, int(gate.is_behind))
            self.metrics = replace(self.metrics, lagging=behind)
