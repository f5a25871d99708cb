"""Run a join in this process, on a virtual clock: no Spark, the same logic, exact counts.

For tests, for trying a join on two Arrow tables, and for experiments whose numbers must be the same
on every machine.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from streamjoin._typing import SIDES, Side
from streamjoin.core.batch import Batch, arrange
from streamjoin.durations import Duration, parse_duration
from streamjoin.errors import ConfigError, DataError
from streamjoin.joins.arguments import Both, On, resolve
from streamjoin.joins.base import MemoryStore
from streamjoin.joins.window_join import WindowJoinLogic, WindowJoinState
from streamjoin.metrics import JoinMetrics


class LocalJoin:
    """A window join fed batch by batch.

    Parameters
    ----------
    left, right
        Schemas of the two streams.
    on, time, window, lateness, suffixes
        As in `streamjoin.join`.

    Examples
    --------
    >>> schema = pa.schema({"k": pa.string(), "t": pa.timestamp("us")})
    >>> join = LocalJoin(schema, schema, on="k", time="t", window="10 seconds")
    >>> one = pa.table({"k": ["a"], "t": pa.array([1], pa.timestamp("us"))}, schema=schema)
    >>> join.push(one, None).num_rows, join.push(None, one).num_rows
    (0, 1)
    """

    def __init__(
        self,
        left: pa.Schema,
        right: pa.Schema,
        *,
        on: On,
        time: Both[str],
        window: Both[Duration],
        lateness: Duration = "0 seconds",
        suffixes: tuple[str, str] = ("_left", "_right"),
    ) -> None:
        schemas = _in_microseconds(left), _in_microseconds(right)
        self.join = resolve(
            schemas, on=on, time=time, window=window, lateness=lateness, suffixes=suffixes
        )
        self.state = WindowJoinState()
        self.store = MemoryStore()
        self.total = JoinMetrics()

    def push(self, left: pa.Table | None, right: pa.Table | None) -> pa.Table:
        """Feed one batch of each side (None for nothing) and get its results."""
        left_in, right_in = self._arrange(0, left), self._arrange(1, right)
        logic = WindowJoinLogic(self.join, self.state, self.store)
        schema = pa.schema([(column.name, column.type) for column in self.join.output])
        batches, latest = (left_in.batch, right_in.batch), (left_in.latest, right_in.latest)
        parts = [
            pa.table(pairs.take(self.join.output), schema=schema)
            for pairs in logic.on_batch(batches, latest)
        ]
        self.metrics = logic.metrics + JoinMetrics(
            rows_left=left_in.n_null,
            rows_right=right_in.n_null,
            null_left=left_in.n_null,
            null_right=right_in.n_null,
        )
        self.total = self.metrics + self._counted_before()
        return pa.concat_tables(parts) if parts else schema.empty_table()

    def _counted_before(self) -> JoinMetrics:
        """The total so far without its state sizes, which do not add up over batches."""
        before = self.total
        return before + JoinMetrics(state_rows=-before.state_rows, state_bytes=-before.state_bytes)

    def _arrange(self, side: Side, table: pa.Table | None) -> "_Arrival":
        stream = self.join.streams[side]
        if table is None:
            return _Arrival(Batch.gather([], stream), 0, None)
        chunks = _shaped(table, stream.schema, side).to_batches()
        parts = [arrange(rows, stream) for rows in chunks]
        times = [part.latest for part in parts if part.latest is not None]
        batch = Batch.gather([part.rows for part in parts], stream)
        return _Arrival(batch, sum(part.n_null for part in parts), max(times, default=None))


class _Arrival(NamedTuple):
    """One side's batch, and what is known of the rows that were left out of it."""

    batch: Batch
    n_null: int
    latest: int | None


@dataclass(frozen=True)
class Step:
    """What one step of the virtual clock gave."""

    now_us: int
    rows: pa.Table
    metrics: JoinMetrics


def run(
    left: pa.Table,
    right: pa.Table,
    *,
    on: On,
    time: Both[str],
    window: Both[Duration],
    lateness: Duration = "0 seconds",
    suffixes: tuple[str, str] = ("_left", "_right"),
    every: Duration = "1 second",
    arrival: Both[str] | None = None,
) -> Iterator[Step]:
    """Join two recorded streams on a virtual clock that moves in steps.

    Parameters
    ----------
    left, right
        All rows of the two streams.
    on, time, window, lateness, suffixes
        As in `streamjoin.join`.
    every
        Length of a step: rows that arrive within one are one batch.
    arrival
        Column that says when a row arrives, a timestamp; by default its event time.

    Examples
    --------
    >>> times = pa.array([0, 1_500_000, 9_000_000], pa.timestamp("us"))
    >>> table = pa.table({"k": [1, 1, 1], "t": times})
    >>> [(s.now_us, s.rows.num_rows) for s in run(table, table, on="k", time="t", window="2 s")]
    [(1000000, 1), (2000000, 3), (10000000, 1)]
    """
    step_us = parse_duration(every, "every")
    if step_us <= 0:
        msg = f"every: got {every!r}; allowed: a positive duration"
        raise ConfigError(msg)
    tables = left, right
    names = time if arrival is None else arrival
    columns = names if isinstance(names, tuple) else (names, names)
    join = LocalJoin(
        left.schema, right.schema,
        on=on, time=time, window=window, lateness=lateness, suffixes=suffixes,
    )  # fmt: skip
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
    for step in np.union1d(*steps).tolist():
        batch = []
        for s in SIDES:
            start, stop = np.searchsorted(sorted_steps[s], [step, step + 1])
            batch.append(tables[s].take(pa.array(orders[s][start:stop])))
        rows = join.push(batch[0], batch[1])
        yield Step((step + 1) * step_us, rows, join.metrics)


def _steps(table: pa.Table, column: str, step_us: int) -> NDArray[np.int64]:
    """Number of the step in which each row arrives."""
    if column not in table.column_names or not pa.types.is_timestamp(table[column].type):
        msg = f"arrival: got {column!r}; allowed: a timestamp column of the table"
        raise DataError(msg)
    times = table[column].cast(pa.timestamp("us"), safe=False).cast(pa.int64())
    first = pc.min(times).as_py() or 0  # a row without a time comes first; it is only counted
    found: NDArray[np.int64] = np.asarray(times.fill_null(first)) // step_us
    return found


def _shaped(table: pa.Table, schema: pa.Schema, side: Side) -> pa.Table:
    """Bring a table into the schema that was announced; finer times are cut to microseconds."""
    try:
        return table.select(schema.names).cast(schema, safe=False)
    except (KeyError, pa.ArrowInvalid, pa.ArrowNotImplementedError):
        name = ("left", "right")[side]
        msg = f"{name}: got columns {table.schema.names}; allowed: those of the schema given before"
        raise DataError(msg) from None


def _in_microseconds(schema: pa.Schema) -> pa.Schema:
    """Timestamps of any unit as microseconds, which is what Spark has."""
    fields = [
        f.with_type(pa.timestamp("us", f.type.tz)) if pa.types.is_timestamp(f.type) else f
        for f in schema
    ]
    return pa.schema(fields)
