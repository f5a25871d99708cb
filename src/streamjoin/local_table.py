"""Join a stream with a table in this process: no Spark, the same logic."""

import time
from pathlib import Path
from typing import Any

import pyarrow as pa

from streamjoin.errors import DataError
from streamjoin.joins.base import MemoryStore
from streamjoin.joins.table.arguments import resolve_table_join
from streamjoin.joins.table.arrivals import TableArrival, keyed
from streamjoin.joins.table.choosing import suited
from streamjoin.joins.table.logic import TableJoinLogic
from streamjoin.joins.table.settings import STREAM
from streamjoin.joins.table.state import TableJoinState
from streamjoin.tables.base import Changes, Table


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
    ...         found = pa.concat_tables([join.feed(orders), join.drain()])
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
        self.schema = pa.schema([(column.name, column.type) for column in self.join.output])
        self._changes: Changes | None = None

    def feed(self, rows: pa.Table | pa.RecordBatch, now: int | None = None) -> pa.Table:
        """Feed one batch and get results: of its rows, and of others that have waited.

        `now` is the clock in microseconds, this machine's if None; it says how long rows wait.
        """
        return self._feed(self._arrival(rows), now, end=False)

    def drain(self, now: int | None = None) -> pa.Table:
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
        now_us = time.time_ns() // 1000 if now is None else now
        changes, self._changes = self._changes, None
        parts = [
            pa.table(columns, schema=self.schema)
            for columns in logic.on_batch(arrival, now_us, changes, end)
        ]
        self.metrics = dict(logic.counts)
        return pa.concat_tables(parts) if parts else self.schema.empty_table()

    def _arrival(self, rows: pa.Table | pa.RecordBatch) -> TableArrival:
        schema = self.join.stream
        try:
            shaped = rows.select(schema.names).cast(schema)
        except (KeyError, pa.ArrowInvalid, pa.ArrowNotImplementedError):
            msg = f"rows: got {rows.schema.names}; allowed: {schema.names}, as the stream has"
            raise DataError(msg) from None
        if isinstance(shaped, pa.Table):
            batches = shaped.combine_chunks().to_batches()
            shaped = batches[0] if batches else pa.RecordBatch.from_pylist([], schema)
        return TableArrival(*keyed(shaped, schema, self.join.keys[STREAM]))
