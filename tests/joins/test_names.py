"""Names of columns that are no plain words, in joins that run in this process."""

import sqlite3
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamjoin import oracle
from streamjoin._names import Naming, backquoted, quoted
from streamjoin.errors import DataError
from streamjoin.joins.multi.arguments import resolve_plan
from streamjoin.joins.multi.keys import parse_on
from streamjoin.joins.where import parse_where
from streamjoin.joins.window.arguments import resolve
from streamjoin.local import LocalJoin, LocalMultiJoin, LocalTableJoin
from streamjoin.sql_text.query import parse_query
from streamjoin.sql_text.query_plan import plan_query
from streamjoin.tables import database
from streamjoin.tables.base import Table
from streamjoin.tables.parquet import parquet_table
from streamjoin.tables.sql import sql_table
from tests.names import NASTY

EXACT = Naming(case_sensitive=True)
T = pa.timestamp("us")
Row = dict[str, Any]


def rows(side: int, key: str, time: str, value: str) -> list[Row]:
    return [{key: i % 3, time: 7 * i % 20, value: (5 * i + side) % 11} for i in range(20)]


def arrow(rows: list[Row], time: str) -> pa.Table:
    kinds = {name: T if name == time else pa.int64() for name in rows[0]}
    return pa.table({n: pa.array([row[n] for row in rows], kind) for n, kind in kinds.items()})


def values(found: pa.Table) -> Counter[tuple[Any, ...]]:
    """Results whatever their order; times as microseconds."""
    plain = [c.cast(pa.int64()) if pa.types.is_timestamp(c.type) else c for c in found.columns]
    return Counter(zip(*(column.to_pylist() for column in plain), strict=True))


ROLES = [NASTY[i : i + 3] for i in range(len(NASTY) - 2)]


@pytest.mark.parametrize(("key", "time", "value"), ROLES)
def test_a_join_takes_any_name(key: str, time: str, value: str) -> None:
    sides = rows(0, key, time, value), rows(1, key, time, value)
    left, right = (arrow(side, time) for side in sides)
    named = backquoted(value)
    join = LocalJoin(
        left.schema, right.schema, on=key, time=time, window="5 us", lateness="1 s", how="full",
        where=f"left.{named} < right.{named}",
    )  # fmt: skip
    assert join.join.output[0].name == key
    found = [join.push(left.slice(0, 9), right.slice(0, 4)), join.push(left.slice(9), None)]
    found += [join.push(None, right.slice(4)), join.finish()]
    pairs = oracle.join(
        *sides, on=[(key, key)], time=(time, time), window=(5, 5), how="full",
        where=lambda a, b: bool(a[value] < b[value]),
    )  # fmt: skip
    expected = Counter(
        (
            (a or b or {})[key],
            *(None if row is None else row[n] for row in (a, b) for n in (time, value)),
        )
        for a, b in pairs
    )
    assert values(pa.concat_tables(found)) == expected


@pytest.mark.parametrize(("key", "time", "value"), ROLES)
def test_equalities_of_many_streams_take_any_name(key: str, time: str, value: str) -> None:
    """In backquotes where the equality is a text; as it is where it stands by itself."""
    sides = {name: rows(side, key, time, value) for side, name in enumerate("abc")}
    tables = {name: arrow(side, time) for name, side in sides.items()}
    k, v = backquoted(key), backquoted(value)
    schemas = {name: table.schema for name, table in tables.items()}
    on = [f"a.{k} = b.{v}", f"b.{k}=c.{k}"]
    join = LocalMultiJoin(schemas, on=on, time=time, window="5 us", lateness="1 s")
    found = pa.concat_tables([join.push(tables), join.finish()])
    equal = [(("a", key), ("b", value)), (("b", key), ("c", key))]
    same = dict.fromkeys("abc", time), dict.fromkeys("abc", 5)
    results = oracle.multi_join(sides, on=equal, time=same[0], window=same[1])
    columns = [(name, column) for name in "abc" for column in (key, time, value)]
    assert found.column_names == [f"{name}_{column}" for name, column in columns]
    assert values(found) == Counter(tuple(r[n][c] for n, c in columns) for r in results)
    assert parse_on(key, schemas).shared


def tables(folder: Path, content: pa.Table) -> Sequence[Table]:
    pq.write_table(content, folder / "1.parquet", row_group_size=7)
    with sqlite3.connect(folder / "t.db") as file:
        columns = ", ".join(f"{database.quoted(name)} INTEGER" for name in content.column_names)
        file.execute(f"CREATE TABLE t ({columns})")
        marks = ", ".join("?" * content.num_columns)
        file.executemany(
            f"INSERT INTO t VALUES ({marks})", zip(*content.to_pydict().values(), strict=True)
        )
    return (
        parquet_table(folder / "1.parquet", key=NASTY[:2]),
        parquet_table(folder / "1.parquet", key=NASTY[:2], copy=True),
        sql_table(f"sqlite://{folder}/t.db", "t", key=NASTY[:2]),
    )


