"""Run a join in this process, on a virtual clock: no Spark, the same logic, exact counts.

For tests, for trying a join on two Arrow tables, and for experiments whose numbers must be the same
on every machine.
"""

import time as clock
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from streamjoin._typing import SIDES
from streamjoin.budget import refuse_too_much
from streamjoin.durations import Duration, parse_duration
from streamjoin.errors import ConfigError, DataError
from streamjoin.joins.base import LATE_BY, Env, MemoryStore, Operator
from streamjoin.joins.channel import Channel
from streamjoin.joins.columns import SIDE_NAMES
from streamjoin.joins.multi.arguments import resolve_plan
from streamjoin.joins.multi.keys import check_streams, for_some
from streamjoin.joins.multi.settings import Input
from streamjoin.joins.multi.shard import PlanOperator, PlanShard
from streamjoin.joins.multi.states import MultiJoinState
from streamjoin.joins.packed import PackedRow, read_packed
from streamjoin.joins.packing import Decided, pack
from streamjoin.joins.routing import ByKey
from streamjoin.joins.table.arguments import resolve_table_join
from streamjoin.joins.table.logic import TableJoinLogic
from streamjoin.joins.table.measuring import suited
from streamjoin.joins.table.rows import TableArrival, keyed
from streamjoin.joins.table.settings import STREAM, TableJoin
from streamjoin.joins.table.state import TableJoinState
from streamjoin.joins.window.arguments import Both, resolve
from streamjoin.joins.window.settings import END, WindowJoinState
from streamjoin.joins.window.shard import WindowOperator, WindowShard
from streamjoin.joins.window.spread_join import SpreadState
from streamjoin.metrics import JoinCounts
from streamjoin.metrics.catalogue import Counts
from streamjoin.shedding.costs import Costs as Costs
from streamjoin.shedding.costs import Cpu, thread_us
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
        self.join, self._cpu = resolved.join, Cpu(costs=costs)
        self.state = WindowJoinState()
        self.store = MemoryStore()
        self.total = JoinCounts()

    def push(
        self, left: pa.Table | None, right: pa.Table | None, now: int | None = None
    ) -> pa.Table:
        """Feed one batch of each side (None for nothing) and get its results.

        `now` is the clock in microseconds, for an `idle_timeout`.
        """
        return self._feed((left, right), now, end=False)

    def finish(self) -> pa.Table:
        """End the streams: everything that still waits is answered."""
        return self._feed((None, None), None, end=True)

    def _feed(self, tables: Sequence[pa.Table | None], now: int | None, end: bool) -> pa.Table:
        _refuse_ended(self, self.state)
        operator = WindowOperator(self.join)
        shaped = [
            None if table is None else _shaped(table, stream.schema, name)
            for table, stream, name in zip(tables, self.join.streams, SIDE_NAMES, strict=True)
        ]
        shard = WindowShard(self.join, (self.state, SpreadState()), _env(self.store, self._cpu))
        results, _ = _joined(shard, operator, _packed(operator, shaped), now, end)
        self.metrics = shard.metrics
        self.total = self.metrics + self.total.without_state()
        self.late = tuple(late.table() for late in shard.late)
        return results


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
        self._cpu = Cpu(costs=costs)
        shaped = {name: _in_microseconds(schema) for name, schema in schemas.items()}
        self.plan = resolve_plan(shaped, **settings)
        n_steps = len(self.plan.steps)
        self.states = [MultiJoinState.of(step.join) for step in self.plan.steps]
        self.stores = [MemoryStore() for _ in self.plan.steps]
        self.total = Counts()
        self._sizes = [Counts() for _ in self.plan.steps]
        self._channel = None if n_steps == 1 else _MemoryChannel("", "", (0,), n_operators=n_steps)

    def push(self, tables: Mapping[str, pa.Table], now: int | None = None) -> pa.Table:
        """Feed one batch of some of the streams and get its results.

        `now` is the clock in microseconds, for an `idle_timeout`.
        """
        return self._feed(for_some(tables, self.plan.tree.names, "push"), now, end=False)

    def finish(self) -> pa.Table:
        """End the streams: rows that wait for their place in the total order are joined."""
        return self._feed({}, None, end=True)

    def _feed(self, tables: Mapping[str, pa.Table], now: int | None, end: bool) -> pa.Table:
        _refuse_ended(self, *self.states)
        self.counts = Counts()
        self.late: dict[str, pa.Table] = {}
        results: list[pa.Table] = []
        for number, step in enumerate(self.plan.steps):
            nodes = None if self._channel is None else (self.plan.tree, step.nodes)
            operator = PlanOperator(step.join, nodes)
            given = [
                self._shaped(tables.get(source), one)
                if isinstance(source, str)
                else pa.table(results[source].columns, schema=one.stream.schema)
                for source, one in zip(step.sources, step.join.inputs, strict=True)
            ]
            packed = _packed(operator, given)
            if not packed and not end:  # an operator is not called in a batch that brings nothing
                results.append(_schema(operator).empty_table())
                continue
            env = _env(self.stores[number], self._cpu, self._channel)
            shard = PlanShard(operator, self.states[number], env)
            found, counts = _joined(shard, operator, packed, now, end)
            results.append(found)
            self._count(number, counts)
            self.late |= {late.name: late.table() for late in shard.late}
        for sizes in self._sizes:
            self.counts.update(sizes)
        for name in _SIZES:
            del self.total[name]
        self.total.update(self.counts)
        if self._channel is not None:
            self._channel.end_batch()
        return results[-1]

    def _shaped(self, table: pa.Table | None, one: Input) -> pa.Table | None:
        """What a stream brings; so far none of its rows is late."""
        late_by = pa.field(LATE_BY, pa.int64())
        self.late[one.name] = one.stream.schema.append(late_by).empty_table()
        return None if table is None else _shaped(table, one.stream.schema, one.name)

    def _count(self, number: int, counts: Mapping[str, float]) -> None:
        """Count what one operator did."""
        last = number == len(self.plan.steps) - 1
        left_out = _SIZES if last else (*_SIZES, *_OF_PLAN)
        self.counts.update({name: n for name, n in counts.items() if name not in left_out})
        self._sizes[number] = Counts({name: counts[name] for name in _SIZES})


