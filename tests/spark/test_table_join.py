"""Joins with a table on real streams: restarts, retries, tables that change or are gone."""

import random
import re
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType

from benchmarks.table_server import Server, missing
from streamjoin.budget import Budget
from streamjoin.errors import ConfigError, DataError, TableError
from streamjoin.joins.plans import TablePlan
from streamjoin.joins.routing import ByKey
from streamjoin.joins.table.shard import TableOperator, TableShaper
from streamjoin.spark import requirements
from streamjoin.spark.failures import root_cause
from streamjoin.spark.plans import plans_of
from streamjoin.spark.processor import ShardRunner
from streamjoin.spark.rows import Packer
from streamjoin.spark.table_frames import table_join
from streamjoin.spark.worker import running
from streamjoin.tables.parquet import ParquetTable, parquet_table
from streamjoin.tables.sql import sql_table
from tests.spark.streams import drain, observed, read_back, read_stream, write_batches

N = 600
SPACING = 100_000
BATCHES = [[(number * (7 + batch)) % 700 for number in range(400)] for batch in range(6)]
Rows = Counter[tuple[int, int | None, str | None]]


def table(folder: Path, keys: Sequence[int] = range(N), of: str = "a") -> ParquetTable:
    """Customers in small row groups, each called after its key."""
    folder.mkdir(exist_ok=True)
    rows = pa.table({"id": pa.array(keys, pa.int64()), "name": [f"{of} {key}" for key in keys]})
    pq.write_table(rows, folder / f"{of}.parquet", row_group_size=50)
    return parquet_table(folder, key="id", unique=True)


def orders(folder: Path, batches: Sequence[Sequence[int | None]], first: int = 0) -> Path:
    """Stream rows, numbered; one file is one micro-batch."""
    tables, number = [], SPACING * first
    for keys in batches:
        numbers = pa.array(range(number, number + len(keys)), pa.int64())
        tables.append(pa.table({"n": numbers, "customer": pa.array(keys, pa.int64())}))
        number += SPACING
    return write_batches(folder, tables, first)


def expected(batches: Sequence[Sequence[int | None]], n: int = N, of: str = "a") -> Rows:
    return Counter(
        (SPACING * batch + i, key, None if key is None or key >= n else f"{of} {key}")
        for batch, keys in enumerate(batches)
        for i, key in enumerate(keys)
    )


def found(spark: SparkSession, output: Path) -> Rows:
    return Counter((row["n"], row["customer"], row["name"]) for row in read_back(spark, output))


class Failing:
    """A sink that keeps what it gets, batch by batch, and fails once in one of them."""

    def __init__(self, at: int) -> None:
        self.at, self.runs = at, list[tuple[int, Rows]]()

    def __call__(self, frame: DataFrame, batch: int) -> None:
        rows = frame.select("n", "customer", "name").collect()
        self.runs.append((batch, Counter((row[0], row[1], row[2]) for row in rows)))
        if batch == self.at and sum(number == batch for number, _ in self.runs) == 1:
            msg = "the sink is full"
            raise RuntimeError(msg)


@pytest.mark.parametrize(
    ("algorithm", "budget"),
    [
        ("chybridjoin", Budget(memory="60 KB")),
        ("meshjoin", Budget(memory="1 MB")),
        ("auto", Budget(memory="60 KB", cpu="1 ms")),
    ],
)
def test_a_batch_that_is_run_again_gives_the_same_rows(
    spark: SparkSession, tmp_path: Path, algorithm: str, budget: Budget
) -> None:
    """A failed query goes on from its checkpoint; rows that wait or are spilled are state."""
    customers, sink = table(tmp_path / "customers"), Failing(at=2)
    batches: list[Sequence[int | None]] = [*BATCHES[:3], [None, 5, None]]
    folder = orders(tmp_path / "in", batches)

    def run() -> None:
        out = table_join(
            read_stream(spark, folder), customers, on="customer", how="left", budget=budget,
            algorithm=algorithm, index_folder=tmp_path / "index",
        )  # fmt: skip
        writer = out.writeStream.foreachBatch(sink).trigger(availableNow=True)
        writer.option("checkpointLocation", str(tmp_path / "check")).start().awaitTermination()

    with pytest.raises(StreamingQueryException, match="the sink is full"):
        run()
    early = Counter[tuple[int, int | None, str | None]]()
    for batch, rows in sink.runs:
        early += rows if batch < 2 else Counter()
    assert sum(early.values()) < 800  # something was left at that time
    run()
    first, second = (rows for batch, rows in sink.runs if batch == 2)
    assert first == second
    last = dict(sink.runs)
    assert sum(last.values(), Counter()) == expected(batches)


