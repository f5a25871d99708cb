"""Hypothesis strategies: two streams of rows, and how they are cut into batches."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

SCHEMA = pa.schema({"k": pa.int64(), "t": pa.timestamp("us"), "id": pa.int64(), "s": pa.string()})
Row = dict[str, Any]


@dataclass(frozen=True)
class Scenario:
    """Two streams cut into the same number of batches, and the join's lengths of time."""

    batches: list[tuple[list[Row], list[Row]]]
    window: tuple[int, int]
    lateness: int


def _rows(draw: st.DrawFn, side: int, n_keys: int, skew: bool) -> list[Row]:
    n = draw(st.integers(0, 30))
    rows = []
    now = 0
    for i in range(n):
        now += draw(st.integers(0, 4))  # zero: ties
        hot = skew and draw(st.booleans())
        key = 0 if hot else draw(st.none() | st.integers(0, n_keys))
        back = draw(st.integers(0, 12))
        time = draw(st.none()) if draw(st.integers(0, 19)) == 0 else max(0, now - back)
        rows.append({"k": key, "t": time, "id": 1000 * side + i, "s": f"row {i}"})
    return rows


def _cut(draw: st.DrawFn, rows: list[Row], n_batches: int) -> list[list[Row]]:
    cuts = sorted(draw(st.integers(0, len(rows))) for _ in range(n_batches - 1))
    edges = [0, *cuts, len(rows)]
    return [rows[a:b] for a, b in pairwise(edges)]


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    """Draw disorder, ties, duplicates, null keys and times, empty sides, skew, random cuts."""
    n_keys, skew = draw(st.integers(0, 5)), draw(st.booleans())
    n_batches = draw(st.integers(1, 6))
    left, right = (_cut(draw, _rows(draw, s, n_keys, skew), n_batches) for s in (0, 1))
    window = draw(st.integers(1, 25)), draw(st.integers(1, 25))
    return Scenario(list(zip(left, right, strict=True)), window, draw(st.integers(0, 15)))


def table(rows: list[Row], schema: pa.Schema = SCHEMA) -> pa.Table:
    """Rows as an Arrow table; times are microseconds."""
    return pa.table(
        {f.name: pa.array([r[f.name] for r in rows], f.type) for f in schema}, schema=schema
    )
