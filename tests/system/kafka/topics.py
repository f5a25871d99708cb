"""Calls and trades in topics, their join into a topic, and every message of it counted."""

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

import streamjoin as sj
from streamjoin import oracle
from tests.system.servers.kafka import Broker

SCHEMA = "person LONG, at TIMESTAMP, id LONG"
NOON = dt.datetime(2026, 1, 1, 12, tzinfo=dt.timezone.utc)
DISORDER_MS = 2000
WINDOW = dt.timedelta(seconds=4)
SETTINGS = {"on": "person", "time": "at", "window": "4 seconds", "lateness": "10 seconds"}
"""Of the join. In Kafka the partitions of a topic are not in step, hence so much lateness."""

Rows = Sequence[Mapping[str, Any]]
Results = dict[str, tuple[int, int]]
"""Numbers of the left and the right row of each result, by its pair id."""


def rows(seed: int, part: int, n: int = 400) -> list[dict[str, Any]]:
    """A part of a stream, 20 seconds of it; rows are out of order by less than the lateness."""
    rng = np.random.default_rng((seed, part))
    ms = 20_000 * part + np.sort(rng.integers(0, 20_000, n)) - rng.integers(0, DISORDER_MS, n)
    people = rng.integers(0, 20, n)
    return [
        {"person": int(p), "at": NOON + dt.timedelta(milliseconds=int(t)), "id": part * n + i}
        for i, (p, t) in enumerate(zip(people, ms, strict=True))
    ]


def as_json(row: Mapping[str, Any]) -> bytes:
    return json.dumps({**row, "at": row["at"].isoformat()}).encode()


def read(spark: SparkSession, address: str, topic: str, per_batch: int) -> DataFrame:
    messages = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", address)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", per_batch)
        .load()
    )
    value = F.from_json(F.col("value").cast("string"), SCHEMA)
    return messages.select(value.alias("message")).select("message.*")


def start(
    spark: SparkSession, address: str, name: str, checkpoint: Path, *, to_the_end: bool = False
) -> StreamingQuery:
    """Join the topics ``calls-name`` and ``trades-name`` into ``joined-name``."""
    sides = [read(spark, address, f"{side}-{name}", 200) for side in ("calls", "trades")]
    joined = sj.join(sides[0], sides[1], **SETTINGS)  # type: ignore[arg-type]
    value = F.to_json(F.struct(*joined.columns))
    writer = (
        sj.with_pair_id(joined)
        .select(F.col("pair_id").alias("key"), value.alias("value"))
        .writeStream.format("kafka")
        .option("kafka.bootstrap.servers", address)
        .option("topic", f"joined-{name}")
        .option("checkpointLocation", str(checkpoint))
    )
    return (writer.trigger(availableNow=True) if to_the_end else writer).start()


def create(broker: Broker, name: str) -> None:
    for side in ("calls", "trades"):
        broker.create_topic(f"{side}-{name}", partitions=2)
    broker.create_topic(f"joined-{name}")


def write(broker: Broker, name: str, part: int) -> None:
    for seed, side in enumerate(("calls", "trades")):
        broker.write(f"{side}-{name}", map(as_json, rows(seed, part)))


def results(broker: Broker, name: str) -> tuple[int, Results]:
    """Messages of the output, and what is left without those whose key was there before."""
    messages = broker.read(f"joined-{name}")
    found: Results = {}
    for key, value in messages:
        assert key is not None
        assert value is not None
        row = json.loads(value)
        pair = row["id_left"], row["id_right"]
        assert found.setdefault(key.decode(), pair) == pair
    return len(messages), found


def expected(parts: int) -> list[tuple[int, int]]:
    """What must come out, by the join in plain Python."""
    left, right = ([row for part in range(parts) for row in rows(seed, part)] for seed in (0, 1))
    pairs = oracle.window_join(
        left, right, on=[("person", "person")], time=("at", "at"), window=(WINDOW, WINDOW)
    )
    return sorted((one["id"], two["id"]) for one, two in pairs)