def test_a_table_that_grows_and_changes(spark: SparkSession, tmp_path: Path) -> None:
    """New files are noticed, and what is cached of changed ones is not used."""
    folder, inputs = tmp_path / "customers", tmp_path / "in"
    customers = table(folder, range(100), of="a")
    args: dict[str, Any] = {
        "on": "customer",
        "how": "left",
        "refresh": "0 seconds",
        "max_wait": "0 s",
    }
    args |= {"index_folder": tmp_path / "index", "budget": Budget(memory="20 KB")}
    keys = [i % 200 for i in range(400)]

    def run(algorithm: str) -> None:
        out = table_join(read_stream(spark, inputs), customers, algorithm=algorithm, **args)
        drain(out, tmp_path / "check", tmp_path / "out")

    orders(inputs, [keys])
    run("auto")
    table(folder, range(100, 200), of="b")
    orders(inputs, [keys], first=1)
    run("cinlj")
    table(folder, [key for key in range(100) if key != 7], of="a2")
    (folder / "a.parquet").unlink()
    orders(inputs, [keys], first=2)
    run("chybridjoin")
    rows = found(spark, tmp_path / "out")
    for batch in range(3):
        for i, key in enumerate(keys):
            name = f"a {key}" if batch < 2 else f"a2 {key}"
            if key >= 100:
                name = f"b {key}"
            none = (key >= 100 and batch < 1) or (key == 7 and batch == 2)
            assert rows[SPACING * batch + i, key, None if none else name] == 1
    assert sum(rows.values()) == 1200


@pytest.mark.system
@pytest.mark.skipif(missing() is not None, reason=str(missing()))
def test_postgresql_and_a_table_that_is_joined_at_once(spark: SparkSession, tmp_path: Path) -> None:
    server = Server("reader:s3cret")
    try:
        server.execute("CREATE TABLE customer (id BIGINT, name TEXT)")
        server.execute(
            f"INSERT INTO customer SELECT i, 'a ' || i FROM generate_series(0, {N - 1}) i"
        )
        inputs = orders(tmp_path / "in", BATCHES[:3])
        args: dict[str, Any] = {"on": "customer", "how": "left", "budget": Budget(memory="100 KB")}
        slow = sql_table(server.uri, "customer", key="id", rows_per_partition=100)
        out = table_join(read_stream(spark, inputs), slow, **args)  # no index: the table passes by
        query = drain(out, tmp_path / "check", tmp_path / "out")
        assert found(spark, tmp_path / "out") == expected(BATCHES[:3])
        assert observed(query)["loads"] >= 6
        orders(inputs, BATCHES[3:4], first=3)
        again = table_join(read_stream(spark, inputs), slow, **args)
        server.stop()
        with pytest.raises(StreamingQueryException, match="database does not answer") as failed:
            drain(again, tmp_path / "check", tmp_path / "out")
        assert "s3cret" not in str(failed.value)
        server.start()
        drain(again, tmp_path / "check", tmp_path / "out")
        assert found(spark, tmp_path / "out") == expected(BATCHES[:4])
        server.execute("ALTER TABLE customer ADD PRIMARY KEY (id)")
        fast = sql_table(server.uri, "customer", key="id", unique=True)
        rows = table_join(spark.read.parquet(str(inputs)), fast, **args).collect()
        assert Counter((row[0], row[1], row[2]) for row in rows) == expected(BATCHES[:4])
    finally:
        server.remove()


