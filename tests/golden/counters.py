"""The catalogue of counters: what Spark's progress has of each join, and what Prometheus is given.

Of each counter: its type; what the counts of the shards of a batch become; as which metrics it is
read; and what those of several batches become. All of it is found by trying.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from streamjoin.metrics import JoinMetrics
from streamjoin.metrics.progress import COUNTERS_FIELD, DETAILS_FIELD, read_progress
from streamjoin.metrics.prometheus.families import JOIN_FAMILIES, QUERY_FAMILIES
from streamjoin.spark.rows import TAB, _totals
from tests.golden.explained import Inputs, Made, many, table, window

JOINS: dict[str, Made] = {
    "two_streams": window(on="person"),
    "many_streams": many("abc"),
    "table": table(),
}
PROMETHEUS = "counters/prometheus.txt"
HEAD = ("counter", "type", "shards", "read as", "batches")
_OF_NO_COUNTER = {"name", "kind", "batch", "batches", "at", "seconds", "inputs", "table"}
NOTHING = "-"


def file_of(join: str) -> str:
    """The golden file of the counters of a kind of join."""
    return f"counters/{join}.txt"


def counters_of(join: str, inputs: Inputs) -> dict[str, str]:
    """The counters of a kind of join, by golden file."""
    frame = JOINS[join](inputs)
    assert isinstance(frame, DataFrame)
    types = _observed(frame)
    over_shards = _over_shards(list(types), inputs)
    rows = [
        (name, kind, over_shards[name], *_over_batches(name, list(types)))
        for name, kind in types.items()
    ]
    return {file_of(join): _in_columns([HEAD, *rows])}


def prometheus_names() -> dict[str, str]:
    """What Prometheus is given, by golden file."""
    of_queries = [(family, ("query",)) for family in QUERY_FAMILIES]
    of_joins = [(family, ("query", "join")) for family in JOIN_FAMILIES]
    families: Sequence[tuple[Any, tuple[str, ...]]] = [*of_queries, *of_joins]
    parts = [
        f"{family.name}: {family.kind} by {', '.join((*labels, *family.labels))}\n    {family.text}"
        for family, labels in families
    ]
    return {PROMETHEUS: "\n".join(parts) + "\n"}


def _observed(frame: DataFrame) -> dict[str, str]:
    """Counters of a join with their types, from the plan that Spark has of it."""
    found = [node for node in _nodes(frame._jdf.queryExecution().analyzed())
             if node.nodeName() == "CollectMetrics"]  # fmt: skip
    (metric,) = (node.metrics().apply(0) for node in found)
    assert metric.name() == COUNTERS_FIELD
    struct = StructType.fromJson(json.loads(metric.dataType().json()))
    return {f.name: f.dataType.simpleString() for f in struct if f.name != DETAILS_FIELD}


def _nodes(plan: Any) -> Iterator[Any]:
    yield plan
    for place in range(plan.children().size()):
        yield from _nodes(plan.children().apply(place))


def _over_shards(names: Sequence[str], inputs: Inputs) -> dict[str, str]:
    """What becomes of a 1 of one shard and a 2 of another."""
    counts = f"array_join(array_repeat(string(id), {len(names)}), ',')"
    told = inputs.spark.range(1, 3).selectExpr(f"concat('[', {counts}, ']{TAB}{{}}') AS told")
    (found,) = told.agg(_totals("told", tuple(names)).alias("all")).collect()
    return {name: {3: "sum", 2: "largest"}[found["all"][name]] for name in names}


def _over_batches(name: str, names: Sequence[str]) -> tuple[str, str]:
    """As what a counter is read, and what becomes of a 1 of one batch and a 2 of the next."""
    before, first, last = (_metrics({**dict.fromkeys(names, 0), name: n}) for n in (0, 1, 2))
    both, none, one, two = map(_values, (first + last, before, first, last))
    read = [metric for metric, value in one.items() if value != none.get(metric, 0)]
    rules = {"last" if both[metric] == two[metric] else "sum" for metric in read}
    assert all(both[metric] in (two[metric], 3) for metric in read), name
    return ", ".join(read) or NOTHING, ", ".join(sorted(rules)) or NOTHING


def _metrics(counters: Mapping[str, int]) -> JoinMetrics:
    progress: dict[str, Any] = {
        "batchId": 0, "timestamp": "2026-01-01T00:00:00.000Z", "sources": [], "durationMs": {},
        "sink": {}, "observedMetrics": {"streamjoin": {COUNTERS_FIELD: counters}},
    }  # fmt: skip
    return read_progress(progress).whole


def _values(metrics: JoinMetrics) -> dict[str, Any]:
    """All that was counted, by name; of an input with its name in front."""
    names = [one.name for one in fields(metrics) if one.name not in _OF_NO_COUNTER]
    values = {name: getattr(metrics, name) for name in names}
    parts = [(one.name, one) for one in metrics.inputs]
    for part, counted in [*parts, *([("table", metrics.table)] if metrics.table else [])]:
        values |= {f"{part}.{name}": n for name, n in vars(counted).items() if name != "name"}
    return values


def _in_columns(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(f"{c:<{w}}" for c, w in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines) + "\n"
