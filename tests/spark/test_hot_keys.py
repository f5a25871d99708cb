"""Hot keys: spread over shards, each pair still once."""

import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import streamjoin as sj
from streamjoin.errors import ConfigError, StateError
from streamjoin.joins.window import spread_join
from streamjoin.joins.window.spread_join import Load
from streamjoin.metrics import JoinCounts
from streamjoin.spark.worker import running
from tests.joins.feeding import ids, local_join, push
from tests.spark.cluster import Cluster
from tests.spark.streams import counters_of, drain, read_back, read_stream, write_batches
from tests.strategies import CONDITIONS, SCHEMA_X, Case, Row, table

SEEDED = settings(max_examples=20, phases=[Phase.generate])
"""Cases follow from a seed: there is nothing to shrink."""


def skewed_case(chance: Random) -> Case:
    """Streams with hot keys on one side or both, disorder, ties, nulls, late rows, any cuts."""
    n_batches = chance.randint(4, 8)
    sides = []
    for side, share in enumerate(chance.choice([(0.6, 0.6), (0.8, 0.1), (0.0, 0.7)])):
        rows = skewed_rows(chance, side, share)
        cuts = sorted(chance.choices(range(100), k=n_batches - 1))
        edges = zip([0, *cuts], [*cuts, 100], strict=True)
        sides.append([rows[start:stop] for start, stop in edges])
    return Case(
        batches=list(zip(*sides, strict=True)),
        window=chance.choice([(7, 7), (3, 12), (12, 3), (9, None), (None, 9)]),
        lateness=chance.randint(0, 10),
        where=chance.choice(CONDITIONS),
    )


