"""Names of columns that are no plain words, in every join on real Spark."""

import random
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import streamjoin as sj
from streamjoin import oracle
from streamjoin._names import backquoted
from streamjoin.cli.table_file import load_toml
from streamjoin.errors import DataError
from streamjoin.spark.columns import named
from streamjoin.tables import database
from streamjoin.tables.base import Table
from tests.names import KEY, NASTY, OTHER_KEY, SCHEMA, TIME, VALUE
from tests.spark.streams import drain, read_back, read_stream, write_batches
from tests.strategies import table

Row = Mapping[str, Any]
Streams = Mapping[str, DataFrame]
Found = Counter[tuple[str, ...]]
"""Results: of each stream the values of its row."""
K, OTHER, V = map(backquoted, (KEY, OTHER_KEY, VALUE))
PAYLOAD = [name for name in NASTY if name not in (KEY, TIME)]
WINDOW, COUNT = 40, 7
WITHIN: dict[str, Any] = {
    "time": TIME, "window": f"{WINDOW} microseconds", "lateness": "1 second", "shards": 1,
}  # fmt: skip
IN_SQL = f"WINDOW {WINDOW} MICROSECONDS LATENESS 1 SECOND TIME {backquoted(TIME)}"
FAR, LATE = 10_000_000, 0


def same_row(stream: int, time: int) -> Row:
    """A row that matches none of another stream."""
    return {**dict.fromkeys(NASTY, -100 * stream), TIME: time}


def rows(stream: int) -> list[Row]:
    rng = random.Random(stream)
    values = [{name: rng.randrange(6) for name in NASTY} for _ in range(50)]
    return [{**row, TIME: i + rng.randrange(20)} for i, row in enumerate(values)]


SIDES = {name: rows(number) for number, name in enumerate("abc", 1)}


def said(row: Row | None) -> str:
    return "" if row is None else ",".join(str(row[name]) for name in PAYLOAD)


def pairs(how: str = "inner", on: str | None = KEY, size: Any = WINDOW, **more: Any) -> Found:
    found = oracle.join(
        SIDES["a"], SIDES["b"], on=[] if on is None else [(on, on)], how=how,
        time=(TIME, TIME), window=(size, size), **more,
    )  # fmt: skip
    return Counter(tuple(map(said, pair)) for pair in found)


def triples(*equal: str, where: Callable[..., bool] = lambda *_: True) -> Found:
    found = oracle.multi_join(
        SIDES,
        on=[(("a", equal[0]), ("b", equal[1])), (("b", equal[2]), ("c", equal[3]))],
        time=dict.fromkeys("abc", TIME),
        window=dict.fromkeys("abc", WINDOW),
    )
    return Counter(tuple(map(said, r.values())) for r in found if where(*r.values()))


def looked_up() -> Found:
    both = [(a, c) for a in SIDES["a"] for c in SIDES["c"] if a[KEY] == c[KEY]]
    return Counter((said(a), said(c)) for a, c in both)


class Named(NamedTuple):
    """A join, what the result puts around the columns of each stream, and what it should give."""

    join: DataFrame
    around: list[tuple[str, str]]
    expected: Found


