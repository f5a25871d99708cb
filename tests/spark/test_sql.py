"""`sj.sql` gives what DuckDB gives of the same tables, when time is a condition like any other."""

from collections.abc import Mapping
from functools import reduce
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import streamjoin as sj

TIME = pa.timestamp("us", "UTC")
START_US = 1_767_225_600_000_000
Q1 = (
    "SELECT B.symbol, B.price FROM stocksNYC A, stocksTokyo B "
    'WHERE A.symbol = "GOOG" and B.volume > A.volume WINDOW 10 mins'
)
# In DuckDB's words: without clauses, and with the windows as a condition on times.
APART = "abs(date_diff('microsecond', {0}.at, {1}.at)) <= 60000000"
# What stands for the windows: a condition of WHERE, of ON (in place of the braces), or of USING.
QUERIES = [
    ("where", """
        SELECT B.symbol, B.price AS p FROM nyc A, tokyo B
        WHERE A.symbol = 'GOOG' AND B.volume > A.volume"""),
    ("where", """
        SELECT A.volume * 2 AS v, upper(B.symbol) AS s, v + 1 AS w
        FROM nyc A JOIN tokyo B ON A.symbol = B.symbol AND abs(A.volume - B.volume) <= 20
        WHERE B.price > 5 AND concat(A.symbol, B.volume) LIKE '%1%'"""),
    ("on", """
        SELECT A.volume, B.volume AS other
        FROM nyc A LEFT JOIN tokyo B ON A.symbol = B.symbol AND A.volume > 50 AND B.volume > 50 {}
        WHERE A.price < 5 AND (B.volume IS NULL OR B.volume < 90)"""),
    ("on", """
        SELECT A.volume, B.volume AS other
        FROM nyc A RIGHT JOIN tokyo B ON A.symbol = B.symbol AND A.volume > 50 AND B.volume > 50 {}
        WHERE B.price < 5 AND (A.volume IS NULL OR A.volume < 90)"""),
    ("using", """
        SELECT symbol, A.volume, B.volume AS other FROM nyc A FULL JOIN tokyo B USING (symbol)"""),
    ("on", """
        SELECT A.volume FROM nyc A SEMI JOIN tokyo B
        ON A.symbol = B.symbol AND B.volume > A.volume {}"""),
    ("on", """
        SELECT volume FROM nyc A ANTI JOIN tokyo B ON A.symbol = B.symbol AND A.volume > 30 {}
        WHERE price < 9"""),
    ("where", """
        SELECT A.volume AS x, B.volume AS y FROM nyc A, nyc B
        WHERE A.symbol = B.symbol AND A.volume < B.volume"""),
]  # fmt: skip
MANY = (
    "SELECT a.volume AS x, b.volume AS y, c.volume + 1 AS z FROM nyc a, tokyo b, nyc c "
    "WHERE a.symbol = b.symbol AND b.symbol = c.symbol AND c.price < 2 AND a.volume < b.volume{}"
)


def trades(seed: int, n: int = 60) -> pa.Table:
    rng = np.random.default_rng(seed)
    symbols = np.array(["GOOG", "MSFT", "ACME"])
    seconds = np.sort(rng.integers(0, 300, n))
    return pa.table(
        {
            "symbol": pa.array(symbols[rng.integers(0, 3, n)]),
            "price": pa.array(rng.integers(0, 10, n), pa.float64()),
            "volume": pa.array(rng.integers(0, 100, n)),
            "at": pa.array(START_US + 1_000_000 * seconds).cast(TIME),
        }
    )


TABLES = {"nyc": trades(1), "tokyo": trades(2)}


@pytest.fixture(scope="module")
def frames(spark: SparkSession) -> Mapping[str, DataFrame]:
    return {name: spark.createDataFrame(table) for name, table in TABLES.items()}


def expected(text: str) -> list[tuple[str | None, ...]]:
    with duckdb.connect() as db:
        for name, table in TABLES.items():
            db.register(name, table)
        rows = db.execute(text).fetchall()
    return sorted((tuple(None if v is None else str(v) for v in row) for row in rows), key=str)


def written(number: int, frame: DataFrame) -> DataFrame:
    """Rows as text, all in one column: one Spark job for all queries, as each costs seconds."""
    texts = [F.col(name).cast("string") for name in frame.columns]
    return frame.select(F.lit(number).alias("query"), F.array(*texts).alias("cells"))


