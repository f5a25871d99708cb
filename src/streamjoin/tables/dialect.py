"""What differs from one database to another: types, places of rows, and how keys are sent."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin.tables.base import KeyColumns
from streamjoin.tables.database import Database


class Column(NamedTuple):
    """A column: its name, its type in SQL and in Arrow, and the expression that selects it."""

    name: str
    sql_type: str
    kind: pa.DataType
    selected: str


@dataclass(frozen=True)
class Layout:
    """Partitions as ranges of places: numbers of pages or rows.

    Parameters
    ----------
    starts
        The first place of each partition; there is at least one.
    n_rows
        Rows of the table, about.
    """

    starts: NDArray[np.int64]
    n_rows: int

    def bounds(self, partition: int) -> tuple[int | None, int | None]:
        """First place and the one after the last; None for what is open, so that none is missed."""
        last = partition == len(self.starts) - 1
        low = None if partition == 0 else int(self.starts[partition])
        return low, None if last else int(self.starts[partition + 1])

    def partition_of(self, places: NDArray[np.int64]) -> NDArray[np.int32]:
        """The partition of each place.

        Examples
        --------
        >>> Layout(np.array([0, 10, 20]), n_rows=25).partition_of(np.array([3, 10, 99])).tolist()
        [0, 1, 2]
        """
        found = np.searchsorted(self.starts, places, "right") - 1
        return np.maximum(found, 0).astype(np.int32)


class Dialect(Protocol):
    """One kind of database."""

    def columns(self, database: Database) -> list[Column]:
        """The table's columns; none if there is no such table."""

    def tables(self, database: Database) -> list[str]:
        """The names of tables there are."""

    def from_(self, database: Database) -> str:
        """The table's name as SQL has it."""

    def layout(self, database: Database, rows_per_partition: int) -> Layout:
        """Cut the table into partitions."""

    def within(self, low: int | None, high: int | None) -> str:
        """Condition that a row is at a place from `low` to before `high`."""

    def version(self, database: Database) -> str:
        """Something cheap that is another text when the table has changed."""

    def indexes(self, database: Database) -> list[tuple[tuple[str, ...], bool]]:
        """The columns of each index, and whether it lets no two rows have the same values."""

    def rows(
        self, database: Database, wanted: str, key: Sequence[Column], keys: KeyColumns
    ) -> pa.Table:
        """The `wanted` columns of rows that have one of these keys, which are distinct."""

    def places(self, database: Database, key: Sequence[Column], keys: KeyColumns) -> pa.Table:
        """Pairs of a key's position and the place of a row that has it."""


def quoted(name: str) -> str:
    """A name as SQL has it.

    Examples
    --------
    >>> quoted("the table")
    '"the table"'
    """
    return '"' + name.replace('"', '""') + '"'
