"""SQLite: partitions are ranges of rowid."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Final
from urllib.parse import quote

import numpy as np
import pyarrow as pa

from streamjoin.errors import ConfigError, TableError
from streamjoin.tables.base import KeyColumns
from streamjoin.tables.database import Column, Database, Layout, quoted

_KINDS: Final[tuple[tuple[str, pa.DataType], ...]] = (  # as SQLite itself: what a name contains
    ("BOOL", pa.bool_()),
    ("INT", pa.int64()),
    ("DATETIME", pa.timestamp("us")),
    ("TIMESTAMP", pa.timestamp("us")),
    ("DATE", pa.date32()),
    ("CHAR", pa.string()),
    ("CLOB", pa.string()),
    ("TEXT", pa.string()),
    ("BLOB", pa.binary()),
    ("REAL", pa.float64()),
    ("FLOA", pa.float64()),
    ("DOUB", pa.float64()),
    ("NUMERIC", pa.float64()),
    ("DECIMAL", pa.float64()),
)
_DECIMAL: Final = re.compile(r"(?:DECIMAL|NUMERIC)\s*\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)")
_CAST: Final = {pa.bool_(): pa.int64(), pa.date32(): pa.string()}  # as they are stored


def arrow_type(declared: str) -> pa.DataType:
    """The type for values of a column that was declared so.

    Examples
    --------
    >>> arrow_type("varchar(20)"), arrow_type("DECIMAL(12, 2)"), arrow_type("")
    (DataType(string), Decimal128Type(decimal128(12, 2)), DataType(binary))
    """
    name = declared.upper()
    if digits := _DECIMAL.search(name):
        return pa.decimal128(min(38, int(digits[1])), int(digits[2] or 0))
    rest = pa.string() if name else pa.binary()
    return next((kind for part, kind in _KINDS if part in name), rest)


class Sqlite(Database):
    """A table of an SQLite file."""

    _PLACE = "rowid", "{}"
    _TABLES = "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')"
    # Types are taken from the first rows: let them be all rows.
    _OPTIONS: ClassVar = {"adbc.sqlite.query.batch_rows": 1 << 20}

    def columns(self) -> list[Column]:
        """By the declared types; decimals come as text, so that no digit is lost."""
        sql = f"SELECT name, type FROM pragma_table_xinfo({self._name}) WHERE hidden <> 1"
        return [_column(row["name"], row["type"] or "") for row in self.query(sql).to_pylist()]

    def layout(self, rows_per_partition: int) -> Layout:
        """Ranges of rowid of about as many rows."""
        tables = self.query(f"SELECT type, wr FROM pragma_table_list({self._name})").to_pylist()
        if tables and (tables[0]["type"] != "table" or tables[0]["wr"]):
            raise ConfigError(
                f"table: {self.table!r} is a view or has no rowid, so it has no partitions; "
                "allowed: an ordinary table"
            )
        sql = f"SELECT count(*) AS n, min(rowid) AS low, max(rowid) AS high FROM {self.from_}"
        n, low, high = self.query(sql).to_pylist()[0].values()
        n_partitions = max(1, -(-n // rows_per_partition))
        if n == 0 or high - low < 2 * n:
            low, width = low or 0, (high or 0) - (low or 0) + 1
            starts = [low + width * i // n_partitions for i in range(n_partitions)]
            return Layout(np.array(starts, np.int64), n)
        sql = (
            f"SELECT rowid AS place FROM (SELECT rowid, row_number() OVER (ORDER BY rowid) AS i "
            f"FROM {self.from_}) WHERE i % {rows_per_partition} = 1 % {rows_per_partition} "
            "ORDER BY 1"
        )
        return Layout(self.query(sql).column(0).to_numpy(), n)

    def version(self) -> str:
        """Sizes and times of the file and its log: changes of other tables count too."""
        path = self.address.path
        stats = [file.stat() for file in (Path(path), Path(f"{path}-wal")) if file.exists()]
        return "-".join(f"{stat.st_size}:{stat.st_mtime_ns}" for stat in stats)

    def indexes(self) -> list[tuple[tuple[str, ...], bool]]:
        """Its indexes, and the primary key where that is the rowid."""
        name = self._name
        sql = (
            'SELECT l.name AS i, l."unique" AS u, c.name AS c '
            f"FROM pragma_index_list({name}) l, pragma_index_info(l.name) c "
            "WHERE l.partial = 0 ORDER BY l.seq, c.seqno"
        )
        indexes: dict[str, tuple[list[str], bool]] = {}
        for row in self.query(sql).to_pylist():
            indexes.setdefault(row["i"], ([], bool(row["u"])))[0].append(str(row["c"]))
        sql = f"SELECT name FROM pragma_table_info({name}) WHERE pk > 0 AND upper(type) = 'INTEGER'"
        primary = self.query(sql).column(0).to_pylist()
        rowid = [((str(primary[0]),), True)] if len(primary) == 1 else []
        return [(tuple(names), unique) for names, unique in indexes.values()] + rowid

    def rows(self, wanted: str, key: Sequence[Column], keys: KeyColumns) -> pa.Table:
        """One search of the index for each key."""
        sql = f"SELECT {wanted} FROM {self.from_} WHERE {_equal(key, first=1)}"
        return self.query(sql, _sent(keys))

    def places(self, key: Sequence[Column], keys: KeyColumns) -> pa.Table:
        """The rowid of each row that has one of the keys."""
        sql = f"SELECT ?1 AS i, rowid AS place FROM {self.from_} WHERE {_equal(key, first=2)}"
        return self.query(sql, _sent([pa.array(np.arange(len(keys[0]))), *keys]))

    @property
    def _name(self) -> str:
        return "'" + self.table.replace("'", "''") + "'"

    def _uri(self) -> str:
        path = self.address.path
        if not Path(path).is_file():
            raise TableError(
                f"the table {self.table!r} cannot be {self._doing}: there is no file {path}; "
                "name the file of an SQLite database"
            )
        return f"file:{quote(path)}?mode=ro"


def _column(name: str, declared: str) -> Column:
    kind, selected = arrow_type(declared), quoted(name)
    if pa.types.is_decimal(kind):
        selected = f"CAST({selected} AS TEXT) AS {selected}"
    return Column(name, declared, kind, selected)


def _equal(key: Sequence[Column], first: int) -> str:
    pairs = enumerate(key, start=first)
    return " AND ".join(f"{quoted(column.name)} = ?{i}" for i, column in pairs)


def _sent(columns: KeyColumns) -> pa.RecordBatch:
    """Keys as SQLite stores them."""
    kinds = [pa.string() if pa.types.is_decimal(c.type) else _CAST.get(c.type) for c in columns]
    sent = [c.cast(kind) if kind else c for c, kind in zip(columns, kinds, strict=True)]
    return pa.record_batch(sent, [f"k{i}" for i in range(len(sent))])
