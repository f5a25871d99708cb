"""Reads parts of the table in stored form."""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin.joins.table.arrivals import NOWHERE, SEVERAL, keyed
from streamjoin.joins.table.settings import STREAM, TABLE, TableJoin
from streamjoin.tables.base import OpenTable


class Parts:
    """Reads parts of the table in stored form.

    Parameters
    ----------
    join, table
        Settings, and the table.
    """

    def __init__(self, join: TableJoin, table: OpenTable) -> None:
        self._join, self._table = join, table
        self._names = list(join.table.names)

    @property
    def n(self) -> int:
        """Number of partitions."""
        return len(self._table.partition_rows)

    @property
    def n_rows(self) -> int:
        """Rows of the table."""
        return int(self._table.partition_rows.sum())

    @property
    def row_bytes(self) -> float:
        """What a row of a partition takes."""
        return self._table.bytes_per_row

    def sizes(self, partitions: NDArray[np.int64]) -> NDArray[np.float64]:
        """About how many bytes partitions take."""
        return self._table.partition_rows[partitions] * np.float64(self.row_bytes)

    def scan(self, partitions: Iterable[int]) -> pa.RecordBatch:
        """The rows of partitions that have a key."""
        found = [self._table.scan(partition, self._names) for partition in partitions]
        return self._stored(found[0] if len(found) == 1 else pa.concat_tables(found))

    def look_up(self, columns: list[pa.Array]) -> pa.RecordBatch:
        """Rows with these keys."""
        return self._stored(self._table.look_up(columns, self._names))

    def locate(self, rows: pa.RecordBatch) -> NDArray[np.int32]:
        """The partition of each stream row's key."""
        found, parts = self._table.locate([rows.column(i) for i in self._join.keys[STREAM]])
        places = np.full(len(rows), NOWHERE, np.int32)
        places[found] = parts
        places[np.bincount(found, minlength=len(rows)) > 1] = SEVERAL
        return places

    def _stored(self, rows: pa.Table) -> pa.RecordBatch:
        batches = rows.combine_chunks().to_batches()
        schema = self._join.table
        whole = batches[0] if batches else pa.RecordBatch.from_pylist([], schema)
        return keyed(whole, schema, self._join.keys[TABLE]).rows
