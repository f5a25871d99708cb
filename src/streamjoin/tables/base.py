"""Where the table of a stream-to-table join lives: what the joins ask of it.

A table is described by a value that can be pickled (`Table`) and opened where it is used
(`OpenTable`). It is read in partitions (NAE-A4, NAE-A6), by key through an index (NAE-A15), and
asked now and then whether it has changed (NAE-C25). It is never written.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from streamjoin._typing import Keys
from streamjoin.core.keys import can_be_key, column_keys, comparable, hash_keys
from streamjoin.errors import ConfigError, DataError

KeyColumns = Sequence[pa.Array]
"""The values of the key columns of some rows, one array for each column of the key."""

Located = tuple[NDArray[np.int64], NDArray[np.int32]]
"""Row numbers and partitions, as pairs: a key may be in several partitions, or in none."""


@dataclass(frozen=True)
class Changes:
    """How a table differs from what it was.

    Parameters
    ----------
    whole
        Any row may have changed, and partitions are numbered anew.
    added, removed
        Otherwise: partitions that are new, and those that are gone. A changed file is both. Numbers
        of other partitions stay; one that is gone has no rows.
    """

    whole: bool = False
    added: tuple[int, ...] = ()
    removed: tuple[int, ...] = ()


class OpenTable(Protocol):
    """A table that is being read.

    What it returns is the table as it was at the last `refresh` for Parquet, and as it is now for
    SQL. Rows whose key is null are scanned and never looked up.
    """

    @property
    def version(self) -> str:
        """Another text whenever the table is another one."""

    @property
    def has_index(self) -> bool:
        """Whether `look_up` and `locate` find keys without reading the whole table."""

    @property
    def knows_places(self) -> bool:
        """Whether `locate` costs much less than `look_up`."""

    @property
    def partition_rows(self) -> NDArray[np.int64]:
        """How many rows each partition has; about so many where the table is in a database."""

    @property
    def bytes_per_row(self) -> float:
        """Memory that a row takes, on average."""

    def scan(self, partition: int, columns: Sequence[str] | None = None) -> pa.Table:
        """The rows of one partition; all columns if none are named."""

    def locate(self, keys: KeyColumns) -> Located:
        """The partitions that have rows with these keys.

        Where a key is hashed a partition may be named that has another key of equal hash.
        """

    def look_up(self, keys: KeyColumns, columns: Sequence[str] | None = None) -> pa.Table:
        """All rows that have one of these keys, each once, in any order.

        Where a key is hashed, rows with another key of equal hash may be among them.
        """

    def refresh(self) -> Changes | None:
        """Look at the table again; what has changed since the last look, if anything."""

    def touched(self, changes: Changes, keys: KeyColumns) -> NDArray[np.bool_]:
        """Which keys may have other rows since these changes: what was cached of them is void."""

    def close(self) -> None:
        """Let go of files and connections."""


@runtime_checkable
class Table(Protocol):
    """Where a table lives, its columns and its key; a value that can be pickled."""

    @property
    def schema(self) -> pa.Schema:
        """Its columns."""

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that a stream is joined on."""

    @property
    def is_unique(self) -> bool:
        """Whether no key is there twice, as was promised."""

    def open(self, folder: Path | None, memory: int) -> OpenTable:
        """Start to read it.

        Parameters
        ----------
        folder
            Where an index of the keys is kept on this machine's disk, for the next time too; None
            for one that is not kept.
        memory
            Bytes that making the index may use, about; reading needs less.
        """


def check_key(schema: pa.Schema, key: str | Sequence[str]) -> tuple[str, ...]:
    """The names of the key's columns, or an error.

    Examples
    --------
    >>> check_key(pa.schema({"id": pa.int64(), "name": pa.string()}), "idd")
    Traceback (most recent call last):
        ...
    streamjoin.errors.DataError: key: the table has no column 'idd' (did you mean 'id'?); allowed:
    id, name
    """
    names = (key,) if isinstance(key, str) else tuple(key)
    if not names or len(set(names)) < len(names):
        raise ConfigError.at("key", repr(key), "the name of a column, or distinct names")
    for name in check_columns(schema, names, "key"):
        kind = schema.field(name).type
        if not can_be_key(kind):
            raise DataError(f"key: column {name!r} is {kind}; allowed: a type that can be compared")
    return names


def check_columns(schema: pa.Schema, names: Sequence[str], argument: str) -> Sequence[str]:
    """The names of columns, or an error if the table lacks one."""
    for name in names:
        if schema.get_field_index(name) < 0:
            close = get_close_matches(str(name), schema.names, n=1)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            raise DataError(
                f"{argument}: the table has no column {name!r}{hint}; "
                f"allowed: {', '.join(schema.names)}"
            )
    return names


def check_key_types(table: Table, keys: KeyColumns) -> None:
    """Refuse keys whose types cannot be equal to those of the table's."""
    if len(keys) != len(table.key):
        raise DataError.at(
            "keys", f"{len(keys)} columns", f"{len(table.key)}, as the table's key has"
        )
    for name, column in zip(table.key, keys, strict=True):
        kind = table.schema.field(name).type
        if not comparable(column.type, kind):
            raise DataError.at(
                "keys", f"{column.type} for the table's key {name!r}", f"{kind} (cast one of them)"
            )


def key_numbers(keys: KeyColumns) -> tuple[Keys, NDArray[np.int64]]:
    """One 64-bit number for each row that has a key, and the numbers of those rows.

    Examples
    --------
    >>> numbers, rows = key_numbers([pa.array([7, None, 9])])
    >>> numbers.tolist(), rows.tolist()
    ([7, 9], [0, 2])
    """
    rows = np.arange(len(keys[0]))
    if any(column.null_count for column in keys):
        valid = keys[0].is_valid()
        for column in keys[1:]:
            valid = pc.and_(valid, column.is_valid())
        rows = np.flatnonzero(np.asarray(valid))
        keys = [column.filter(valid) for column in keys]
    return (column_keys(keys[0]) if len(keys) == 1 else hash_keys(keys)), rows


def key_columns(rows: pa.Table, key: Sequence[str]) -> list[pa.Array]:
    """The key columns of rows, each in one piece."""
    return [_whole(rows.column(name)) for name in key]


def _whole(column: pa.ChunkedArray) -> pa.Array:
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
