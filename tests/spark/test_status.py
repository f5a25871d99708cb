"""What a query has done: asked for, written to files, served to Prometheus, logged."""

import logging
import time
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streamjoin as sj
from streamjoin.metrics.records import BatchDone, Ended, Started, read_records
from streamjoin.spark.generator import FORMAT, register_generator

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


def streams(spark: "SparkSession", seconds: int = 4) -> list["DataFrame"]:
    register_generator(spark)
    made = []
    for workload in ("calls", "trades"):
        options = {"workload": workload, "rate": 400, "keys": 400, "start": 1_700_000_000}
        frame = spark.readStream.format(FORMAT).options(**options).option("seconds", seconds)
        made.append(frame.option("backlog_seconds", 2).load())
    return made


def joined(spark: "SparkSession", **more: Any) -> "DataFrame":
    calls, trades = streams(spark, seconds=6)
    return sj.join(
        calls, trades, on="person", time=("called_at", "traded_at"), window="3 seconds", **more
    )


def run(frame: "DataFrame", folder: Path, name: str) -> "StreamingQuery":
    writer = frame.writeStream.format("parquet").option("checkpointLocation", str(folder / "ck"))
    query = writer.queryName(name).trigger(availableNow=True).start(str(folder / "out"))
    query.awaitTermination(120)
    return query


def test_status_of_an_exact_join(spark: "SparkSession", tmp_path: Path) -> None:
    query = run(joined(spark), tmp_path, "exact")
    found = sj.status(query)
    (total,) = found.totals
    written = spark.read.parquet(str(tmp_path / "out"))
    assert (found.query, found.state, found.error, found.is_complete) == ("exact", "stopped", "", 1)
    assert total.rows_in == sum(p.numInputRows for p in query.recentProgress) == 4800
    assert total.rows_out == total.pairs == written.count() > 0
    assert total.recall_interval == (1.0, 1.0)
    assert [one.name for one in total.inputs] == ["left", "right"]
    last = found.joins[0]
    assert last.state_rows == sum(one.state_rows for one in last.inputs) > 0
    assert last.state_bytes == sum(one.state_bytes for one in last.inputs)
    assert last.behind is None  # recorded long ago
    # The oldest row of a pair is at most its window and a batch old.
    assert total.ages is not None
    assert total.ages.n == pytest.approx(total.pairs, rel=0.05)
    assert 0 < total.ages.p50 <= total.ages.p95 <= total.ages.most <= 3 + 2 + 0.1
    strips = last.windows
    assert {name: len(strip.found) for name, strip in strips.items()} == {"left": 20, "right": 21}
    seen = sum(sum(strip.found) for strip in strips.values())
    assert seen == pytest.approx(last.pairs, rel=0.05)
    assert "rows out" in str(found)
    assert found.to_dict()["totals"][0]["pairs"] == total.pairs


def test_status_and_records_of_a_join_on_a_budget(
    spark: "SparkSession", tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "streamjoin")
    with sj.record(spark, prometheus=0) as recording:
        frame = joined(spark, budget=sj.Budget(cpu="3 ms"), shed=["selective", "lag"])
        query = run(frame, tmp_path, "<script>")
        with urllib.request.urlopen(recording.prometheus_url or "") as page:
            numbers = page.read().decode()
    records = list(read_records(tmp_path / "ck"))
    found = sj.status(query)
    (last,) = found.joins
    assert last.selective or last.lagging
    assert last.budget_us > 0
    assert set(last.costs_us) == {"receiving", "comparing", "emitting"}
    assert last.skipped > 0
    assert last.planned == last.compared
    for name, strip in last.windows.items():
        one = next(one for one in last.inputs if one.name == name)
        assert sum(strip.compared) == pytest.approx(one.compared, rel=0.01, abs=2)
        assert sum(strip.skipped) == pytest.approx(one.skipped, rel=0.01, abs=2)
        assert len(strip.priority) == len(strip.density) == len(strip.found)
    assert isinstance(records[0], Started)
    assert (records[0].query, "join of two streams" in records[0].plan) == ("<script>", True)
    assert records[0].drawing.startswith("<svg")
    batches = [one.metrics for one in records if isinstance(one, BatchDone)]
    assert sum(one.pairs for one in batches) == found.totals[0].pairs
    assert isinstance(records[-1], Ended)
    assert records[-1].error == ""
    assert "streamjoin_rows_total{" in numbers
    assert any("budget" in one.message for one in caplog.records)


