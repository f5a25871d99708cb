"""Rows are turned away before they are packed if it is not the join that takes too long."""

from pathlib import Path
from time import time_ns

import numpy as np
import pyarrow as pa
import pytest

import streamjoin as sj
from streamjoin.metrics import JoinMetrics
from streamjoin.spark import processor
from streamjoin.spark.gate import GateFolder
from streamjoin.spark.worker import Run
from tests.spark.cluster import Cluster

SCHEMA = pa.schema({"k": pa.int64(), "t": pa.timestamp("us"), "id": pa.int64()})
N = 2_000


def second(number: int, side: int) -> pa.Table:
    """One second of a stream."""
    rng = np.random.default_rng([number, side])
    times = np.sort(rng.integers(0, 1_000_000, N)) + 1_000_000 * number
    return pa.table(
        [rng.integers(0, 50, N), pa.array(times, pa.timestamp("us")), np.arange(N) + N * number],
        schema=SCHEMA,
    )


def cluster(folder: Path, **settings: object) -> Cluster:
    said = {"on": "k", "time": "t", "window": "2 seconds", "budget": sj.Budget(cpu=1.0)}
    return Cluster(SCHEMA, folder, shards=2, partitions=2, **{**said, **settings})


def slow(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Let it look as if reading and packing had taken longer."""
    monkeypatch.setattr(processor, "time_ns", lambda: time_ns() + int(seconds * 1e9))


def run(join: Cluster, first: int, n: int) -> list[JoinMetrics]:
    found = []
    for number in range(first, first + n):
        join.push(second(number, 0), second(number, 1), runs=2)
        found.append(join.total)
    return found


def test_gate_closes_when_packing_is_slow_and_opens_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    join = cluster(tmp_path)
    slow(monkeypatch, 1.5)
    behind = run(join, 0, 6)
    assert all(m.rows_left == N for m in behind)  # what is turned away is counted too
    assert [m.dropped_left for m in behind[:3]] == [0, 0, 0]
    assert all(m.dropped_left > N / 4 and m.dropped_right > N / 4 for m in behind[4:])
    assert all(m.lagging for m in behind)
    slow(monkeypatch, 0.0)
    after = run(join, 6, 16)  # at most 1.2 times more in each
    assert after[0].dropped_left > 0
    assert after[-1].dropped_left == after[-1].lagging == 0
    assert len(list(tmp_path.glob("hot/q/join/gate-*.json"))) <= 2


def test_rows_that_were_turned_away_count_in_the_recall(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exact = cluster(tmp_path / "exact", budget=None)
    join = cluster(tmp_path / "gate", weights=True)
    slow(monkeypatch, 2.0)
    pairs, total = 0, JoinMetrics()
    weights = 0.0
    for number in range(12):
        tables = second(number, 0), second(number, 1)
        pairs += exact.push(*tables).num_rows
        weights += float(np.asarray(join.push(*tables)["_weight"]).sum())
        total += join.total
    assert total.dropped_left > 0
    estimated = total.pairs + total.missed
    assert abs(estimated - pairs) < 3 * total.missed_variance**0.5 + 0.02 * pairs
    assert weights == pytest.approx(estimated, rel=0.01)


def test_lag_turns_nothing_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    join = cluster(tmp_path, shed=["selective", "lag"])
    slow(monkeypatch, 3.0)
    assert all(m.dropped_left == 0 for m in run(join, 0, 6))
    assert not list(tmp_path.glob("hot/**/gate-*.json"))


def test_a_batch_reads_what_earlier_ones_decided(tmp_path: Path) -> None:
    gate = GateFolder(str(tmp_path), "join")
    assert gate.read(Run("q", 0, 0)) == (1.0, 1.0)
    for batch, share in ((3, 0.5), (4, 0.25), (5, 0.125)):
        gate.write(Run("q", batch, 0), (share, share))
    assert [gate.read(Run("q", batch, 0))[0] for batch in (4, 5, 6, 9)] == [1.0, 0.25, 0.125, 0.125]
    assert gate.read(Run("other", 6, 0)) == (1.0, 1.0)
    (tmp_path / "q" / "join" / "gate-5.json").write_text("damaged")
    assert gate.read(Run("q", 6, 0)) == (1.0, 1.0)
