"""Tables in SQLite and PostgreSQL."""

import decimal
import logging
import pickle
import sqlite3
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date, datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.table_server import Server, missing
from streamjoin.errors import ConfigError, DataError, MissingExtraError, TableError
from streamjoin.tables import failures
from streamjoin.tables.base import Changes
from streamjoin.tables.database import Address
from streamjoin.tables.postgresql import Postgresql
from streamjoin.tables.sql import sql_table
from tests.tables.folders import Row, check

D = decimal.Decimal
KEYS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "integer": (pa.int64(), [-5, 0, 1, 2, 2**60]),
    "varchar(9)": (pa.string(), ["", "a", "A", "it's", "ä"]),
    "decimal(9,2)": (pa.decimal128(9, 2), [D("0.00"), D("1.25"), D("-1.25"), D("1000000.10")]),
    "date": (pa.date32(), [date(2020, 1, 1), date(1960, 5, 5)]),
    "blob": (pa.binary(), [b"", b"\0", b"ab"]),
    "boolean": (pa.bool_(), [True, False]),
    "real": (pa.float64(), [0.0, 1.5, -2.0]),
}


@st.composite
def contents(draw: st.DrawFn) -> tuple[list[str], list[Row], list[Row]]:
    """Types of the key's columns, rows, and rows whose keys are wanted."""
    declared = draw(st.lists(st.sampled_from(sorted(KEYS)), min_size=1, max_size=2))
    key = st.tuples(*(st.none() | st.sampled_from(KEYS[name][1]) for name in declared))
    rows = st.lists(st.builds(lambda k, v: (*k, v), key, st.integers(0, 9)), max_size=12)
    return declared, draw(rows), draw(rows)


def fill(path: Path, declared: list[str], rows: list[Row], places: list[int]) -> None:
    """Rows at these rowids; decimals and dates as texts, as Python programs store them."""
    columns = ", ".join(f"k{i} {kind}" for i, kind in enumerate(declared))
    marks = ", ".join("?" * (len(declared) + 2))
    as_text = (D, date)
    stored = [
        (place, *(str(x) if isinstance(x, as_text) else x for x in row))
        for place, row in zip(places, rows, strict=True)
    ]
    with sqlite3.connect(path) as shop:
        shop.execute(f"CREATE TABLE t ({columns}, v integer)")
        names = ", ".join(f"k{i}" for i in range(len(declared)))
        shop.executemany(f"INSERT INTO t (rowid, {names}, v) VALUES ({marks})", stored)
    shop.close()


@given(contents(), st.sampled_from([1, 1000, 2**40]), st.integers(1, 5))
def test_sqlite_is_its_rows(
    drawn: tuple[list[str], list[Row], list[Row]], step: int, per_partition: int
) -> None:
    declared, rows, wanted = drawn
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "the shop.db"
        fill(path, declared, rows, [7 + step * i**2 for i in range(len(rows))])
        names = [f"k{i}" for i in range(len(declared))]
        table = sql_table(f"sqlite://{path}", "t", names, rows_per_partition=per_partition)
        opened = pickle.loads(pickle.dumps(table)).open(None, 0)
        check(opened, rows, wanted, [KEYS[name][0] for name in declared])
        assert opened.partition_rows.sum() >= len(rows)
        opened.close()


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    fill(tmp_path / "shop.db", ["integer"], [(i, i) for i in range(10)], list(range(10)))
    return tmp_path / "shop.db"


def change(path: Path, sql: str) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(sql)
    connection.close()


def test_changes_of_an_sqlite_file_are_noticed(shop: Path) -> None:
    any_change = sql_table(f"sqlite://{shop}", "t", "k0").open(None, 0)
    by_value = sql_table(f"sqlite://{shop}", "t", "k0", version="max(v)").open(None, 0)
    by_query = sql_table(f"sqlite://{shop}", "t", "k0", version="SELECT 1").open(None, 0)
    assert any_change.refresh() is by_value.refresh() is None
    change(shop, "CREATE TABLE other (x)")
    assert any_change.refresh() == Changes(whole=True)
    assert by_value.refresh() is None
    version = by_value.version
    change(shop, "INSERT INTO t VALUES (99, 99)")
    assert by_value.refresh() == Changes(whole=True)
    assert by_value.version != version
    assert by_query.refresh() is None
    assert by_query.look_up([pa.array([99])]).to_pylist() == [{"k0": 99, "v": 99}]
    assert by_value.touched(Changes(whole=True), [pa.array([1, 2])]).all()


