"""What joins of many streams refuse: one sentence that names the argument and what is allowed."""

import re
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import streamjoin as sj
from streamjoin.errors import ConfigError, DataError, StreamJoinError
from streamjoin.joins.multi.arguments import resolve_plan

SCHEMA = pa.schema(
    {
        "k": pa.int64(),
        "x": pa.int64(),
        "s": pa.string(),
        "d": pa.float64(),
        "m": pa.map_(pa.string(), pa.int64()),
        "t": pa.timestamp("us", "UTC"),
        "local": pa.timestamp("us"),
    }
)
GOOD: dict[str, Any] = {"on": "k", "time": "t", "window": "10 seconds"}
PLAN = "((a b) c) d"
CHAIN = ["a.k = b.k", "b.x = c.x", "c.x = d.x"]
EACH = {"a": "k", "b": "k", "c": "k"}
ROWS = sj.rows(5)


def refusal(schemas: Any = None, **changes: Any) -> StreamJoinError:
    streams = dict.fromkeys("abcd", SCHEMA) if schemas is None else schemas
    with pytest.raises(StreamJoinError) as refused:
        resolve_plan(streams, **{**GOOD, **changes})
    assert re.match(r"\w+: .*", str(refused.value), re.DOTALL)
    assert "\n" not in str(refused.value)
    return refused.value


NAMES: list[tuple[Any, str]] = [
    ({"a": SCHEMA}, "streams: got 1 streams; allowed: a mapping of two or more"),
    ([SCHEMA, SCHEMA], "streams: got list; allowed: a mapping of two or more"),
    ({"a": SCHEMA, "b.c": SCHEMA}, "streams: got the name 'b.c'; allowed: letters, digits and _"),
    ({"a": SCHEMA, "_b": SCHEMA}, "streams: got the name '_b'; allowed: letters"),
    ({"a": SCHEMA, "A": SCHEMA}, "streams: got the name 'a'; allowed: letters"),
    ({"a": SCHEMA, 5: SCHEMA}, "streams: got the name 5; allowed: letters"),
    ({"a": SCHEMA, "out": SCHEMA}, "streams: got the name 'out'; allowed: another, as rows_out"),
    (
        {"a": SCHEMA, "Intermediate": SCHEMA},
        "streams: got the name 'Intermediate'; allowed: another, as probed_Intermediate",
    ),
    ({f"s{i}": SCHEMA for i in range(65)}, "streams: got 65; allowed: at most 64"),
]


@pytest.mark.parametrize(("schemas", "sentence"), NAMES)
def test_names_of_streams(schemas: Any, sentence: str) -> None:
    assert str(refusal(schemas)).startswith(sentence)


