"""Windows that are probed in part, on real Spark streams (GED-A4..A13)."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import streamjoin as sj
from streamjoin.local import LocalJoin
from streamjoin.metrics import METRIC_NAMES, JoinCounts
from streamjoin.spark.worker import running
from tests.spark.cluster import Cluster
from tests.spark.streams import counters_of, drain, read_stream, write_batches
from tests.spark.test_store import FakeMapState

RATES: Final = (4000,) * 5 + (40,) * 3
"""Rows of each side in each batch: a burst that ends."""
STARTS: Final = (0, 1, 2, 3, 4, 5, 7, 9, 11)
"""Where the batches begin and the last one ends, in seconds of the streams."""
BUSY: Final = slice(3, 5)
"""Batches of the burst in which it is known what comparisons cost and yield."""
CALM: Final = 7
"""The third batch after it reaches none of its rows: by then the join is exact again."""
ITEMS: Final = 5
COMMON: Final[dict[str, Any]] = {"time": "t", "window": "4 seconds", "lateness": "1 second"}
BUDGET: Final = sj.Budget(cpu="40 ms")
OVERLAP: Final = "overlap(left.s, right.s) >= 3"

Values = NDArray[Any]
Held = Callable[[dict[str, Values], dict[str, Values]], Values]


def drawn(side: int, batch: int) -> dict[str, Values]:
    """A batch of a stream: values by the names of its columns; items as a row for each tuple."""
    rng, n = np.random.default_rng([side, batch]), RATES[batch]
    return {
        "t": np.sort(rng.integers(10**6 * STARTS[batch], 10**6 * STARTS[batch + 1], n)),
        "id": np.arange(n) + sum(RATES[:batch]),
        "k": rng.integers(0, 10, n),
        "v": rng.random(n),
        "s": rng.random((n, 50)).argsort(axis=1)[:, :ITEMS],
    }


def table(values: dict[str, Values]) -> pa.Table:
    items = pa.array(values["s"].ravel())
    offsets = pa.array(np.arange(0, len(items) + 1, ITEMS, dtype=np.int32))
    columns = {name: pa.array(values[name]) for name in ("id", "k", "v")}
    columns["t"] = pa.array(values["t"], pa.timestamp("us", "UTC"))
    columns["s"] = pa.ListArray.from_arrays(offsets, items)
    columns["m"] = pa.MapArray.from_arrays(offsets, items, pa.array(np.full(len(items), 0.5)))
    return pa.table(columns)


def in_common(left: dict[str, Values], right: dict[str, Values]) -> Values:
    n: Values = (left["s"][:, :, None] == right["s"][:, None, :]).sum(axis=(1, 2))
    return n


EQUALITY: Final = {"on": "k", "where": "left.v * right.v > 0.9"}
CONDITIONS: Final[dict[str, tuple[list[str], dict[str, str], Held]]] = {
    "equality": (
        ["k", "v"],
        EQUALITY,
        lambda a, b: (a["k"] == b["k"]) & (a["v"] * b["v"] > 0.9),
    ),
    "band": (
        ["k", "v"],
        {"where": "abs(left.v - right.v) <= 0.02 AND left.k > right.k + 8"},
        lambda a, b: (np.abs(a["v"] - b["v"]) <= 0.02) & (a["k"] > b["k"] + 8),
    ),
    "overlap": (["s"], {"where": OVERLAP}, lambda a, b: in_common(a, b) >= 3),
    "inner product": (
        ["m"],
        {"where": "inner_product(left.m, right.m) >= 0.75"},
        lambda a, b: in_common(a, b) >= 3,
    ),
}
"""By name: the columns that are looked at, the condition, and whether pairs fulfil it."""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("selective")
    for side, name in enumerate("lr"):
        batches = [table(drawn(side, batch)) for batch in range(len(RATES))]
        write_batches(folder / name, batches)
    return folder


def joined(spark: SparkSession, folder: Path, columns: list[str], **said: Any) -> DataFrame:
    left, right = (read_stream(spark, folder / name).select("t", "id", *columns) for name in "lr")
    return sj.join(left, right, **COMMON, shards=2, hot_keys=False, budget=BUDGET, **said)


def counted(query: StreamingQuery) -> list[JoinCounts]:
    seen = [counters_of(progress) for progress in query.recentProgress]
    return [JoinCounts(**{name: row[name] for name in METRIC_NAMES}) for row in seen if row]


def total(counts: list[JoinCounts]) -> JoinCounts:
    return sum(counts, JoinCounts())


def sides() -> list[dict[str, Values]]:
    """All rows of both streams; a row's place is its id."""
    parts = [[drawn(side, batch) for batch in range(len(RATES))] for side in (0, 1)]
    return [{name: np.concatenate([p[name] for p in part]) for name in part[0]} for part in parts]