def test_many_streams_tell_their_allowances_and_ages(spark: "SparkSession", tmp_path: Path) -> None:
    calls, trades = streams(spark)
    calls, trades = (f.withColumnRenamed(f.columns[1], "at") for f in (calls, trades))
    frame = sj.multi_join(
        {"a": calls, "b": trades, "c": calls},
        on="person", time="at", window="1 second", plan="(a b) c", strategy="tree",
        budget=sj.Budget(rate=600), freshness=dict.fromkeys("abc", "4 seconds"),
    )  # fmt: skip
    found = sj.status(run(frame, tmp_path, "many"))
    (total,) = found.totals
    assert total.kind == "plan"
    assert [one.name for one in total.inputs] == ["a", "b", "c", "intermediate"]
    assert set(total.allowances) == {"a -> b", "b -> a", "c -> a b", "a b -> c"}
    assert total.algorithm == "tree (a b) c"
    assert total.skipped > 0
    assert total.ages is not None
    assert 0 < total.ages.most <= 4
    assert all(one.state_rows for one in total.inputs[:3])


def test_an_n_ary_join_names_its_driver(spark: "SparkSession", tmp_path: Path) -> None:
    calls, trades = streams(spark)
    calls, trades = (f.withColumnRenamed(f.columns[1], "at") for f in (calls, trades))
    frame = sj.multi_join(
        {"a": calls, "b": trades, "c": calls},
        on="person", time="at", window="100 milliseconds", strategy="mjoin",
    )  # fmt: skip
    (last,) = sj.status(run(frame, tmp_path, "nary")).joins
    assert last.algorithm == "n-ary join"
    assert set(last.driver.replace(", then", "").replace(" with", "").split()) == {"a", "b", "c"}


def test_status_and_records_of_a_query_that_failed(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> None:
        msg = "the table is away"
        raise RuntimeError(msg)

    monkeypatch.setattr("streamjoin.spark.recording.explain_plans", away)
    calls, trades = streams(spark)
    frame = sj.join(
        calls, trades, on="person", time=("called_at", "traded_at"), window="1 second",
        where="left.seconds / (right.shares - right.shares) > 0",
    )  # fmt: skip
    writer = frame.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "ck"))
    with sj.record(spark, files=tmp_path / "records"):
        query = writer.trigger(availableNow=True).start()
        end = time.monotonic() + 60
        while query.isActive and time.monotonic() < end:
            time.sleep(0.1)
    found = sj.status(query)
    started, ended = read_records(tmp_path / "records" / str(query.id))
    assert isinstance(started, Started)
    assert started.plan == "not explained: the table is away"
    assert isinstance(ended, Ended)
    assert ended.error == found.error
    assert found.state == "failed"
    assert "zero" in found.error.lower()


def test_wrong_arguments_are_refused(spark: "SparkSession") -> None:
    with pytest.raises(sj.ConfigError, match="query: got int; allowed: what writeStream"):
        sj.status(3)  # type: ignore[arg-type]
    with pytest.raises(sj.ConfigError, match="spark: got str; allowed: a SparkSession"):
        sj.record("spark")  # type: ignore[arg-type]
    with pytest.raises(sj.ConfigError, match="prometheus: got '9464:'; allowed: a port such as"):
        sj.record(spark, prometheus="9464:")


def test_a_join_with_a_table_tells_where_rows_were_answered(
    spark: "SparkSession", tmp_path: Path
) -> None:
    people = pa.table({"person": range(400), "name": [f"p{i}" for i in range(400)]})
    (tmp_path / "people").mkdir()
    pq.write_table(people, tmp_path / "people" / "0.parquet")
    table = sj.parquet_table(str(tmp_path / "people"), key="person", unique=True)
    frame = sj.table_join(
        streams(spark)[0], table, on="person", how="left",
        budget=sj.Budget(memory="8 MB"), index_folder=str(tmp_path / "index"),
    )  # fmt: skip
    found = sj.status(run(frame, tmp_path, "enriched"))
    (total,) = found.totals
    assert total.table is not None
    assert (total.kind, total.rows_in, total.rows_out) == ("table", 1600, 1600)
    assert total.table.hits + total.table.looked_up >= 1600
    assert total.hit_share is not None
    assert total.hit_share > 0.3
    assert total.algorithm.startswith("cache, ")
    assert set(total.costs_us) == {"row", "look_up", "scan"}
    assert "held" in str(found)


def test_two_joins_of_a_query_are_told_apart(spark: "SparkSession", tmp_path: Path) -> None:
    calls, trades = streams(spark)
    keys: dict[str, Any] = {"on": "person", "window": "1 second"}
    first = sj.join(calls, trades, time=("called_at", "traded_at"), name="first", **keys)
    more = first.select("person", "traded_at")
    both = sj.join(more, trades, time=("traded_at", "traded_at"), name="second", **keys)
    query = run(both, tmp_path, "both")
    totals = {one.name: one for one in sj.status(query).totals}
    assert set(totals) == {"first", "second"}
    assert totals["second"].inputs[0].rows == totals["first"].rows_out > 0
    assert totals["second"].rows_out == spark.read.parquet(str(tmp_path / "out")).count()
