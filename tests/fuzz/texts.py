"""Targets that read text: pipeline files, SQL files, queries and conditions."""

import json
import sys
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from streamjoin.cli.sql_file import read
from streamjoin.local import LocalJoin
from streamjoin.sql_text.query import parse_query
from tests.fuzz.target import Choices, Target, scratch, sentences_only

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

EXAMPLES = Path(__file__).parents[2] / "examples"

SCHEMA = pa.schema(
    {
        "k": pa.int64(),
        "t": pa.timestamp("us", "UTC"),
        "x": pa.float64(),
        "s": pa.string(),
        "d": pa.decimal128(10, 2),
        "day": pa.date32(),
        "a": pa.list_(pa.int64()),
        "b": pa.bool_(),
    }
)


def pipeline_file(data: bytes) -> None:
    """Read a pipeline file and make its pipeline, as is done before Spark starts."""
    _read_file("fuzz.toml", data)


ODD: list[Any] = [
    "", "1 second", "-5 minutes", "9" * 400, "left.x", "a b", -1, 0, 1, 2**63, 1e308,
    float("nan"), float("inf"), True, [], [1, "a"], ["k", "k"], [[]], {}, {"a": {"b": 1}}, "\0",
]  # fmt: skip


def pipeline_document(data: bytes) -> None:
    """Read a pipeline file in which some values are others, some keys are missing or misplaced."""
    choices = Choices(data)
    document = tomllib.loads(choices.of(_files(".toml")).decode())
    for _ in range(1 + choices.below(4)):
        table: Any = choices.of([document, *_tables(document)])
        key = choices.of([*table, "odd"])
        value = deepcopy(choices.of([*ODD, *table.values()]))
        table.pop(key, None)
        if choices.below(4):
            table[key] = value
    pipeline_file("\n".join(f"{json.dumps(k)} = {_toml(v)}" for k, v in document.items()).encode())


def _tables(table: dict[str, Any]) -> list[dict[str, Any]]:
    inner = [value for value in table.values() if isinstance(value, dict)]
    return [*inner, *(one for value in inner for one in _tables(value))]


def _toml(value: Any) -> str:
    """A value in one line: JSON, but for tables and numbers that JSON does not have."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {_toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return str(value) if isinstance(value, float) else json.dumps(value)


def sql_file(data: bytes) -> None:
    """Read a SQL file and make its pipeline."""
    _read_file("fuzz.sql", data)


def _read_file(name: str, data: bytes) -> None:
    file = scratch() / name
    file.write_bytes(data)
    with sentences_only():
        read(file).plan(now=0.0, scratch=scratch())


def query(data: bytes) -> None:
    """Read a query."""
    with sentences_only():
        parse_query(data.decode("utf-8", errors="replace"))


def where(data: bytes) -> None:
    """Join rows with the ends of all types on a condition."""
    text = data.decode("utf-8", errors="replace")
    with sentences_only():
        join = LocalJoin(SCHEMA, SCHEMA, where=text, time="t", window="1 hour")
        join.push(_rows(), _rows())
        join.finish()


@cache
def _rows() -> pa.Table:
    rows: list[dict[str, Any]] = [
        {"k": 2**63 - 1, "x": float("nan"), "s": "", "d": "99999999.99", "day": 0, "a": [1, None]},
        {"k": -(2**63), "x": float("-inf"), "s": "\0é😀", "d": "-0.01", "day": -719162, "a": []},
        {"k": 0, "x": -0.0, "s": "a" * 100, "d": None, "day": 2932896, "a": None, "b": False},
        {"k": 1, "x": 5e-324, "s": "a", "d": "1", "day": None, "a": [2**63 - 1], "b": True},
        {},
    ]
    arrays = []
    for field in SCHEMA:
        values: list[Any] = [row.get(field.name) for row in rows]
        if field.name == "t":
            values = list(range(len(rows)))
        if field.name == "d":
            arrays.append(pa.array(values, pa.string()).cast(field.type))
        else:
            arrays.append(pa.array(values, field.type))
    return pa.table(arrays, schema=SCHEMA)


def _files(ending: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted(EXAMPLES.glob(f"*{ending}"))]


def _queries() -> list[bytes]:
    return [
        b"SELECT a.x, b.* FROM s a JOIN t AS b ON a.k = b.k AND a.x < b.x WINDOW 5 MINUTES",
        b"SELECT a.x FROM a, b, c WHERE a.k = b.k AND b.k = c.k WINDOW 1 HOUR, 2 MINUTES, 9 ROWS"
        b" FRESHNESS 12 MINUTES BUDGET CPU 50 PERCENT MEMORY '1 GB'",
        b"SELECT /*+ x */ `a b`.y FROM `a b` LEFT JOIN c USING (y) WINDOW 3 SECONDS -- end",
    ]


def _conditions() -> list[bytes]:
    return [
        b"left.k = right.k AND abs(left.x - right.x) <= 5.5",
        b"left.s = right.s OR left.d < right.d * 2 AND NOT (left.b <=> right.b)",
        b"left.day BETWEEN DATE'2020-01-01' AND right.day AND left.s IN ('a', '', NULL)",
        b"left.k + right.k > 9223372036854775807 AND left.x / right.x IS NULL",
        b"arrays_overlap(left.a, right.a) AND left.t > TIMESTAMP'2020-01-01 00:00:00'",
        b"jaccard(left.a, right.a) >= 0.5",
        b"left.x = right.x AND -left.k <> 5L AND left.x > 1e400D",
        b"left.s LIKE '%a_' AND concat(left.s, right.s) IS NOT NULL",
    ]


TARGETS = {
    "pipeline_file": Target(pipeline_file, lambda: _files(".toml")),
    "pipeline_document": Target(
        pipeline_document, lambda: [bytes([i, 0]) * 12 for i in range(0, 250, 9)]
    ),
    "sql_file": Target(sql_file, lambda: _files(".sql")),
    "query": Target(query, _queries),
    "where": Target(where, _conditions),
}