SETTINGS: list[tuple[dict[str, Any], str]] = [
    # on
    ({"on": None}, "on: got None; allowed: a column that all streams have"),
    ({"on": ["a.k < b.k"]}, "on: got 'a.k < b.k'; allowed: a column that all"),
    ({"on": ["k", "a.k = b.k"]}, "on: got 'k'; allowed: a column that all"),
    ({"on": ["k", "K"]}, "on: got a.k twice; allowed: each column once"),
    ({"on": "kk"}, "on: stream 'a' has no column 'kk' (did you mean 'k'?); allowed: k, x"),
    ({"on": EACH}, "on: got no column for 'd'; allowed: one for each stream"),
    ({"on": {**EACH, "d": 5}}, "on: got 5 for 'd'; allowed: a column, or a list of columns"),
    ({"on": {**EACH, "d": ["k", "x"]}}, "on: got {'a'"),
    ({"on": {**EACH, "e": "k"}}, "on: unknown stream 'e'; allowed: a, b, c, d"),
    ({"on": {**EACH, "A": "x"}}, "on: got 'a' twice; allowed: one for each stream"),
    ({"on": ["e.k = b.k"]}, "on: unknown stream 'e'; allowed: a, b, c, d"),
    ({"on": ["a.k = a.x"]}, "on: 'a.k = a.x' is about one stream; allowed: equalities between"),
    ({"on": ["a.k = b.k", "a.k = b.x"]}, "on: b.k and b.x must equal the same column; allowed:"),
    (
        {"on": ["a.k = b.k", "c.k = d.k"]},
        "on: nothing says how c, d and a, b are joined (that would be a cross join); allowed:",
    ),
    (
        {"on": ["a.k = b.k", "b.x = c.x", "c.s = a.s", "c.d = d.d"]},
        "on: the equalities of a, b, c form a cycle; allowed: with strategy='mjoin', or",
    ),
    ({"on": ["a.k = b.s", *CHAIN[1:]]}, "on: a.k is int64 and b.s is string; allowed: equal types"),
    ({"on": "m"}, "on: a.m has type map<string, int64>; allowed: any type that can be compared"),
    # time
    ({"time": "tt"}, "time: stream 'a' has no column 'tt' (did you mean 't'?); allowed: k, x"),
    ({"time": "k"}, "time: a.k has type int64; allowed: timestamp or timestamp_ntz"),
    ({"time": {"a": "t"}}, "time: got none for 'b'; allowed: one for each stream"),
    ({"time": {"e": "t"}}, "time: unknown stream 'e'; allowed: a, b, c, d"),
    (
        {"time": {**dict.fromkeys("abc", "t"), "d": "local"}},
        "time: got timestamp for 'a' and timestamp_ntz for 'd'; allowed: the same type",
    ),
    # window
    ({"window": None}, "window: got None; allowed: a positive duration for at least one stream"),
    ({"window": "-1 s"}, "window: got '-1 s'; allowed: zero or a positive duration"),
    ({"window": 5}, "window: got 5; allowed: a duration such as"),
    ({"window": {"a": "1 s"}}, "window: got none for 'b'; allowed: one for each stream"),
    ({"window": {"e": "1 s"}}, "window: unknown stream 'e'; allowed: a, b, c, d"),
    (
        {"on": CHAIN, "window": {**dict.fromkeys("abc", "1 s"), "d": ROWS}},
        "window: got rows(n) for 'd' with joins on different keys; allowed: durations, or one key",
    ),
    # plan
    ({"plan": 5}, "plan: got 5; allowed: text such as"),
    ({"plan": "(a b c) d"}, "plan: '(a b c) d' is no tree; allowed: pairs in parentheses"),
    ({"plan": "((a b) c) e"}, "plan: '((a b) c) e' names 'e'; allowed: each of a, b, c, d once"),
    ({"plan": "(a b) c"}, "plan: '(a b) c' leaves out 'd'; allowed: each of a, b, c, d once"),
    ({"plan": "((a b) a) c"}, "plan: '((a b) a) c' names twice 'a'; allowed: each of"),
    (
        {"plan": "((a c) b) d", "on": CHAIN},
        "plan: '((a c) b) d' joins a with c, and no equality says how (a cross join); allowed:",
    ),
    # freshness
    (
        {"freshness": "9 s"},
        "freshness: got 9 seconds for 'a', shorter than its window; allowed: at least 10 seconds",
    ),
    ({"freshness": {"e": "20 s"}}, "freshness: unknown stream 'e'; allowed: a, b, c, d"),
    ({"freshness": {"a": ROWS}}, "freshness: got Rows(n=5) for 'a'; allowed: a duration, as its"),
    (
        {"freshness": "9 s", "window": ROWS},
        "freshness: got '9 s' for 'a'; allowed: rows(n), as its window is",
    ),
    (
        {"freshness": sj.rows(4), "window": ROWS},
        "freshness: got rows(4) for 'a', shorter than its window; allowed: at least rows(5)",
    ),
    # states
    ({"states": {"a b": ROWS}}, "states: got some without a plan; allowed: only with one"),
    ({"states": 5, "plan": PLAN}, "states: got 5; allowed: a mapping such as"),
    ({"states": {"a b": ROWS}, "plan": PLAN}, "states: got 'a b'; allowed: each of 'a b', 'a b c'"),
    (
        {"states": {"a c": ROWS}, "plan": PLAN},
        "states: got 'a c': Rows(n=5); allowed: rows(n), once for each of 'a b', 'a b c'",
    ),
    ({"states": {"a b": 5}, "plan": PLAN}, "states: got 'a b': 5; allowed: rows(n), once"),
    ({"states": {"a b": ROWS, "B A": ROWS}, "plan": PLAN}, "states: got 'B A': Rows(n=5); allowed"),
    (
        {"states": {"a b": ROWS}, "plan": PLAN, "on": CHAIN},
        "states: got some with joins on different keys; allowed: one key for all joins",
    ),
    # budget and planner
    ({"budget": 0.5}, "budget: got 0.5; allowed: a Budget such as Budget(cpu=0.5)"),
    (
        {"budget": sj.Budget(memory="1 MB")},
        "budget: got memory='1 MB'; allowed with many streams: cpu or rate",
    ),
    (
        {"budget": sj.Budget(rate=5), "planner": "best"},
        "planner: got 'best'; allowed: jaqpot, exact, grepp, equal-hj",
    ),
    ({"planner": "exact"}, "planner: got 'exact' without a budget; allowed: only with one"),
    # strategy, order and selectivities
    ({"strategy": "trees"}, "strategy: got 'trees'; allowed: auto, mjoin, tree"),
    (
        {"strategy": "mjoin", "plan": PLAN},
        "strategy: got 'mjoin' with a plan; allowed: 'tree' or 'auto' (one n-ary join has none)",
    ),
    (
        {"strategy": "mjoin", "budget": sj.Budget(rate=5)},
        "strategy: got 'mjoin' with a budget; allowed: 'tree' or 'auto'",
    ),
    (
        {"strategy": "mjoin", "states": {"a b": ROWS}},
        "strategy: got 'mjoin' with states; allowed: 'tree' or 'auto'",
    ),
    ({"order": "random"}, "order: got 'random'; allowed: adaptive, timestamp, round-robin, cons"),
    (
        {"order": "timestamp", "strategy": "tree"},
        "order: got 'timestamp' with strategy='tree'; allowed: 'adaptive' (only an n-ary join",
    ),
    ({"order": "timestamp", "plan": PLAN}, "order: got 'timestamp' with a plan; allowed: 'adap"),
    (
        {"order": "output-rate", "on": CHAIN},
        "order: got 'output-rate' with joins on different keys; allowed: 'adaptive'",
    ),
    ({"selectivities": 0.1}, 'selectivities: got 0.1; allowed: a mapping such as {"a b": 0.001}'),
    ({"selectivities": {}}, "selectivities: got {}; allowed: a mapping such as"),
    ({"selectivities": {"a e": 0.1}}, "selectivities: unknown stream 'e'; allowed: a, b, c, d"),
    (
        {"selectivities": {"a b": 0.1, "B A": 0.1}},
        "selectivities: got 'B A'; allowed: two streams or more, each set once",
    ),
    ({"selectivities": {"a": 0.1}}, "selectivities: got 'a'; allowed: two streams or more, each"),
    (
        {"selectivities": {"a b": 1.5}},
        "selectivities: got 1.5 for 'a b'; allowed: numbers from 0 to 1",
    ),
    ({"selectivities": {"a b": True}}, "selectivities: got True for 'a b'; allowed: numbers from"),
    (
        {"selectivities": {"a b": 0.1, "d c": 0.1}},
        "selectivities: got none that links 'c' to 'a'; allowed: pairs such as 'a c' that link all",
    ),
    (
        {"selectivities": {"a b": 0.1}, "plan": PLAN},
        "selectivities: got some with a plan; allowed: only where they decide something",
    ),
    # time of arrival
    ({"lateness": "-1 s"}, "lateness: got '-1 s'; allowed: zero or a positive duration"),
    ({"lateness": None}, "lateness: got None; allowed: a duration"),
    ({"idle_timeout": "0 s"}, "idle_timeout: got '0 s'; allowed: a positive duration"),
]