def test_a_join_with_a_table_takes_any_name(tmp_path: Path) -> None:
    content = pa.table({name: [i % 5 + j for i in range(20)] for j, name in enumerate(NASTY)})
    stream = pa.table({f"my {name}": [i - j for i in range(6)] for j, name in enumerate(NASTY)})
    on = {f"my {name}": name for name in NASTY[:2]}
    expected = Counter(
        (*(mine[f"my {n}"] for n in NASTY), *(row[n] for n in NASTY[2:]))
        for mine in stream.to_pylist()
        for row in content.to_pylist()
        if all(mine[a] == row[b] for a, b in on.items())
    )
    for table in tables(tmp_path, content):
        with LocalTableJoin(stream.schema, table, on=on) as join:
            found = pa.concat_tables([join.push(stream), join.finish()])
        assert found.column_names == [*stream.column_names, *NASTY[2:]]
        assert values(found) == expected


@pytest.mark.parametrize("name", NASTY)
def test_a_query_takes_any_name_in_backquotes(name: str) -> None:
    schema = pa.schema([(name, pa.int64()), ("the time", T)])
    k = backquoted(name)
    text = f"SELECT a.{k} AS x, {k} AS y FROM s a FULL JOIN s b USING ({k}) WINDOW 1 s"
    plan = plan_query(parse_query(text + " TIME `the time`"), {"s": schema})
    assert plan.outputs[1].sql == f"coalesce(a.{quoted(name)}, b.{quoted(name)}) AS y"
    assert plan.columns == {"a": (name, "the time"), "b": (name, "the time")}
    assert plan.conditions[0].place == "key"


def test_a_dot_without_backquotes_is_explained() -> None:
    schema = pa.schema({"my.col": pa.int64(), "t": T})
    with pytest.raises(DataError, match=r"no column 'my' on the left \(did you mean `my.col`\?\)"):
        parse_where("left.my.col > 1", (schema, schema))
    query = parse_query("SELECT a.t FROM s a, s b WHERE a.my.col = b.t WINDOW 1 s")
    with pytest.raises(DataError, match=r"a has no column 'my'; allowed: a.`my.col`$"):
        plan_query(query, {"s": schema})


def test_a_backslash_in_a_name_is_no_escape() -> None:
    """Also outer joins evaluate it; in a text it is left to Spark."""
    schema = pa.schema({"a\\b": pa.string()})
    where = parse_where(r"left.`a\b` < right.`a\b` AND left.`a\b` < '\n`'", (schema, schema))
    assert where.predicate is not None
    assert where.predicate.describe() == r"left.`a\b` < right.`a\b`"
    assert where.rest == (r"left.`a\b` < '\n`'",)


def test_a_name_that_spark_takes_for_a_variable_is_no_part_of_a_query() -> None:
    schema = pa.schema({"${a}": pa.int64(), "k": pa.int64(), "t": T})
    query = parse_query("SELECT a.* FROM s a, s b WHERE a.k = b.k WINDOW 1 s")
    with pytest.raises(DataError) as refused:
        plan_query(query, {"s": schema})
    assert str(refused.value) == (
        "query: line 1, column 8: a.* brings the column '${a}', which Spark's SQL takes for a "
        "variable; allowed: other names (rename it), or the columns one by one"
    )


BOTH = pa.schema([("k", pa.int64()), ("K", pa.int64()), ("t", T)])
SENTENCE = "columns 'k' and 'K' differ in case only, which Spark ignores; allowed: other names"


def test_names_that_differ_in_case_only_are_refused_where_spark_ignores_case() -> None:
    settings: dict[str, Any] = {"on": "k", "time": "t", "window": "1 s"}
    with pytest.raises(DataError, match=f"^left: {SENTENCE}"):
        resolve((BOTH, BOTH), **settings)
    with pytest.raises(DataError, match=f"^a: {SENTENCE}"):
        resolve_plan({"a": BOTH, "b": BOTH}, **settings)
    with pytest.raises(DataError, match=f"^a: {SENTENCE}"):
        plan_query(parse_query("SELECT a.t FROM s a, s b WINDOW 1 s"), {"s": BOTH})


def test_names_that_differ_in_case_are_two_where_spark_heeds_case() -> None:
    settings: dict[str, Any] = {"time": "t", "window": "1 s", "naming": EXACT}
    join = resolve((BOTH, BOTH), on="K", where="left.k < right.K", **settings).join
    assert (join.left.key, join.right.key) == ((1,), (1,))
    names = [column.name for column in join.output]
    assert names == ["K", "k_left", "t_left", "k_right", "t_right"]
    assert join.predicate is not None
    assert join.predicate.describe() == "left.k < right.K"
    upper = pa.schema([("K", pa.int64()), ("T", T)])
    apart = resolve((BOTH, upper), on=("k", "K"), **{**settings, "time": ("t", "T")}).join
    assert [column.name for column in apart.output] == ["k", "K_left", "t", "K_right", "T"]
    with pytest.raises(DataError, match=r"on: the right stream has no column 'k'; allowed: K, T"):
        resolve((BOTH, upper), on="k", **settings)
    plan = resolve_plan({"a": BOTH, "b": BOTH}, on=["a.k = b.K"], **settings)
    assert plan.keys.classes[0].columns == {"a": "k", "b": "K"}


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Straße", "STRAßE", True),
        ("ß", "SS", False),
        ("\N{LATIN SMALL LETTER LONG S}", "S", True),
        ("İ", "i", True),
        ("Ⅷ", "ⅷ", True),
        ("a", "b", False),
    ],
)
def test_case_is_ignored_as_java_does(one: str, other: str, same: bool) -> None:
    assert Naming().same(one, other) == same
    assert not EXACT.same(one, other)
