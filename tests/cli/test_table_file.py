"""Pipeline files that join a stream with a table: what they may say, and what comes of it."""

import inspect
import sqlite3
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streamjoin as sj
from streamjoin.cli.places import GeneratorSource
from streamjoin.cli.table_file import TableFile, load_toml
from streamjoin.errors import ConfigError, DataError, StreamJoinError
from streamjoin.tables.parquet import ParquetTable
from streamjoin.tables.sql import SqlTable
from streamjoin.workloads.payloads import people
from tests.cli.test_pipeline_file import write

SCRATCH = Path("/scratch")
GOOD = """
[sources.calls]
type = "generator"
[table]
type = "parquet"
path = "people"
key = "id"
unique = true
[join]
on = "person"
[sink]
type = "noop"
[run]
trigger = "2 seconds"
"""
SQL = GOOD.replace('"parquet"\npath = "people"', '"sql"\npath = "shop.db"\ntable = "people"')


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "people").mkdir()
    people = pa.table({"id": [1, 2], "name": ["a", "b"]})
    pq.write_table(people, tmp_path / "people" / "1.parquet")
    with sqlite3.connect(tmp_path / "shop.db") as shop:
        shop.execute("CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT)")
    shop.close()
    return tmp_path


def loaded(folder: Path, text: str) -> TableFile:
    settings = load_toml(write(folder, text))
    assert isinstance(settings, TableFile)
    return settings


def test_a_parquet_table(folder: Path) -> None:
    settings = loaded(folder, GOOD)
    assert isinstance(settings.sources["calls"], GeneratorSource)
    assert settings.headline() == "Inner join of calls with the table people on person"
    made = settings.plan(7.0, SCRATCH)
    assert isinstance(made.table, ParquetTable)
    assert (made.table.path, made.table.key) == (str(folder / "people"), ("id",))
    assert (made.table.is_unique, made.table.copy) == (True, False)
    assert made.streams["calls"].options["start"] == "7.0"
    assert made.arguments == {
        "on": "person",
        "how": "inner",
        "columns": None,
        "budget": None,
        "algorithm": "auto",
        "shed": "considering",
        "front_share": None,
        "max_wait": None,
        "refresh": "1 minute",
        "on_failure": "fail",
        "max_staleness": "10 minutes",
        "index_folder": "/scratch/checkpoint_index",
        "shards": None,
    }
    assert made.arguments.keys() < inspect.signature(sj.table_join).parameters.keys()


def test_options_of_the_join(folder: Path) -> None:
    more = """[join]
    how = "left"
    columns = { name = "person_name" }
    budget = { memory = "64 MB", cpu = 0.5 }
    algorithm = "chybridjoin"
    shed = "upfront"
    front_share = 0.15
    max_wait = "2 s"
    refresh = "never"
    on_failure = "stale"
    index_folder = "index"
    """
    text = GOOD.replace("[join]", more).replace('on = "person"', 'on = { person = "id" }')
    settings = loaded(folder, text.replace("unique = true", "copy = true"))
    budget = "on a budget of 0.5 of the cores and 64 MB of state"
    assert settings.headline().startswith("Left join of calls with the table people on {'person'")
    assert settings.headline().endswith(budget)
    made = settings.plan(0.0, SCRATCH)
    assert isinstance(made.table, ParquetTable)
    assert made.table.copy
    assert made.arguments["on"] == {"person": "id"}
    assert made.arguments["columns"] == {"name": "person_name"}
    assert made.arguments["budget"] == made.budget == sj.Budget(memory="64 MB", cpu=0.5)
    assert (made.arguments["refresh"], made.arguments["shed"], made.arguments["front_share"]) == (
        None, "upfront", 0.15,
    )  # fmt: skip
    assert made.arguments["index_folder"] == str(folder / "index")


def test_a_table_that_is_made_up(folder: Path) -> None:
    made_up = '[table]\ntype = "generator"\npath = "made/up"\nrows = 300\nseed = 1\n[join]'
    text = GOOD.replace(GOOD[GOOD.index("[table]") : GOOD.index("[join]")], "")
    settings = loaded(folder, text.replace("[join]", made_up))
    for _ in range(2):  # the second time it is there
        table = settings.plan(0.0, SCRATCH).table
    assert isinstance(table, ParquetTable)
    assert (table.key, table.is_unique) == (("person",), True)
    assert pq.read_table(folder / "made" / "up").equals(people(300, seed=1))