@pytest.mark.parametrize(("changes", "sentence"), SETTINGS)
def test_settings(changes: dict[str, Any], sentence: str) -> None:
    assert str(refusal(**changes)).startswith(sentence)


def test_two_streams_have_no_order() -> None:
    """Unless one n-ary join is asked for: by itself it would be a tree of one join."""
    found = refusal(dict.fromkeys("ab", SCHEMA), order="timestamp")
    assert str(found).startswith("order: got 'timestamp' with two streams; allowed: 'adaptive'")


def test_columns_of_the_result_must_differ() -> None:
    one = pa.schema({"k": pa.int64(), "t": SCHEMA.field("t").type, "b_t": pa.int64()})
    found = refusal({"a": one, "a_b": SCHEMA}, on={"a": "k", "a_b": "k"})
    assert str(found).startswith("streams: the result has column 'a_b_t' twice; allowed: names of")


def test_partial_results_and_streams_may_have_similar_names() -> None:
    """What joins of a and b found is not taken for the stream a_b."""
    streams = dict.fromkeys(["a", "b", "a_b"], SCHEMA)
    found = resolve_plan(streams, **{**GOOD, "on": ["a.k = b.k", "b.x = a_b.x"]})
    assert [one.name for one in found.steps[-1].join.inputs] == ["a+b", "a_b"]


