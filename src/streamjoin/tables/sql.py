"""A table in a database, read through ADBC: partitions by place, rows by key."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from streamjoin.errors import ConfigError, DataError
from streamjoin.tables.base import (
    Changes,
    KeyColumns,
    Located,
    check_columns,
    check_key,
    check_key_types,
    key_numbers,
)
from streamjoin.tables.database import Address, Column, Database, Layout, quoted
from streamjoin.tables.failures import duplicate_key
from streamjoin.tables.postgresql import Postgresql
from streamjoin.tables.sqlite import Sqlite

_SLICE: Final = 10_000
"""Keys of one query."""
ROWS_PER_PARTITION: Final = 10_000


def _database(address: Address, table: str, patience: float | None = None) -> Database:
    kind = Sqlite if address.kind == "sqlite" else Postgresql
    return kind(address, table, patience)


class OpenSql:
    """A table in a database, as it is at each query; its version is that of the last `refresh`."""

    knows_places = False  # the database is asked either way

    def __init__(self, table: "SqlTable") -> None:
        self._table = table
        self._database = _database(table.address, table.name)
        self._columns = {c.name: c for c in self._database.columns()}
        self._refuse_other_columns()
        self._key = [self._columns[name] for name in table.key]
        self._indexes = self._database.indexes()
        self._bytes_per_row: float | None = None
        if table.is_unique:
            self._refuse_duplicates()
        self.version = self._now()
        self._layout = self._cut()

    @property
    def has_index(self) -> bool:
        """Whether the database has one that begins with a column of the key."""
        return any(names[0] in self._table.key for names, _ in self._indexes)

    @property
    def partition_rows(self) -> NDArray[np.int64]:
        """Rows of each partition, about: as if they were even."""
        n = len(self._layout.starts)
        return np.full(n, -(-self._layout.n_rows // n), np.int64)

    @property
    def bytes_per_row(self) -> float:
        """Memory that a row takes, by the first partition."""
        if self._bytes_per_row is None:
            sample = self.scan(0)
            self._bytes_per_row = sample.nbytes / sample.num_rows if sample.num_rows else 1.0
        return self._bytes_per_row

    def scan(self, partition: int, columns: Sequence[str] | None = None) -> pa.Table:
        """The rows in a range of places."""
        chosen = self._chosen(columns)
        where = self._database.within(*self._layout.bounds(partition))
        sql = f"SELECT {_list(chosen)} FROM {self._database.from_} WHERE {where}"
        return self._fit(self._database.query(sql), chosen)

    def locate(self, keys: KeyColumns) -> Located:
        """The partitions that have rows with these keys; the database is asked."""
        check_key_types(self._table, keys)
        _, rows = key_numbers(keys)
        keys = [column.take(pa.array(rows)) for column in keys]
        n = len(self._layout.starts)
        pairs = [np.empty(0, np.int64)]
        for start, part in _slices(keys):
            pairs_here = self._database.places(self._key, part)
            at, places = (column.to_numpy().astype(np.int64) for column in pairs_here.columns)
            pairs.append((at + start) * n + self._layout.partition_of(places))
        both = np.unique(np.concatenate(pairs))
        return rows[both // n], (both % n).astype(np.int32)

    def look_up(self, keys: KeyColumns, columns: Sequence[str] | None = None) -> pa.Table:
        """The rows that have one of these keys, through the index of the database."""
        check_key_types(self._table, keys)
        chosen = self._chosen(columns)
        parts = [self._fit(None, chosen)]
        for _, keys_here in _slices(_distinct(keys)):
            rows = self._database.rows(_list(chosen), self._key, keys_here)
            parts.append(self._fit(rows, chosen))
        return pa.concat_tables(parts)

    def refresh(self) -> Changes | None:
        """Ask for the version; if it is another one, any row may be."""
        now = self._now()
        if now == self.version:
            return None
        self.version, self._layout, self._bytes_per_row = now, self._cut(), None
        return Changes(whole=True)

    def touched(self, changes: Changes, keys: KeyColumns) -> NDArray[np.bool_]:
        """Any key may be."""
        return np.full(len(keys[0]), changes.whole)

    def close(self) -> None:
        """Close the connection."""
        self._database.close()

    def _cut(self) -> Layout:
        return self._database.layout(self._table.rows_per_partition)

    def _now(self) -> str:
        said = self._table.version
        if said is None:
            return self._database.version()
        if not said.lstrip().lower().startswith(("select", "with")):
            said = f"SELECT {said} FROM {self._database.from_}"
        return repr(self._database.query(said).to_pylist())

    def _chosen(self, columns: Sequence[str] | None) -> list[Column]:
        names = self._table.schema.names if columns is None else columns
        return [self._columns[n] for n in check_columns(self._table.schema, names, "columns")]

    def _fit(self, rows: pa.Table | None, chosen: list[Column]) -> pa.Table:
        schema = pa.schema([(column.name, column.kind) for column in chosen])
        if rows is None or not rows.num_rows:
            return schema.empty_table()
        fitting = [
            self._cast(values, column) for values, column in zip(rows.columns, chosen, strict=True)
        ]
        return pa.table(fitting, schema)

    def _cast(self, values: pa.ChunkedArray, column: Column) -> pa.ChunkedArray:
        if values.null_count == len(values):
            return pa.chunked_array([pa.nulls(len(values), column.kind)])
        try:
            return values.cast(column.kind)
        except pa.ArrowException as error:
            raise DataError(
                f"the table {self._table.name!r} has a value in column {column.name!r} that is "
                f"no {column.sql_type} ({error}); leave that column out, or correct the value"
            ) from None

    def _refuse_other_columns(self) -> None:
        for wanted in self._table.schema:
            column = self._columns.get(wanted.name)
            if column is None or column.kind != wanted.type:
                said = f"is {column.kind} now" if column else "is no longer there"
                raise DataError(
                    f"table: column {wanted.name!r} of {self._table.name!r} {said}; "
                    f"allowed: {wanted.type}, as when the join was defined"
                )

    def _refuse_duplicates(self) -> None:
        key = set(self._table.key)
        if any(unique and set(names) <= key for names, unique in self._indexes):
            return
        names = [quoted(name) for name in self._table.key]
        sql = (
            f"SELECT {_list(self._key)} FROM {self._database.from_} "
            f"WHERE {' AND '.join(f'{name} IS NOT NULL' for name in names)} "
            f"GROUP BY {', '.join(names)} HAVING count(*) > 1 LIMIT 1"
        )
        for row in self._fit(self._database.query(sql), self._key).to_pylist():
            raise duplicate_key(repr(self._table.name), row)


def _list(columns: Sequence[Column]) -> str:
    return ", ".join(column.selected for column in columns)


def _slices(keys: KeyColumns) -> Iterator[tuple[int, KeyColumns]]:
    for start in range(0, len(keys[0]), _SLICE):
        yield start, [column.slice(start, _SLICE) for column in keys]


def _distinct(keys: KeyColumns) -> KeyColumns:
    """Each key once, and none that is null."""
    names = [f"k{i}" for i in range(len(keys))]
    plain = [pc.add(c, 0.0) if pa.types.is_floating(c.type) else c for c in keys]  # no -0.0
    rows = pa.table(plain, names).drop_null().group_by(names).aggregate([])
    return [rows.column(name).combine_chunks() for name in names]


@dataclass(frozen=True)
class SqlTable:
    """A table in a database; made by `sql_table`. Its text has no password, its pickle does."""

    address: Address
    name: str
    key: tuple[str, ...]
    schema: pa.Schema = field(repr=False)
    is_unique: bool = False
    version: str | None = None
    rows_per_partition: int = ROWS_PER_PARTITION

    def open(self, folder: Path | None, memory: int) -> OpenSql:
        """Connect; the database has its own index, so neither folder nor memory is used."""
        return OpenSql(self)


def sql_table(
    uri: str,
    table: str,
    key: str | Sequence[str],
    columns: Sequence[str] | None = None,
    unique: bool = False,
    version: str | None = None,
    rows_per_partition: int = ROWS_PER_PARTITION,
) -> SqlTable:
    """A table in a database, for joins with a stream.

    Every query sees the table as it is at that moment. A row that is changed may move to another
    partition, so one that is there all the time may be missed by scans of partition after
    partition if the table changes meanwhile; `look_up` never misses one.

    Parameters
    ----------
    uri
        ``"sqlite:///path/of/the/file"`` or ``"postgresql://user:password@host:port/database"``.
        Passwords may also come from where PostgreSQL's own programs take them.
    table
        Its name; in PostgreSQL the name of its schema may be in front, with a dot.
    key
        The column that a stream is joined on, or several. An index on it makes look-ups fast.
    columns
        The columns that are wanted, besides the key; all if None.
    unique
        Promise that no key is there twice; it is an error if one is when the table is opened.
    version
        An expression over the table, or a query, whose value changes when the table does, such as
        ``"max(updated_at)"``. If None, in SQLite any change of the file counts, in PostgreSQL the
        server's own counts, which may be some seconds late.
    rows_per_partition
        About how many rows are read at once by scans.

    Examples
    --------
    >>> import sqlite3, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     shop = sqlite3.connect(f"{folder}/shop.db")
    ...     _ = shop.execute("CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT)")
    ...     _ = shop.execute("INSERT INTO customer VALUES (1, 'a'), (2, 'b')")
    ...     shop.commit()
    ...     table = sql_table(f"sqlite://{folder}/shop.db", "customer", key="id")
    ...     table.open(None, memory=0).look_up([pa.array([2, 3])]).to_pylist()
    [{'id': 2, 'name': 'b'}]
    """
    address = Address(uri)
    if rows_per_partition < 1:
        raise ConfigError.at("rows_per_partition", rows_per_partition, "a positive number")
    database = _database(address, table, patience=0)
    try:
        there = database.columns()
        if not there:
            raise _no_table(table, address, database.tables())
    finally:
        database.close()
    schema = pa.schema([(column.name, column.kind) for column in there])
    names = check_key(schema, key)
    if columns is not None:
        wanted = {*names, *check_columns(schema, columns, "columns")}
        schema = pa.schema([f for f in schema if f.name in wanted])
    for name in names:
        if address.kind == "sqlite" and pa.types.is_timestamp(schema.field(name).type):
            raise DataError(
                f"key: column {name!r} is a timestamp, which SQLite has as a text of any form; "
                "allowed: whole numbers, text, bytes, dates and decimals"
            )
    return SqlTable(address, table, names, schema, unique, version, rows_per_partition)


def _no_table(table: str, address: Address, there: list[str]) -> DataError:
    close = get_close_matches(table, there, n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    names = ", ".join(sorted(there)[:10]) or "none are there"
    return DataError(f"table: {address.safe} has no table {table!r}{hint}; allowed: {names}")
