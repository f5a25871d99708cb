"""A join's map tasks and shards in this process: what Spark does with them, without Spark."""

import json
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
from pyspark.sql.types import NullType

from streamjoin._typing import SIDES
from streamjoin.joins.channel import Channel, Run
from streamjoin.joins.folders import LateSink
from streamjoin.joins.packed import PackedRow, clock_of, read_packed
from streamjoin.joins.routing import ByKey
from streamjoin.joins.window.arguments import resolve
from streamjoin.joins.window.shard import WindowOperator
from streamjoin.metrics import JoinCounts
from streamjoin.spark.operator import shard_labels, shards_of_tasks
from streamjoin.spark.processor import Call, ShardRunner
from streamjoin.spark.rows import TAB, Packer
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
        has_gate = join.shedding is not None and join.shedding.has_gate
        hot = () if join.shedding else tasks
        self.join = join
        channel = None
        if hot or has_gate:
            channel = Channel(str(folder / "hot"), "join", self.labels, hot, has_gate=has_gate)
        self.shard = ShardRunner(
            operator=WindowOperator(join),
            routing=ByKey(shards),
            labels=self.labels,
            types=(NullType(),) * len(join.output),
            join_id=fresh_id(),
            late=LateSink.at(folder / "late", "join", {"left": join.left, "right": join.right}),
            channel=channel,
        )

    def push(self, left: pa.Table, right: pa.Table, runs: int = 1) -> pa.Table:
        """Results of one batch; its counters are in `metrics`, shard by shard."""
        names = [column.name for column in self.join.output]
        counters = self.shard.form.counters
        for run in range(runs):
            sent = [self._map((left, right), again) for again in range(run + 1)]
            found = [self._join(label, sent[i % len(sent)]) for i, label in enumerate(self.labels)]
        self.batch += 1
        self.states = {label: state for label, (_, state) in zip(self.labels, found, strict=True)}
        tables = pa.concat_tables([table for tables, _ in found for table in tables])
        texts = tables[counters].drop_null().to_pylist()
        self.metrics = [JoinCounts(*json.loads(text.split(TAB)[0])) for text in texts]
        self.total = sum(self.metrics, JoinCounts())
        return tables.filter(tables[counters].is_null()).drop(counters).rename_columns(names)

    def _map(self, tables: tuple[pa.Table, pa.Table], run: int) -> Packed:
        packed: Packed = {label: [] for label in self.labels}
        shard = self.shard
        for side in SIDES:
            tasks = shard.channel.tasks if shard.channel else ()
            shaper = shard.operator.shaper(side, self.labels, shard.routing, tasks, False)
            packer = Packer(shaper, shard.channel)
            for part in range(2):
                positions = list(range(part, tables[side].num_rows, 2))
                Random(run).shuffle(positions)
                rows = tables[side].take(pa.array(positions, pa.int64())).combine_chunks()
                for blobs in packer.pack(rows.to_batches(), part, Run(self.query, self.batch, run)):
                    for label, row in zip(self.labels, read_packed([blobs]), strict=True):
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
        call = Call(label, clock_of(rows), False, Run(self.query, self.batch, 0))
        return list(self.shard.on_batch(state, rows, call)), state.values