@pytest.fixture
def ticks(spark: SparkSession) -> DataFrame:
    stream = spark.readStream.format("rate").load()
    return stream.selectExpr("value AS k", "timestamp AS t", "string(value) AS s")


def refused_frames(streams: Mapping[str, Any], **changes: Any) -> str:
    with pytest.raises((ConfigError, DataError)) as refused:
        sj.multi_join(streams, **{**GOOD, **changes})
    return str(refused.value)


def test_frames(spark: SparkSession, ticks: DataFrame) -> None:
    table = spark.createDataFrame([], ticks.schema)
    assert refused_frames({"a": ticks, "b": table}) == (
        "streams: got a batch DataFrame for 'b' with streaming ones; allowed: all of one kind"
    )
    assert refused_frames({"a": table, "b": table}, freshness={"a": "12 seconds"}) == (
        "freshness: got one for batch DataFrames; allowed: with streams (tables have no now)"
    )
    assert sj.multi_join({"a": table, "b": table}, **GOOD, freshness={"a": None}).columns
    assert refused_frames({"a": ticks, "b": [1]}) == (
        "streams: got list for 'b'; allowed: a DataFrame"
    )
    collated = ticks.selectExpr("s COLLATE UTF8_LCASE AS k", "t")
    assert "has collation UTF8_LCASE; allowed" in refused_frames({"a": collated, "b": collated})
    months = ticks.selectExpr("k", "t", "make_ym_interval(1, 2) AS i")
    assert "column 'i' has type interval year to month" in refused_frames({"a": ticks, "b": months})


def test_a_budget_of_joins_on_different_keys_needs_a_folder(
    spark: SparkSession, ticks: DataFrame
) -> None:
    streams = {"a": ticks, "b": ticks, "c": ticks}
    settings: dict[str, Any] = {"on": ["a.k = b.k", "b.s = c.s"], "budget": sj.Budget(rate=9)}
    assert spark.conf.get("spark.sql.streaming.checkpointLocation", None) is None
    assert refused_frames(streams, **settings) == (
        "shared: got no folder for a budget of joins on different keys; allowed: a folder that all "
        "machines see, or spark.sql.streaming.checkpointLocation set"
    )
    for wrong in (False, 5, ""):
        found = refused_frames(streams, **settings, shared=wrong)
        assert found == f"shared: got {wrong!r}; allowed: a folder that all machines see"
        assert refused_frames(streams, shared=wrong) == found


def test_other_arguments_of_the_call(ticks: DataFrame) -> None:
    streams = {"a": ticks, "b": ticks, "c": ticks}
    assert refused_frames(streams, where=5).startswith("where: got 5; allowed: a SQL condition")
    assert refused_frames(streams, where=" ").startswith("where: got ' '; allowed: a SQL")
    assert refused_frames(streams, shards=0).startswith("shards: got 0; allowed: a whole number")
    assert refused_frames(streams, name=5).startswith("name: got 5; allowed:")
    assert refused_frames(streams, late_rows=5).startswith("late_rows: got 5; allowed: a folder")
    renamed = ticks.withColumnRenamed("k", "B")
    clash = refused_frames({"a": renamed, "b": renamed}, on="B", where="a.s < b.s")
    assert clash.startswith("where: the result has a column 'B'; allowed: other names")
    joined = sj.multi_join(streams, **GOOD)
    again = {"a": joined.selectExpr("k", "a_t AS t"), "b": ticks}
    assert refused_frames(again).startswith("name: 'streamjoin' is the name of a join before")