def test_indexes_and_promises_in_sqlite(shop: Path) -> None:
    plain = sql_table(f"sqlite://{shop}", "t", "k0", unique=True).open(None, 0)
    assert not plain.has_index
    change(shop, "CREATE INDEX by_key ON t (k0)")
    assert sql_table(f"sqlite://{shop}", "t", "k0").open(None, 0).has_index
    change(shop, "INSERT INTO t VALUES (3, 0), (NULL, 0), (NULL, 0)")
    with pytest.raises(DataError, match="more than one row with k0=3; allowed: one row for each"):
        sql_table(f"sqlite://{shop}", "t", "k0", unique=True).open(None, 0)
    change(shop, "CREATE TABLE p (id INTEGER PRIMARY KEY, v)")
    assert sql_table(f"sqlite://{shop}", "p", "id", unique=True).open(None, 0).has_index


def test_refusals_of_sqlite(shop: Path) -> None:
    uri = f"sqlite://{shop}"
    with pytest.raises(TableError, match=r"there is no file .*none\.db"):
        sql_table(f"sqlite://{shop.parent}/none.db", "t", "k0")
    with pytest.raises(DataError, match=r"has no table 'tt' \(did you mean 't'\?\); allowed: t"):
        sql_table(uri, "tt", "k0")
    with pytest.raises(DataError, match=r"the table has no column 'k00' \(did you mean 'k0'\?\)"):
        sql_table(uri, "t", "k00")
    with pytest.raises(DataError, match="got string for the table's key 'k0'; allowed: int64"):
        sql_table(uri, "t", "k0").open(None, 0).look_up([pa.array(["1"])])
    with pytest.raises(ConfigError, match="rows_per_partition: got 0"):
        sql_table(uri, "t", "k0", rows_per_partition=0)
    change(shop, "CREATE TABLE odd (d decimal(5,2), t timestamp, k INTEGER PRIMARY KEY)")
    change(shop, "INSERT INTO odd VALUES ('x', 'y', 1)")
    with pytest.raises(DataError, match=r"value in column 'd' that is no decimal\(5,2\)"):
        sql_table(uri, "odd", "k").open(None, 0).scan(0)
    with pytest.raises(DataError, match="'t' is a timestamp, which SQLite has as a text"):
        sql_table(uri, "odd", "t")
    described = sql_table(uri, "t", "k0")
    change(shop, "ALTER TABLE t RENAME COLUMN v TO w")
    with pytest.raises(DataError, match="column 'v' of 't' is no longer there"):
        described.open(None, 0)
    change(shop, "CREATE VIEW seen AS SELECT k0 FROM t")
    with pytest.raises(ConfigError, match="'seen' is a view or has no rowid"):
        sql_table(uri, "seen", "k0").open(None, 0)
    (shop.parent / "text.db").write_text("no database, but long enough to be looked at")
    with pytest.raises(DataError, match="file is not a database"):
        sql_table(f"sqlite://{shop.parent}/text.db", "t", "k0")


@pytest.mark.parametrize(
    ("uri", "safe"),
    [
        ("postgresql://me:pa%3As@db:1/x?password=abc", "postgresql://me@db:1/x"),
        ("postgresql:///x?user=me&password=abc", "postgresql:///x"),
        ("postgresql://me:p@ss/w@db/x", "postgresql://me@db/x"),
        ("postgresql://me:p@ss?w@db/x", "postgresql://me@***"),
        ("postgresql://me:abc?w@db/x", "postgresql://me@***"),
        ("postgresql://db?user=me&password=p@ss", "postgresql://db@***"),
        ("postgresql://me@db/x?password=p@ss/w", "postgresql://me@***"),
        ("postgresql:///x?sslpassword=abc", "postgresql:///x"),
        ("sqlite:///a@b/x.db?mode=ro", "sqlite:///a@b/x.db"),
    ],
)
def test_passwords_are_not_shown(uri: str, safe: str) -> None:
    assert repr(Address(uri)) == f"Address({safe!r})"
    shown = Address(uri).hide(f"cannot use {uri} or {uri[13:]}")
    assert not any(secret in shown for secret in ("abc", "pa%3As", "p@ss"))


def test_addresses_that_are_none() -> None:
    for uri in (
        "mysql://me:secret@db/x",
        "sqlite://",
        "sqlite://relative.db",
        "secret",
        "db=secret",
    ):
        with pytest.raises(ConfigError, match="allowed: 'sqlite:///path/of/the/file'") as raised:
            sql_table(uri, "t", "k")
        assert "secret" not in str(raised.value)


