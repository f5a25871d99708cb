"""Targets that are shards of joins: what map tasks send them, and the state they left before."""

import itertools
import os
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.types import NullType

import streamjoin as sj
from streamjoin.joins.channel import Run
from streamjoin.joins.packed import clock_of, read_packed
from streamjoin.joins.routing import ByKey
from streamjoin.joins.table.arguments import resolve_table_join
from streamjoin.joins.table.measuring import suited
from streamjoin.joins.table.shard import TableOperator, TableShaper
from streamjoin.spark import processor
from streamjoin.spark.processor import Call
from streamjoin.spark.rows import Packer
from streamjoin.tables.access import TableAccess
from tests.fuzz.target import Choices, Target, damaged, scratch, sentences_only
from tests.spark.cluster import Cluster
from tests.spark.plan_cluster import MapState, PlanCluster

SCHEMA = pa.schema({"k": pa.string(), "t": pa.timestamp("us"), "x": pa.int64(), "s": pa.string()})
BLOBS = ("blob", "loose", "order", "spread", "copies")
Values = dict[Any, tuple[bytes]]
Rows = Counter[Any]
_NUMBERS = itertools.count()


@dataclass(frozen=True, eq=False)
class Shard:
    """A shard between two batches: its state, what comes to it, what it does, what comes out."""

    state: Values
    packed: list[Any]
    run: Callable[[MapState, list[Any]], list[pa.Table]]

    def results(self, state: Values, packed: list[Any], local: str = os.devnull) -> pa.Table:
        """Result rows of the next batch; `local` is the folder of copies, or no folder."""
        known = MapState()
        known.values = dict(state)
        with patch.dict(os.environ, SPARK_LOCAL_DIRS=local):
            table = pa.concat_tables(self.run(known, packed))
        counters = table.column_names[-1]
        return table.filter(table[counters].is_null()).drop(counters)

    def rows(self, state: Values, local: str = os.devnull) -> Rows:
        """Result rows by their contents, from sound rows that come."""
        return Counter(map(repr, self.results(state, self.packed, local).to_pylist()))

    @cached_property
    def expected(self) -> Rows:
        """What comes out of sound state and rows."""
        return self.rows(self.state)


def rows(first: int) -> pa.Table:
    """Rows with strings, some without a key."""
    numbers = range(first, first + 12)
    return pa.table(
        {
            "k": [None if i % 7 == 0 else f"key {i % 3}" for i in numbers],
            "t": pa.array(list(numbers), pa.timestamp("us")),
            "x": list(numbers),
            "s": [None if i % 5 == 0 else i * "é" for i in numbers],
        },
        schema=SCHEMA,
    )


@cache
def window_shard(**settings: Any) -> Shard:
    """One of a window join."""
    said = {"on": "k", "time": "t", "window": "30 us", **settings}
    folder = scratch() / f"window {len(list(scratch().iterdir()))}"
    cluster = Cluster(SCHEMA, folder, shards=1, partitions=1, **said)
    for first in (0, 6):
        cluster.push(rows(first), rows(first + 1))
    label = cluster.labels[0]
    packed = cluster._map((rows(14), rows(15)), 0)[label]
    call = Call(label, clock_of(packed), False, Run("q", cluster.batch, 0))
    return Shard(
        cluster.states[label],
        packed,
        lambda state, packed: list(cluster.shard.on_batch(state, packed, call)),
    )


@cache
def plan_shard(plan: str) -> Shard:
    """One of a plan of many joins."""
    cluster = PlanCluster(SCHEMA, "abc", 1, on="k", time="t", window="30 us", plan=plan)
    for first in (0, 6):
        cluster.push({name: rows(first + i) for i, name in enumerate("abc")})
    label = cluster.labels[0]
    packed = cluster._map(0, [rows(14), rows(15), rows(16)], 0)[label]
    call = Call(label, clock_of(packed), False, Run("q", cluster.batch, 0))
    return Shard(
        cluster.states[0][label],
        packed,
        lambda state, packed: list(cluster.shards[0].on_batch(state, packed, call)),
    )


