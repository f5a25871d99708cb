"""The stateful operator of a plan of many joins: called once per shard and micro-batch."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from time import thread_time_ns
from typing import Any

import pyarrow as pa

from streamjoin.joins.base import MemoryStore
from streamjoin.joins.multi.logic import MultiJoinLogic
from streamjoin.joins.multi.metrics import Counts
from streamjoin.joins.multi.settings import MultiJoin
from streamjoin.joins.multi.states import MultiJoinState
from streamjoin.joins.routing import Routing
from streamjoin.planning.many.tree import Tree
from streamjoin.shedding.plans import Observed, Whole
from streamjoin.spark.arrivals import PackedRow, clock_of, from_batches, unpack_inputs
from streamjoin.spark.late import LateSink
from streamjoin.spark.local_files import local_folder
from streamjoin.spark.plan_folder import PlanFolder
from streamjoin.spark.processor import gather, read_agreed
from streamjoin.spark.rows import OutputForm
from streamjoin.spark.store import MapState, SparkStore
from streamjoin.spark.worker import Run


@dataclass(frozen=True)
class PlanShard:
    """What a shard needs to know of an operator.

    Parameters
    ----------
    join
        Settings.
    labels
        The shards' names in Spark, in order.
    form
        How results leave.
    routing
        How rows are spread over the shards.
    agreed
        What a checkpoint must agree on.
    join_id
        Names the local copies of this operator.
    late
        Where late rows go; None for nowhere.
    shared
        Where operators of a plan with one budget tell each other what they measured, and all what
        they decided; None for nowhere.
    step
        Which operator this is.
    plan
        The whole plan, and this operator's nodes in it; None if it is the only one.
    """

    join: MultiJoin
    labels: tuple[int, ...]
    form: OutputForm
    routing: Routing
    agreed: dict[str, str]
    join_id: str
    late: LateSink | None = None
    shared: PlanFolder | None = None
    step: int = 0
    plan: tuple[Tree, tuple[int, ...]] | None = None

    def on_batch(
        self, windows: MapState, label: int, packed: list[PackedRow], run: Run
    ) -> Iterator[pa.Table]:
        """Join one shard's part of a micro-batch: result rows, and at last the counters.

        Decides from the committed state, the batch and the settings alone (costs of operations are
        among these), so a retried batch gives the same rows.
        """
        started = thread_time_ns()
        store = SparkStore(windows, local_folder(f"{self.join_id}-{run.query}", label))
        state = self._read(store.read_directory())
        logic = MultiJoinLogic(self.join, state, store, self._whole(run))
        arrivals = unpack_inputs(self.join.streams, packed)
        for columns in gather(logic.on_batch(arrivals, clock_of(packed))):
            yield self._table(columns)
        self._write_late(logic, label, run)
        logic.charge((thread_time_ns() - started) / 1000)
        self._tell(logic, label, run)
        directory = {"agreed": self.agreed, **state.to_dict()}
        store.write_directory(json.dumps(directory, separators=(",", ":")).encode())
        store.drop_other_copies(store.copies(state.pieces) | store.copies(state.carried))
        yield self._last(logic, label, packed)

    def bounded(self, key: Any, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Join all rows of one shard at once; given to ``applyInArrow`` for tables."""
        packed = from_batches(batches)
        logic = MultiJoinLogic(self.join, MultiJoinState.of(self.join), MemoryStore())
        arrivals = unpack_inputs(self.join.streams, packed)
        for columns in gather(logic.on_batch(arrivals, end=True)):
            yield from self._table(columns).to_batches()
        yield from self._last(logic, key[0].as_py(), packed).to_batches()

    def _tell(self, logic: MultiJoinLogic, label: int, run: Run) -> None:
        """Tell the other operators what was measured, and people what was decided."""
        if self.shared is None or logic.measured is None or run.batch is None:
            return
        shard, known = self.labels.index(label), logic.state.limits
        if self.plan is not None:
            self.shared.write(run, self.step, shard, asdict(logic.measured))
        if logic.counts["analysed"] and known is not None and not self.join.is_partial:
            names = [one.name for one in self.join.inputs]
            tree = self.plan[0] if self.plan else Tree.parse(logic.state.tree, names)
            labels = [tree.label(node) for node in range(tree.root)]
            self.shared.log(run, shard, known.told(labels))

    def _whole(self, run: Run) -> Whole | None:
        """The plan that this is a part of, and what it showed in the batch before."""
        if self.shared is None or self.plan is None:
            return None
        found = self.shared.read(run)
        parts = None if found is None else [Observed(**one) for one in found]
        observed = None if parts is None else Observed.together(parts, len(self.labels))
        return Whole(*self.plan, observed)

    def _table(self, columns: list[pa.Array]) -> pa.Table:
        nothing = [pa.nulls(len(columns[0]), pa.int64())] * self.form.marks
        return self.form.table([*columns, *nothing])

    def _last(self, logic: MultiJoinLogic, label: int, packed: list[PackedRow]) -> pa.Table:
        """The row with the counters, and with how far this operator has come if one follows."""
        counters = self._counters(logic.counts, label, packed)
        marks = (logic.state.watermark, logic.state.newest)
        details = replace(logic.details, allowances={}) if self.join.is_partial else logic.details
        return self.form.counters_table(counters, details, marks[: self.form.marks])

    def _read(self, directory: bytes | None) -> MultiJoinState:
        if directory is None:
            return MultiJoinState.of(self.join)
        return MultiJoinState.from_dict(read_agreed(directory, self.agreed))

    def _counters(self, counts: Counts, label: int, packed: list[PackedRow]) -> list[int]:
        first = label == self.labels[0]
        counts["busiest"] = counts["work"]
        for number, one in enumerate(self.join.inputs):
            mine = [row for row in packed if row.side == number]
            counts[f"rows_{one.name}"] = sum(int(row.total) for row in mine) if first else 0
            if not self.routing.counts(self.labels.index(label), number):
                counts[f"late_{one.name}"] = counts[f"idle_late_{one.name}"] = 0
        return [counts[name] for name in self.form.metrics]

    def _write_late(self, logic: MultiJoinLogic, label: int, run: Run) -> None:
        """Keep the late rows of a batch, if asked to."""
        if self.late is not None:
            shard, number = self.labels.index(label), logic.state.sequence
            for side, (one, late) in enumerate(zip(self.join.inputs, logic.late, strict=True)):
                if one.end is None and self.routing.counts(shard, side):
                    self.late.write(one.name, late, one.stream, run, shard, number)
