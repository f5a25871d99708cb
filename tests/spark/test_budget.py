"""Budgets and methods on real Spark streams."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import streamjoin as sj
from streamjoin.errors import ConfigError
from streamjoin.local import LocalJoin
from streamjoin.metrics import METRIC_NAMES
from tests.spark.streams import counters_of, drain, observed, read_back, read_stream, write_batches

JOIN: dict[str, Any] = {"on": "k", "time": "t", "window": "6 s", "lateness": "1 s"}
Ids = Counter[tuple[int, int]]
MEMORY = 120
BATCHES = 3
BOTH = sj.Budget(rate=100, memory=sj.rows(MEMORY))


def rows(side: int, batch: int, rate: int, n_keys: int) -> pa.Table:
    """Two seconds of a stream, in some disorder."""
    rng = np.random.default_rng([side, batch])
    n = 2 * rate
    times = np.sort(rng.integers(2_000_000 * batch, 2_000_000 * (batch + 1), n))
    times = np.maximum(0, times - rng.integers(0, 300_000, n))
    columns = {"k": rng.integers(0, n_keys, n), "id": np.arange(n) + 10_000_000 * side + n * batch}
    return pa.table({**columns, "t": pa.array(times, pa.timestamp("us", "UTC"))})


def write(folder: Path, batches: Sequence[int], rates: tuple[int, int], n_keys: int = 60) -> None:
    for side, name in enumerate("lr"):
        tables = [rows(side, batch, rates[side], n_keys) for batch in batches]
        write_batches(folder / name, tables, first=batches[0])


def joined(spark: SparkSession, folder: Path, **said: Any) -> DataFrame:
    left, right = (read_stream(spark, folder / name) for name in "lr")
    return sj.join(left, right, **JOIN, shards=2, hot_keys=False, **said)


def ids(spark: SparkSession, output: Path) -> Ids:
    return Counter((row["id_left"], row["id_right"]) for row in read_back(spark, output))


def ids_in(output: Path) -> Ids:
    """Of a sink whose query never failed, so that all its files count; quicker for many rows."""
    columns = pq.read_table(output, columns=["id_left", "id_right"]).columns
    return Counter(zip(*(column.to_pylist() for column in columns), strict=True))


def exact(folder: Path) -> Ids:
    sides = [sorted((folder / name).iterdir()) for name in "lr"]
    schema = pq.read_schema(sides[0][0])
    join, found = LocalJoin(schema, schema, **JOIN), Counter[tuple[int, int]]()
    for left, right in zip(*sides, strict=True):
        result = join.push(pq.read_table(left), pq.read_table(right))
        found.update(zip(*(result[f"id_{s}"].to_pylist() for s in ("left", "right")), strict=True))
    return found


def counters(query: StreamingQuery) -> list[dict[str, int]]:
    seen = [counters_of(progress) for progress in query.recentProgress]
    return [{name: row[name] for name in METRIC_NAMES} for row in seen if row]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("budget")
    write(folder, range(BATCHES), (120, 60))
    return folder


@pytest.fixture(scope="module")
def within_both(spark: SparkSession, recorded: Path) -> StreamingQuery:
    return drain(joined(spark, recorded, budget=BOTH), recorded / "ck", recorded / "out")


def test_rate_and_memory_over_two_shards(
    spark: SparkSession, recorded: Path, within_both: StreamingQuery
) -> None:
    found, whole = ids(spark, recorded / "out"), exact(recorded)
    assert 0 < found.total() < whole.total()
    assert found <= whole
    seen, total = counters(within_both), observed(within_both)
    assert len(seen) == BATCHES
    assert all(counts["state_rows"] <= MEMORY for counts in seen)
    assert total["pairs"] == found.total()
    let_in = 0
    for name in ("left", "right"):
        gone = sum(total[f"{cause}_{name}"] for cause in ("dropped", "late", "null"))
        assert total[f"dropped_{name}"] > 0
        let_in += total[f"rows_{name}"] - gone
    assert (total["rows_left"], total["rows_right"]) == (240 * BATCHES, 120 * BATCHES)
    most = 100 * 2 * BATCHES
    assert 0.8 * most < let_in <= most + 2 * 2  # a fraction of a row a side and shard
    assert total["cut_left"] + total["cut_right"] > 0
    estimate = total["pairs"] / (total["pairs"] + total["missed"])
    assert estimate == pytest.approx(found.total() / whole.total(), abs=0.05)


def test_bytes_keep_within_the_budget(spark: SparkSession, recorded: Path, tmp_path: Path) -> None:
    budget = sj.Budget(memory="24 kB")
    query = drain(joined(spark, recorded, budget=budget), tmp_path / "ck", tmp_path / "out")
    assert ids(spark, tmp_path / "out") <= exact(recorded)
    seen = counters(query)
    assert all(0 < counts["state_bytes"] <= 24_000 for counts in seen)
    assert sum(counts["cut_left"] + counts["cut_right"] for counts in seen) > 0


def test_a_restart_in_the_middle_changes_nothing(
    spark: SparkSession, recorded: Path, within_both: StreamingQuery, tmp_path: Path
) -> None:
    totals = Counter[str]()
    for batches in (range(1), range(1, BATCHES)):
        write(tmp_path, batches, (120, 60))
        query = drain(joined(spark, tmp_path, budget=BOTH), tmp_path / "ck", tmp_path / "out")
        totals.update(without_state(query))
    assert ids(spark, recorded / "out") == ids(spark, tmp_path / "out")
    assert totals == Counter(without_state(within_both))


def without_state(query: StreamingQuery) -> dict[str, int]:
    return {name: n for name, n in observed(query).items() if not name.startswith("state")}


@pytest.mark.parametrize("algorithm", ["hash", "nested"])
def test_forced_methods(
    spark: SparkSession, recorded: Path, tmp_path: Path, algorithm: str
) -> None:
    result = joined(spark, recorded, algorithm=algorithm, invalidation="lazy")
    query = drain(result, tmp_path / "ck", tmp_path / "out")
    assert ids(spark, tmp_path / "out") == exact(recorded)
    total = observed(query)
    assert total[f"by_{algorithm}"] == sum(total[f"by_{m}"] for m in ("batch", "hash", "nested"))


def test_cpu_comes_down_to_the_budget(spark: SparkSession, tmp_path: Path) -> None:
    """Of both shards together; the band is wide, for other programs run meanwhile."""
    write(tmp_path, range(5), (75_000, 75_000), n_keys=7_500_000)
    needed = drain(joined(spark, tmp_path), tmp_path / "ck1", tmp_path / "out1")
    query = drain(
        joined(spark, tmp_path, budget=sj.Budget(cpu="60 ms"), shed="drop"),
        tmp_path / "ck2",
        tmp_path / "out2",
    )
    seen = counters(query)
    assert all(counts["dropped_left"] > 0 and counts["dropped_right"] > 0 for counts in seen)
    assert ids_in(tmp_path / "out2") <= ids_in(tmp_path / "out1")
    before, now = (
        float(np.median([counts["cpu_us"] for counts in counters(q)[2:]])) for q in (needed, query)
    )
    assert now < before
    assert now < 1.5 * 60_000


def test_budgets_of_tables_are_refused(spark: SparkSession, recorded: Path) -> None:
    left, right = (spark.read.parquet(str(recorded / name)) for name in "lr")
    with pytest.raises(ConfigError) as refused:
        sj.join(left, right, **JOIN, budget=BOTH)
    assert str(refused.value) == (
        "budget: got one for batch DataFrames; allowed: with streams (their time is budgeted)"
    )


def test_freshness_of_tables_is_refused(spark: SparkSession, recorded: Path) -> None:
    left, right = (spark.read.parquet(str(recorded / name)) for name in "lr")
    with pytest.raises(ConfigError) as refused:
        sj.join(left, right, **JOIN, freshness=(None, "1 hour"))
    assert str(refused.value) == (
        "freshness: got one for batch DataFrames; allowed: with streams (tables have no now)"
    )


@pytest.mark.parametrize(("said", "sentence"), [
    ({"budget": BOTH, "how": "left"}, "budget: got 100 tuples/s and 120 remembered rows with how"),
    ({"budget": sj.Budget(memory="900 TB")}, "budget: got memory='900 TB'; allowed: at most what "),
    ({"split": "equal"}, "split: got 'equal' without a budget; allowed: only with one"),
    ({"algorithm": "merge"}, "algorithm: got 'merge'; allowed: auto, hash, nested, batch"),
])  # fmt: skip
def test_refusals(spark: SparkSession, recorded: Path, said: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError) as refused:
        joined(spark, recorded, **said)
    assert str(refused.value).startswith(sentence)
