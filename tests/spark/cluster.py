"""A join's map tasks and shards in this process: what Spark does with them, without Spark."""

import json
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
from pyspark.sql.types import NullType

from streamjoin._typing import SIDES
from streamjoin.joins.arguments import resolve
from streamjoin.joins.routing import ByKey
from streamjoin.metrics import JoinCounts
from streamjoin.spark.arrivals import PackedRow, from_batches
from streamjoin.spark.gate import GateFolder
from streamjoin.spark.hot_keys import HotFolder
from streamjoin.spark.labels import shard_labels, shards_of_tasks
from streamjoin.spark.late import LateSink
from streamjoin.spark.pack import Packer
from streamjoin.spark.processor import ShardJoin
from streamjoin.spark.rows import TAB, OutputForm
from streamjoin.spark.worker import Run
from tests.spark.copies import fresh_id
from tests.spark.test_store import FakeMapState

Packed = dict[int, list[PackedRow]]


class Cluster:
    """A query over two streams of one schema, fed batch by batch.

    A batch may be run several times; the last run counts. Map tasks then meet their rows in another
    order each time, and some shards get what they sent in one run and some what in another, as
    after a machine was lost.
    """

    def __init__(
        self,
        schema: pa.Schema,
        folder: Path,
        shards: int,
        partitions: int,
        query: str = "q",
        **settings: Any,
    ) -> None:
        join = resolve((schema, schema), **settings).join
        self.query, self.batch = query, 0
        self.labels = tuple(shard_labels(shards))
        self.states: dict[int, dict[Any, Any]] = {label: {} for label in self.labels}
        tasks = shards_of_tasks(self.labels, partitions)
        self.shard = ShardJoin(
            join=join,
            routing=ByKey(shards),
            labels=self.labels,
            form=OutputForm(join.output, (NullType(),) * len(join.output), "counters"),
            agreed={},
            join_id=fresh_id(),
            late=LateSink.at(folder / "late", "join", {"left": join.left, "right": join.right}),
            hot=None
            if join.shedding
            else HotFolder(str(folder / "hot"), "join", self.labels, tasks),
            gate=GateFolder(str(folder / "hot"), "join")
            if join.shedding and join.shedding.has_gate
            else None,
        )

    def push(self, left: pa.Table, right: pa.Table, runs: int = 1) -> pa.Table:
        """Results of one batch; its counters are in `metrics`, shard by shard."""
        names = [column.name for column in self.shard.join.output]
        for run in range(runs):
            sent = [self._map((left, right), again) for again in range(run + 1)]
            found = [self._join(label, sent[i % len(sent)]) for i, label in enumerate(self.labels)]
        self.batch += 1
        self.states = {label: state for label, (_, state) in zip(self.labels, found, strict=True)}
        tables = pa.concat_tables([table for tables, _ in found for table in tables])
        counters = tables["counters"].drop_null().to_pylist()
        self.metrics = [JoinCounts(*json.loads(text.split(TAB)[0])) for text in counters]
        self.total = sum(self.metrics, JoinCounts())
        return tables.filter(tables["counters"].is_null()).drop("counters").rename_columns(names)

    def _map(self, tables: tuple[pa.Table, pa.Table], run: int) -> Packed:
        packed: Packed = {label: [] for label in self.labels}
        shard = self.shard
        for side in SIDES:
            packer = Packer(shard.join, side, self.labels, shard.routing, shard.hot, shard.gate)
            for part in range(2):
                positions = list(range(part, tables[side].num_rows, 2))
                Random(run).shuffle(positions)
                rows = tables[side].take(pa.array(positions, pa.int64())).combine_chunks()
                for blobs in packer.pack(rows.to_batches(), part, Run(self.query, self.batch, run)):
                    for label, row in zip(self.labels, from_batches([blobs]), strict=True):
                        packed[label].append(row)
        return packed

    def _join(self, label: int, packed: Packed) -> tuple[list[pa.Table], dict[Any, Any]]:
        """Results of one shard, and what it would commit."""
        state = FakeMapState()
        state.values = dict(self.states[label])
        rows = packed[label]
        if not rows:  # no shard is called in a batch without rows
            return [], state.values
        Random(self.batch).shuffle(rows)
        tables = list(self.shard.on_batch(state, label, rows, Run(self.query, self.batch, 0)))
        return tables, state.values
