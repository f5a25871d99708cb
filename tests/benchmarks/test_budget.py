"""What the benchmark of budgets makes of its counts; the runs themselves need minutes of Spark."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from benchmarks import budget
from streamjoin.cli.app import app
from streamjoin.metrics import JoinCounts

COUNTS = {
    "exact": JoinCounts(rows_left=640_000, rows_right=160_000, pairs=8000, cpu_us=400_000),
    "equal": JoinCounts(
        rows_left=640_000, dropped_left=540_000, rows_right=160_000, dropped_right=60_000,
        pairs=780, missed=7000, missed_variance=10_000, cpu_us=104_000,
    ),
    "rate": JoinCounts(pairs=500, cpu_us=100_000),
    "inverse-rate": JoinCounts(pairs=250, cpu_us=100_000),
}  # fmt: skip


def test_rows_and_ratios(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def run(_module: str, document: dict[str, Any], _name: str) -> dict[str, dict[str, Any]]:
        plan = budget.Plan(**document)
        asked.append(plan)
        assert all(len(list(Path(folder).iterdir())) == 4 for folder in (plan.left, plan.right))
        return {name: vars(counts) for name, counts in COUNTS.items()}

    monkeypatch.setattr(budget, "in_process", run)
    monkeypatch.setattr(budget, "SMALL", budget.Size((40, 10), cold=2, warm=2, turns=1))
    result = CliRunner().invoke(app, ["bench", "budget", "--quick", "--json"])
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    assert [row["split"] for row in found["rows"]] == ["exact", "equal", "rate", "inverse-rate"]
    equal = found["rows"][1]
    assert equal["results_per_cpu_s"] == 7500
    assert (equal["left_per_s"], equal["right_per_s"]) == (5000, 5000)
    assert equal["true_recall"] == pytest.approx(0.0975)
    assert equal["cpu_used/allowed"] == pytest.approx(1.04)
    assert found["ratios"] == {"equal/proportional": 1.5, "equal/inverse": 3.0}
    assert [plan.cold for plan in asked] == [2]
