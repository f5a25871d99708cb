"""A join with a table in one shard, as an engine calls it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from streamjoin.errors import TableError
from streamjoin.joins.base import Env, Late, Operator, Outcome, Tasks
from streamjoin.joins.packed import PackedRow
from streamjoin.joins.routing import Routing
from streamjoin.joins.table.logic import TableJoinLogic
from streamjoin.joins.table.settings import TableJoin
from streamjoin.joins.table.shaping import TableShaper, unpack_rows
from streamjoin.joins.table.state import TableJoinState
from streamjoin.metrics.catalogue import TABLE_COUNTERS
from streamjoin.tables.access import TableAccess


@dataclass(frozen=True)
class TableOperator(Operator):
    """A join with a table, and how the table is read."""

    join: TableJoin
    access: TableAccess

    counted_inputs = ()  # each shard counts the rows that came to it
    counter_names = TABLE_COUNTERS

    @property
    def piece_bytes(self) -> int:
        """How much of the results is held before it leaves."""
        return self.join.piece_bytes

    def shaper(
        self, side: int, labels: tuple[int, ...], routing: Routing, tasks: Tasks, has_ahead: bool
    ) -> TableShaper:
        """What shapes the rows of the stream, which go where the table has their keys."""
        return TableShaper(self.join, labels, self.access)

    def build(self, values: dict[str, Any] | None, env: Env) -> "TableShard":
        """The logic of one shard."""
        return TableShard(self, values, env)


class TableShard:
    """The `JoinLogic` of a join with a table."""

    late: Sequence[Late] = ()

    def __init__(self, operator: TableOperator, values: dict[str, Any] | None, env: Env) -> None:
        self._join, self._access, self._env = operator.join, operator.access, env
        self._state = TableJoinState() if values is None else TableJoinState.from_dict(values)
        self._store = env.store(0)

    def on_batch(
        self, packed: Sequence[PackedRow], now_us: int | None, end: bool = False
    ) -> Iterator[list[pa.Array]]:
        """Join a batch with the table as it is now."""
        current = self._access.current(self._state.version)
        changes = None
        if self._state.version not in ("", current.table.version):
            changes = current.since(self._state.version)
        # Where all is joined at once there is no later for which rows could be left.
        may_leave = self._access.on_failure == "stale" and self._env.is_live
        self._logic = logic = TableJoinLogic(
            self._join,
            self._state,
            self._store,
            current.table,
            is_patient=may_leave and self._access.is_patient(current),
        )
        arrival = unpack_rows(self._join, packed, current.table)
        try:
            yield from logic.on_batch(arrival, now_us or 0, changes, end)
        except TableError:
            self._access.forget()
            raise
        if logic.counts["loads"] or logic.counts["looked_up"]:
            current.note_reached()

    def conclude(self, cpu_us: float) -> Outcome:
        """Take in what the batch cost."""
        state, counts = self._state, self._logic.counts
        counts["cpu_us"], counts["work"] = int(cpu_us), counts["rows"]
        return Outcome(
            counts,
            self._logic.details,
            [(self._store, [state.waiting, state.cached, state.spilled])],
            waits=bool(state.waiting or state.spilled),
        )

    def to_dict(self) -> dict[str, Any]:
        """The directory."""
        return self._state.to_dict()
