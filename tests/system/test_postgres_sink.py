"""Results into a table of PostgreSQL: each once, whatever fails or is run again."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import date, datetime, timezone
from pathlib import Path
from typing import Any

import adbc_driver_postgresql.dbapi as postgresql
import pyarrow as pa
import pytest
from pyspark import TaskContext
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import streamjoin as sj
from benchmarks.table_server import Server, missing
from streamjoin.cli.run import spark_needs
from streamjoin.cli.table_file import load_toml
from streamjoin.errors import ConfigError, DataError, StateError, TableError
from streamjoin.spark.sinks import tables as sink_tables
from streamjoin.spark.sinks.postgres import PostgresSink
from streamjoin.spark.sinks.tables import BATCHES, Parts, Staging, Target, connected
from streamjoin.tables.database import Address
from tests.names import NASTY
from tests.spark.streams import read_stream, write_batches

WHY = missing()
pytestmark = pytest.mark.skipif(WHY is not None, reason=str(WHY))

SECRET = "c0rrect-h0rse"
QUERY = "sql.streaming.queryId"
ON_PURPOSE = "on purpose"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(f"writer:{SECRET}") as started:
        yield started


@pytest.fixture
def query(spark: SparkSession) -> Iterator[str]:
    """As if the test were the thread of a query: sinks are called as Spark calls them."""
    name = f"query-{time.monotonic_ns()}"
    spark.sparkContext.setLocalProperty(QUERY, name)
    yield name
    spark.sparkContext.setLocalProperty(QUERY, None)  # type: ignore[arg-type]


def ask(server: Server, sql: str) -> list[dict[str, Any]]:
    database = connected(Address(server.uri), "any")
    try:
        found: list[dict[str, Any]] = database.query(sql).to_pylist()
        return found
    finally:
        database.close()


def count(server: Server, table: str) -> int:
    return int(ask(server, f"SELECT count(*) AS n FROM {table}")[0]["n"])


def left_over(server: Server) -> list[str]:
    sql = "SELECT relname::text AS n FROM pg_class WHERE relname ~ '^streamjoin_' AND relkind = 'r'"
    return [row["n"] for row in ask(server, sql) if row["n"] != BATCHES]


def test_types(spark: SparkSession, server: Server, query: str) -> None:
    frame = spark.sql(
        "SELECT true AS b, 1Y AS y, 2S AS s, 3 AS i, 4L AS l, 1.5F AS f, 2.5D AS d, 12.34BD AS n, "
        "'ä' AS t, X'00FF' AS x, DATE '0001-01-01' AS day, array(1, NULL) AS list, "
        "TIMESTAMP '2026-01-02 03:04:05.000006' AS at, map('k', 1) AS map, "
        "TIMESTAMP_NTZ '2026-01-02 03:04:05.000006' AS ntz, "
        "named_struct('a', CAST(NULL AS INT)) AS struct"
    )
    nulls = frame.select([F.when(F.lit(False), F.col(name)) for name in frame.columns])
    sj.postgres_sink(server.uri, "public.types", False)(frame.union(nulls), 0)
    names = ", ".join(
        f"{name}::text" if name in ("n", "list", "map", "struct") else name
        for name in frame.columns
    )
    rows = ask(server, f"SELECT {names} FROM types ORDER BY b")
    assert rows[0] == {
        "b": True, "y": 1, "s": 2, "i": 3, "l": 4, "f": 1.5, "d": 2.5, "n": "12.34", "t": "ä",
        "x": b"\x00\xff", "day": date(1, 1, 1), "list": "[1, null]", "map": '{"k": 1}',
        "at": datetime(2026, 1, 2, 3, 4, 5, 6, timezone.utc),
        "ntz": datetime(2026, 1, 2, 3, 4, 5, 6), "struct": '{"a": null}',
    }  # fmt: skip
    assert set(rows[1].values()) == {None}


def test_any_name_of_a_column(spark: SparkSession, server: Server, query: str) -> None:
    """But the empty one, which PostgreSQL has not."""
    names = [name for name in NASTY if name]
    frame = spark.range(3).select(*(F.col("id").alias(name) for name in names))
    sj.postgres_sink(server.uri, "public.nasty", pair_id="pair.`id")(frame, 0)
    found = ask(server, 'SELECT * FROM "nasty"')
    assert sorted(tuple(row[name] for name in names) for row in found) == [
        (i,) * len(names) for i in range(3)
    ]
    assert {len(row["pair.`id"]) for row in found} == {32}


def test_a_batch_that_is_run_again_is_left_out(
    spark: SparkSession, server: Server, query: str
) -> None:
    sink = sj.postgres_sink(server.uri, "again", pair_id=False)
    for batch in (0, 1, 1, 2, 2):
        sink(spark.range(10 * batch, 10 * batch + 10), batch)
    sink(spark.range(20, 30).orderBy(F.desc("id")).coalesce(1), 2)  # in another order
    assert count(server, "again") == 30
    with pytest.raises(StateError, match=r"batch 1 of query .* comes again, but 'public.again' ha"):
        sink(spark.range(10), 1)
    other = spark.range(20, 30).selectExpr("IF(id = 20, 0, id) AS id")
    for rows in (other, spark.range(20, 31), spark.range(0)):
        with pytest.raises(StateError, match=r"batch 2 of .* comes again with other rows than 'pu"):
            sink(rows, 2)
    assert count(server, "again") == 30


def test_a_table_has_one_name(spark: SparkSession, server: Server, query: str) -> None:
    for name in ("named", "public.named"):
        sj.postgres_sink(server.uri, name, pair_id=False)(spark.range(10), 0)
    assert count(server, "named") == 10


def test_columns_that_are_there_are_ids_only_if_named(
    spark: SparkSession, server: Server, query: str
) -> None:
    rows = spark.sql("SELECT 'x' AS pair_id UNION ALL SELECT 'x'")
    with pytest.raises(ConfigError, match=r"^pair_id: the frame has a column 'pair_id' of its own"):
        sj.postgres_sink(server.uri, "own")(rows, 0)
    with pytest.raises(ConfigError, match=r"^pair_id: the frame has a column 'Pair_Id' of its own"):
        sj.postgres_sink(server.uri, "own", "Pair_Id")(rows, 0)
    sj.postgres_sink(server.uri, "own", "pair_id")(rows, 0)
    assert count(server, "own") == 1
    nulls = spark.sql("SELECT 'y' AS pair_id UNION ALL SELECT NULL")
    with pytest.raises(DataError, match=r"^pair_id: column 'pair_id' is null in 1 rows of batch 1"):
        sj.postgres_sink(server.uri, "own", "pair_id")(nulls, 1)


def test_a_task_that_hangs_does_not_stop_the_query(
    spark: SparkSession, server: Server, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill = Staging.fill
    held: list[Any] = []

    def hold(self: Staging, frame: DataFrame) -> Parts:
        parts = fill(self, frame)
        if not held:
            held.append(postgresql.connect(server.uri))
            with held[0].cursor() as cursor:
                cursor.execute(f"LOCK TABLE {self.place} IN ROW EXCLUSIVE MODE")
        return parts

    monkeypatch.setattr(Staging, "fill", hold)
    monkeypatch.setattr(sink_tables, "_LOCK_SECONDS", 0.1)
    sink = sj.postgres_sink(server.uri, "held", pair_id=False)
    for batch in (0, 1):
        sink(spark.range(10), batch)
    assert count(server, "held") == 20
    assert len(left_over(server)) == 1
    held[0].close()
    sink(spark.range(10), 2)
    assert left_over(server) == []


def test_queries_that_begin_at_once_make_the_tables_once(server: Server) -> None:
    server.execute("CREATE SCHEMA begun")
    failed: list[Exception] = []

    def begin(i: int) -> None:
        target = Target(f"begun.t{i}", {"id": "bigint"}, None, f"query {i}")
        database = connected(Address(server.uri), target.table)
        try:
            sink_tables.whole(database, target.create)
        except Exception as error:
            failed.append(error)
        finally:
            database.close()

    threads = [threading.Thread(target=begin, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


def test_a_transaction_whose_client_is_lost_ends_by_itself(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would keep its locks until the server's keepalive notices, after two hours."""
    monkeypatch.setattr(sink_tables, "PATIENCE", 0.3)
    lost, next_one = (connected(Address(server.uri), "public.locked") for _ in range(2))
    took = threading.Event()

    def hang(cursor: Any) -> None:
        cursor.execute("SELECT pg_advisory_xact_lock(77)")
        cursor.fetchall()
        took.set()
        time.sleep(2)  # nothing more is heard of it

    def work() -> None:
        with pytest.raises(TableError):
            sink_tables.whole(lost, hang)

    thread = threading.Thread(target=work)
    thread.start()
    took.wait()
    began = time.monotonic()
    sink_tables.whole(
        next_one, lambda cursor: sink_tables.ask(cursor, "SELECT pg_advisory_xact_lock(77)")
    )
    assert time.monotonic() - began < 1.5
    thread.join()
    lost.close()
    next_one.close()


