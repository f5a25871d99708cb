"""A table in a database, SQLite or PostgreSQL, that is read through ADBC."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Final

import pyarrow as pa

from streamjoin.errors import ConfigError, DataError
from streamjoin.tables.base import check_columns, check_key
from streamjoin.tables.database import Address, Database
from streamjoin.tables.open_sql import OpenSql, dialect_of

ROWS_PER_PARTITION: Final = 10_000


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
        msg = f"rows_per_partition: got {rows_per_partition}; allowed: a positive number"
        raise ConfigError(msg)
    database = Database(address, table, patience=0)
    dialect = dialect_of(address)
    try:
        found = dialect.columns(database)
        if not found:
            raise _no_table(table, address, dialect.tables(database))
    finally:
        database.close()
    schema = pa.schema([(column.name, column.kind) for column in found])
    names = check_key(schema, key)
    if columns is not None:
        wanted = {*names, *check_columns(schema, columns, "columns")}
        schema = pa.schema([f for f in schema if f.name in wanted])
    for name in names:
        if address.kind == "sqlite" and pa.types.is_timestamp(schema.field(name).type):
            msg = (
                f"key: column {name!r} is a timestamp, which SQLite has as a text of any form; "
                "allowed: whole numbers, text, bytes, dates and decimals"
            )
            raise DataError(msg)
    return SqlTable(address, table, names, schema, unique, version, rows_per_partition)


def _no_table(table: str, address: Address, there: list[str]) -> DataError:
    close = get_close_matches(table, there, n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    names = ", ".join(sorted(there)[:10]) or "none are there"
    return DataError(f"table: {address.safe} has no table {table!r}{hint}; allowed: {names}")
