"""Run a join in this process, on a virtual clock: no Spark, the same logic, exact counts.

For tests, for trying a join on two Arrow tables, and for experiments whose numbers must be the same
on every machine.
"""

import time as clock
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from time import thread_time_ns
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from streamjoin._typing import LEFT, RIGHT, SIDES, Side
from streamjoin.budget import refuse_too_much
from streamjoin.core.batch import Batch, arrange
from streamjoin.core.stream import Order, Stream
from streamjoin.durations import Duration, parse_duration
from streamjoin.errors import ConfigError, DataError
from streamjoin.joins.base import Arrival, MemoryStore
from streamjoin.joins.late_rows import LateRows
from streamjoin.joins.multi import arguments
from streamjoin.joins.multi.arguments import resolve_plan
from streamjoin.joins.multi.logic import MultiJoinLogic
from streamjoin.joins.multi.settings import MultiJoin
from streamjoin.joins.multi.states import MultiJoinState
from streamjoin.joins.multi.streams import check_streams, for_some
from streamjoin.joins.table.arguments import resolve_table_join
from streamjoin.joins.table.logic import TableJoinLogic
from streamjoin.joins.table.measuring import suited
from streamjoin.joins.table.rows import TableArrival, keyed
from streamjoin.joins.table.settings import STREAM, TableJoin
from streamjoin.joins.table.state import TableJoinState
from streamjoin.joins.window.arguments import Both, resolve
from streamjoin.joins.window.logic import WindowJoinLogic
from streamjoin.joins.window.settings import END, WindowJoin, WindowJoinState
from streamjoin.metrics import JoinCounts
from streamjoin.metrics.catalogue import Counts
from streamjoin.shedding.costs import Costs as Costs
from streamjoin.shedding.plans import Observed, Whole
from streamjoin.tables.base import Changes, Table

_SIZES: Final = ("state_rows", "state_bytes", "intermediate_rows", "held_rows")
_OF_PLAN: Final = ("results", "stale", "rows_out", "missed", "analysed", "adapted", "infeasible")
"""Counters that do not add up: over batches; and over operators, of which the last one's count."""


class LocalJoin:
    """A window join fed batch by batch.

    Parameters
    ----------
    left, right
        Schemas of the two streams.
    costs
        Where there is a budget: what operations cost. CPU time is then counted, not measured.
    **settings
        The arguments of `streamjoin.join` that say what is joined: `on`, `where`, `how`,
        `direction`, `time`, `window`, `lateness`, `idle_timeout`, `suffixes`, `freshness`; and
        `budget`, `shed`, `split`, `utility`, `weights`, `algorithm`, `invalidation`. A share of the
        cores is one of a single core here.

    Attributes
    ----------
    metrics, total
        Counts of the last batch, and of all.
    late
        Rows of each side that came too late in the last batch, with ``late_by`` in microseconds.

    Examples
    --------
    >>> schema = pa.schema({"k": pa.string(), "t": pa.timestamp("us")})
    >>> join = LocalJoin(schema, schema, on="k", time="t", window="10 seconds", how="left")
    >>> one = pa.table({"k": ["a"], "t": pa.array([1], pa.timestamp("us"))}, schema=schema)
    >>> two = pa.table({"k": ["b"], "t": pa.array([2], pa.timestamp("us"))}, schema=schema)
    >>> join.push(one, None).num_rows, join.push(two, one).num_rows
    (0, 1)
    >>> join.finish().to_pydict()["k"]
    ['b']
    """

    def __init__(
        self, left: pa.Schema, right: pa.Schema, costs: Costs | None = None, **settings: Any
    ) -> None:
        resolved = resolve((_in_microseconds(left), _in_microseconds(right)), **settings)
        if resolved.where is not None and resolved.where.rest:
            raise ConfigError(
                f"where: {resolved.where.rest[0]!r} needs Spark to evaluate it; allowed here: "
                "comparisons, arithmetic, abs, overlap, inner_product, BETWEEN, IN, IS NULL, AND, "
                "OR, NOT"
            )
        if settings.get("budget") is not None:
            refuse_too_much(settings["budget"])
        self.join, self._costs = resolved.join, costs
        self.state = WindowJoinState()
        self.store = MemoryStore()
        self.total = JoinCounts()

    def push(
        self, left: pa.Table | None, right: pa.Table | None, now: int | None = None
    ) -> pa.Table:
        """Feed one batch of each side (None for nothing) and get its results.

        `now` is the clock in microseconds, for an `idle_timeout`.
        """
        return self._feed((self._arrange(LEFT, left), self._arrange(RIGHT, right)), now, end=False)

    def finish(self) -> pa.Table:
        """End the streams: everything that still waits is answered."""
        return self._feed((self._arrange(LEFT, None), self._arrange(RIGHT, None)), None, end=True)

    def _feed(self, arrivals: tuple[Arrival, Arrival], now: int | None, end: bool) -> pa.Table:
        if self.state.watermark == END:
            raise ConfigError(
                "push: the streams have ended with finish(); allowed: a new LocalJoin"
            )
        logic = WindowJoinLogic(self.join, self.state, self.store)
        schema = _schema(self.join)
        started = thread_time_ns()
        emitted = logic.on_batch(arrivals, now, end)
        results = _table_of((one.take(self.join.output) for one in emitted), schema)
        cpu_us = _charge(logic, started, self._costs)
        self.metrics = replace(logic.metrics, cpu_us=round(cpu_us))
        self.total = self.metrics + self.total.without_state()
        left, right = (_late_table(self.join.streams[s], logic.late[s]) for s in SIDES)
        self.late = left, right
        return results

    def _arrange(self, side: Side, table: pa.Table | None) -> Arrival:
        stream = self.join.streams[side]
        if table is not None:
            table = _shaped(table, stream.schema, ("left", "right")[side])
        arrival = _arrival(table, stream)
        return arrival if self.join.keeps(side) else replace(arrival, loose=None)


