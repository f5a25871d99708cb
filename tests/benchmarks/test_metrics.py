"""What the benchmark of metrics makes of its turns; the runs on Spark need minutes."""

import json
import time
from typing import Any
from unittest.mock import Mock

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from benchmarks import metrics
from benchmarks.metrics_off import measuring_off
from benchmarks.metrics_runs import Plan, scraped
from streamjoin.cli.app import app
from streamjoin.core.batch import Batch, arrange
from streamjoin.joins.base import Arrival, MemoryStore
from streamjoin.joins.window.logic import WindowJoinLogic
from streamjoin.joins.window.settings import WindowJoinState
from streamjoin.local import LocalJoin
from streamjoin.metrics import Details
from streamjoin.metrics.prometheus import start_exporter
from streamjoin.metrics.prometheus.exporter import Collector


def test_rows_and_ratios(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []

    def run(module: str, document: dict[str, Any], _name: str) -> dict[str, Any]:
        assert module == "benchmarks.metrics_runs"
        plan = Plan(**document)
        asked.append(plan.is_on)
        seconds = [9.0, 2.0 if plan.is_on else 1.9]
        rest = {"alone": [0, 0], "cpu_us": [1, 1], "state_rows": 5, "state_bytes": 50}
        return {"rows": [400, 400], "seconds": seconds, "results": [7, 7], **rest}

    monkeypatch.setattr(metrics, "in_process", run)
    monkeypatch.setattr(metrics, "SMALL", metrics.Size(2, batches=3, spark_turns=3, cold=1, warm=1))
    result = CliRunner().invoke(app, ["bench", "metrics", "--quick", "--json"])
    assert result.exit_code == 0, result.output
    alone, told, on_spark = json.loads(result.stdout)["rows"]
    assert [row["part"] for row in (alone, told, on_spark)] == ["join", "batch", "spark"]
    assert asked == [False, True, True, False, False, True]
    assert (on_spark["rows_per_s"], on_spark["turns"]) == (200.0, 3)
    assert on_spark["cost_percent"] == pytest.approx(5.0)
    assert 0 < told["batch_ms"] < 100
    assert alone["rows_per_s"] > 0
    assert alone["turns"] == 4
    assert alone["at_least"] <= alone["cost_percent"] <= alone["at_most"]
    assert 0 < alone["looking_percent"] < 50


def test_joins_measure_nothing_where_that_is_off_and_again_after_it() -> None:
    with measuring_off():
        assert _details() == Details()
    told = _details()
    assert told.ages is not None
    assert set(told.windows) == {"left", "right"}


def _details() -> Details:
    schema = pa.schema({"k": pa.int64(), "t": pa.timestamp("us")})
    join = LocalJoin(schema, schema, on="k", time="t", window="1 second").join
    rows = pa.table({"k": [1, 2], "t": pa.array([5, 6], pa.timestamp("us"))}, schema=schema)
    logic = WindowJoinLogic(join, WindowJoinState(), MemoryStore())
    (batch,) = rows.to_batches()
    left, right = (
        Arrival(Batch(arrange(batch, stream).rows, stream), latest=6) for stream in join.streams
    )
    assert sum(len(emitted) for emitted in logic.on_batch((left, right))) == 2
    return logic.details


def test_an_exporter_is_asked_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.metrics_runs.SCRAPES_SECONDS", 0.01)
    collect = Mock(return_value=[])
    monkeypatch.setattr(Collector, "collect", collect)
    with start_exporter(port=0) as exporter:
        registered = collect.call_count
        with scraped(exporter.url):
            while collect.call_count < registered + 3:
                time.sleep(0.01)
