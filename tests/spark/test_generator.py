from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from streamjoin.errors import ConfigError
from streamjoin.spark.generator import FORMAT, GeneratorReader, RowRange, register_generator
from streamjoin.workloads import GeneratedStream
from streamjoin.workloads.stream import BLOCK_ROWS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def reader(**options: object) -> GeneratorReader:
    return GeneratorReader({name: str(value) for name, value in options.items()})


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr("streamjoin.spark.generator.time.monotonic", lambda: self.now)
        monkeypatch.setattr("streamjoin.spark.generator.time.time", lambda: self.now)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def begun(made: GeneratorReader, start: dict[str, int], clock: Clock) -> dict[str, int]:
    """Let the first batch pass, in which workers start: the clock begins with the second one."""
    offset = made.latestOffset(start, made.getDefaultReadLimit())
    clock.now += 30
    assert made.latestOffset(offset, made.getDefaultReadLimit()) == offset
    return offset


def test_rows_become_due_with_the_clock(clock: Clock) -> None:
    made = reader(rate=100)
    start = made.initialOffset()
    assert start == {"row": 0, "start_us": 1_000_000_000}
    offset = begun(made, start, clock)
    assert offset["row"] == 100
    clock.now += 2.5
    assert made.latestOffset(offset, ReadMaxRows(1000)) == {**start, "row": 350}


def test_even_a_slow_stream_has_a_first_row(clock: Clock) -> None:
    made = reader(rate=0.1)
    assert begun(made, made.initialOffset(), clock)["row"] == 1


def test_a_batch_holds_at_most_the_backlog(clock: Clock) -> None:
    made = reader(rate=100, backlog_seconds=3)
    limit = made.getDefaultReadLimit()
    offset = begun(made, made.initialOffset(), clock)
    clock.now += 60
    offset = made.latestOffset(offset, limit)
    assert offset["row"] == 400
    assert made.latestOffset(offset, limit)["row"] == 700
    assert made.latestOffset(offset, ReadAllAvailable())["row"] == 6100


def test_the_backlog_is_of_time_in_a_burst_too(clock: Clock) -> None:
    burst = {"burst_at_s": 4, "burst_lasting_s": 4, "burst_times": 3}
    made = reader(rate=100, backlog_seconds=2, seconds=12, **burst)
    limit = made.getDefaultReadLimit()
    offset = begun(made, made.initialOffset(), clock)
    clock.now += 60
    rows: list[int] = []
    while not rows or rows[-1] != offset["row"]:
        rows.append(offset["row"])
        offset = made.latestOffset(offset, limit)
    assert rows == [100, 300, 700, 1300, 1700, 1900, 2000]


def test_a_burst_comes_when_it_should(clock: Clock) -> None:
    made = reader(rate=100, burst_at_s=4, burst_lasting_s=4, burst_times=3)
    offset = begun(made, made.initialOffset(), clock)
    due = []
    for _ in range(10):
        clock.now += 1
        due.append(made.latestOffset(offset, ReadAllAvailable())["row"])
    assert due == [200, 300, 400, 700, 1000, 1300, 1600, 1700, 1800, 1900]


def test_a_restarted_stream_pauses_meanwhile(clock: Clock) -> None:
    offset = {"row": 500, "start_us": 7}
    clock.now += 3600
    made = reader(rate=100)
    assert begun(made, offset, clock) == {"row": 600, "start_us": 7}
    clock.now += 1
    assert made.latestOffset(offset, ReadAllAvailable()) == {"row": 700, "start_us": 7}


def test_a_bounded_stream_ends(clock: Clock) -> None:
    made = reader(rate=100, seconds=2)
    start = begun(made, made.initialOffset(), clock)
    clock.now += 60
    end = made.latestOffset(start, ReadAllAvailable())
    assert end["row"] == 200
    assert made.latestOffset(end, ReadAllAvailable()) == end


def test_partitions_cover_the_rows_once_and_keep_the_first_start() -> None:
    made = reader(partitions=3)
    start, end = {"row": 10, "start_us": 99}, {"row": 10 + 5 * BLOCK_ROWS, "start_us": 7}
    parts = [part for part in made.partitions(start, end) if isinstance(part, RowRange)]
    assert len(parts) == 3
    assert [part.first for part in parts[1:]] == [part.last for part in parts[:-1]]
    assert (parts[0].first, parts[-1].last) == (start["row"], end["row"])
    assert {part.start_us for part in parts} == {7}
    assert made.partitions(end, end) == []
    assert len(made.partitions(start, {"row": 11, "start_us": 7})) == 1


def test_a_wrong_option_is_refused() -> None:
    with pytest.raises(ConfigError, match="rate: got 'fast'; allowed: a number"):
        reader(rate="fast")


def load(spark: "SparkSession", **options: object) -> "DataFrame":
    register_generator(spark)
    return spark.readStream.format(FORMAT).options(**{k: str(v) for k, v in options.items()}).load()


def drain(frame: "DataFrame", folder: Path) -> Any:
    writer = frame.writeStream.format("parquet").option("checkpointLocation", str(folder / "ck"))
    query = writer.trigger(availableNow=True).start(str(folder / "out"))
    query.awaitTermination()
    return query


def test_spark_reads_the_very_rows(spark: "SparkSession", tmp_path: Path) -> None:
    options = {"workload": "trades", "rate": 1000, "seconds": 20, "keys": 50, "skew": 1, "seed": 3}
    frame = load(spark, **options, disorder_ms=100, start=1000, backlog_seconds=15)
    query = drain(frame, tmp_path)
    assert [p["numInputRows"] for p in query.recentProgress if p["numInputRows"]] == [15000, 5000]
    got = (
        spark.read.parquet(str(tmp_path / "out"))
        .toArrow()
        .cast(GeneratedStream("trades").settings.schema)
    )
    want = GeneratedStream(
        "trades",
        rate_per_second=1000,
        keys=50,
        skew=1.0,
        disorder_ms=100,
        seed=3,
        start_us=1_000_000_000,
    ).rows(0, 20_000)
    order = [("traded_at", "ascending"), ("person", "ascending"), ("price", "ascending")]
    assert got.sort_by(order).equals(pa.Table.from_batches([want]).sort_by(order))


def test_a_restart_goes_on_from_the_offset(spark: "SparkSession", tmp_path: Path) -> None:
    drain(load(spark, rate=100, seconds=3, start=50), tmp_path)
    drain(load(spark, rate=100, seconds=5, start=90), tmp_path)
    times = spark.read.parquet(str(tmp_path / "out")).toArrow()["called_at"].cast(pa.int64())
    assert sorted(times.to_pylist()) == [50_000_000 + 10_000 * row for row in range(500)]


def test_schema_of_a_workload(spark: "SparkSession") -> None:
    frame = load(spark, workload="calls")
    assert frame.schema.simpleString() == (
        "struct<person:bigint,called_at:timestamp,caller:bigint,seconds:int>"
    )
