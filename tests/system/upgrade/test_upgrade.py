"""Checkpoints of earlier versions: a query goes on from them with the oracle's rows."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from streamjoin import oracle
from tests.system.upgrade.cases import (
    BATCHES,
    CASES,
    LATENESS_SECONDS,
    ON_TWO_KEYS,
    SECOND,
    STOPPED,
    STREAMS,
    WINDOW_SECONDS,
    write_streams,
    write_table,
)
from tests.system.upgrade.write import DATA, RESULTS, Rows, run, unpack

Found = Counter[tuple[Any, ...]]
WINDOW = WINDOW_SECONDS * SECOND


def rows_of(base: Path, name: str) -> Rows:
    rows: Rows = pq.read_table(base / name).to_pylist()
    return [{**row, "t": round(row["t"].timestamp() * SECOND)} for row in rows]


def pairs(base: Path) -> Found:
    left, right = (rows_of(base, name) for name in "ab")
    found = oracle.window_join(
        left, right, on=[("x", "x")], time=("t", "t"), window=(WINDOW, WINDOW)
    )
    return Counter((a["n"], b["n"]) for a, b in found)


def pairs_and_alone(base: Path) -> Found:
    """A row without a partner comes out once the watermark has passed its window."""
    found = pairs(base)
    sides = [rows_of(base, name) for name in "ab"]
    watermark = min(max(row["t"] for row in rows) for rows in sides) - LATENESS_SECONDS * SECOND
    for side, rows in enumerate(sides):
        met = {pair[side] for pair in found}
        for row in rows:
            is_final = row["x"] is None or row["t"] + WINDOW < watermark
            if row["n"] not in met and is_final:
                found[(row["n"], None) if side == 0 else (None, row["n"])] += 1
    return found


def results(on: list[str]) -> Callable[[Path], Found]:
    equal: Any = [[tuple(end.split(".")) for end in text.split(" = ")] for text in on]

    def expected(base: Path) -> Found:
        rows = {name: rows_of(base, name) for name in STREAMS}
        time, window = dict.fromkeys(STREAMS, "t"), dict.fromkeys(STREAMS, WINDOW)
        found = oracle.multi_join(rows, on=equal, time=time, window=window)
        return Counter(tuple(one[name]["n"] for name in STREAMS) for one in found)

    return expected


def words(base: Path) -> Found:
    known = {row["x"]: row["word"] for row in pq.read_table(base / "table").to_pylist()}
    return Counter((row["n"], known.get(row["x"])) for row in rows_of(base, "a"))


EXPECTED: dict[str, tuple[tuple[str, ...], Callable[[Path], Found]]] = {
    "inner": (("n_left", "n_right"), pairs),
    "full": (("n_left", "n_right"), pairs_and_alone),
    "plan": (("a_n", "b_n", "c_n"), results(ON_TWO_KEYS)),
    "nary": (("a_n", "b_n", "c_n"), results(["a.x = b.x", "b.x = c.x"])),
    "table": (("n", "word"), words),
}


@pytest.mark.parametrize("archive", sorted(DATA.glob("*.tar.xz")), ids=lambda path: path.name)
@pytest.mark.parametrize("case", CASES)
def test_a_query_goes_on(spark: SparkSession, tmp_path: Path, archive: Path, case: str) -> None:
    unpack(archive, case, tmp_path)
    before = json.loads((tmp_path / RESULTS).read_text())
    write_streams(tmp_path, STOPPED, BATCHES)
    write_table(tmp_path / "table")
    after: Rows = []
    run(CASES[case](spark, tmp_path), tmp_path, after)
    columns, expected = EXPECTED[case]
    found = Counter(tuple(row[name] for name in columns) for row in [*before, *after])
    assert before
    assert after
    assert found == expected(tmp_path)
