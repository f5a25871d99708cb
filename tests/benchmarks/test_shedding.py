"""What the benchmark of shedding makes of its batches; the runs need minutes of Spark."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from benchmarks import shedding
from benchmarks.recorded import record_sets
from benchmarks.shedding_runs import Plan
from streamjoin.cli.app import app


def batch(seconds: float, pairs: int = 0, cpu_us: int = 0, missed: int = 0) -> dict[str, Any]:
    counts = {"pairs": pairs, "cpu_us": cpu_us, "missed": missed, "missed_variance": 4.0}
    return {
        "stream_s": 4, "rows": 1000, "seconds": seconds, "results": pairs,
        "counts": counts if cpu_us else {},
    }  # fmt: skip


RUNS = {
    "exact": [[batch(2.0, 100, 1000)] * 2, [batch(1.0, 100, 1000)] * 2],
    "budget on": [[batch(2.5, 100, 1100)] * 2, [batch(1.0, 100, 1000)] * 2],
    "half": [[batch(1.0, 60, 500, 40)] * 2],
    "quarter": [[batch(0.5, 40, 300, 50)] * 2],
    "spark": [[batch(20.0)]],
}


def test_rows_and_ratios(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def run(module: str, document: dict[str, Any], _name: str) -> dict[str, Any]:
        assert module == "benchmarks.shedding_runs"
        asked.append(Plan(**document))
        return RUNS

    monkeypatch.setattr(shedding, "in_process", run)
    small = shedding.Size(rate=50, warm=1, files=1, cold=1, turns=2, patience=5)
    monkeypatch.setattr(shedding, "SMALL", small)
    result = CliRunner().invoke(app, ["bench", "shedding", "--quick", "--json"])
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    assert [row["variant"] for row in found["rows"]] == list(RUNS)
    quarter = found["rows"][3]
    assert quarter["rows_per_s"] == 2000
    assert quarter["results_per_s"] == 80
    assert quarter["true_recall"] == 0.4
    assert quarter["recall"] == pytest.approx(80 / 180)
    assert quarter["cpu_used/allowed"] == pytest.approx(600 / 500)
    assert "recall" not in found["rows"][4]
    ratios = found["ratios"]
    assert ratios["budget-on/exact"] == pytest.approx(0.9)
    assert ratios["budget-on/exact-lowest"] == pytest.approx(0.8)
    assert ratios["budget-on/exact-highest"] == pytest.approx(1.0)
    assert ratios["budget-on/exact-cpu"] == pytest.approx(1.05)
    assert ratios["spark/exact"] == pytest.approx(50 / 750)
    assert [plan.turns for plan in asked] == [2]


def test_sets_are_recorded_second_by_second(tmp_path: Path) -> None:
    record_sets(tmp_path, files=3, rate=200, keys=5)
    for name in "ab":
        files = sorted((tmp_path / name).iterdir())
        tables = [pq.read_table(file) for file in files]
        seconds = [np.asarray(t["ts"].cast("int64")) // 1_000_000 for t in tables]
        assert [len(set(s.tolist())) for s in seconds] == [1, 1, 1]
        assert 450 < sum(map(len, tables)) < 750
        assert set(np.asarray(tables[0]["k"]).tolist()) == set(range(5))
