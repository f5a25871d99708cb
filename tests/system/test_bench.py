"""Benchmarks run from end to end at their small sizes; what they measure is not judged here."""

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from benchmarks import join_types
from streamjoin.cli.app import app


def bench(name: str) -> dict[str, Any]:
    result = CliRunner().invoke(app, ["bench", name, "--quick", "--json"])
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    assert set(found) == {"bench", "rows", "ratios"}
    return found


def test_kernel() -> None:
    assert bench("kernel")["ratios"]["streamjoin/duckdb"] > 0


def test_join_types(monkeypatch: pytest.MonkeyPatch) -> None:
    """One type against Spark's own; the benchmark itself checks that both find the same results."""
    monkeypatch.setattr(join_types, "CASES", [c for c in join_types.CASES if c.name == "left"])
    found = bench("join-types")
    assert [row["system"] for row in found["rows"]] == ["streamjoin", "spark"]
    assert list(found["ratios"]) == ["streamjoin/spark-left"]
    assert all(row["rows_per_s"] > 0 for row in found["rows"])
