"""Rows of a wrong clock: they expire nobody's window."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import streamjoin as sj
from streamjoin import oracle
from streamjoin.durations import parse_duration
from streamjoin.errors import ConfigError
from streamjoin.local import LocalJoin
from streamjoin.spark.columns import with_ahead
from tests.spark.streams import drain, observed, read_back, read_stream, write_batches

SECOND = 1_000_000
FAR = 32_503_680_000 * SECOND  # the year 3000
SIDES = "left", "right"
NAIVE = pa.timestamp("us")
KINDS = {"timestamp": pa.timestamp("us", "UTC"), "timestamp_ntz": NAIVE}


def rows(values: list[tuple[int | None, int | None]], kind: pa.DataType, first: int) -> pa.Table:
    keys, times = zip(*values, strict=True)
    ids = range(first, first + len(values))
    return pa.table(
        {"k": pa.array(keys, pa.int64()), "t": pa.array(times, pa.int64()).view(kind), "id": ids}
    )


# The second batch of both has bad clocks (of one stream alone the other would hold the watermark).
Batches = list[list[tuple[int | None, int]]]
LEFT: Batches = [
    [(1, 10), (2, 11)],
    [(1, FAR // SECOND), (1, 12), (None, FAR // SECOND)],
    [(2, 14)],
]
RIGHT: Batches = [[(1, 11), (2, 12)], [(2, 13), (None, 13), (2, FAR // SECOND)], [(1, 14), (1, 15)]]


def streams(
    spark: SparkSession, folder: Path, kind: str = "timestamp"
) -> tuple[DataFrame, DataFrame]:
    frames = []
    for name, batches in (("left", LEFT), ("right", RIGHT)):
        tables = [
            rows([(k, t * SECOND) for k, t in batch], KINDS[kind], 100 * i)
            for i, batch in enumerate(batches)
        ]
        frames.append(read_stream(spark, write_batches(folder / name, tables)))
    return frames[0], frames[1]


def ids(found: list[dict[str, Any]]) -> list[tuple[int | None, int | None]]:
    return sorted(((row["id_left"], row["id_right"]) for row in found), key=str)


PAIRS = [(0, 0), (0, 200), (0, 201), (1, 1), (1, 100), (101, 0), (101, 200), (101, 201),
         (200, 1), (200, 100)]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_one_bad_clock_expires_no_window(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    left, right = streams(spark, tmp_path, kind)
    out = sj.join(left, right, on="k", time="t", window="10 seconds")
    query = drain(out, tmp_path / "checkpoint", tmp_path / "out")
    assert ids(read_back(spark, tmp_path / "out")) == sorted(PAIRS, key=str)
    seen = observed(query)
    assert (seen["ahead_left"], seen["ahead_right"]) == (2, 1)
    assert (seen["null_left"], seen["null_right"]) == (0, 1)
    assert (seen["late_left"], seen["late_right"]) == (0, 0)
    assert (seen["rows_left"], seen["rows_right"]) == (6, 7)
    [total] = sj.status(query).totals
    assert total.ahead == total.left_out["ahead"] == 3


@pytest.fixture(scope="module")
def with_rows_alone(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Streams, checkpoint and output of a query that gives rows without a partner too."""
    folder = tmp_path_factory.mktemp("alone")
    left, right = streams(spark, folder)
    out = sj.join(left, right, on="k", time="t", window="10 seconds", how="left")
    drain(out, folder / "checkpoint", folder / "out")
    return folder


def test_such_a_row_comes_out_alone_with_its_own_time(
    spark: SparkSession, with_rows_alone: Path
) -> None:
    found = read_back(spark, with_rows_alone / "out")
    alone = [row for row in found if row["id_right"] is None]
    assert sorted(row["id_left"] for row in alone) == [100, 102]
    assert {row["t_left"].year for row in alone} == {3000}


def test_tuples_that_are_counted_are_not_counted_with_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    left, right = streams(spark, tmp_path)
    bounded = sj.join(left, right, on="k", time="t", window=(sj.rows(3), "10 seconds"))
    query = drain(bounded, tmp_path / "checkpoint", tmp_path / "out")
    assert observed(query)["ahead_left"] == 2
    parts = [[clean(file) for file in sorted((tmp_path / side).iterdir())] for side in SIDES]
    schema = parts[0][0].schema
    exact = LocalJoin(schema, schema, on="k", time="t", window=(sj.rows(3), "10 seconds"))
    wanted = [row for both in zip(*parts, strict=True) for row in exact.push(*both).to_pylist()]
    assert ids(read_back(spark, tmp_path / "out")) == ids(wanted) != []


