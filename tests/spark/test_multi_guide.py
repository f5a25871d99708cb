"""The guide to many streams keeps its word: its examples run and give the rows of their tables."""

from functools import reduce
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import streamjoin as sj
from tests.spark.test_joins_guide import BLOCK, cells, written

GUIDE = Path(__file__).parents[2] / "docs" / "multi_joins.md"


@pytest.mark.slow
def test_every_example_gives_the_rows_of_its_table(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One Spark job for all examples, as each would cost a second of its own: so names must differ.
    numbers, join = count(), sj.multi_join
    monkeypatch.setattr(
        sj, "multi_join", lambda *a, **k: join(*a, **k, name=f"join {next(numbers)}")
    )
    names: dict[str, Any] = {"spark": spark}
    frames: list[DataFrame] = []
    wanted: list[tuple[int, list[str]]] = []
    for number, (code, table) in enumerate(BLOCK.findall(GUIDE.read_text(encoding="utf-8"))):
        exec(code, names)
        if table:
            head, _, *rows = [cells(line) for line in table.splitlines()]
            frames.append(written(number, names["out"], head))
            wanted += [(number, row) for row in rows]
    assert len(frames) == 7
    found = [(row.example, row.cells) for row in reduce(DataFrame.unionAll, frames).collect()]
    assert sorted(found) == sorted(wanted)