@cache
def table_shard(algorithm: str = "chybridjoin") -> Shard:
    """One of a join with a table, with rows that wait."""
    folder = scratch() / f"people of {algorithm}"
    folder.mkdir()
    people = pa.table({"id": [f"key {i}" for i in range(9)], "name": [f"n{i}" for i in range(9)]})
    pq.write_table(people, folder / "1.parquet", row_group_size=3)
    table = sj.parquet_table(folder, key="id")
    asked = resolve_table_join(SCHEMA, table, on="k", how="left", algorithm=algorithm)
    access = TableAccess(table, str(scratch() / "index"), memory=asked.memory)
    join = suited(asked, access.current().table)
    operator, types = TableOperator(join, access), (NullType(),) * len(join.output)
    shard = processor.ShardRunner(operator, ByKey(1), (0,), types, "fuzz", is_timed=True)
    packer = Packer(TableShaper(join, (0,), access))

    def packed(first: int) -> list[Any]:
        return read_packed(packer.pack(rows(first).to_batches(), 0, Run("q", 2, 0)))

    def run(state: MapState, packed: list[Any], end: bool = True) -> list[pa.Table]:
        call = Call(0, 1, end, Run("q", 2, 0))
        return list(shard.on_batch(state, packed, call))

    state = MapState()
    with patch.dict(os.environ, SPARK_LOCAL_DIRS=os.devnull):
        run(state, packed(0), end=False)
    return Shard(state.values, packed(14), run)


SHARDS: tuple[Callable[[], Shard], ...] = (
    window_shard,
    lambda: window_shard(how="full"),
    lambda: window_shard(window=sj.rows(9)),
    lambda: window_shard(how="asof"),
    lambda: window_shard(budget=sj.Budget(cpu="1 second")),
    lambda: window_shard(where="abs(left.x - right.x) <= 5", on=None),
    lambda: plan_shard("(a b) c"),
    table_shard,
    lambda: table_shard("meshjoin"),
)


def state(data: bytes) -> None:
    """Damage what a shard has in state: it says so, or what comes out is right."""
    choices = Choices(data)
    shard = choices.of(SHARDS)()
    known = dict(shard.state)
    key = choices.of(sorted(known))
    kind = choices.below(8)
    if kind == 0:
        del known[key]
    elif kind == 1:
        known[key] = known[choices.of(sorted(known))]
    else:
        known[key] = (damaged(known[key][0], choices),)
    with sentences_only():
        found = shard.rows(known)
        # A shard that knows nothing begins anew: Spark's own checksums are against that.
        began_anew = kind == 0 and key[0] == -1
        assert began_anew or found == shard.expected


def packed(data: bytes) -> None:
    """Damage what a map task sends: the shard says so, or takes other numbers for those sent."""
    choices = Choices(data)
    shard = choices.of(SHARDS)()
    sent = list(shard.packed)
    number = choices.below(len(sent))
    blobs = [name for name in BLOBS if getattr(sent[number], name, None)]
    name = choices.of(blobs)
    blob = damaged(getattr(sent[number], name), choices)
    sent[number] = sent[number]._replace(**{name: blob})
    with sentences_only():
        shard.results(shard.state, sent)


@cache
def _local(number: int) -> Path:
    """Copies of the state of a shard, and indexes of them."""
    folder = scratch() / f"local {number}"
    folder.mkdir(mode=0o700)
    shard = SHARDS[number]()
    shard.results(shard.state, shard.packed, str(folder))
    return folder


def local_copies(data: bytes) -> None:
    """Damage copies on the local disk: what comes out is right, as the state is sound."""
    choices = Choices(data)
    number = choices.below(len(SHARDS))
    shard, local = SHARDS[number](), scratch() / f"damaged {next(_NUMBERS)}"
    shutil.copytree(_local(number), local)
    files = sorted(path for path in local.rglob("*") if path.is_file() and path.stat().st_size)
    for _ in range(1 + choices.below(3) if files else 0):  # not all keep copies
        file = choices.of(files)
        file.write_bytes(damaged(file.read_bytes(), choices))
    with sentences_only():
        assert shard.rows(shard.state, str(local)) == shard.expected
    shutil.rmtree(local)


def seeds() -> list[bytes]:
    """Each kind of shard: each of its blobs removed, and other damage to the first and another."""
    return [
        bytes([shard, 0, blob, 0, kind, 0, 9, 0])
        for shard, of in enumerate(SHARDS)
        for kind in (0, 1, 2)
        for blob in (range(len(of().state)) if kind == 0 else (0, 3))
    ]


TARGETS = {
    "state": Target(state, seeds),
    "packed": Target(packed, seeds),
    "local_copies": Target(local_copies, seeds),
}
