"""PostgreSQL: partitions are ranges of pages."""

import re
from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from streamjoin.errors import ConfigError
from streamjoin.tables.base import KeyColumns
from streamjoin.tables.database import Column, Database, Layout, quoted

_SAMPLED_PAGES: Final = 64
"""Pages whose rows are counted where the server has no estimate."""
_HOPEFUL: Final = {
    "connect_timeout": 5,
    "tcp_user_timeout": 15_000,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
}
"""How soon it is noticed that a machine, or the way to it, is gone: half a minute at most."""
_LOGIN: Final = re.compile(r"\A[^/@]*@")  # as PostgreSQL reads it: what a ? is in is no option
_NUMERIC: Final = re.compile(r"numeric\((\d+),(\d+)\)")
_KINDS: Final = {
    "boolean": pa.bool_(),
    "smallint": pa.int16(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "real": pa.float32(),
    "double precision": pa.float64(),
    "date": pa.date32(),
    "timestamp without time zone": pa.timestamp("us"),
    "timestamp with time zone": pa.timestamp("us", "UTC"),
    "time without time zone": pa.time64("us"),
    "bytea": pa.binary(),
    "numeric": pa.decimal128(38, 18),  # as Spark has it
}


def arrow_type(sql_type: str) -> pa.DataType:
    """The type for values of an SQL type; text for those that Arrow does not have.

    Examples
    --------
    >>> arrow_type("numeric(12,2)"), arrow_type("bigint"), arrow_type("uuid")
    (Decimal128Type(decimal128(12, 2)), DataType(int64), DataType(string))
    """
    if (digits := _NUMERIC.fullmatch(sql_type)) and int(digits[1]) <= 38:
        return pa.decimal128(int(digits[1]), int(digits[2]))
    return _KINDS.get(re.sub(r"\(\d+\)", "", sql_type), pa.string())


class Postgresql(Database):
    """A table of a PostgreSQL server."""

    _PLACE = "ctid", "'({},0)'::tid"
    _TABLES = (  # those that a plain name finds
        "SELECT relname::text FROM pg_class WHERE pg_table_is_visible(oid) "
        "AND relkind IN ('r', 'm', 'p', 'v') AND relnamespace <> 'pg_catalog'::regnamespace"
    )

    def columns(self) -> list[Column]:
        """By the server's catalogue; what Arrow has no type for comes as text."""
        sql = (
            "SELECT attname, format_type(atttypid, atttypmod) AS type FROM pg_attribute "
            f"WHERE attrelid = {self._oid} AND attnum > 0 AND NOT attisdropped "
            "ORDER BY attnum"
        )
        return [_column(row["attname"], row["type"]) for row in self.query(sql).to_pylist()]

    @property
    def from_(self) -> str:
        """The table's name, with its schema if that is in front of it."""
        return ".".join(quoted(part) for part in self.table.split("."))

    @property
    def _oid(self) -> str:
        name = self.from_.replace("'", "''")
        return f"to_regclass('{name}')"

    def layout(self, rows_per_partition: int) -> Layout:
        """Ranges of pages with about as many rows."""
        sql = (
            "SELECT relkind::text, reltuples::float8 AS rows, relpages::float8 AS known, "
            "(pg_relation_size(oid) / current_setting('block_size')::bigint)::bigint AS pages "
            f"FROM pg_class WHERE oid = {self._oid}"
        )
        table = self.query(sql).to_pylist()[0]
        if table["relkind"] not in ("r", "m"):
            raise ConfigError(
                f"table: {self.table!r} is a view or has parts of its own, so it has no "
                "pages; allowed: an ordinary table or a materialized view"
            )
        pages, known = int(table["pages"]), table["known"]
        dense = table["rows"] / known if known > 0 else self._rows_per_page(pages)
        step = max(1, round(rows_per_partition / max(dense, 1e-9))) if dense else max(1, pages)
        return Layout(np.arange(0, max(1, pages), step), round(dense * pages))

    def _rows_per_page(self, pages: int) -> float:
        if not pages:
            return 0.0
        few = min(pages, _SAMPLED_PAGES)
        sql = f"SELECT count(*) FROM {self.from_} WHERE {self.within(None, few)}"
        return int(self.query(sql).column(0)[0].as_py()) / few

    def version(self) -> str:
        """Its file, size and counts of changes, which the server may report some seconds late."""
        sql = (
            "SELECT concat_ws('-', pg_relation_filenode(relid), pg_relation_size(relid), "
            "n_tup_ins, n_tup_upd, n_tup_del) "
            f"FROM pg_stat_all_tables WHERE relid = {self._oid}"
        )
        return "".join(map(str, self.query(sql).column(0).to_pylist()))

    def indexes(self) -> list[tuple[tuple[str, ...], bool]]:
        """Its indexes over plain columns and all rows."""
        sql = (
            "SELECT array_agg(a.attname::text ORDER BY k.i) AS names, bool_and(indisunique) AS u "
            "FROM pg_index x, unnest(x.indkey::smallint[]) WITH ORDINALITY k(n, i), pg_attribute a "
            f"WHERE x.indrelid = {self._oid} AND a.attrelid = x.indrelid "
            "AND a.attnum = k.n AND x.indisvalid AND x.indpred IS NULL AND x.indexprs IS NULL "
            "AND k.i <= x.indnkeyatts GROUP BY x.indexrelid"
        )
        return [(tuple(row["names"]), row["u"]) for row in self.query(sql).to_pylist()]

    def rows(self, wanted: str, key: Sequence[Column], keys: KeyColumns) -> pa.Table:
        """All keys in one array."""
        if len(key) == 1:
            condition = f"{quoted(key[0].name)} = ANY({_array(key[0], 1)})"
        else:
            names = ", ".join(quoted(column.name) for column in key)
            condition = f"({names}) IN (SELECT * FROM {_unnested(key)})"
        sql = f"SELECT {wanted} FROM {self.from_} WHERE {condition}"
        return self.query(sql, _sent(keys))

    def places(self, key: Sequence[Column], keys: KeyColumns) -> pa.Table:
        """The page of each row that has one of the keys."""
        names = [f"k{i}" for i in range(len(key))]
        equal = " AND ".join(
            f"t.{quoted(column.name)} = k.{name}" for name, column in zip(names, key, strict=True)
        )
        sql = (
            "SELECT k.i - 1 AS i, (t.ctid::text::point)[0]::bigint AS place "
            f"FROM {_unnested(key)} WITH ORDINALITY AS k({', '.join(names)}, i) "
            f"JOIN {self.from_} t ON {equal}"
        )
        return self.query(sql, _sent(keys))

    def _uri(self) -> str:
        uri = self.address.uri
        rest = _LOGIN.sub("", uri.partition("://")[2], count=1)
        added = [f"{name}={n}" for name, n in _HOPEFUL.items() if f"{name}=" not in rest]
        return uri + ("&" if "?" in rest else "?") + "&".join(added)


def _column(name: str, sql_type: str) -> Column:
    kind, selected = arrow_type(sql_type), quoted(name)
    if kind == pa.string() or pa.types.is_decimal(kind):
        selected = f"{selected}::text AS {selected}"
    return Column(name, sql_type, kind, selected)


def _array(column: Column, number: int) -> str:
    # Not the column's own type where that is a smaller number: others than it has are no error.
    sql_type = "bigint" if pa.types.is_integer(column.kind) else column.sql_type
    return f"CAST(${number} AS {sql_type}[])"


def _unnested(key: Sequence[Column]) -> str:
    return f"unnest({', '.join(_array(column, i) for i, column in enumerate(key, start=1))})"


def _sent(keys: KeyColumns) -> pa.RecordBatch:
    """Each column of the keys as one array."""
    ends = pa.array([0, len(keys[0])], pa.int32())
    lists = [pa.ListArray.from_arrays(ends, column) for column in keys]
    return pa.record_batch(lists, [f"k{i}" for i in range(len(lists))])
