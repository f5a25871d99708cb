"""The benchmark on news, with a few made-up stories in place of the real ones."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from benchmarks import news
from benchmarks.stories import FILE, stories_of
from streamjoin.cli.app import app

HOUR_US = 3_600_000_000


def made_up(n: int) -> pa.Table:
    """A story an hour; neighbours are about the same, and have words that few others have."""
    letters = [chr(ord("a") + i) for i in range(20)]
    words = [f"{'x' * 3}{letters[i // 60 % 20]}{letters[i // 3 % 20]}" for i in range(n)]
    return pa.table(
        {
            "newid": np.arange(1, n + 1),
            "ts": pa.array(np.arange(n) * HOUR_US + 541_000_000_000_000, pa.timestamp("us")),
            "title": [f"{word} {word}b {word}c {word}d" for word in words],
            "body": ["said today that the market"] * n,
        }
    )


def bench() -> dict[str, Any]:
    result = CliRunner().invoke(app, ["bench", "news", "--quick", "--json"])
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_without_data_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STREAMJOIN_DATA", str(tmp_path))
    said: list[str] = []
    assert news.run(said.append)["rows"] == []
    assert said == [f"news: skipped, since STREAMJOIN_DATA names no folder with {FILE}"]


def test_every_policy_by_both_conditions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / FILE).parent.mkdir()
    pq.write_table(made_up(600), tmp_path / FILE)
    monkeypatch.setenv("STREAMJOIN_DATA", str(tmp_path))
    monkeypatch.setattr(news, "QUICK_PART", 1)
    found = bench()
    assert [row["policy"] for row in found["rows"]] == [*news.POLICIES, *news.POLICIES]
    assert {row["condition"] for row in found["rows"]} == {"overlap", "inner product"}
    assert all(0 <= row["recall"] <= 1 for row in found["rows"])
    assert all(0.1 < row["cpu"] < 0.6 for row in found["rows"])
    newest = found["rows"][1]
    assert (newest["policy"], newest["exact_results"] > 0) == ("ra", True)
    assert newest["recall"] > 0.9  # related stories are neighbours
    assert found["ratios"]["ra/drop, overlap"] > 1.5


def test_words_and_weights() -> None:
    stories = stories_of(made_up(60))
    assert len(stories) == 60
    assert np.diff(stories.offsets).tolist() == [8] * 60
    squares = np.add.reduceat(stories.weights**2, stories.offsets[:-1])
    assert squares == pytest.approx(1.0)
    left, right = stories.halves()
    assert (set((left.ids % 2).tolist()), set((right.ids % 2).tolist())) == ({1}, {0})
    assert left.words.tolist() == stories.where(stories.ids % 2 == 1).words.tolist()
    rare = stories.only(stories.frequencies() <= 3)
    assert set(np.diff(rare.offsets).tolist()) == {4}
    rows = left.table().to_pylist()[0]
    assert rows["id"] == 1
    assert len(rows["words"]) == 8
