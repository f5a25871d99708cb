"""The guide to joins with a table keeps its word: its examples run and give what they say."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.spark.test_joins_guide import BLOCK, cells, written

GUIDE = Path(__file__).parents[2] / "docs" / "table_joins.md"


@pytest.mark.slow
def test_every_example_runs(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    names: dict[str, Any] = {"spark": spark}
    wanted: list[list[str]] = []
    for block, table in BLOCK.findall(GUIDE.read_text(encoding="utf-8")):
        code = block
        # Spark stays in the folder in which it was started.
        for name in ("customers", "orders", "enriched_ck", "enriched"):
            code = code.replace(f'("{name}"', f'("{tmp_path}/{name}"')
            code = code.replace(f', "{name}")', f', "{tmp_path}/{name}")')
        exec(code, names)
        if table and not wanted:
            head, _, *wanted = [cells(line) for line in table.splitlines()]
            found = [row.cells for row in written(0, names["enriched"], head).collect()]
            assert sorted(found) == wanted
    assert "join of a stream with a table" in capsys.readouterr().out
    assert sorted(names["found"]["name"].to_pylist()) == ["Ada", "Ben", "Ben"]