class LocalMultiJoin:
    """A join of many streams fed batch by batch.

    Parameters
    ----------
    schemas
        Of the streams, by name.
    costs
        Where there is a budget: what operations cost (to receive a row, to probe, and to form a
        tuple). CPU time is then counted, not measured.
    **settings
        The arguments of `streamjoin.multi_join` that say what is joined: `on`, `time`, `window`,
        `plan`, `freshness`, `states`, `lateness`, `idle_timeout`; how: `strategy`, `order`,
        `selectivities`; and `budget`, `planner`. A share of the cores is one of a single core here.

    Attributes
    ----------
    counts, total
        Counts of the last batch, and of all; of several operators added up, but for results and
        decisions, which are those of the last one. Sizes are those after the last batch.
    late
        Rows of each stream that came too late in the last batch, with ``late_by`` in microseconds.

    Examples
    --------
    >>> schema = pa.schema({"k": pa.string(), "t": pa.timestamp("us")})
    >>> join = LocalMultiJoin(dict.fromkeys("abc", schema), on="k", time="t", window="10 seconds")
    >>> one = pa.table({"k": ["x"], "t": pa.array([1], pa.timestamp("us"))}, schema=schema)
    >>> join.push({"a": one, "b": one}).num_rows, join.push({"c": one}).num_rows
    (0, 1)
    """

    def __init__(
        self, schemas: Mapping[str, pa.Schema], costs: Costs | None = None, **settings: Any
    ) -> None:
        check_streams(schemas)
        self._costs = costs
        shaped = {name: _in_microseconds(schema) for name, schema in schemas.items()}
        self.plan = resolve_plan(shaped, **settings)
        self.states = [MultiJoinState.of(step.join) for step in self.plan.steps]
        self.stores = [MemoryStore() for _ in self.plan.steps]
        self.total = Counts()
        self._sizes = [Counts() for _ in self.plan.steps]
        self._none_late = {
            one.name: _none_late(one.stream)
            for step in self.plan.steps
            for one in step.join.inputs
            if one.end is None
        }
        self._measured: list[Observed] = []

    def push(self, tables: Mapping[str, pa.Table], now: int | None = None) -> pa.Table:
        """Feed one batch of some of the streams and get its results.

        `now` is the clock in microseconds, for an `idle_timeout`.
        """
        return self._feed(for_some(tables, self.plan.tree.names, "push"), now, end=False)

    def finish(self) -> pa.Table:
        """End the streams: rows that wait for their place in the total order are joined."""
        return self._feed({}, None, end=True)

    def _feed(self, tables: Mapping[str, pa.Table], now: int | None, end: bool) -> pa.Table:
        if any(state.watermark == END for state in self.states):
            raise ConfigError(
                "push: the streams have ended with finish(); allowed: a new LocalMultiJoin"
            )
        self.counts, self.late = Counts(), dict(self._none_late)
        found: list[pa.Table | None] = []
        measured: list[Observed] = []
        for number, step in enumerate(self.plan.steps):
            arrivals = [self._arrival(step, i, tables, found) for i in range(len(step.join.inputs))]
            if not end and all(arrival is None for arrival in arrivals):
                found.append(None)  # an operator is not called in a batch that brings it nothing
                continue
            logic = MultiJoinLogic(
                step.join, self.states[number], self.stores[number], self._whole(step)
            )
            found.append(self._joined(logic, arrivals, now, end))
            if logic.measured is not None:
                measured.append(logic.measured)
            self._count(number, logic)
        for sizes in self._sizes:
            self.counts.update(sizes)
        for name in _SIZES:
            del self.total[name]
        self.total.update(self.counts)
        self._measured = measured
        return found[-1] or _schema(self.plan.steps[-1].join).empty_table()

    def _joined(
        self, logic: MultiJoinLogic, arrivals: list[Arrival | None], now: int | None, end: bool
    ) -> pa.Table:
        """Results of one operator."""
        schema = _schema(logic.join)
        given = [
            _arrival(None, one.stream) if arrival is None else arrival
            for one, arrival in zip(logic.join.inputs, arrivals, strict=True)
        ]
        started = thread_time_ns()
        results = _table_of(logic.on_batch(given, now, end), schema)
        _charge(logic, started, self._costs)
        return results

    def _count(self, number: int, logic: MultiJoinLogic) -> None:
        """Count what one operator did, and set its late rows apart."""
        step, last = self.plan.steps[number], number == len(self.plan.steps) - 1
        left_out = _SIZES if last else (*_SIZES, *_OF_PLAN)
        self.counts.update({name: n for name, n in logic.counts.items() if name not in left_out})
        self._sizes[number] = Counts({name: logic.counts[name] for name in _SIZES})
        for i, source in enumerate(step.sources):
            if isinstance(source, str):
                self.late[source] = _late_table(step.join.inputs[i].stream, logic.late[i])

    def _whole(self, step: arguments.Step) -> Whole | None:
        """The plan that an operator has a part of, if there are several."""
        if len(self.plan.steps) == 1:
            return None
        known = len(self._measured) == len(self.plan.steps)
        observed = Observed.together(self._measured, shards=1) if known else None
        return Whole(self.plan.tree, step.nodes, observed)

    def _arrival(
        self,
        step: arguments.Step,
        i: int,
        tables: Mapping[str, pa.Table],
        found: list[pa.Table | None],
    ) -> Arrival | None:
        """What an input of an operator gets; None for nothing."""
        source, stream = step.sources[i], step.join.inputs[i].stream
        if isinstance(source, str):
            table = tables.get(source)
            shaped = None if table is None else _shaped(table, stream.schema, source)
            if not shaped:
                return None
            return replace(_arrival(shaped, stream), loose=None)  # such rows never come out
        before = self.states[source]
        rows = found[source]
        if rows is None:
            return None
        nothing = [pa.nulls(rows.num_rows, pa.int64())] * 2  # how far it has come is told below
        table = pa.table([*rows.columns, *nothing], schema=stream.schema)
        arrival = _arrival(table, stream)
        return replace(arrival, latest=before.watermark, newest=before.newest)


