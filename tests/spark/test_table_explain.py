"""What is said of joins with a table before they run; no query is started here."""

import json
import sqlite3
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import streamjoin as sj
from streamjoin.errors import ConfigError
from streamjoin.tables.base import Table
from tests.explanations.test_drawing import check_places

ROWS = 60_000


@pytest.fixture
def ticks(spark: SparkSession) -> DataFrame:
    return spark.readStream.format("rate").load().selectExpr("value AS person", "timestamp AS t")


@pytest.fixture
def people(tmp_path: Path) -> Path:
    table = pa.table({"id": range(ROWS), "name": ["x" * 100] * ROWS})
    pq.write_table(table, tmp_path / "people.parquet")
    return tmp_path / "people.parquet"


def explained(ticks: DataFrame, table: Table, **arguments: Any) -> dict[str, Any]:
    out = sj.table_join(ticks, table, on="person", **arguments)
    join: dict[str, Any] = sj.explain(out).to_dict()["tables"][0]
    return join


def codes(join: dict[str, Any]) -> list[str]:
    return [warning["code"] for warning in join["warnings"]]


def test_what_is_said_of_a_parquet_table(ticks: DataFrame, people: Path, tmp_path: Path) -> None:
    table = sj.parquet_table(people, key="id", unique=True, copy=True)
    out = sj.table_join(
        ticks, table, on="person", how="left", budget=sj.Budget(memory="1 MB"),
        index_folder=tmp_path / "index", shards=2,
    )  # fmt: skip
    text = str(sj.explain(out))
    assert text.startswith(
        "streamjoin: left join of a stream with a table\n  Gives each row of str"
    )
    assert max(len(line) for line in text.splitlines() if str(tmp_path) not in line) <= 100
    said = " ".join(text.split())
    assert f"{ROWS:,} rows of about" in said
    assert "each key once; rows are copied beside the index" in said
    assert "stream.person = table.id" in said
    assert "memory 1 MB, 500 KB for each of 2 shards" in said
    assert "where no row waits: a cache of 750 KB, about " in said
    assert "none waits: each row is answered in the batch that brings it" in said
    assert "measured now: a partition takes" in said
    assert "the table is looked at every 1 minute" in said
    (found,) = sj.explain(out).to_dict()["tables"]
    assert found["columns"] == ["person", "t", "name"]
    assert found["sizes"]["rows"] == ROWS
    assert found["measured"]["look_up_us"] > 0
    assert codes(found) == []
    assert json.dumps(found)
    with pytest.raises(ConfigError, match=r"rates: got .* for a join with a table"):
        sj.explain(out, rates=(1, 2))


def test_what_memory_would_mean(ticks: DataFrame, people: Path, tmp_path: Path) -> None:
    table = sj.parquet_table(people, key="id", unique=True, copy=True)
    found = explained(ticks, table, budget=sj.Budget(memory="1 MB"), index_folder=tmp_path / "i")
    assert [row["part"] for row in found["meanings"]["rows"]] == [1.0, 0.5, 0.25, 0.1]
    # all keys alike: a cache of half the table answers half of the rows
    half = found["meanings"]["rows"][1]["gives_way"]
    assert half.startswith("50 % are looked up; up to ")
    assert 0 < found["hits"] < 0.2
    assert found["expected"] is None  # nobody said how many rows come
    rows = ticks.sparkSession.range(3).selectExpr("id AS person")
    bounded = sj.table_join(rows, table, on="person", index_folder=tmp_path / "i")
    said = sj.explain(bounded)
    assert str(said).startswith("streamjoin: inner join of a batch of rows with a table\n")
    assert "answered at once" in said.to_dict()["tables"][0]["waits"][0]
    check_places(ElementTree.fromstring(said.to_svg()))


def test_warnings(ticks: DataFrame, people: Path, tmp_path: Path) -> None:
    table, index = sj.parquet_table(people, key="id"), tmp_path / "index"
    tiny = sj.Budget(memory="5 KB")
    found = explained(ticks, table, budget=tiny, index_folder=index, algorithm="chybridjoin")
    assert codes(found) == ["large_row_groups", "duplicate_keys", "little_memory"]
    with sqlite3.connect(tmp_path / "shop.db") as shop:
        shop.execute("CREATE TABLE people (id INTEGER, name TEXT)")
        shop.execute("INSERT INTO people VALUES (1, 'a'), (2, 'b')")
    shop.close()
    in_shop = sj.sql_table(f"sqlite://{tmp_path}/shop.db", "people", key="id", unique=True)
    found = explained(ticks, in_shop, refresh=None, max_wait="0 s", budget=sj.Budget(
        memory="1 MB", cpu=0.5))  # fmt: skip
    assert codes(found) == ["no_index", "no_wait"]
    assert found["algorithm"][0].startswith("the cache first; then MESHJOIN: ")
    assert found["refresh"] == ["the table is taken to stay as it is when the query starts"]
    assert "spilled into the state, after others" in found["waits"][1]