def test_a_full_disk(spark: SparkSession, tmp_path: Path) -> None:
    """Spilled rows fill the disk of the checkpoint: one sentence; with room it goes on."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "none", disk]).returncode:
        pytest.skip("a small file system cannot be mounted here")
    try:
        customers = table(tmp_path / "customers")
        noise = random.Random(1)
        batches = [[noise.randrange(700) for _ in range(20_000)] for _ in range(2)]
        out = table_join(
            read_stream(spark, orders(tmp_path / "in", batches)), customers, on="customer",
            how="left", budget=Budget(memory="8 KB", cpu="1 us"), index_folder=tmp_path / "index",
        )  # fmt: skip
        with pytest.raises(StreamingQueryException) as failed:
            drain(out, disk / "check", tmp_path / "out")
        assert re.search("disk.*is full.*start again: nothing is lost", root_cause(failed.value))
        subprocess.run(["mount", "-o", "remount,size=500m", disk], check=True)
        drain(out, disk / "check", tmp_path / "out")
        assert found(spark, tmp_path / "out") == expected(batches)
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)


def test_event_times(spark: SparkSession, tmp_path: Path) -> None:
    """With a watermark before rows may wait; if none does, one may come after the join."""
    customers, index = table(tmp_path / "customers"), tmp_path / "index"
    stream = read_stream(spark, orders(tmp_path / "in", BATCHES[:2]))
    timed = stream.withColumn("at", F.timestamp_seconds(F.col("n")))
    n = sum(key < N for keys in BATCHES[:2] for key in keys)
    before = timed.withWatermark("at", "1 second")
    waits = table_join(
        before, customers, on="customer", algorithm="chybridjoin", index_folder=index
    )
    query = drain(waits, tmp_path / "check", tmp_path / "out")
    assert observed(query)["pairs"] == n
    out = table_join(timed, customers, on="customer", index_folder=index)
    out = out.withWatermark("at", "1 second").groupBy(F.window("at", f"{SPACING} seconds")).count()
    drain(out, tmp_path / "check 2", tmp_path / "out 2")
    [first] = read_back(spark, tmp_path / "out 2")
    assert first["count"] == sum(key < N for key in BATCHES[0])


def test_a_frequent_key_goes_to_all_shards(spark: SparkSession, tmp_path: Path) -> None:
    customers = table(tmp_path / "customers")
    stream = read_stream(spark, orders(tmp_path / "in", BATCHES[:1]))
    out = table_join(
        stream, customers, on="customer", algorithm="chybridjoin", shards=2,
        index_folder=tmp_path / "index",
    )  # fmt: skip
    plan: Any = plans_of(out)[0]
    packer = Packer(TableShaper(plan.join, (0, 1), plan.access))
    keys = [5 if i % 2 else i % 600 for i in range(4000)]
    rows = pa.record_batch({"n": pa.array(range(4000)), "customer": pa.array(keys, pa.int64())})
    [packed] = packer.pack([rows], 0, running())
    schema = pa.schema(
        {"c0": pa.int64(), "c1": pa.int64(), "_key": pa.int64(), "_part": pa.int32()}
    )
    sizes = [
        pa.ipc.read_record_batch(pa.py_buffer(blob), schema).num_rows
        for blob in packed.column("blob").to_pylist()
    ]
    assert sum(sizes) == 4000
    assert min(sizes) > 1500


def test_a_table_that_is_away_fails_a_join_at_once(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where all is joined at once there is no later, so `stale` must not leave rows for it."""
    inputs = orders(tmp_path / "in", BATCHES[:1])
    out = table_join(
        spark.read.parquet(str(inputs)), table(tmp_path / "customers"), on="customer", how="left",
        on_failure="stale", algorithm="inlj", shards=1, index_folder=tmp_path / "index",
    )  # fmt: skip
    plan: Any = plans_of(out)[0]
    operator = TableOperator(plan.join, plan.access)
    types = LongType(), LongType(), StringType()
    shard = ShardRunner(operator, ByKey(1), (0,), types, "join", is_timed=True)
    packer = Packer(TableShaper(plan.join, (0,), plan.access))
    packed = list(packer.pack(pq.read_table(inputs).to_batches(), 0, running()))

    def away(*_: object) -> pa.Table:
        msg = "the table is away"
        raise TableError(msg)

    monkeypatch.setattr(plan.access.current().table, "look_up", away)
    with pytest.raises(TableError, match="the table is away"):
        list(shard.bounded((pa.scalar(0),), iter(packed)))