def test_a_table_for_copies_is_there_once_though_its_answer_was_lost(server: Server) -> None:
    database = connected(Address(server.uri), "public.staged")
    table = Staging.of(database, "a query", 3)
    for _ in range(2):
        sink_tables.whole(database, lambda cursor: table.create(cursor, {"id": "bigint"}))
    table.remove(database)
    database.close()


def test_equal_ids_are_one_row(spark: SparkSession, server: Server, query: str) -> None:
    sink = sj.postgres_sink(server.uri, "upserted")
    twice = spark.range(10).union(spark.range(10))
    for batch in (0, 1, 0):  # as from a checkpoint that was put back
        sink(twice, batch)
    assert count(server, "upserted") == 10
    own = sj.postgres_sink(server.uri, "newest", pair_id="id")
    for batch in (0, 1):
        own(spark.range(10).selectExpr("id", f"{batch} AS v"), batch)
    assert ask(server, "SELECT sum(v) AS v, count(*) AS n FROM newest") == [{"v": 10, "n": 10}]


def test_rows_of_a_task_that_fails_do_not_count(
    spark: SparkSession, server: Server, query: str
) -> None:
    def fail_late(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches
        context = TaskContext.get()
        assert context is not None
        if context.attemptNumber() == 0:
            time.sleep(0.5)  # what was handed out is copied meanwhile
            raise RuntimeError(ON_PURPOSE)

    rows = spark.range(0, 100, numPartitions=1).mapInArrow(fail_late, "id LONG")
    sj.postgres_sink(server.uri, "retried", pair_id=False)(rows, 0)
    assert count(server, "retried") == 100
    assert left_over(server) == []


def test_what_dead_tries_left_is_removed(
    spark: SparkSession, server: Server, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError(ON_PURPOSE)

    sink = sj.postgres_sink(server.uri, "public.died", pair_id=False)
    with monkeypatch.context() as patched:
        patched.setattr(Target, "take", fail)
        with pytest.raises(RuntimeError, match=ON_PURPOSE):
            sink(spark.range(10), 0)
    assert len(left_over(server)) == 1
    sink(spark.range(10), 0)
    assert count(server, "died") == 10
    assert left_over(server) == []


def test_what_a_crash_of_the_server_loses_is_written_again(
    spark: SparkSession, server: Server, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill = Staging.fill
    rounds: list[Parts] = []

    def lose(self: Staging, frame: DataFrame) -> Parts:
        parts = fill(self, frame)
        if not rounds:
            ask(server, f"DELETE FROM {self.place} RETURNING 1 AS one")
        rounds.append(parts)
        return parts

    monkeypatch.setattr(Staging, "fill", lose)
    sj.postgres_sink(server.uri, "crashed", pair_id=False)(spark.range(10), 0)
    assert len(rounds) == 2
    assert count(server, "crashed") == 10
    monkeypatch.setattr(Staging, "fill", lambda self, frame: Parts((1,), 5, 0))
    with pytest.raises(TableError, match="the server lost what it was given, 3 times; see why"):
        sj.postgres_sink(server.uri, "crashed", pair_id=False)(spark.range(10), 1)
    assert left_over(server) == []


def test_a_server_that_is_away_is_waited_for(
    spark: SparkSession, server: Server, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = sj.postgres_sink(server.uri, "away", pair_id=False)
    sink(spark.range(10), 0)
    server.stop()
    with monkeypatch.context() as patched:
        patched.setattr(sink_tables, "PATIENCE", 0.2)
        with pytest.raises(TableError) as refused:
            sink(spark.range(10), 1)
    words = "the table 'away' in postgresql://writer@127.0.0.1:"
    assert str(refused.value).startswith(words)
    assert "cannot be written: the database does not answer" in str(refused.value)
    assert SECRET not in str(refused.value)
    back = threading.Timer(1.0, server.start)
    back.start()
    sink(spark.range(10), 1)
    back.join()
    assert count(server, "away") == 20


TABLES = [
    ("id bigint", "has no column 'v'; allowed: a table that has it as text"),
    ("id integer, v text", "has 'id' as integer; allowed: bigint"),
    ("id bigint, v text", "may have a value of 'id' twice; allowed: a table with PRIMARY KEY (id)"),
]


@pytest.mark.parametrize(("columns", "what"), TABLES)
def test_tables_that_do_not_fit(
    spark: SparkSession, server: Server, query: str, columns: str, what: str
) -> None:
    server.execute(f"DROP TABLE IF EXISTS other; CREATE TABLE other ({columns})")
    with pytest.raises(DataError) as refused:
        sj.postgres_sink(server.uri, "other", "id")(spark.sql("SELECT 1L AS id, '' AS v"), 0)
    assert str(refused.value).startswith(f"table: 'public.other' {what}, or another name")


def test_a_table_may_have_wider_types_and_more_columns(
    spark: SparkSession, server: Server, query: str
) -> None:
    server.execute(
        "CREATE TABLE wide (v varchar, id numeric PRIMARY KEY, at timestamptz DEFAULT now(), "
        "price numeric(12,3))"
    )
    rows = spark.sql("SELECT 1 AS id, 'x' AS v, 1.25BD AS price")
    sj.postgres_sink(server.uri, "wide", "id")(rows, 0)
    assert count(server, "wide") == 1


def test_values_that_cannot_be_stored(spark: SparkSession, server: Server, query: str) -> None:
    with pytest.raises(DataError, match="column 'i' is interval day, which a table of"):
        sj.postgres_sink(server.uri, "refused")(spark.sql("SELECT INTERVAL '1' DAY AS i"), 0)
    with pytest.raises(DataError, match="got a column 'streamjoin_part', which the sink adds itse"):
        sj.postgres_sink(server.uri, "refused")(spark.sql("SELECT 1 AS streamjoin_part"), 0)
    with pytest.raises(DataError, match="column 'k' is there more than once; allowed: dist"):
        sj.postgres_sink(server.uri, "refused", False)(spark.sql("SELECT 1 AS k, 2 AS k"), 0)
    nul = spark.sql("SELECT char(0) AS t")
    with pytest.raises(
        Exception, match=r"'public.nul' in postgresql://.* cannot be written: .*0x00"
    ):
        sj.postgres_sink(server.uri, "nul", False)(nul, 0)


@pytest.mark.parametrize(
    ("uri", "table", "pair_id", "sentence"),
    [
        ("sqlite:///x", "t", True, "uri: got no address of PostgreSQL; allowed: 'postgresql://us"),
        (None, "t", True, "uri: got no address of PostgreSQL; allowed: 'postgresql://user@host"),
        ("postgresql://h/d", "a.b.c", True, "table: got 'a.b.c'; allowed: a name such as 'pairs'"),
        ("postgresql://h/d", "", True, "table: got ''; allowed: a name such as 'pairs' or 'publi"),
        ("postgresql://h/d", None, True, "table: got None; allowed: a name such as 'pairs' or 'p"),
        ("postgresql://h/d", "t", "", "pair_id: got ''; allowed: True, False or the name of a col"),
        ("postgresql://h/d", "t", None, "pair_id: got None; allowed: True, False or the name of a"),
    ],
)
def test_wrong_arguments(uri: Any, table: Any, pair_id: Any, sentence: str) -> None:
    with pytest.raises(ConfigError) as refused:
        sj.postgres_sink(uri, table, pair_id)
    assert str(refused.value).startswith(sentence)


def test_only_queries_are_written(spark: SparkSession, server: Server) -> None:
    with pytest.raises(ConfigError, match=r"got a frame of no streaming query; allowed: writeS"):
        sj.postgres_sink(server.uri, "t")(spark.range(1), 0)
    pytest.importorskip("grpc")
    from pyspark.sql.connect.dataframe import DataFrame as Remote

    with pytest.raises(ConfigError, match=r"got a frame of Spark Connect; allowed: one of a clas"):
        sj.postgres_sink(server.uri, "t")(object.__new__(Remote), 0)


def rows_from(first: int) -> pa.Table:
    at = pa.array(range(first, first + 50), pa.timestamp("us", "UTC"))
    return pa.table({"k": [i % 5 for i in range(50)], "id": range(first, first + 50), "t": at})


def run_into(sink: PostgresSink, frame: DataFrame, checkpoint: Path) -> None:
    writer = frame.writeStream.foreachBatch(sink).option("checkpointLocation", str(checkpoint))
    writer.trigger(availableNow=True).start().awaitTermination()


def forget_last_batch(checkpoint: Path, *logs: str) -> None:
    last = max(int(p.name) for p in (checkpoint / "commits").iterdir() if p.name.isdigit())
    for log in logs:
        for name in (f"{last}", f".{last}.crc"):
            (checkpoint / log / name).unlink(missing_ok=True)


def test_a_join_goes_on_after_a_batch_that_was_left_out(
    spark: SparkSession, server: Server, tmp_path: Path
) -> None:
    sink = sj.postgres_sink(server.uri, "joined", pair_id=False)

    def run(files: list[int]) -> None:
        for name in ("l", "r"):
            write_batches(tmp_path / name, [rows_from(50 * i) for i in files])
        left, right = (read_stream(spark, tmp_path / name) for name in ("l", "r"))
        joined = sj.join(left, right, on="k", time="t", window="60 us", lateness="50 us")
        run_into(sink, joined, tmp_path / "ck")

    run([0, 1])
    forget_last_batch(tmp_path / "ck", "commits")
    run([0, 1, 2])
    left, right = (spark.read.parquet(str(tmp_path / name)) for name in ("l", "r"))
    whole = sj.join(left, right, on="k", time="t", window="60 us", lateness="50 us")
    wanted = sorted((row.id_left, row.id_right) for row in whole.collect())
    found = ask(server, "SELECT id_left, id_right FROM joined ORDER BY 1, 2")
    assert len(wanted) > 1000
    assert [(row["id_left"], row["id_right"]) for row in found] == wanted


@pytest.mark.parametrize("pair_id", [True, False])
def test_a_batch_that_is_planned_again_with_other_rows(
    spark: SparkSession, server: Server, tmp_path: Path, pair_id: bool
) -> None:
    table = f"planned_again_{pair_id}".lower()
    sink = sj.postgres_sink(server.uri, table, pair_id)
    stream = write_batches(tmp_path / "in", [rows_from(0), rows_from(50)])
    run_into(sink, read_stream(spark, stream), tmp_path / "ck")
    forget_last_batch(tmp_path / "ck", "commits", "offsets", "sources/0")
    (stream / "00001.parquet").unlink()
    write_batches(stream, [rows_from(100)], first=2)
    if pair_id:
        run_into(sink, read_stream(spark, stream), tmp_path / "ck")
        assert count(server, table) == 150
    else:
        with pytest.raises(StreamingQueryException, match=r"batch 1 .* comes again with other"):
            run_into(sink, read_stream(spark, stream), tmp_path / "ck")
        assert count(server, table) == 100


RUN = "from streamjoin.cli import main; main()"
FILE = """
[sources.calls]
type = "json"
path = "calls"
schema = "k BIGINT, t TIMESTAMP"
options = { "my.key" = { env = "MARKED" } }
[sources.trades]
type = "json"
path = "calls"
schema = "k BIGINT, t TIMESTAMP"
[join]
on = "k"
time = "t"
window = "10 seconds"
"""
FILES = (
    FILE + '[sink]\ntype = "parquet"\npath = "out"\noptions = { "my.key" = { env = "MARKED" } }\n'
)
TABLE = (
    FILE
    + '[sink]\ntype = "postgres"\nuri_env = "SHOP"\ntable = "pairs"\n[run]\ncheckpoint = "ck"\n'
)


def written(folder: Path) -> str:
    files = [file for file in folder.rglob("*") if file.is_file() and file.suffix != ".toml"]
    return "\n".join(file.read_bytes().decode("utf-8", "replace") for file in files)


def test_secrets_are_in_no_plan_progress_or_checkpoint(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MARKED", SECRET)
    (tmp_path / "calls").mkdir()
    (tmp_path / "calls" / "1.json").write_text('{"k": 1, "t": "2026-01-01T00:00:00Z"}\n')
    file = tmp_path / "p.toml"
    file.write_text(FILES, encoding="utf-8")
    settings = load_toml(file)
    session = spark.newSession()
    for key, value in spark_needs(settings).items():
        session.conf.set(key, value)
    query = settings.plan(0.0, tmp_path).start(session)
    query.awaitTermination()
    seen = [query._jsq.explainInternal(True), str(query.recentProgress), written(tmp_path)]
    assert "FileSink" in seen[0]
    assert "my.key=***" in seen[0]
    assert SECRET not in "".join(seen)


def test_a_login_that_is_refused_shows_no_secret(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MARKED", SECRET)
    monkeypatch.setenv("SHOP", server.uri.replace("writer:", "nobody:"))
    (tmp_path / "calls").mkdir()
    (tmp_path / "calls" / "1.json").write_text('{"k": 1, "t": "2026-01-01T00:00:00Z"}\n')
    (tmp_path / "p.toml").write_text(TABLE, encoding="utf-8")
    command = [sys.executable, "-c", RUN, "run", str(tmp_path / "p.toml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 1
    assert "does not let us in" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert "does not let us in" in written(tmp_path)  # the records say how it ended
    assert SECRET not in done.stdout + done.stderr + written(tmp_path)
