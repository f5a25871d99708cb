"""Parquet folders for tests, and what a plain dictionary says of them."""

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from streamjoin.tables.base import OpenTable

Row = tuple[Any, ...]


def write(path: Path, rows: list[Row], kinds: list[pa.DataType], group: int = 3) -> None:
    """Keys ``k0``, ``k1``, ... and a value ``v``."""
    names = [*(f"k{i}" for i in range(len(kinds))), "v"]
    columns = [[row[i] for row in rows] for i in range(len(names))]
    types = [*kinds, pa.int64()]
    arrays = [pa.array(c, kind) for c, kind in zip(columns, types, strict=True)]
    draft = path.with_suffix(".draft")
    pq.write_table(pa.table(arrays, names), draft, row_group_size=group)
    draft.replace(path)
    stamp = path.stat().st_mtime_ns + write.__dict__.setdefault("step", 0)
    write.__dict__["step"] += 1_000_000  # two writes within one tick of the file system's clock
    os.utime(path, ns=(stamp, stamp))


def keys(rows: list[Row], kinds: list[pa.DataType]) -> list[pa.Array]:
    return [pa.array([row[i] for row in rows], kind) for i, kind in enumerate(kinds)]


def as_rows(table: pa.Table) -> Counter[Row]:
    return Counter(tuple(row.values()) for row in table.to_pylist())


def check(table: OpenTable, rows: list[Row], wanted: list[Row], kinds: list[pa.DataType]) -> None:
    """Scans give all rows; look-ups and places are those of the wanted keys."""
    n = len(kinds)
    by_partition = [as_rows(table.scan(p)) for p in range(len(table.partition_rows))]
    assert sum(by_partition, Counter()) == Counter(rows)
    named = {row[:n] for row in wanted if None not in row[:n]}
    found = table.look_up(keys(wanted, kinds))
    assert as_rows(found) == Counter(row for row in rows if row[:n] in named)
    pairs = list(zip(*(a.tolist() for a in table.locate(keys(wanted, kinds))), strict=True))
    want = {
        (i, p)
        for i, row in enumerate(wanted)
        for p, held in enumerate(by_partition)
        if row[:n] in named and any(other[:n] == row[:n] for other in held)
    }
    assert sorted(pairs) == sorted(want)
