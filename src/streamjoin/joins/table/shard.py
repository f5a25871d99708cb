"""A join with a table as an engine calls it: rows are divided among shards, and joined in each.

Rows go to the shard that loads the partition of their key, so each partition is loaded by one
shard. Where a key is, the map task looks up in the index of the table; what shards do does not
depend on it: a row that comes to another shard, because the table has changed meanwhile or because
its key is frequent, is answered there.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin.core.kernels.equi import split_by_shard
from streamjoin.core.sealed import read_rows
from streamjoin.errors import TableError
from streamjoin.joins.base import Env, Late, Operator, Outcome, Tasks
from streamjoin.joins.packed import PackedRow, rows_of
from streamjoin.joins.packing import Decided, Shaped, in_first
from streamjoin.joins.routing import Routing, Split
from streamjoin.joins.table.logic import TableJoinLogic
from streamjoin.joins.table.rows import (
    NOWHERE,
    SEVERAL,
    Parts,
    TableArrival,
    keyed,
    row_keys,
    stored,
)
from streamjoin.joins.table.settings import PART, STREAM, TableJoin
from streamjoin.joins.table.state import TableJoinState
from streamjoin.metrics.catalogue import TABLE_COUNTERS
from streamjoin.tables.access import TableAccess
from streamjoin.tables.base import OpenTable

LEAST_ROWS: Final = 1000
SAMPLED_ROWS: Final = 8192
"""Of fewer rows nothing is frequent; of more about so many are looked at."""
FREQUENT_PART: Final = 4
"""Frequent is what would be this part of a shard's work, all shards having the same."""


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
    ) -> "TableShaper":
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
        waits = bool(state.waiting or state.spilled)
        return Outcome(counts, self._logic.details, [(self._store, state.pieces)], waits=waits)

    def to_dict(self) -> dict[str, Any]:
        """The directory."""
        return self._state.to_dict()


@dataclass(frozen=True)
class TableShaper:
    """Shapes the rows of the stream: each with the partition of its key, as the table is now."""

    join: TableJoin
    labels: tuple[int, ...]
    access: TableAccess

    side = STREAM  # the one input

    def shape(self, rows: pa.RecordBatch, part: int, decided: Decided) -> Shaped:
        """Divide a chunk."""
        with_key, loose, _ = keyed(rows, self.join.stream, self.join.keys[STREAM])
        places, version = self._places(with_key)
        n = len(self.labels)
        blob = loose.serialize().to_pybytes() if loose.num_rows else None
        fields = {
            "loose": [blob] + [None] * (n - 1),
            "total": rows.num_rows,
            "nulls": in_first(loose.num_rows, n),
            "known": version,
        }
        placed = with_key.append_column(PART, pa.array(places, pa.int32()))
        return Shaped(placed, self._split(with_key, places), range(n), fields)

    def _places(self, rows: pa.RecordBatch) -> tuple[NDArray[np.int32], str]:
        """The partition of each row, and the version of the table by which that is so."""
        if not self.join.is_routed:
            return np.full(len(rows), NOWHERE, np.int32), ""
        table = self.access.current().table
        return Parts(self.join, table).locate(rows), table.version

    def _split(self, rows: pa.RecordBatch, places: NDArray[np.int32]) -> Split:
        n = len(self.labels)
        keys = row_keys(rows)
        order, begin = split_by_shard(keys, n)
        if n == 1:
            return Split(order, begin)
        shards = np.empty(len(rows), np.int64)
        shards[order] = np.repeat(np.arange(n), np.diff(begin))
        if self.join.is_routed:
            known = (places >= 0) & ~np.isin(places, frequent(places, n))
            shards[known] = places[known] % n
        often = np.flatnonzero(np.isin(keys, frequent(keys, n)))
        shards[often] = np.arange(len(often)) % n
        return Split.by_number(shards, n)


def unpack_rows(join: TableJoin, packed: Sequence[PackedRow], table: OpenTable) -> TableArrival:
    """What the stream brings to a shard."""
    packed = rows_of(STREAM, packed)
    schema = stored(join.stream, pa.field(PART, pa.int32()))
    blobs = [read_rows(row.blob, schema) for row in packed]
    plain = schema.names[: len(join.stream)]
    loose_schema = pa.schema([schema.field(name) for name in plain])
    loose = [read_rows(row.loose, loose_schema) for row in packed if row.loose is not None]
    nothing = pa.RecordBatch.from_pylist([], schema)
    rows = pa.concat_batches([nothing, *blobs])
    parts = np.asarray(rows.column(PART))
    # Of another version of the table numbers mean nothing; nor do those that it does not have.
    is_known = join.is_routed and all(row.known == table.version for row in packed)
    can_be = (parts >= SEVERAL) & (parts < len(table.partition_rows))
    return TableArrival(
        rows.drop_columns([PART]),
        pa.concat_batches([nothing.select(plain), *loose]),
        parts if is_known and can_be.all() else None,
    )


def frequent(values: NDArray[Any], n_shards: int) -> NDArray[Any]:
    """Values that so many rows have that their shard would have clearly more work than others.

    Any shard can answer any row, so rows of such a key or partition go to all of them.

    Examples
    --------
    >>> keys = np.concatenate([np.zeros(500, np.int64), np.arange(1500)])
    >>> frequent(keys, n_shards=2)
    array([0])
    >>> len(frequent(np.arange(2000), n_shards=2))
    0
    """
    if len(values) < LEAST_ROWS:
        return values[:0]
    sample = values[:: max(1, len(values) // SAMPLED_ROWS)]
    distinct, often = np.unique(sample, return_counts=True)
    return distinct[often * FREQUENT_PART * n_shards > len(sample)]
