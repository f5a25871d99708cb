"""A stream and a table joined without Spark: what users see of it."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streamjoin as sj
from streamjoin.errors import ConfigError, DataError
from streamjoin.local import LocalTableJoin

STREAM = pa.schema({"order": pa.int64(), "customer": pa.string()})
NAMES = pa.table({"id": [f"c{i}" for i in range(100)], "name": [f"n{i}" for i in range(100)]})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "customers"
    folder.mkdir()
    pq.write_table(NAMES, folder / "1.parquet", row_group_size=10)
    return folder


def orders(*customers: str | None) -> pa.Table:
    return pa.table({"order": range(len(customers)), "customer": customers}, schema=STREAM)


def found(*tables: pa.Table) -> list[tuple[int, str | None]]:
    rows = pa.concat_tables(tables).to_pylist()
    return sorted((row["order"], row["name"]) for row in rows)


@pytest.mark.parametrize("algorithm", ["auto", "inlj", "cmeshjoin", "chybridjoin"])
def test_every_row_is_answered_once(folder: Path, algorithm: str) -> None:
    table = sj.parquet_table(folder, key="id", unique=True)
    with LocalTableJoin(STREAM, table, on="customer", how="left", algorithm=algorithm) as join:
        first = join.push(orders("c7", "none", None), now=0)
        assert join.metrics["rows"] == 3
        assert join.metrics["null"] == 1
        rest = join.finish(now=1)
        assert join.metrics["waiting_rows"] == 0
    assert first.schema == rest.schema == join.schema
    assert found(first, rest) == [(0, "n7"), (1, None), (2, None)]


def test_a_table_that_changes(folder: Path, tmp_path: Path) -> None:
    table = sj.parquet_table(folder, key="id")
    with LocalTableJoin(STREAM, table, on="customer", folder=tmp_path, max_wait="0 s") as join:
        assert join.push(orders("c7", "c100")).num_rows == 1
        assert not join.refresh()
        pq.write_table(pa.table({"id": ["c100"], "name": ["new"]}), folder / "2.parquet")
        assert join.refresh()
        pq.write_table(pa.table({"id": ["c101"], "name": ["newer"]}), folder / "3.parquet")
        assert join.refresh()
        assert found(join.push(orders("c7", "c100", "c101").to_batches()[0])) == [
            (0, "n7"), (1, "new"), (2, "newer"),
        ]  # fmt: skip
    assert any(tmp_path.glob("keys-*"))


def test_mistakes_are_named(folder: Path) -> None:
    table = sj.parquet_table(folder, key="id")
    with pytest.raises(ConfigError, match="algorithm: got 'x'; allowed: auto, "):
        LocalTableJoin(STREAM, table, on="customer", algorithm="x")
    with pytest.raises(DataError, match=r"on: the stream's order is .* and the table's id is "):
        LocalTableJoin(STREAM, table, on="order")
    with (
        LocalTableJoin(STREAM, table, on="customer") as join,
        pytest.raises(DataError, match=r"rows: got \['x'\]; allowed: \['order', 'customer'\]"),
    ):
        join.push(pa.table({"x": [1]}))