def clean(file: Path) -> pa.Table:
    """A batch without the rows of bad clocks."""
    read = pq.read_table(file)
    return read.filter(pc.field("t").cast(pa.int64()) < FAR)


@pytest.mark.parametrize("on", ["k", ["a.k = b.k", "b.id = c.id"]])
def test_many_streams(spark: SparkSession, tmp_path: Path, on: Any) -> None:
    left, right = streams(spark, tmp_path)
    made = {"a": left, "b": right, "c": right}
    out = sj.multi_join(made, on=on, time="t", window="10 seconds")
    query = drain(out, tmp_path / "checkpoint", tmp_path / "out")
    found = Counter(tuple(map(said, row.values())) for row in read_back(spark, tmp_path / "out"))
    assert found == without_bad_clocks(tmp_path, out.columns, on) != Counter()
    name = "streamjoin" if on == "k" else "streamjoin 1"
    seen = observed(query, name)
    assert (seen["ahead_a"], seen["ahead_b"]) == (2, 1)


def said(value: Any) -> Any:
    return value.timestamp() if isinstance(value, datetime) else value


def without_bad_clocks(folder: Path, columns: list[str], on: Any) -> Counter[tuple[Any, ...]]:
    """What the oracle gives for the streams a, b and c, by these columns of the result."""
    sides = [
        [
            {name: said(value) for name, value in row.items()}
            for file in sorted((folder / side).iterdir())
            for row in clean(file).to_pylist()
        ]
        for side in SIDES
    ]
    texts = ["a.k = b.k", "b.k = c.k"] if on == "k" else on
    equal: Any = [[tuple(end.split(".")) for end in text.split(" = ")] for text in texts]
    streams = dict(zip("abc", [*sides, sides[1]], strict=True))
    found = oracle.multi_join(
        streams, on=equal, time=dict.fromkeys("abc", "t"), window=dict.fromkeys("abc", 10)
    )
    places = [("a", "k") if name == "k" else name.split("_") for name in columns]
    return Counter(tuple(one[stream][name] for stream, name in places) for one in found)


def test_without_a_bound_the_future_is_like_any_time(spark: SparkSession, tmp_path: Path) -> None:
    left, right = streams(spark, tmp_path)
    out = sj.join(left, right, on="k", time="t", window="10 seconds", ahead=None)
    query = drain(out, tmp_path / "checkpoint", tmp_path / "out")
    assert len(read_back(spark, tmp_path / "out")) < len(PAIRS)
    seen = observed(query)
    assert (seen["ahead_left"], seen["late_left"] + seen["late_right"]) == (0, 3)


def test_the_bound_is_kept_to_the_second(spark: SparkSession) -> None:
    now = datetime.now(timezone.utc)
    times = [now + timedelta(minutes=4), now + timedelta(minutes=30), now + timedelta(days=29)]
    times += [now + timedelta(days=31), now + timedelta(days=36_400)]
    frame = spark.createDataFrame([(1, time) for time in times], "k INT, t TIMESTAMP")
    bounds = {"1 minute": 0, "15 minutes": 1, "2 hours": 2, "30 days": 3, "36500 days": 5}
    for ahead, n in {**bounds, "26000000 days": 5}.items():
        found = with_ahead(frame, "t", parse_duration(ahead, "ahead")).collect()
        assert sum(not row._ahead for row in found) == n


@pytest.mark.parametrize("kind", KINDS)
def test_whole_days_are_counted_by_the_date(spark: SparkSession, kind: str) -> None:
    offsets = "0 SECONDS", "47 HOURS 59 MINUTES", "48 HOURS", "72 HOURS"
    midnight = f"CAST(current_date() AS {kind})"
    times = ", ".join(f"{midnight} + INTERVAL {offset}" for offset in offsets)
    frame = spark.sql(f"SELECT explode(array({times}, NULL)) AS t")
    for days, n in ((1, 2), (2, 3), (3, 4)):
        found = with_ahead(frame, "t", days * 86_400 * SECOND).collect()
        assert [row._ahead for row in found] == [False] * n + [True] * (4 - n) + [None]


