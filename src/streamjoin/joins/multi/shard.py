"""An operator of a join of many streams in one shard, as an engine calls it."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import pyarrow as pa

from streamjoin.joins.base import MARK, Env, Late, Outcome, OutputColumn
from streamjoin.joins.multi.logic import MultiJoinLogic
from streamjoin.joins.multi.operators import NEWEST, REACHED
from streamjoin.joins.multi.settings import MultiJoin
from streamjoin.joins.multi.states import MultiJoinState
from streamjoin.joins.packed import PackedRow, unpack
from streamjoin.joins.packing import StreamOperator
from streamjoin.metrics.catalogue import many_stream_counters
from streamjoin.planning.many.tree import Tree
from streamjoin.shedding.plans import Observed, Whole


@dataclass(frozen=True)
class PlanOperator(StreamOperator):
    """One operator of a plan."""

    join: MultiJoin
    # The whole plan, and this operator's nodes in it; None if it is the only one.
    plan: tuple[Tree, tuple[int, ...]] | None = None

    @property
    def output(self) -> tuple[OutputColumn, ...]:
        """Columns of the result, and how far this operator has come if another one follows."""
        if not self.join.is_partial:
            return self.join.output
        marks = (OutputColumn(0, MARK, name, pa.int64()) for name in (REACHED, NEWEST))
        return (*self.join.output, *marks)

    @property
    def counted_inputs(self) -> tuple[str, ...]:
        """Names of the streams, and of partial results."""
        return self.join.names

    @property
    def counter_names(self) -> tuple[str, ...]:
        """What is counted."""
        return many_stream_counters(self.counted_inputs)

    def build(self, values: dict[str, Any] | None, env: Env) -> "PlanShard":
        """The logic of one shard."""
        known = MultiJoinState.of(self.join) if values is None else MultiJoinState.from_dict(values)
        return PlanShard(self, known, env)


class PlanShard:
    """The `JoinLogic` of an operator.

    Decides from the committed state, the batch, the settings (costs of operations are among these)
    and what the channel held of the batch before, so a batch that is run again gives the same rows.
    """

    def __init__(self, operator: PlanOperator, state: MultiJoinState, env: Env) -> None:
        self._join, self._plan, self._env = operator.join, operator.plan, env
        self._state = state
        self._store = env.store(0)
        self._logic = MultiJoinLogic(self._join, self._state, self._store, self._whole(), env.cpu)

    def on_batch(
        self, packed: Sequence[PackedRow], now_us: int | None, end: bool = False
    ) -> Iterator[list[pa.Array]]:
        """Join a batch."""
        return self._logic.on_batch(unpack(self._join.streams, packed), now_us, end)

    def conclude(self, cpu_us: float) -> Outcome:
        """Take in what the batch cost; tell the other operators, and people, what was learnt."""
        self._logic.charge(cpu_us)
        self._tell()
        state, details = self._state, self._logic.details
        pieces = [(self._store, state.pieces), (self._store, state.carried)]
        if not self._join.is_partial:
            return Outcome(self._logic.counts, details, pieces)
        # The last operator of a plan tells the allowances.
        details, marks = replace(details, allowances={}), (state.watermark, state.newest)
        return Outcome(self._logic.counts, details, pieces, marks)

    def _tell(self) -> None:
        channel, measured = self._env.channel, self._logic.measured
        if channel is None or measured is None or not self._env.is_live:
            return
        if self._plan is not None:
            channel.tell_measured(asdict(measured))
        limits = self._state.limits
        if self._logic.counts["analysed"] and limits is not None and not self._join.is_partial:
            streams = self._join.names
            tree = self._plan[0] if self._plan else Tree.parse(self._state.tree, streams)
            channel.log(limits.told([tree.label(node) for node in range(tree.root)]))

    @property
    def late(self) -> list[Late]:
        """Rows of the streams that came too late."""
        late = zip(self._join.inputs, self._logic.late, strict=True)
        return [
            Late(i, one.name, one.stream, rows, self._state.sequence)
            for i, (one, rows) in enumerate(late)
            if one.end is None
        ]

    def to_dict(self) -> dict[str, Any]:
        """The directory."""
        return self._state.to_dict()

    def _whole(self) -> Whole | None:
        """The plan that this is a part of, and what it showed in the batch before."""
        channel = self._env.channel
        if channel is None or self._plan is None:
            return None
        measured = channel.measured()
        parts = None if measured is None else [Observed(**one) for one in measured]
        observed = None if parts is None else Observed.together(parts, self._env.n_shards)
        return Whole(*self._plan, observed)