def test_a_missing_driver_is_named(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "adbc_driver_sqlite.dbapi", None)
    with pytest.raises(MissingExtraError, match=r'pip install "streamjoin\[sql\]"'):
        sql_table(f"sqlite://{shop}", "t", "k0")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    reason = missing()
    if reason:
        pytest.skip(reason)
    running = Server("reader:s3cret")
    yield running
    running.remove()


@pytest.mark.system
@pytest.mark.parametrize(
    ("login", "options"),
    [("reader:s3?cret@", ""), ("reader@", "?application_name=a@b"), ("", "?user=reader")],
)
def test_addresses_with_and_without_options(server: Server, login: str, options: str) -> None:
    uri = f"postgresql://{login}{server.uri.rpartition('@')[2]}{options}"
    database = Postgresql(Address(uri), "t", 0.0)
    try:
        assert database.query("SELECT current_user::text AS u").to_pylist() == [{"u": "reader"}]
    finally:
        database.close()


TYPES: dict[str, tuple[str, Any, Any]] = {
    "smallint": ("7", 7, pa.array([7, 70_000])),
    "integer": ("-7", -7, pa.array([-7, 2**40])),
    "text": ("'it''s'", "it's", pa.array(["it's", "its"])),
    "char(4)": ("'ab'", "ab", pa.array(["ab", "a"])),
    "numeric(12,2)": ("1.25", D("1.25"), pa.array([D("1.25")], pa.decimal128(12, 2))),
    "numeric": ("0.125", D("0.125"), pa.array([D("0.125")], pa.decimal128(38, 18))),
    "boolean": ("true", True, pa.array([True])),
    "double precision": ("'NaN'", None, pa.array([float("nan"), -0.0])),
    "bytea": (r"'\x00ff'", b"\0\xff", pa.array([b"\0\xff"])),
    "date": ("'2020-01-02'", date(2020, 1, 2), pa.array([date(2020, 1, 2)])),
    "timestamp": (
        "'2020-01-02 03:04:05.6'",
        datetime(2020, 1, 2, 3, 4, 5, 600_000),
        pa.array([datetime(2020, 1, 2, 3, 4, 5, 600_000)]),
    ),
    "timestamptz": (
        "'2020-01-02 03:04:05+01'",
        datetime(2020, 1, 2, 2, 4, 5, tzinfo=timezone.utc),
        pa.array([datetime(2020, 1, 2, 2, 4, 5)]).cast(pa.timestamp("us", "UTC")),
    ),
    "uuid": ("'" + "ab" * 16 + "'", "-".join("ab" * n for n in (4, 2, 2, 2, 6)), None),
}


@pytest.mark.system
def test_types_of_postgresql(server: Server) -> None:
    columns = ", ".join(f'"c {i}" {kind}' for i, kind in enumerate(TYPES))
    values = ", ".join(literal for literal, _, _ in TYPES.values())
    nulls = ", ".join("NULL" for _ in TYPES)
    server.execute("CREATE SCHEMA s")
    server.execute(f"CREATE TABLE s.types ({columns})")
    server.execute(f"INSERT INTO s.types VALUES ({values}), ({nulls})")
    for i, (_, value, wanted) in enumerate(TYPES.values()):
        table = sql_table(server.uri, "s.types", f"c {i}").open(None, 0)
        wanted = pa.array([value]) if wanted is None else wanted
        found = table.look_up([wanted], [f"c {i}"]).column(0).to_pylist()
        assert len(found) == 1
        assert value is None or found == [value]
        assert [a.tolist() for a in table.locate([wanted])] == [[0], [0]]
        assert table.scan(0).num_rows == 2
        table.close()


@pytest.mark.system
def test_postgresql_is_its_rows(server: Server) -> None:
    server.execute("CREATE TABLE pairs (k0 bigint, k1 text, v bigint)")
    server.execute(
        "INSERT INTO pairs SELECT i % 1500, CASE WHEN i % 7 > 0 THEN 'x' || i % 2 END, i "
        "FROM generate_series(1, 3000) i"
    )
    rows = [(i % 1500, f"x{i % 2}" if i % 7 else None, i) for i in range(1, 3001)]
    wanted: list[Row] = [
        (int(k), f"x{k % 3}", 0) for k in np.random.default_rng(0).integers(0, 2000, 300)
    ]
    wanted += [(1, None, 0), wanted[0]]
    table = sql_table(server.uri, "pairs", ["k0", "k1"], rows_per_partition=400)
    opened = table.open(None, 0)
    assert len(opened.partition_rows) > 5
    assert not opened.has_index
    check(opened, rows, wanted, [pa.int64(), pa.string()])
    server.execute("CREATE UNIQUE INDEX ON pairs (v)")
    server.execute("ANALYZE pairs")
    by_value = sql_table(server.uri, "pairs", "v", unique=True, rows_per_partition=400)
    opened = by_value.open(None, 0)
    assert opened.has_index
    assert abs(int(opened.partition_rows.sum()) - 3000) < 300
    with pytest.raises(DataError, match="more than one row with k0="):
        sql_table(server.uri, "pairs", "k0", unique=True).open(None, 0)


