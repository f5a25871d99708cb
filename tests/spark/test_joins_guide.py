"""The guide keeps its word: every example runs, and gives the rows of the table below it."""

import re
from functools import reduce
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import streamjoin as sj

GUIDE = Path(__file__).parents[2] / "docs" / "joins.md"
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n((?:\|[^\n]*\n)+))?", re.MULTILINE | re.DOTALL)


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def written(number: int, frame: DataFrame, names: list[str]) -> DataFrame:
    """Rows as the guide writes them, all in one column."""
    texts = [F.coalesce(F.col(name).cast("string"), F.lit("null")) for name in names]
    return frame.select(F.lit(number).alias("example"), F.array(*texts).alias("cells"))


@pytest.mark.slow
def test_every_example_gives_the_rows_of_its_table(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    # One Spark job for all examples, as each would cost a second of its own: so names must differ.
    numbers, join = count(), sj.join
    monkeypatch.setattr(sj, "join", lambda *a, **k: join(*a, **k, name=f"join {next(numbers)}"))
    names: dict[str, Any] = {"spark": spark}
    frames: list[DataFrame] = []
    wanted: list[tuple[int, list[str]]] = []
    for number, (code, table) in enumerate(BLOCK.findall(GUIDE.read_text(encoding="utf-8"))):
        exec(code, names)
        head, _, *rows = [cells(line) for line in table.splitlines()] or [[], []]
        if head[:1] == ["call"]:
            frames.append(written(number, names["out"], head))
            wanted += [(number, row) for row in rows]
        elif head[:1] == ["Batch"]:
            keys = [re.findall(r"\d+", row[-1].partition(":")[0]) for row in rows]
            assert [list(map(str, sorted(came))) for _, came in names["out"]] == keys, code
    assert len(frames) >= 10
    found = [(row.example, row.cells) for row in reduce(DataFrame.unionAll, frames).collect()]
    assert sorted(found) == sorted(wanted)
