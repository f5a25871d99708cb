"""SQL files: read, checked, explained and run."""

import json
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import streamjoin as sj
from streamjoin.cli.app import run_app
from streamjoin.cli.sql_file import load_sql, read
from streamjoin.errors import ConfigError
from streamjoin.workloads import GeneratedStream
from tests.spark.streams import write_batches

EXAMPLES = Path(__file__).parents[2] / "examples"
FILE = """
SET master = 'local[2]';
CREATE STREAM calls USING generator
  OPTIONS (workload 'calls', rate 40, keys 9, seconds 5) LATENESS 2 SECONDS;
CREATE STREAM trades USING generator
  OPTIONS (workload 'trades', rate 20, keys 9, seconds 5, disorder '100 ms') LATENESS 100 MS
  AS SELECT person AS who, traded_at, shares, price;
CREATE STREAM files (k BIGINT, at TIMESTAMP) USING json OPTIONS (path 'data', maxFilesPerTrigger 1);
INSERT INTO parquet 'out'
SELECT c.caller, t.shares * 2 AS twice FROM calls c JOIN trades t ON c.person = t.who
WHERE c.seconds > 20 WINDOW c 2 SECONDS, t 1 SECOND;
"""

Q1_FILE = """
CREATE STREAM stocksNYC (symbol STRING, shares INT, traded_at TIMESTAMP)
  USING parquet OPTIONS (path 'nyc', maxFilesPerTrigger 1) LATENESS 1 SECOND
  AS SELECT replace(symbol, 'ACME', 'GOOG') AS symbol, shares AS volume, traded_at;
CREATE STREAM stocksTokyo USING parquet OPTIONS (path 'tokyo', maxFilesPerTrigger 1)
  TIME traded_at AS SELECT symbol, price, shares AS volume, traded_at, traded_at AS again;
INSERT INTO parquet 'out'
SELECT B.symbol, B.price FROM stocksNYC A, stocksTokyo B
WHERE A.symbol = "GOOG" and B.volume > A.volume WINDOW 10 mins FRESHNESS 12 mins;
"""


def write(folder: Path, text: str = FILE) -> Path:
    file = folder / "q.sql"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_file_becomes_a_pipeline(tmp_path: Path) -> None:
    settings = load_sql(write(tmp_path))
    made = settings.plan(7.0, tmp_path)
    assert settings.spark == {"master": "local[2]"}
    assert settings.headline() == "Inner join of calls, trades by SQL within 2 seconds / 1 second"
    assert made.sink.place == str(tmp_path / "out")
    assert made.checkpoint == str(tmp_path / "out_checkpoint")
    assert made.trigger is None
    assert made.streams["calls"].options["start"] == made.streams["trades"].options["start"]
    assert made.streams["trades"].select[0] == "person AS who"
    files = made.streams["files"]
    assert (files.path, files.schema) == (str(tmp_path / "data"), "k BIGINT, at TIMESTAMP")
    assert files.options == {"maxFilesPerTrigger": "1"}
    assert made.arguments["lateness"] == "2 SECONDS"
    assert made.arguments["hot_keys"] == f"{made.checkpoint}_hot_keys"
    many = load_sql(EXAMPLES / "called_twice.sql").plan(7.0, tmp_path)
    assert many.arguments["shared"] == f"{many.checkpoint}_shared"
    assert "hot_keys" not in many.arguments


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("rate 40", "rate -4", "line 3, column 1: key `calls.rate`: got '-4'; allowed: rows per"),
        ("rate 40", "speed 4", "line 3, column 1: key `calls.speed`: unknown"),
        ("seconds 5)", "seed 5)", "line 3, column 1: calls has no end; allowed: an option seconds"),
        ("parquet 'out'", "parquet", "line 9, column 1: key `INSERT INTO.path`: missing"),
        ("parquet 'out'", "delta", "line 9, column 1: no CHECKPOINT; allowed: CHECKPOINT 'folder'"),
        ("SET master", "SET mastr", "key `spark.mastr`: unknown"),
        ("FROM calls", "FROM cals", "line 10, column 45: unknown stream 'cals'; allowed: calls,"),
        ("json OPTIONS (path 'data',", "json OPTIONS (", "line 8, column 1: key `files.path`"),
        ("SELECT c.caller", "SELECT c.caller,", "line 10, column 8: SELECT with an empty place"),
    ],
)
def test_mistakes_have_a_place(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in FILE
    file = write(tmp_path, FILE.replace(old, new, 1))
    with pytest.raises(ConfigError) as refused:
        read(file)
    assert str(refused.value).startswith(f"{file}: line ")
    assert message in str(refused.value)


def test_the_command_says_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(["run", str(tmp_path / "none.sql")]) == 2
    assert "none.sql: cannot be read: No such file" in capsys.readouterr().err
    assert run_app(["explain", str(write(tmp_path, FILE.replace("WINDOW", "WINDWO")))]) == 2
    said = capsys.readouterr().err
    assert "line 11, column 22: cannot read 'WINDWO' here" in said
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.sql")), ids=lambda file: file.stem)
def test_the_examples_are_good_files(file: Path) -> None:
    assert load_sql(file).run.duration


@pytest.mark.slow
def test_the_papers_query_from_a_file(spark: SparkSession, tmp_path: Path) -> None:
    for name, seed in (("nyc", 1), ("tokyo", 2)):
        stream = GeneratedStream("trades", 40, disorder_ms=100, seed=seed)
        parts = [pa.Table.from_batches([stream.rows(n, n + 100)]) for n in (0, 100)]
        write_batches(tmp_path / name, parts)
    file = write(tmp_path, Q1_FILE)
    explained = sj.explain(file)
    assert "\n\nquery: inner join of stocksNYC A, stocksTokyo B\n" in str(explained)
    assert 'A.symbol = "GOOG"  (filter of A, before the join)' in str(explained)
    document = json.loads(json.dumps(explained.to_dict()))
    assert document["queries"][0]["conditions"][1] == {
        "text": "B.volume > A.volume",
        "line": 9,
        "column": 29,
        "place": "join",
        "stream": None,
    }
    read(file).plan(0.0, tmp_path).start(spark).awaitTermination()
    with duckdb.connect() as db:
        wanted = db.execute(
            "SELECT count(*), count(DISTINCT b.symbol), sum(b.price) "
            f"FROM '{tmp_path}/nyc/*.parquet' a, '{tmp_path}/tokyo/*.parquet' b "
            "WHERE a.symbol = 'ACME' AND b.shares > a.shares"
        ).fetchone()
        found = db.execute(
            f"SELECT count(*), count(DISTINCT symbol), sum(price) FROM '{tmp_path}/out/*.parquet'"
        ).fetchone()
    assert found == pytest.approx(wanted)
    assert found is not None
    assert found[0] > 100