def test_queries_give_what_duckdb_gives(frames: Mapping[str, DataFrame]) -> None:
    apart = f"AND {APART.format('A', 'B')}"
    made, wanted = [], []
    for number, (kind, text) in enumerate(QUERIES):
        sql = f"{text.format('')} WINDOW 1 MINUTE LATENESS 5 SECONDS"
        made.append(written(number, sj.sql(sql, frames, name=f"query {number}", shards=1)))
        if kind == "using":
            text = text.replace("USING (symbol)", f"ON A.symbol = B.symbol {apart}")
            text = text.replace("SELECT symbol", "SELECT coalesce(A.symbol, B.symbol)")
        wanted.append(expected(f"{text} {apart}" if kind == "where" else text.format(apart)))
    found: list[list[tuple[str | None, ...]]] = [[] for _ in wanted]
    for row in reduce(DataFrame.unionAll, made).collect():
        found[row.query].append(tuple(row.cells))
    assert all(wanted)
    for got, right, (_, text) in zip(found, wanted, QUERIES, strict=True):
        assert sorted(got, key=str) == right, text


def test_a_query_of_three_streams(frames: Mapping[str, DataFrame]) -> None:
    pairs = ("ab", "bc", "ac")
    apart = "".join(f" AND {APART.format(*pair)}" for pair in pairs)
    out = sj.sql(MANY.format("") + " WINDOW 1 MINUTE PLAN 'a (b c)'", frames)
    rows = [tuple(str(v) for v in row) for row in out.collect()]
    assert sorted(rows, key=str) == expected(MANY.format(apart)) != []
    (query,) = sj.explain(out).to_dict()["queries"]
    assert [c["place"] for c in query["conditions"]] == ["key", "key", "stream", "after"]
    assert query["carried"]["c"] == ["symbol", "volume", "at"]
    assert query["plan"] == "a (b c)"
    ring = "a.symbol = b.symbol AND b.volume = c.volume AND c.price = a.price WINDOW 1 MINUTE"
    text = f"SELECT a.at FROM nyc a, tokyo b, nyc c WHERE {ring} STRATEGY MJOIN ORDER timestamp"
    (plan,) = sj.explain(sj.sql(text, frames)).to_dict()["plans"]
    assert (plan["strategy"]["strategy"], plan["strategy"]["order"]) == ("mjoin", "timestamp")


EQUAL = "WHERE a.symbol = b.symbol AND b.symbol = c.symbol"
BOTH = "FROM nyc A, tokyo B\nWHERE A.symbol = B.symbol"


@pytest.mark.parametrize(
    ("text", "more", "message"),
    [
        (f"SELECT nope(A.price) AS n {BOTH} WINDOW 1 DAY", {},
         "line 1, column 8: nope.* allowed: SQL that Spark can evaluate"),
        (f"SELECT 1 AS n {BOTH} AND A.at + 1 > 2 WINDOW 1 DAY", {},
         "line 2, column 31: A.at \\+ 1 > 2: .*DATATYPE_MISMATCH"),
        (f"SELECT 1 AS n {BOTH} WINDOW 0 DAYS", {},
         "line 2, column 27: window: got .* allowed: a positive duration"),
        (Q1, {"window": "1 day"}, "window: got '1 day'; allowed: WINDOW in the query's text"),
        (Q1, {"strategy": "mjoin"}, "strategy: got 'mjoin'; allowed: STRATEGY in the query's text"),
        (f"SELECT 1 AS n FROM nyc a, nyc b, nyc c {EQUAL} WINDOW 1 DAY PLAN '(a b) c'\n"
         " STRATEGY TREE ORDER timestamp", {}, "line 2, column 2: order: got .* with a plan; allo"),
        (f"SELECT 1 AS n {BOTH} WINDOW 1 DAY", {"time": 5}, "time: got 5; allowed: a column name"),
        (Q1, {}, "column 31: unknown stream 'stocksNYC'; allowed: nyc, tokyo"),
    ],
)  # fmt: skip
def test_what_spark_or_the_join_refuses_has_a_place(
    frames: Mapping[str, DataFrame], text: str, more: dict[str, Any], message: str
) -> None:
    with pytest.raises(sj.StreamJoinError, match=message):
        sj.sql(text, frames, **more)


def test_streams_must_be_frames() -> None:
    with pytest.raises(sj.ConfigError, match=r"streams: got \{\}; allowed: DataFrames by name"):
        sj.sql(Q1, {})
