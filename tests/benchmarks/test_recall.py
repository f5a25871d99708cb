"""The study of the recall's interval: a few runs, and what it makes of them."""

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from benchmarks import recall
from streamjoin.cli.app import app


def test_a_few_runs_of_each_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are the same on every machine: CPU time is counted."""
    monkeypatch.setattr(recall, "FEW_RUNS", 2)
    asked = ["bench", "recall", "--quick", "--json"]
    first, second = (CliRunner().invoke(app, asked) for _ in range(2))
    assert first.exit_code == 0, first.output
    assert first.stdout == second.stdout
    assert "memory      2 of 2 runs" in first.stderr
    found: dict[str, Any] = json.loads(first.stdout)
    assert [row["kind"] for row in found["rows"]] == list(recall.KINDS)
    for row in found["rows"]:
        assert row["runs"] == row["known"] == 2
        assert 0 <= row["from"] <= row["covered"] <= row["to"] <= 1
        assert row["said"] == pytest.approx(row["recall"], rel=0.4)
        assert abs(row["off"]) < 0.3
    mean = np.mean([row["covered"] for row in found["rows"]])
    assert found["ratios"]["covered/known"] == pytest.approx(mean)


def test_the_truth() -> None:
    times = [0, recall.WINDOW_US, recall.WINDOW_US + 1]
    left = pa.table({"k": [1, 1, 2], "t": pa.array(times, pa.timestamp("us"))})
    right = pa.table({"k": [1, 2, 1], "t": pa.array(times, pa.timestamp("us"))})
    assert recall.true_pairs(left, right) == 4
