"""The map tasks and shards of a plan in this process: what Spark does with them, without Spark."""

import json
from collections import Counter
from collections.abc import Mapping
from copy import copy
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
from pyspark.sql.types import NullType

from streamjoin.joins.channel import Channel, Run
from streamjoin.joins.folders import LateSink
from streamjoin.joins.multi.arguments import resolve_plan
from streamjoin.joins.multi.settings import MultiJoin
from streamjoin.joins.multi.shard import PlanOperator
from streamjoin.joins.packed import PackedRow, clock_of, read_packed
from streamjoin.spark.operator import shard_labels
from streamjoin.spark.processor import Call, ShardRunner
from streamjoin.spark.rows import TAB, Packer
from streamjoin.spark.store import SparkStore
from tests.spark.copies import fresh_id
from tests.spark.test_store import FakeMapState

Packed = dict[int, list[PackedRow]]
Values = dict[Any, Any]


class MapState(FakeMapState):
    """As Spark's, which removes nothing where there is nothing."""

    def removeKey(self, key: tuple[int, int, int]) -> None:
        self.values.pop(key, None)


class PlanCluster:
    """A query over many streams of one schema, fed batch by batch.

    A batch may be run several times; the last run counts. Map tasks then meet their rows in another
    order each time, and some shards get what they sent in one run and some what in another. With
    a `folder` operators tell each other there what they measured; with `late` their shards write
    late rows there.
    """

    def __init__(
        self,
        schema: pa.Schema,
        streams: str,
        shards: int,
        folder: Path | None = None,
        late: Path | None = None,
        **settings: Any,
    ) -> None:
        self.schemas = dict.fromkeys(streams, schema)
        self.plan = resolve_plan(self.schemas, **settings)
        n_steps = len(self.plan.steps)
        self.folder = folder
        inputs = {i.name: i.stream for step in self.plan.steps for i in step.join.inputs}
        self.late = None if late is None else LateSink.at(str(late), "join", inputs)
        self.schema, self.batch = schema, 0
        self.labels = tuple(shard_labels(shards))
        self.shards = [self._shard(number) for number in range(n_steps)]
        self.states: list[dict[int, Values]] = [
            {label: {} for label in self.labels} for _ in self.plan.steps
        ]
        self.total: Counter[str] = Counter()

    def _shard(self, number: int) -> ShardRunner:
        step = self.plan.steps[number]
        join = step.join
        operator = PlanOperator(join, (self.plan.tree, step.nodes))
        types = (NullType(),) * len(operator.output)
        routing = join.routing(len(self.labels))
        channel = None
        if self.folder is not None:
            n, folder = len(self.plan.steps), str(self.folder)
            channel = Channel(folder, "join", self.labels, n_operators=n, operator=number)
        return ShardRunner(
            operator, routing, self.labels, types, fresh_id(), late=self.late, channel=channel
        )

    def join_of(self, number: int) -> MultiJoin:
        return self.plan.steps[number].join

    def changed(self, **settings: Any) -> "PlanCluster":
        """Another query that goes on from this one's checkpoint."""
        other = copy(self)
        other.plan = resolve_plan(self.schemas, **settings)
        other.shards = [other._shard(number) for number in range(len(other.plan.steps))]
        return other

    def push(self, tables: Mapping[str, pa.Table], runs: int = 1) -> pa.Table:
        """Results of one batch; its counters are added to `total`."""
        for run in range(runs):
            made: list[pa.Table] = []
            states: list[dict[int, Values]] = []
            counts: Counter[str] = Counter()
            for number, step in enumerate(self.plan.steps):
                inputs = [
                    tables.get(source, self.schema.empty_table())
                    if isinstance(source, str)
                    else made[source]
                    for source in step.sources
                ]
                sent = [self._map(number, inputs, again) for again in range(run + 1)]
                parts: list[pa.Table] = []
                states.append({})
                for i, label in enumerate(self.labels):
                    packed = sent[i % len(sent)]
                    found, states[-1][label] = self._join(number, label, packed, run)
                    parts += found
                made.append(self._rows(number, parts, counts))
        self.batch += 1
        self.states = states
        self.total.update(counts)
        names = [column.name for column in self.join_of(-1).output]
        return made[-1].rename_columns(names)

    def _rows(self, number: int, parts: list[pa.Table], counts: Counter[str]) -> pa.Table:
        """What goes on from a step: without counters, and with marks if another step follows."""
        form, last = self.shards[number].form, number == len(self.shards) - 1
        table = pa.concat_tables([self._nothing(number), *parts])
        for text in table[form.counters].drop_null().to_pylist():
            told = dict(zip(form.metrics, json.loads(text.split(TAB)[0]), strict=True))
            counts.update(
                {n: x for n, x in told.items() if last or n not in ("results", "rows_out")}
            )
        rows = table if form.marks else table.filter(table[form.counters].is_null())
        return rows.drop(form.counters)

    def _nothing(self, number: int) -> pa.Table:
        """What comes from an operator that was not called."""
        form = self.shards[number].form
        return form.table([pa.array([], c.type) for c in self.join_of(number).output])

    def allowances(self) -> list[list[float] | None]:
        """What all shards of all operators have decided."""
        found = []
        for state in (state for of in self.states for state in of.values()):
            known = MapState()
            known.values = state
            directory = json.loads(SparkStore(known, None).read_directory() or b"{}")
            found.append(directory["limits"]["allowances"])
        return found

    def _map(self, number: int, inputs: list[pa.Table], run: int) -> Packed:
        packed: Packed = {label: [] for label in self.labels}
        shard = self.shards[number]
        for side, table in enumerate(inputs):
            shaper = shard.operator.shaper(side, self.labels, shard.routing, (), False)
            packer = Packer(shaper)
            for part in range(2):
                positions = list(range(part, table.num_rows, 2))
                Random(run).shuffle(positions)
                rows = table.take(pa.array(positions, pa.int64())).combine_chunks()
                for blobs in packer.pack(rows.to_batches(), part, Run("q", self.batch, run)):
                    for label, row in zip(self.labels, read_packed([blobs]), strict=True):
                        packed[label].append(row)
        return packed

    def _join(
        self, number: int, label: int, packed: Packed, run: int
    ) -> tuple[list[pa.Table], Values]:
        """Results of one shard, and what it would commit."""
        state = MapState()
        state.values = dict(self.states[number][label])
        rows = packed[label]
        if not rows:  # no shard is called in a batch without rows
            return [], state.values
        Random(self.batch).shuffle(rows)
        call = Call(label, clock_of(rows), False, Run("q", self.batch, run))
        return list(self.shards[number].on_batch(state, rows, call)), state.values