BY_SIDE = [("", "_left"), ("", "_right")]
BY_STREAM = [("a_", ""), ("b_", ""), ("c_", "")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The streams; the last row but one is so much later that all before it are answered."""
    folder = tmp_path_factory.mktemp("names")
    for number, (name, of) in enumerate(SIDES.items(), 1):
        batches = [[*of, same_row(number, FAR)], [same_row(number, LATE)]]
        write_batches(folder / name, [table([*map(dict, b)], SCHEMA) for b in batches])
    content = table([*map(dict, SIDES["c"])], SCHEMA).drop_columns([TIME])
    pq.write_table(content, folder / "table.parquet")
    with sqlite3.connect(folder / "t.db") as file:
        columns = ", ".join(f"{database.quoted(name)} INTEGER" for name in content.column_names)
        file.execute(f"CREATE TABLE t ({columns})")
        marks = ", ".join("?" * content.num_columns)
        file.executemany(
            f"INSERT INTO t VALUES ({marks})", [tuple(row.values()) for row in content.to_pylist()]
        )
    return folder


def pipeline(folder: Path) -> str:
    source = 'type = "parquet"\npath = "{}"\noptions = {{ maxFilesPerTrigger = 1 }}'
    return f"""
[sources.a]
{source.format("a")}
[sources.b]
{source.format("b")}
[join]
on = "{KEY}"
time = "{TIME}"
where = "left.{V} <> right.{V}"
window = "{WITHIN["window"]}"
lateness = "1 second"
[sink]
type = "noop"
[run]
trigger = "available-now"
checkpoint = "{folder}/unused"
"""


def of_two(streams: Streams, folder: Path) -> dict[str, Named]:
    """Joins of two streams."""
    a, b = streams["a"], streams["b"]
    where = f"left.{OTHER} <= right.{V} AND greatest(LEFT.{OTHER}, right.{V}) > 2"
    equal = f"left.{OTHER} = right.{OTHER}"
    near = f"abs(left.{K} - right.{V}) <= 1"
    inner = sj.join(a, b, on=KEY, where=where, weights=True, name="i", **late(folder), **WITHIN)
    budget: dict[str, Any] = {"budget": sj.Budget(cpu="1 hour"), "utility": (VALUE, OTHER_KEY)}
    grid = sj.join(
        a, b, where=near, ahead="90 minutes", suffixes=(" .`", "."), name="g", **WITHIN,
        **(budget if a.isStreaming else {}),
    )  # fmt: skip
    counted = sj.join(a, b, on=KEY, name="c", **{**WITHIN, "window": sj.rows(COUNT)})
    asof = sj.join(a, b, on=[KEY], how="asof", name="n", **WITHIN)
    left = sj.join(a, b, on=KEY, where=equal, how="left", name="l", **WITHIN)
    return {
        "inner": Named(
            sj.with_pair_id(inner, "pair.`id"),
            BY_SIDE,
            pairs(where=lambda a, b: a[OTHER_KEY] <= b[VALUE] and max(a[OTHER_KEY], b[VALUE]) > 2),
        ),
        "without keys": Named(
            grid,
            [("", " .`"), ("", ".")],
            pairs(on=None, where=lambda a, b: abs(a[KEY] - b[VALUE]) <= 1),
        ),
        "counted": Named(counted, BY_SIDE, pairs(size=sj.rows(COUNT))),
        "asof": Named(asof, BY_SIDE, pairs("asof")),
        "left": Named(
            left, BY_SIDE, pairs("left", where=lambda a, b: a[OTHER_KEY] == b[OTHER_KEY])
        ),
    }


def late(folder: Path) -> dict[str, Any]:
    return {"late_rows": str(folder / "late")}


def of_many(streams: Streams) -> dict[str, Named]:
    """Joins of three streams."""
    each, chain = dict.fromkeys("abc", KEY), [f"a.{K} = b.{OTHER}", f"b.{V}=c.{V}"]
    one_key = triples(KEY, KEY, KEY, KEY)
    tree = sj.multi_join(streams, on=KEY, name="t", **WITHIN)
    nary = sj.multi_join(streams, on=each, strategy="mjoin", name="m", **WITHIN)
    several = sj.multi_join(streams, on=chain, where=f"a.{V} <= c.{K}", name="h", **WITHIN)
    return {
        "tree": Named(tree, BY_STREAM, one_key),
        "mjoin": Named(nary, BY_STREAM, one_key),
        "chain": Named(
            several,
            BY_STREAM,
            triples(KEY, OTHER_KEY, VALUE, VALUE, where=lambda a, b, c: a[VALUE] <= c[KEY]),
        ),
    }


def by_sql(streams: Streams) -> dict[str, Named]:
    """Joins in SQL."""
    couple = f"SELECT * FROM a JOIN b USING ({K}) WHERE a.{OTHER} + b.{V} > 5 AND a.{V} > 0"
    three = f"SELECT * FROM a, b, c WHERE a.{K} = b.{OTHER} AND b.{V} = c.{V} AND a.{V} <= c.{K}"
    return {
        "sql of two": Named(
            sj.sql(f"{couple} {IN_SQL}", streams, name="s", shards=1),
            BY_STREAM[:2],
            pairs(where=lambda a, b: a[OTHER_KEY] + b[VALUE] > 5 and a[VALUE] > 0),
        ),
        "sql of three": Named(
            sj.sql(f"{three} {IN_SQL}", streams, name="u", shards=1),
            BY_STREAM,
            triples(KEY, OTHER_KEY, VALUE, VALUE, where=lambda a, b, c: a[VALUE] <= c[KEY]),
        ),
    }


def with_tables(streams: Streams, folder: Path) -> dict[str, Named]:
    """Joins with tables."""
    tables: dict[str, Table] = {
        "parquet": sj.parquet_table(folder / "table.parquet", key=KEY),
        "sqlite": sj.sql_table(f"sqlite://{folder}/t.db", "t", key=KEY),
    }
    given: dict[str, Any] = {"on": KEY, "shards": 1, "index_folder": folder / "index"}
    columns = {name: f"their {name}" for name in PAYLOAD}
    return {
        name: Named(
            sj.table_join(streams["a"], of, columns=columns, name=name, **given),
            [("", ""), ("their ", "")],
            looked_up(),
        )
        for name, of in tables.items()
    }


def every(streams: Streams, folder: Path) -> dict[str, Named]:
    two, many = of_two(streams, folder), of_many(streams)
    return {**two, **many, **by_sql(streams), **with_tables(streams, folder)}


def together(joins: Mapping[str, Named]) -> DataFrame:
    """All rows, each as the join's name and for each stream the values of its row."""

    def labelled(name: str, one: Named) -> DataFrame:
        texts = [
            F.concat_ws(",", *(named(before + column + behind) for column in PAYLOAD))
            for before, behind in one.around
        ]
        return one.join.select(F.lit(name).alias("join"), F.array(*texts).alias("rows"))

    return reduce(DataFrame.unionAll, [labelled(*one) for one in joins.items()])


def assert_right(rows: Iterable[Mapping[str, Any]], joins: Mapping[str, Named]) -> None:
    found = {name: Counter[tuple[str, ...]]() for name in joins}
    for row in rows:
        found[row["join"]][tuple(row["rows"])] += 1
    for name, one in joins.items():
        assert one.expected, name
        assert found[name] == one.expected, name


def test_every_join_takes_any_name(spark: SparkSession, folder: Path) -> None:
    """As key, time and payload and in conditions."""
    frames = {s: spark.read.parquet(str(folder / s)).filter(f"{K} >= 0") for s in SIDES}
    joins = every(frames, folder)
    assert joins["tree"].join.columns[:3] == [KEY, f"a_{TIME}", f"a_{OTHER_KEY}"]
    assert_right((row.asDict() for row in together(joins).collect()), joins)


def test_every_join_of_streams_takes_any_name(spark: SparkSession, folder: Path) -> None:
    """All can be planned; what streams add to tables is run: clocks, late rows, a chain's marks."""
    streams = {name: read_stream(spark, folder / name) for name in SIDES}
    joins = every(streams, folder)
    (folder / "p.toml").write_text(pipeline(folder), encoding="utf-8")
    from_file = load_toml(folder / "p.toml").plan(0.0, folder).joined(spark)
    assert from_file.columns == joins["inner"].join.columns[:-2]
    run = {name: joins[name] for name in ("inner", "without keys", "chain", "parquet")}
    drain(together(run), folder / "checkpoint", folder / "out")
    assert_right(read_back(spark, folder / "out"), run)
    too_late = spark.read.parquet(str(folder / "late" / "left"))
    assert too_late.columns == [*NASTY, "late_by"]
    assert [row[KEY] for row in too_late.collect()] == [-100]


def small(spark: SparkSession, *names: str) -> DataFrame:
    """A stream that is never started."""
    columns = [F.col("value").alias(name) for name in names]
    return spark.readStream.format("rate").load().select(*columns, F.col("timestamp").alias("t"))


def test_names_that_differ_in_case_only_are_ambiguous_by_default(
    spark: SparkSession, folder: Path
) -> None:
    both, lower = small(spark, "k", "K"), small(spark, "k", "v")
    given: dict[str, Any] = {"time": "T", "window": "1 second"}
    joined = sj.join(lower, lower, on="K", where="left.V < right.v", **given)
    assert joined.columns == ["k", "v_left", "t_left", "v_right", "t_right"]
    what = "columns 'k' and 'K' differ in case only, which Spark ignores; allowed: other names"
    customers = sj.parquet_table(folder / "table.parquet", key=KEY)
    refused: dict[str, Callable[[], DataFrame]] = {
        "right": lambda: sj.join(lower, both, on="k", **given),
        "b": lambda: sj.multi_join({"a": lower, "b": both}, on="k", **given),
        "stream": lambda: sj.table_join(both, customers, on="k"),
        "y": lambda: sj.sql("SELECT 1 FROM a x, b y WINDOW 1 s", {"a": lower, "b": both}),
        "frame": lambda: sj.with_pair_id(both),
    }
    for argument, make in refused.items():
        with pytest.raises(DataError, match=f"^{argument}: {what}"):
            make()


def test_names_that_differ_in_case_are_two_where_spark_is_set_so(
    spark: SparkSession, tmp_path: Path
) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.caseSensitive", "true")
    schema = pa.schema(
        [("k", pa.int64()), ("K", pa.int64()), ("t", pa.timestamp("us")), ("T", pa.int64())]
    )
    sides = [
        [{"k": i % 3, "K": (i * n) % 5, "t": i, "T": 100 * n + i} for i in range(20)]
        for n in (2, 3)
    ]
    folders = [
        write_batches(tmp_path / name, [table(side, schema)])
        for name, side in zip("ab", sides, strict=True)
    ]
    a, b = (session.read.parquet(str(folder)) for folder in folders)
    within: dict[str, Any] = {"time": "t", "window": "9 microseconds"}
    where = "left.k <= right.K AND greatest(LEFT.K, right.k) > 1"
    one = sj.join(a, b, on="K", where=where, name="1", **within)
    assert one.columns == ["K", "k_left", "t_left", "T_left", "k_right", "t_right", "T_right"]
    two = sj.multi_join({"a": a, "b": b}, on=["a.k = b.K"], where="a.K <> b.k", name="2", **within)
    three = sj.sql(
        "SELECT a.T, b.T AS t FROM x a, y b WHERE a.K = b.k AND a.k + b.K > 2 WINDOW 9 us",
        {"x": a, "y": b}, time="t", name="3",
    )  # fmt: skip
    results = [one.select("T_left", "T_right"), two.select("a_T", "b_T"), three.select("T", "t")]
    labels = [frame.select(F.lit(i).alias("join"), "*") for i, frame in enumerate(results)]
    result = reduce(DataFrame.unionAll, labels).toDF("join", "left", "right")
    given: dict[str, Any] = {"time": ("t", "t"), "window": (9, 9)}
    expected = [
        oracle.window_join(*sides, on=[(x, y)], where=test, **given)
        for x, y, test in (
            ("K", "K", lambda a, b: a["k"] <= b["K"] and max(a["K"], b["k"]) > 1),
            ("k", "K", lambda a, b: a["K"] != b["k"]),
            ("K", "k", lambda a, b: a["k"] + b["K"] > 2),
        )
    ]
    assert all(expected)
    assert Counter(map(tuple, result.collect())) == Counter(
        (i, a["T"], b["T"]) for i, found in enumerate(expected) for a, b in found
    )
    with pytest.raises(DataError, match=r"^on: the left stream has no column 'X'; allowed: k, K"):
        sj.join(a, b, on="X", **within)
