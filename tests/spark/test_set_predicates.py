"""Conditions on arrays and maps in real queries."""

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

import streamjoin as sj
from streamjoin import oracle
from tests.spark.streams import drain, read_back, read_stream, write_batches

SCHEMA = pa.schema(
    {
        "t": pa.timestamp("us", "UTC"),
        "id": pa.int64(),
        "tags": pa.list_(pa.string()),
        "words": pa.map_(pa.string(), pa.float64()),
    }
)
Row = dict[str, Any]


def streams() -> list[tuple[list[Row], list[Row]]]:
    rng = random.Random(7)

    def row(i: int) -> Row:
        tags = None if rng.random() < 0.1 else rng.choices(["oil", "gas", "tin", "é", None], k=4)
        weights = {tag: rng.choice([-1.0, 0.5, 1.0]) for tag in tags or () if tag}
        words = None if rng.random() < 0.1 else weights
        return {"t": 1_000_000 * i, "id": i, "tags": tags, "words": words}

    return [([row(i) for i in part], [row(i) for i in part]) for part in (range(9), range(9, 20))]


def table(rows: list[Row]) -> pa.Table:
    lists = [{**row, "words": row["words"] and list(row["words"].items())} for row in rows]
    columns = {f.name: pa.array([row[f.name] for row in lists], f.type) for f in SCHEMA}
    return pa.table(columns, schema=SCHEMA)


def matches(a: oracle.Row, b: oracle.Row) -> bool:
    common = oracle.overlap(a["tags"], b["tags"]) or 0
    return common >= 2 and (oracle.inner_product(a["words"], b["words"]) or 0.0) > 0.25


def test_a_stream_gives_what_the_oracle_says(spark: SparkSession, tmp_path: Path) -> None:
    batches = streams()
    left, right = (
        read_stream(spark, write_batches(tmp_path / str(s), [table(batch[s]) for batch in batches]))
        for s in (0, 1)
    )
    where = "overlap(left.tags, right.tags) >= 2 AND inner_product(left.words, right.words) > 0.25"
    result = sj.join(left, right, where=where, how="left", time="t", window="3 seconds")
    drain(result, tmp_path / "ck", tmp_path / "out")
    found = [(row["id_left"], row["id_right"]) for row in read_back(spark, tmp_path / "out")]
    came = oracle.answers(
        batches, on=[], time=("t", "t"), where=matches, how="left",
        window=(3_000_000, 3_000_000), lateness=0,
    )[:-1]  # fmt: skip
    wanted = [(a and a["id"], b and b["id"]) for batch in came for a, b in batch]
    assert Counter(found) == Counter(wanted)
    assert len({b for _, b in wanted}) > 5