@pytest.mark.parametrize("name", CONDITIONS)
def test_a_part_of_the_exact_rows(
    spark: SparkSession, recorded: Path, tmp_path: Path, name: str
) -> None:
    """Each row is one of the exact join's, none comes twice, and the counts say what is missing.

    In one of the queries rows have weights, and recall is estimated from them.
    """
    columns, condition, held = CONDITIONS[name]
    weighted = name == "overlap"
    result = joined(spark, recorded, columns, **condition, weights=weighted).select(
        "id_left", "id_right", *(["_weight"] if weighted else [])
    )
    counts = counted(drain(result, tmp_path / "ck", tmp_path / "out"))
    found = pq.read_table(tmp_path / "out")
    ids = [np.asarray(found[column]) for column in ("id_left", "id_right")]
    assert len(np.unique(ids[0] * sum(RATES) + ids[1])) == len(ids[0])
    left, right = (
        {each: values[at] for each, values in side.items()}
        for side, at in zip(sides(), ids, strict=True)
    )
    assert held(left, right).all()
    assert (np.abs(left["t"] - right["t"]) <= 4_000_000).all()
    assert total(counts).pairs == len(ids[0])
    assert all(each.selective for each in counts[BUSY])
    assert all(each.skipped_left + each.skipped_right > 0 for each in counts[BUSY])
    assert all(each.recall is None or each.recall < 1 for each in counts[BUSY])
    # The load has fallen: all is compared again, and nothing is turned away.
    calm = counts[CALM]
    assert (calm.selective, calm.lagging, calm.dropped_left, calm.dropped_right) == (0, 0, 0, 0)
    assert (calm.skipped_left, calm.skipped_right, calm.missed) == (0, 0, 0)
    if weighted:
        check_recall_and_weights(total(counts), np.asarray(found["_weight"]), exact_pairs(recorded))


def check_recall_and_weights(counts: JoinCounts, weights: Values, exact: int) -> None:
    """Estimated from the rows that came out, against the exact join of the same files."""
    assert 0 < counts.pairs < exact
    assert counts.recall is not None
    assert counts.recall_error is not None
    assert abs(counts.recall - counts.pairs / exact) < 2 * counts.recall_error < 0.2
    assert weights.min() >= 1
    assert weights.sum() == pytest.approx(counts.pairs + counts.missed, rel=0.01)
    low, high = counts.fractions
    assert min(low, high) < 1


def exact_pairs(folder: Path) -> int:
    files = [sorted((folder / name).iterdir()) for name in "lr"]
    schema = pq.read_schema(files[0][0])
    join = LocalJoin(schema, schema, where=OVERLAP, **COMMON)
    for left, right in zip(*files, strict=True):
        join.push(pq.read_table(left), pq.read_table(right))
    return join.total.pairs


def test_what_is_run_again_decides_the_same(
    spark: SparkSession, recorded: Path, tmp_path: Path
) -> None:
    """A query that dies before a batch is committed, and tasks that fail: decisions are in state.

    Costs are measured, so another run of the whole may choose differently; but a batch that is run
    again begins with the same costs and must choose the same.
    """
    # Not one after the other: of a version of the state that was written twice, with other costs,
    # Spark may read either.
    dies_in, fails_in = 2, 4
    kept: dict[int, list[list[tuple[int, int]]]] = {}

    def fail_once(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        rows = list(batches)
        yield from rows
        if running().batch == fails_in:
            ids = [pair for part in rows for pair in zip(*part.to_pydict().values(), strict=True)]
            path = tmp_path / f"{context.partitionId()}-{context.attemptNumber()}"
            path.write_text(json.dumps(sorted(ids)))
            if context.attemptNumber() == 0:
                msg = "the task fails once"
                raise RuntimeError(msg)

    def keep(frame: DataFrame, batch: int) -> None:
        kept.setdefault(batch, []).append(sorted(map(tuple, frame.collect())))
        if batch == dies_in and len(kept[batch]) == 1:
            msg = "the query dies"
            raise RuntimeError(msg)

    for side in "lr":
        (tmp_path / side).mkdir()
        for file in sorted((recorded / side).iterdir())[: fails_in + 1]:
            shutil.copy2(file, tmp_path / side)  # with its time, by which Spark orders files
    result = joined(spark, tmp_path, ["s"], where=OVERLAP).select("id_left", "id_right")
    writer = result.mapInArrow(fail_once, result.schema).writeStream.foreachBatch(keep)
    writer = writer.option("checkpointLocation", str(tmp_path / "ck")).trigger(availableNow=True)
    with pytest.raises(StreamingQueryException):
        writer.start().awaitTermination()
    query = writer.start()
    query.awaitTermination()
    # What was learned before is known: the first batch is probed in part at once.
    assert [each.selective for each in counted(query)[:3]] == [2, 2, 2]
    first, again = kept[dies_in]
    assert first == again
    attempts = [
        [json.loads((tmp_path / f"{partition}-{attempt}").read_text()) for partition in (0, 1)]
        for attempt in (0, 1)
    ]
    assert attempts[0] == attempts[1]
    assert sum(map(len, attempts[1])) == len(kept[fails_in][0]) > 0


class CountingState(FakeMapState):
    """Tells which basic windows are read."""

    last: "CountingState"

    def __init__(self) -> None:
        super().__init__()
        self.read: list[tuple[int, int, int]] = []
        CountingState.last = self

    def getValue(self, key: tuple[int, int, int]) -> Any:
        if key[0] in (0, 1):
            self.read.append(key)
        return super().getValue(key)


def test_what_is_not_probed_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no copies are near, each basic window that is probed is read from state once."""
    monkeypatch.setattr("streamjoin.spark.processor.local_folder", lambda *_: None)
    monkeypatch.setattr("tests.spark.cluster.FakeMapState", CountingState)
    batches = [
        [table(drawn(side, b)).select(["t", "id", "k", "v"]) for side in (0, 1)] for b in range(5)
    ]
    schema = batches[0][0].schema
    shard = Cluster(schema, tmp_path, 1, 1, **COMMON, **EQUALITY, budget=BUDGET)
    read = skipped = 0
    for left, right in batches:
        shard.push(left, right)
        if shard.total.selective:
            assert len(CountingState.last.read) == shard.total.windows_read
            read += shard.total.windows_read
            skipped += shard.total.windows_skipped
    assert read > 0
    assert skipped > 0