def test_a_table_in_a_database(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = loaded(folder, SQL + 'checkpoint = "s3a://bucket/ck"\n').plan(0.0, SCRATCH)
    assert isinstance(made.table, SqlTable)
    assert made.table.name == "people"
    assert made.arguments["index_folder"] is None  # its place must be a disk
    monkeypatch.setenv("SHOP", f"sqlite://{folder}/shop.db")
    settings = loaded(folder, SQL.replace('path = "shop.db"', 'uri_env = "SHOP"'))
    assert isinstance(settings.plan(0.0, SCRATCH).table, SqlTable)


SECRET = 'uri = "postgresql://me:secret@localhost:1/shop"'
MISTAKES = [
    (
        GOOD,
        '"parquet"',
        '"csv"',
        "key `table.type`: got 'csv'; allowed: parquet, sql, postgres, generator",
    ),
    (GOOD, "unique", "uniqe", "key `table.uniqe`: unknown; did you mean `unique`? allowed: type, "),
    (GOOD, 'key = "id"', "", "key `table.key`: missing; allowed: a column such as"),
    (GOOD, 'path = "people"', "", "key `table.path`: missing; allowed: a folder of Parquet"),
    (
        GOOD,
        "[table]",
        "[table.x]",
        "key `table.type`: got None; allowed: parquet, sql, postgres, generator",
    ),
    (GOOD, 'on = "person"', "", "key `join.on`: missing; allowed: a column of the stream, a list"),
    (GOOD, "[join]", '[join]\nwindow = "1 s"', "key `join.window`: unknown; allowed: on, how, col"),
    (GOOD, "[join]", '[join]\nhow = "full"', "key `join.how`: got 'full'; allowed: inner, left"),
    (GOOD, "[join]", '[join]\nalgorithm = "x"', "key `join.algorithm`: got 'x'; allowed: auto, in"),
    (GOOD, "[join]", "[join]\nfront_share = 1", "key `join.front_share`: got 1; allowed: a part"),
    (GOOD, "[join]", '[join]\nrefresh = "x"', "key `join.refresh`: got 'x'; allowed: a duration"),
    (GOOD, "[join]", '[join]\nmax_wait = "-1 s"', "key `join.max_wait`: got '-1 s'; allowed: a d"),
    (
        GOOD,
        "[join]",
        "[join]\nbudget = { rate = 3 }",
        "key `join.budget`: got 3 tuples/s; allowed with a table: memory",
    ),
    (
        GOOD,
        "[join]",
        '[sources.x]\ntype = "rate"\n[join]',
        "key `sources`: got 2 (calls, x); allowed: one table, such as [sources.orders]",
    ),
    (
        SQL,
        'path = "shop.db"',
        "",
        "key `table.uri`: got no address; allowed: one of ",
    ),
    (SQL, "[join]", SECRET + "\n[join]", "key `table.uri`: got path and uri; allowed: one of uri"),
    (SQL, 'path = "shop.db"', "uri = ['a:secret@b']", "key `table.uri`: got no text; allowed: an"),
    (SQL, 'path = "shop.db"', 'uri_env = "NO_SUCH"', "key `table.uri_env`: got 'NO_SUCH', which "),
]


@pytest.mark.parametrize(("good", "old", "new", "sentence"), MISTAKES)
def test_mistakes_name_the_key(
    tmp_path: Path, good: str, old: str, new: str, sentence: str
) -> None:
    assert old in good
    file = write(tmp_path, good.replace(old, new))
    with pytest.raises(ConfigError) as refused:
        load_toml(file)
    lines = [line.removeprefix(f"{file}: ") for line in str(refused.value).splitlines()]
    assert any(line.startswith(sentence) for line in lines), lines
    assert "secret" not in str(refused.value)


ABSENT = [
    (GOOD, '"people"', '"nobody"', "the table /", StreamJoinError),
    (GOOD, '"id"', '"idd"', "key `table.key`: the table has no column 'idd' (did you", DataError),
    (SQL, 'table = "people"', 'table = "peple"', "key `table.table`: sqlite:///", DataError),
    (SQL, 'path = "shop.db"', 'path = "a://b"', "key `table.path`: got an address", ConfigError),
    (SQL, 'path = "shop.db"', 'uri = "mysql://me:secret@h/d"', "key `table.uri`: got", ConfigError),
    (SQL, 'path = "shop.db"', SECRET, "the table 'people' in postgresql://me@localhost:1/shop can",
     StreamJoinError),
]  # fmt: skip


@pytest.mark.parametrize(("good", "old", "new", "sentence", "kind"), ABSENT)
def test_a_table_that_is_not_there_is_one_sentence(
    folder: Path, good: str, old: str, new: str, sentence: str, kind: type[Exception]
) -> None:
    settings = loaded(folder, good.replace(old, new, 1))
    with pytest.raises(kind) as refused:
        settings.plan(0.0, SCRATCH)
    said = str(refused.value)
    assert said.startswith(f"{settings.file}: {sentence}"), said
    assert "\n" not in said
    assert "secret" not in said + repr(settings)