@dataclass(frozen=True)
class _MemoryChannel(Channel):
    """What the operators of a plan tell each other in this process."""

    before: list[dict[str, Any]] = field(default_factory=list)  # measured in the last batch
    told: list[dict[str, Any]] = field(default_factory=list)  # in this one

    def measured(self) -> list[dict[str, Any]] | None:
        """What all operators measured in the batch before; None if not known."""
        return self.before if len(self.before) == self.n_operators else None

    def tell_measured(self, values: dict[str, Any]) -> None:
        """Tell what an operator measured."""
        self.told.append(values)

    def log(self, decided: dict[str, Any]) -> None:
        """Nobody reads it here."""

    def end_batch(self) -> None:
        """From now on the batch is the one before."""
        self.before[:] = self.told
        self.told.clear()


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


def _packed(operator: Operator, tables: Sequence[pa.Table | None]) -> list[PackedRow]:
    """Rows of the inputs as the only shard gets them."""
    packed: list[PackedRow] = []
    for side, table in enumerate(tables):
        if table is not None:
            shaper = operator.shaper(side, (0,), ByKey(1), (), has_ahead=False)
            packed += read_packed(pack(shaper, table.to_batches(), 0, Decided(), began=0))
    return packed


def _env(store: MemoryStore, cpu: Cpu, channel: Channel | None = None) -> Env:
    """What the only shard is given; its batches need no numbers."""
    return Env(0, 1, 0, lambda _: store, lambda: clock.time_ns() / 1000, channel, cpu)


def _joined(
    shard: WindowShard | PlanShard,
    operator: Operator,
    packed: Sequence[PackedRow],
    now: int | None,
    end: bool,
) -> tuple[pa.Table, Mapping[str, float]]:
    """Results of a batch, with how far the join has come if another one follows; and its counts."""
    started = thread_us()
    parts = list(shard.on_batch(packed, now, end))
    outcome = shard.conclude(thread_us() - started)
    schema, marks = _schema(operator), outcome.marks
    if marks:
        parts = [[*part, *[pa.nulls(len(part[0]), pa.int64())] * len(marks)] for part in parts]
        nothing = [pa.nulls(1, kind) for kind in schema.types[: -len(marks)]]
        parts.append([*nothing, *(pa.array([mark], pa.int64()) for mark in marks)])
    return _table_of(parts, schema), outcome.counts


def _refuse_ended(join: object, *states: WindowJoinState | MultiJoinState) -> None:
    if any(state.watermark == END for state in states):
        name = type(join).__name__
        raise ConfigError(f"push: the streams have ended with finish(); allowed: a new {name}")


def _schema(join: Operator | TableJoin) -> pa.Schema:
    return pa.schema([(column.name, column.type) for column in join.output])


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
