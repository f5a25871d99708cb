"""An operator of a join of many streams in one shard, as an engine calls it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import pyarrow as pa

from streamjoin.core.window import BasicWindow
from streamjoin.joins.base import Env, Late, WindowStore
from streamjoin.joins.multi.logic import MultiJoinLogic
from streamjoin.joins.multi.settings import MultiJoin
from streamjoin.joins.multi.states import MultiJoinState
from streamjoin.joins.packed import PackedRow, unpack
from streamjoin.metrics import Details
from streamjoin.planning.many.tree import Tree
from streamjoin.shedding.plans import Observed, Whole


class PlanShard:
    """The `JoinLogic` of an operator.

    Decides from the committed state, the batch, the settings (costs of operations are among these)
    and what the channel held of the batch before, so a batch that is run again gives the same rows.
    """

    waits = False

    def __init__(self, join: MultiJoin, values: dict[str, Any] | None, env: Env) -> None:
        self._join, self._env, self._store = join, env, env.store(0)
        self._state = (
            MultiJoinState.of(join) if values is None else MultiJoinState.from_dict(values)
        )
        self._logic = MultiJoinLogic(join, self._state, self._store, self._whole())

    def on_batch(
        self, packed: Sequence[PackedRow], now_us: int | None, end: bool = False
    ) -> Iterator[list[pa.Array]]:
        """Join a batch."""
        return self._logic.on_batch(unpack(self._join.streams, packed), now_us, end)

    def charge(self, cpu_us: float) -> None:
        """Tell what the batch cost; tell the other operators, and people, what was learnt."""
        self._logic.charge(cpu_us)
        channel, measured = self._env.channel, self._logic.measured
        if channel is None or measured is None or self._env.batch is None:
            return
        if self._join.plan is not None:
            channel.tell_measured(asdict(measured))
        limits = self._state.limits
        if self._logic.counts["analysed"] and limits is not None and not self._join.is_partial:
            streams = self._join.counted_inputs
            tree = self._join.plan[0] if self._join.plan else Tree.parse(self._state.tree, streams)
            channel.log(limits.told([tree.label(node) for node in range(tree.root)]))

    @property
    def counts(self) -> Mapping[str, float]:
        """What happened in the batch."""
        return self._logic.counts

    @property
    def details(self) -> Details:
        """What else is to be told of it; allowances are told by the last operator of a plan."""
        details = self._logic.details
        return replace(details, allowances={}) if self._join.is_partial else details

    @property
    def late(self) -> list[Late]:
        """Rows of the streams that came too late."""
        late = enumerate(zip(self._join.inputs, self._logic.late, strict=True))
        return [Late(i, x.name, x.stream, rows) for i, (x, rows) in late if x.end is None]

    @property
    def sequence(self) -> int:
        """How many batches there were."""
        return self._state.sequence

    @property
    def marks(self) -> tuple[int | None, ...]:
        """How far this operator has come, if another one follows."""
        return (self._state.watermark, self._state.newest) if self._join.is_partial else ()

    def to_dict(self) -> dict[str, Any]:
        """The directory."""
        return self._state.to_dict()

    def remembered(self) -> Iterable[tuple[WindowStore, Sequence[Sequence[BasicWindow]]]]:
        """The pieces of the streams and of partial results."""
        return [(self._store, self._state.pieces), (self._store, self._state.carried)]

    def _whole(self) -> Whole | None:
        """The plan that this is a part of, and what it showed in the batch before."""
        channel = self._env.channel
        if channel is None or self._join.plan is None:
            return None
        observed, measured = None, channel.measured()
        if measured is not None:
            parts = [Observed(**one) for one in measured]
            observed = Observed.together(parts, self._env.n_shards)
        return Whole(*self._join.plan, observed)