def test_this_machine_limits_the_memory_of_a_join_here_alone(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a cluster the driver's machine says nothing about the others."""
    customers = table(tmp_path / "customers")
    stream = read_stream(spark, orders(tmp_path / "in", BATCHES[:1]))
    given: dict[str, Any] = {"on": "customer", "budget": Budget(memory="900 TB"), "shards": 2}
    with pytest.raises(ConfigError, match="budget: got memory='900 TB'; allowed: at most what"):
        table_join(stream, customers, **given)
    monkeypatch.setattr(requirements, "is_local", lambda _: False)
    monkeypatch.setattr(requirements, "executor_cores", lambda _: 8)
    result = table_join(stream, customers, **given)
    (plan,) = plans_of(result)
    assert isinstance(plan, TablePlan)
    assert plan.join.memory == 450 * 10**12


def test_what_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    customers = table(tmp_path / "customers")
    stream = read_stream(spark, orders(tmp_path / "in", BATCHES[:1]))
    told: list[tuple[dict[str, Any], str]] = [
        ({"on": "custommer"}, r"on: .*custommer.*did you mean 'customer'"),
        ({"on": "customer", "how": "right"}, "how: got 'right'; allowed: inner, left"),
        ({"on": "customer", "algorithm": "hash"}, "algorithm: got 'hash'; allowed: auto, inlj"),
        ({"on": "customer", "max_wait": "-1 s"}, "max_wait: got '-1 s'"),
        ({"on": "customer", "budget": Budget(rate=5)}, "budget: got 5 tuples/s; allowed with a"),
        ({"on": "customer", "front_share": 1.5}, "front_share: got 1.5; allowed"),
        ({"on": "customer", "columns": ["nam"]}, r"columns: .*nam.*did you mean 'name'"),
        ({"on": "customer", "on_failure": "x"}, "on_failure: got 'x'; allowed: fail, stale"),
        ({"on": "customer", "shed": "x"}, "shed: got 'x'; allowed: considering, upfront"),
    ]
    for given, sentence in told:
        with pytest.raises((ConfigError, DataError), match=sentence):
            table_join(stream, customers, **given)
    waits = table_join(stream, customers, on="customer", columns={"name": "a"}, max_wait="1 s")
    with pytest.raises(ConfigError, match="may wait in the join 'streamjoin' before this one"):
        table_join(waits, customers, on="customer", max_wait="1 s", name="second")
    table_join(waits, customers, on="customer", name="second")
    with pytest.raises(ConfigError, match="table: got DataFrame; allowed: parquet_table"):
        table_join(stream, stream, on="customer")  # type: ignore[arg-type]
    pq.write_table(pa.table({"id": [1], "big": pa.array([1], pa.uint64())}), tmp_path / "1.parquet")
    big = parquet_table(tmp_path / "1.parquet", key="id")
    with pytest.raises(DataError, match="columns: the table's 'big' is uint64, which Spark has no"):
        table_join(stream, big, on="customer")
    collated = stream.selectExpr("n", "string(customer) COLLATE UTF8_LCASE AS customer")
    pq.write_table(pa.table({"id": ["a"]}), tmp_path / "2.parquet")
    with pytest.raises(DataError, match=r"^on: 'customer' has collation UTF8_LCASE; allowed: UTF8"):
        table_join(collated, parquet_table(tmp_path / "2.parquet", key="id"), on="customer")
    text = stream.select("n", F.col("customer").cast("string").alias("customer"))
    with pytest.raises(DataError, match=r"on: the stream's customer is .*cast one of them"):
        table_join(text, customers, on="customer")
