"""A pipeline file with a table as `streamjoin run` runs it, in the session of the tests."""

import io
import sqlite3
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from rich.console import Console

from streamjoin.cli.app import explain_settings
from streamjoin.cli.display import Display
from streamjoin.cli.sql_file import read
from streamjoin.cli.totals import summary
from streamjoin.errors import DataError
from streamjoin.spark.status import follow
from streamjoin.workloads import GeneratedStream

FILE = """
[sources.calls]
type = "parquet"
path = "calls"
[table]
type = "sql"
path = "shop.db"
table = "people"
key = "id"
unique = true
[join]
on = "person"
how = "left"
algorithm = "chybridjoin"
[sink]
type = "parquet"
path = "out"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with sqlite3.connect(tmp_path / "shop.db") as shop:
        shop.execute("CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT)")
        shop.executemany("INSERT INTO people VALUES (?, ?)", [(i, f"n{i}") for i in range(1, 151)])
    shop.close()
    (tmp_path / "calls").mkdir()
    calls = GeneratedStream("calls", 1000, keys=200, skew=1.0).rows(0, 2000)
    pq.write_table(pa.Table.from_batches([calls]), tmp_path / "calls" / "1.parquet")
    (tmp_path / "p.toml").write_text(FILE, encoding="utf-8")
    return tmp_path


@pytest.mark.slow
def test_progress_and_results(spark: SparkSession, folder: Path) -> None:
    pipeline = read(folder / "p.toml").plan(0.0, folder)
    console = Console(file=io.StringIO(), width=100)
    with Display(console, has_table=True) as display:
        follow(pipeline.start(spark), display.add, lambda: False)
    console.print(summary(display.totals, None, None))
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    assert "| hits 0.0 % | waiting " in shown
    assert "late" not in shown
    assert "answered from the cache" in shown
    totals = display.totals
    rows = pq.read_table(folder / "out").to_pylist()
    assert totals.rows_in == totals.rows_out == len(rows) == 2000
    assert all(row["name"] == (f"n{row['person']}" if row["person"] <= 150 else None)
               for row in rows)  # fmt: skip
    assert totals.whole.alone == sum(row["name"] is None for row in rows) > 0
    table = totals.whole.table
    assert table is not None
    assert (table.waiting_rows, table.spilled_rows) == (0, 0)


def test_a_file_is_explained(spark: SparkSession, folder: Path) -> None:
    file = folder / "p.toml"
    (found,) = explain_settings(read(file)).to_dict()["tables"]
    assert found["table"] == f"people in sqlite://{folder}/shop.db; each key once"
    assert found["sizes"]["rows"] == 150
    file.write_text(FILE.replace('on = "person"', 'on = "called_at"'), encoding="utf-8")
    with pytest.raises(DataError, match="on: the stream's called_at is timestamp and the table's"):
        explain_settings(read(file))