class LocalTableJoin:
    """A join of a stream with a table, fed batch by batch.

    Parameters
    ----------
    stream
        Schema of the stream.
    table
        What `streamjoin.parquet_table` or `streamjoin.sql_table` returned.
    folder
        Where an index of the table's keys is kept for the next time; None for one that is not kept.
    **settings
        The arguments of `streamjoin.table_join` that say what is joined and how: `on`, `how`,
        `columns`, `budget`, `algorithm`, `shed`, `front_share`, `max_wait`.

    Attributes
    ----------
    metrics
        Counts of the last batch by name.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow.parquet as pq
    >>> from streamjoin import parquet_table
    >>> schema = pa.schema({"order": pa.int64(), "customer": pa.int64()})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pq.write_table(pa.table({"id": [1, 2], "name": ["a", "b"]}), f"{folder}/1.parquet")
    ...     table = parquet_table(folder, key="id", unique=True)
    ...     with LocalTableJoin(schema, table, on="customer", how="left") as join:
    ...         orders = pa.table({"order": [7, 8], "customer": [2, 5]}, schema=schema)
    ...         found = pa.concat_tables([join.push(orders), join.finish()])
    >>> found.sort_by("order").to_pylist()
    [{'order': 7, 'customer': 2, 'name': 'b'}, {'order': 8, 'customer': 5, 'name': None}]
    """

    def __init__(
        self, stream: pa.Schema, table: Table, *, folder: Path | None = None, **settings: Any
    ) -> None:
        join = resolve_table_join(stream, table, **settings)
        self.table = table.open(folder, join.memory)
        self.join = suited(join, self.table)
        self.state = TableJoinState()
        self.store = MemoryStore()
        self.metrics: dict[str, int] = {}
        self.schema = _schema(self.join)
        self._changes: Changes | None = None

    def push(self, rows: pa.Table | pa.RecordBatch, now: int | None = None) -> pa.Table:
        """Feed one batch and get results: of its rows, and of others that have waited.

        `now` is the clock in microseconds, this machine's if None; it says how long rows wait.
        """
        return self._feed(self._arrival(rows), now, end=False)

    def finish(self, now: int | None = None) -> pa.Table:
        """Answer all rows that wait or were spilled."""
        return self._feed(self._arrival(self.join.stream.empty_table()), now, end=True)

    def refresh(self) -> bool:
        """Look at the table again; whether it has changed. The next batch acts on it."""
        found = self.table.refresh()
        if found is not None:
            # Of two changes without a batch between them the numbers may mean different things.
            self._changes = found if self._changes is None else Changes(whole=True)
        return found is not None

    def close(self) -> None:
        """Let go of the table; an index that is not kept is removed."""
        self.table.close()

    def __enter__(self) -> "LocalTableJoin":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _feed(self, arrival: TableArrival, now: int | None, end: bool) -> pa.Table:
        logic = TableJoinLogic(self.join, self.state, self.store, self.table)
        now_us = clock.time_ns() // 1000 if now is None else now
        changes, self._changes = self._changes, None
        results = _table_of(logic.on_batch(arrival, now_us, changes, end), self.schema)
        self.metrics = dict(logic.counts)
        return results

    def _arrival(self, rows: pa.Table | pa.RecordBatch) -> TableArrival:
        schema = self.join.stream
        try:
            shaped = rows.select(schema.names).cast(schema)
        except (KeyError, pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise DataError.at(
                "rows", rows.schema.names, f"{schema.names}, as the stream has"
            ) from None
        if isinstance(shaped, pa.Table):
            batches = shaped.combine_chunks().to_batches()
            shaped = batches[0] if batches else pa.RecordBatch.from_pylist([], schema)
        return keyed(shaped, schema, self.join.keys[STREAM])


def _table_of(parts: Iterable[list[pa.Array]], schema: pa.Schema) -> pa.Table:
    """Results as one table."""
    return pa.concat_tables(
        [schema.empty_table(), *(pa.table(part, schema=schema) for part in parts)]
    )


def _charge(logic: WindowJoinLogic | MultiJoinLogic, started_ns: int, costs: Costs | None) -> float:
    """Charge a batch with the CPU time it took, or with what its operations are said to cost."""
    cpu_us = (thread_time_ns() - started_ns) / 1000
    if costs is not None and logic.is_limited:
        cpu_us = logic.counted_us(costs)
    logic.charge(cpu_us)
    return cpu_us


def _arrival(table: pa.Table | None, stream: Stream) -> Arrival:
    """What a table brings, in stored form."""
    if table is None:
        return Arrival(Batch.gather([], stream))
    parts = [arrange(rows, stream) for rows in table.to_batches()]
    known = [part.latest for part in parts if part.latest is not None]
    loose = [part.loose for part in parts if part.loose.num_rows]
    return Arrival(
        batch=Batch.gather([part.rows for part in parts], stream),
        loose=pa.concat_batches(loose) if loose else None,
        latest=max(known, default=None),
        nulls=sum(rows.num_rows for rows in loose),
        order=Order.joined([part.order() for part in parts]) if stream.window_rows else None,
    )


def _none_late(stream: Stream) -> pa.Table:
    return _late_table(stream, LateRows(Batch.gather([], stream).rows, np.empty(0, np.int64)))


def _schema(join: WindowJoin | MultiJoin | TableJoin) -> pa.Schema:
    return pa.schema([(column.name, column.type) for column in join.output])


def _late_table(stream: Stream, late: LateRows) -> pa.Table:
    columns = late.rows.columns[: len(stream.schema)]
    names = [*stream.schema.names, "late_by"]
    return pa.table([*columns, pa.array(late.late_by)], names=names)


@dataclass(frozen=True)
class Step:
    """What one step of the virtual clock gave."""

    now_us: int
    rows: pa.Table
    metrics: JoinCounts


def run(
    left: pa.Table,
    right: pa.Table,
    *,
    time: Both[str],
    every: Duration = "1 second",
    arrival: Both[str] | None = None,
    **settings: Any,
) -> Iterator[Step]:
    """Join two recorded streams on a virtual clock that moves in steps.

    Parameters
    ----------
    left, right
        All rows of the two streams.
    time
        As in `streamjoin.join`.
    every
        Length of a step: rows that arrive within one are one batch.
    arrival
        Column that says when a row arrives, a timestamp; by default its event time.
    **settings
        As in `LocalJoin`.

    Yields
    ------
    Step
        One for each step in which rows arrive. Where rows still wait for an answer when the streams
        end, one more that gives it.

    Examples
    --------
    >>> times = pa.array([0, 1_500_000, 9_000_000], pa.timestamp("us"))
    >>> table = pa.table({"k": [1, 1, 1], "t": times})
    >>> [(s.now_us, s.rows.num_rows) for s in run(table, table, on="k", time="t", window="2 s")]
    [(1000000, 1), (2000000, 3), (10000000, 1)]
    """
    step_us = parse_duration(every, "every")
    if step_us <= 0:
        raise ConfigError.at("every", repr(every), "a positive duration")
    tables = left, right
    names = time if arrival is None else arrival
    columns = names if isinstance(names, tuple) else (names, names)
    join = LocalJoin(left.schema, right.schema, time=time, **settings)
    steps = [_steps(tables[side], columns[side], step_us) for side in SIDES]
    return _replay(join, tables, (steps[0], steps[1]), step_us)


def _replay(
    join: LocalJoin,
    tables: tuple[pa.Table, pa.Table],
    steps: tuple[NDArray[np.int64], NDArray[np.int64]],
    step_us: int,
) -> Iterator[Step]:
    orders = [np.argsort(numbers, kind="stable") for numbers in steps]
    sorted_steps = [steps[s][orders[s]] for s in SIDES]
    now = 0
    for step in np.union1d(*steps).tolist():
        batch = []
        for s in SIDES:
            start, stop = np.searchsorted(sorted_steps[s], [step, step + 1])
            batch.append(tables[s].take(pa.array(orders[s][start:stop])))
        now = (step + 1) * step_us
        yield Step(now, join.push(batch[0], batch[1], now), join.metrics)
    last = join.finish()
    if last.num_rows:
        yield Step(now, last, join.metrics)


def _steps(table: pa.Table, column: str, step_us: int) -> NDArray[np.int64]:
    """Number of the step in which each row arrives."""
    if column not in table.column_names or not pa.types.is_timestamp(table[column].type):
        raise DataError.at("arrival", repr(column), "a timestamp column of the table")
    times = table[column].cast(pa.timestamp("us"), safe=False).cast(pa.int64())
    first = pc.min(times).as_py() or 0  # a row without a time comes first; it is only counted
    found: NDArray[np.int64] = np.asarray(times.fill_null(first)) // step_us
    return found


def _shaped(table: pa.Table, schema: pa.Schema, name: str) -> pa.Table:
    """Bring a table into the schema that was announced; finer times are cut to microseconds."""
    try:
        return table.select(schema.names).cast(schema, safe=False)
    except (KeyError, pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise DataError.at(
            name, f"columns {table.schema.names}", "those of the schema given before"
        ) from None


def _in_microseconds(schema: pa.Schema) -> pa.Schema:
    """Timestamps of any unit as microseconds, which is what Spark has."""
    fields = [
        f.with_type(pa.timestamp("us", f.type.tz)) if pa.types.is_timestamp(f.type) else f
        for f in schema
    ]
    return pa.schema(fields)