def test_tables_may_be_of_the_future(spark: SparkSession) -> None:
    """A timetable is; and there is no watermark that one of its rows could move."""
    time = datetime.now(timezone.utc) + timedelta(days=400)
    frame = spark.createDataFrame([(1, time)], "k INT, t TIMESTAMP")
    again = spark.createDataFrame([(1, time)], "k INT, t TIMESTAMP")
    assert sj.join(frame, again, on="k", time="t", window="1 second").count() == 1
    both = {"a": frame, "b": again}
    assert sj.multi_join(both, on="k", time="t", window="1 second").count() == 1


@pytest.fixture
def killed_before_commit(with_rows_alone: Path) -> Path:
    """A checkpoint whose last batch is planned, and its state written, but not committed."""
    for name in ("2", ".2.crc"):
        (with_rows_alone / "checkpoint" / "commits" / name).unlink(missing_ok=True)
    return with_rows_alone


def test_a_batch_that_is_run_again_goes_by_the_clock_of_its_first_run(
    spark: SparkSession, killed_before_commit: Path
) -> None:
    """Its time is in Spark's offset log: the year 3001 there makes the year 3000 the past."""
    folder = killed_before_commit
    log = folder / "checkpoint" / "offsets" / "2"
    (log.parent / ".2.crc").unlink(missing_ok=True)
    began = log.read_text()
    stamp = began.partition('"batchTimestampMs":')[2].partition(",")[0]
    log.write_text(began.replace(stamp, str(FAR // 1000 + 366 * 86_400_000)))
    table = rows([(1, FAR)], KINDS["timestamp"], 900)
    write_batches(folder / "left", [table], first=2)  # in place of what the batch had
    left, right = (read_stream(spark, folder / side) for side in ("left", "right"))
    out = sj.join(left, right, on="k", time="t", window="10 seconds", how="left")
    query = drain(out, folder / "checkpoint", folder / "out2")
    assert observed(query)["ahead_left"] == 0


@pytest.fixture
def generated_code(spark: SparkSession) -> Iterator[None]:
    """As users have it: the session of the tests interprets."""
    usual = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}
    kept = {key: str(spark.conf.get(key)) for key in usual}
    for key, value in usual.items():
        spark.conf.set(key, value)
    yield
    for key, value in kept.items():
        spark.conf.set(key, value)


@pytest.mark.usefixtures("generated_code")
@pytest.mark.parametrize(("ahead", "most"), [("1 day", 0), ("1 hour", 2)])
def test_code_that_reads_rows_is_compiled_once_for_all_batches(
    spark: SparkSession, tmp_path: Path, ahead: str, most: int
) -> None:
    """The clock differs from batch to batch: only the two tables that hold it may be code anew."""
    made = spark.sparkContext._jvm.org.apache.spark.metrics.source.CodegenMetrics  # type: ignore[union-attr]
    left, right = streams(spark, tmp_path)
    out = sj.join(left, right, on="k", time="t", window="10 seconds", ahead=ahead)
    counts = [made.METRIC_COMPILATION_TIME().getCount()]

    def count(frame: DataFrame, _: int) -> None:
        frame.write.format("noop").mode("overwrite").save()
        counts.append(made.METRIC_COMPILATION_TIME().getCount())

    more = [rows([(1, (20 + i) * SECOND)], KINDS["timestamp"], 300 + i) for i in range(2)]
    for side in ("left", "right"):
        write_batches(tmp_path / side, more, first=3)
    writer = out.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
    writer.foreachBatch(count).trigger(availableNow=True).start().awaitTermination()
    assert counts[1] > counts[0]
    each = [after - before for before, after in pairwise(counts[-4:])]
    assert len(each) == 3
    assert min(each) <= most  # at midnight one of them may have more


@pytest.mark.parametrize("bad", ["0 seconds", "-1 day", "soon", 5])
def test_refused(spark: SparkSession, bad: Any) -> None:
    frame = spark.createDataFrame([(1, datetime(2020, 1, 1))], "k INT, t TIMESTAMP")
    with pytest.raises(ConfigError, match=r"^ahead: got"):
        sj.join(frame, frame, on="k", time="t", window="1 second", ahead=bad)
    with pytest.raises(ConfigError, match=r"^ahead: got"):
        sj.multi_join({"a": frame, "b": frame}, on="k", time="t", window="1 second", ahead=bad)