def skewed_rows(chance: Random, side: int, share: float) -> list[Row]:
    rows: list[Row] = []
    for i in range(100):
        time = None if chance.random() < 0.03 else max(0, i - chance.randint(0, 8))
        key = 0 if chance.random() < share else chance.choice([None, 1, 2, 3])
        rows.append({"k": key, "t": time, "id": 1000 * side + i, "s": "", "x": i % 5})
    return rows


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take every key for hot."""
    monkeypatch.setattr(spread_join, "LEAST_ROWS", 1)
    monkeypatch.setattr(Load, "pays", lambda *_: True)


@SEEDED
@given(seed=st.integers(0, 10**6))
@pytest.mark.usefixtures("eager")
def test_each_pair_comes_once_whatever_is_spread(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    """Every batch starts from stored state, and is run up to three times."""
    chance, folder = Random(seed), tmp_path_factory.mktemp("hot")
    case = skewed_case(chance)
    shards, partitions = chance.randint(2, 5), chance.randint(2, 5)
    cluster = Cluster(SCHEMA_X, folder, shards, partitions, **case.arguments())
    local = local_join(case)
    late: Counter[int] = Counter()
    for number, (left, right) in enumerate(case.batches):
        if left or right:
            tables = table(left, SCHEMA_X), table(right, SCHEMA_X)
            found = cluster.push(*tables, runs=chance.randint(1, 3))
            assert ids(found, "inner") == ids(push(local, case, number), "inner")
            check_counts(cluster.total, local.metrics)
            late.update(i for side in local.late for i in side["id"].to_pylist())
    files = (folder / "late").rglob("*.parquet")
    assert Counter(i for file in files for i in pq.read_table(file)["id"].to_pylist()) == late


def check_counts(found: JoinCounts, expected: JoinCounts) -> None:
    for name in ("rows", "late", "idle_late", "null"):
        for side in ("left", "right"):
            assert getattr(found, f"{name}_{side}") == getattr(expected, f"{name}_{side}"), name
    assert found.pairs == expected.pairs


def stream(seed: int, batch: int, share: float, n: int = 4000, n_keys: int = 997) -> pa.Table:
    """Rows of one batch in some disorder, a share of them with key 7."""
    rng = np.random.default_rng([seed, batch])
    times = np.sort(rng.integers(1000 * batch, 1000 * (batch + 1), n)) + rng.integers(-50, 50, n)
    keys = np.where(rng.random(n) < share, 7, rng.integers(0, n_keys, n))
    columns = {"k": keys, "id": rng.integers(0, 10**9, n)}
    return pa.table({**columns, "t": pa.array(times, pa.timestamp("us", "UTC"))})


JOIN: dict[str, Any] = {"on": "k", "time": "t", "window": "20 us", "lateness": "200 us"}


def cluster_of(folder: Path, shards: int, **settings: Any) -> Cluster:
    return Cluster(stream(0, 0, 0).schema, folder, shards, shards, **{**JOIN, **settings})


@pytest.mark.parametrize(("left", "right"), [(0.3, 0.3), (0.4, 0.0)])
def test_work_is_balanced_again(tmp_path: Path, left: float, right: float) -> None:
    cluster = cluster_of(tmp_path, shards=4)
    balance = []
    for batch in range(4):
        cluster.push(stream(1, batch, left), stream(2, batch, right))
        balance.append(4 * max(m.work for m in cluster.metrics) / cluster.total.work)
    assert balance[0] > 1.5
    assert balance[-1] < 1.15
    assert cluster.total.hot_keys == 1


@pytest.mark.parametrize("n_keys", [40, 100_000])
def test_even_keys_are_left_alone(tmp_path: Path, n_keys: int) -> None:
    cluster = cluster_of(tmp_path, shards=4)
    for batch in range(4):
        cluster.push(*(stream(seed, batch, 0.0, n_keys=n_keys) for seed in (1, 2)))
    assert cluster.total.hot_keys == 0
    assert not (tmp_path / "hot").exists()


def test_what_is_spread_leaves_the_state(tmp_path: Path) -> None:
    cluster = cluster_of(tmp_path, shards=3)
    sizes = []
    for batch in range(30):
        cluster.push(*(stream(seed, batch, 0.3, n=500) for seed in (1, 2)))
        sizes.append(sum(len(state) for state in cluster.states.values()))
    assert cluster.total.hot_keys == 1
    assert max(sizes[15:]) <= max(sizes[:15])


def test_lost_and_foreign_files_are_noticed(tmp_path: Path) -> None:
    """A batch whose map tasks knew other hot keys than the shards is refused, once."""
    cluster, undisturbed = cluster_of(tmp_path / "a", 3), cluster_of(tmp_path / "b", 3)
    for batch in range(6):
        tables = stream(1, batch, 0.3), stream(2, batch, 0.3)
        if batch in (3, 4):
            assert cluster.total.hot_keys == 1
            (file,) = (tmp_path / "a" / "hot").rglob("*.json")
            if batch == 3:
                file.unlink()
            else:
                shutil.copy(file, file.with_stem(file.stem.replace("-", "-0")))
            with pytest.raises(StateError, match=r"lost or changed.*start the query again"):
                cluster.push(*tables)
        assert ids(cluster.push(*tables), "inner") == ids(undisturbed.push(*tables), "inner")


def test_a_checkpoint_with_spread_keys_needs_a_folder(tmp_path: Path) -> None:
    cluster = cluster_of(tmp_path, shards=2)
    for batch in range(2):
        cluster.push(stream(1, batch, 0.3), stream(2, batch, 0.3))
    cluster.shard = replace(cluster.shard, channel=None)
    with pytest.raises(StateError, match="hot_keys: the checkpoint holds keys that are spread"):
        cluster.push(stream(1, 2, 0.3), stream(2, 2, 0.3))


def test_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    """A restart before each batch, or tasks that fail once, or files lost: nothing lost or twice.

    Two queries share a folder.
    """
    batches = [[stream(seed, i, 0.3, n=2000) for seed in (1, 2)] for i in range(3)]
    for number, tables in enumerate(batches):
        for name, rows in zip("lr", tables, strict=True):
            write_batches(tmp_path / name, [rows], first=number)
        if number == 2:
            shutil.rmtree(tmp_path / "hot")
            with pytest.raises(
                StreamingQueryException, match=r"hot_keys: files in .* start the query"
            ):
                run(spark, tmp_path, "one")
        query = run(spark, tmp_path, "one")
    assert (counters_of(query.recentProgress[-1]) or {})["hot_keys"] == 1
    run(spark, tmp_path, "two", fail_once)
    assert len(list((tmp_path / "hot").rglob("*.json"))) == 2
    left, right = (pa.concat_tables(tables) for tables in zip(*batches, strict=True))
    found = duckdb.sql(
        'SELECT a.id, b.id FROM "left" a JOIN "right" b '
        "ON a.k = b.k AND abs(epoch_us(a.t) - epoch_us(b.t)) <= 20"
    )
    assert found is not None
    expected = found.fetchall()
    assert len(expected) > left.num_rows + right.num_rows
    for name in ("one", "two"):
        rows = read_back(spark, tmp_path / f"out-{name}")
        assert Counter((row["id_left"], row["id_right"]) for row in rows) == Counter(expected)


def run(
    spark: SparkSession,
    folder: Path,
    name: str,
    then: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]] | None = None,
) -> StreamingQuery:
    left, right = (read_stream(spark, folder / side) for side in "lr")
    result = sj.join(left, right, **JOIN, hot_keys=str(folder / "hot"))
    if then is not None:
        result = result.mapInArrow(then, result.schema)
    return drain(result, folder / f"checkpoint-{name}", folder / f"out-{name}")


def fail_once(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Fail after all rows of the batch that decides, and of the first that acts on it."""
    from pyspark import TaskContext

    yield from batches
    context = TaskContext.get()
    assert context is not None
    if context.attemptNumber() == 0 and running().batch in (0, 1):
        msg = "the task fails once"
        raise RuntimeError(msg)


def test_refusals(spark: SparkSession, tmp_path: Path) -> None:
    write_batches(tmp_path / "in", [stream(1, 0, 0.0, n=10)])
    rows = read_stream(spark, tmp_path / "in")
    with pytest.raises(ConfigError, match="hot_keys: got 5; allowed: a folder"):
        sj.join(rows, rows, **JOIN, hot_keys=5)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="hot_keys: got 'no://where', which cannot be reached"):
        sj.join(rows, rows, **JOIN, hot_keys="no://where")