@pytest.mark.system
def test_changes_in_postgresql_are_noticed(server: Server) -> None:
    server.execute("CREATE TABLE grows AS SELECT i AS id FROM generate_series(1, 10) i")
    table = sql_table(server.uri, "grows", "id", rows_per_partition=500).open(None, 0)
    n_partitions = len(table.partition_rows)
    server.execute("INSERT INTO grows SELECT generate_series(11, 3000)")
    assert table.look_up([pa.array([3000])]).num_rows == 1
    assert table.scan(n_partitions - 1).num_rows > 2000  # nothing is missed until the next look
    assert table.refresh() == Changes(whole=True)
    assert len(table.partition_rows) > n_partitions
    server.execute("TRUNCATE grows")
    assert table.refresh() == Changes(whole=True)
    assert table.scan(0).num_rows == 0
    assert table.bytes_per_row == 1.0


@pytest.mark.system
def test_refusals_of_postgresql(server: Server) -> None:
    server.execute("CREATE VIEW seen AS SELECT 1 AS id")
    with pytest.raises(ConfigError, match="'seen' is a view or has parts of its own"):
        sql_table(server.uri, "seen", "id").open(None, 0)
    with pytest.raises(DataError, match=r"has no table 'sen' \(did you mean 'seen'\?\)"):
        sql_table(server.uri, "sen", "id")
    with pytest.raises(TableError, match=r"'t' in .*reader@.* not let us in \(.*none") as raised:
        sql_table(server.uri.replace("/postgres", "/none"), "t", "id")
    assert "s3cret" not in str(raised.value)
    server.execute("CREATE TABLE goes AS SELECT 1 AS id")
    table = sql_table(server.uri, "goes", "id").open(None, 0)
    server.execute("DROP TABLE goes")
    with pytest.raises(DataError, match=r"'goes' in postgresql://reader@.* does not exist"):
        table.look_up([pa.array([1], pa.int32())])


@pytest.mark.system
def test_a_server_that_goes_away(
    server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    server.execute("CREATE TABLE stays AS SELECT 1 AS id")
    monkeypatch.setattr(failures, "PATIENCE", 0.2)
    table = sql_table(server.uri, "stays", "id").open(None, 0)
    wanted = [pa.array([1, 2], pa.int32())]
    server.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
        "AND backend_type = 'client backend'"
    )
    with caplog.at_level(logging.WARNING):
        assert table.look_up(wanted).num_rows == 1  # a new connection
    assert "s3cret" not in caplog.text
    server.stop()
    message = r"the table 'stays' in .* does not answer \(.*\); see that it runs"
    with pytest.raises(TableError, match=message):
        table.look_up(wanted)
    monkeypatch.undo()
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(table.look_up, wanted)  # asks until there is an answer
        server.start()
        assert answer.result().num_rows == 1


@pytest.mark.system
def test_a_wrong_password_is_said_at_once(server: Server) -> None:
    server.execute("CREATE ROLE locked LOGIN PASSWORD 'right'")
    server.execute("CREATE TABLE safe AS SELECT 1 AS id")
    server.execute("GRANT SELECT ON safe TO locked")
    rules = server.folder / "data" / "pg_hba.conf"
    rules.write_text(f"host all locked 127.0.0.1/32 scram-sha-256\n{rules.read_text()}")
    server.execute("SELECT pg_reload_conf()")
    uri = server.uri.replace("reader:s3cret", "locked:right")
    table = sql_table(uri, "safe", "id")
    wrong = replace(table, address=Address(uri.replace("right", "wr0ng")))
    message = r"'safe' in .*locked@.* not let us in \(.*\); correct user, password or database"
    with pytest.raises(TableError, match=message) as raised:
        wrong.open(None, 0)
    assert "wr0ng" not in str(raised.value)
    assert table.open(None, 0).look_up([pa.array([1], pa.int32())]).num_rows == 1
