"""The guide keeps its word: every example runs, and gives the rows of the table below it."""

import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

GUIDE = Path(__file__).parents[2] / "docs" / "joins.md"
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n((?:\|[^\n]*\n)+))?", re.MULTILINE | re.DOTALL)


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def rows_of(frame: DataFrame, names: list[str]) -> list[list[str]]:
    """Rows as the guide writes them."""
    return [
        ["null" if value is None else str(value) for value in row]
        for row in frame.select(*names).collect()
    ]


@pytest.mark.slow
def test_every_example_gives_the_rows_of_its_table(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"spark": spark}
    checked = 0
    for code, table in BLOCK.findall(GUIDE.read_text(encoding="utf-8")):
        exec(code, names)
        head, _, *rows = [cells(line) for line in table.splitlines()] or [[], []]
        if head[:1] == ["call"]:
            assert sorted(rows_of(names["out"], head)) == sorted(rows), code
        elif head[:1] == ["Batch"]:
            found = [
                [int(k) for k in re.findall(r"\d+", row[-1].partition(":")[0])] for row in rows
            ]
            assert [sorted(keys) for _, keys in names["out"]] == found, code
        checked += bool(table)
    assert checked >= 12
