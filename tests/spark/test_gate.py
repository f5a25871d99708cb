"""Rows are turned away before they are packed if it is not the join that takes too long."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import streamjoin as sj
from streamjoin.joins.channel import Channel, Run
from streamjoin.metrics import JoinCounts
from streamjoin.spark import processor
from streamjoin.spark import rows as spark_rows
from tests.spark.cluster import Cluster

SCHEMA = pa.schema({"k": pa.int64(), "t": pa.timestamp("us"), "id": pa.int64()})
RATE = 500


def part(first: float, seconds: float, side: int) -> pa.Table:
    """Some time of a stream."""
    n = round(RATE * seconds)
    rng = np.random.default_rng([round(10 * first), side])
    times = np.sort(rng.uniform(first, first + seconds, n) * 1e6).astype(np.int64)
    return pa.table(
        [rng.integers(0, 50, n), pa.array(times, pa.timestamp("us")), np.arange(n)], schema=SCHEMA
    )


def cluster(folder: Path, **settings: Any) -> Cluster:
    said: dict[str, Any] = {
        "on": "k",
        "time": "t",
        "window": "2 seconds",
        "budget": sj.Budget(cpu=1.0),
    }
    return Cluster(SCHEMA, folder, shards=2, partitions=2, **{**said, **settings})


def run(
    joins: list[Cluster], patch: pytest.MonkeyPatch, first: float, costs: list[float]
) -> Iterator[tuple[list[pa.Table], float]]:
    """A live query: each batch has the rows that came while the one before was at work.

    `costs` are seconds for each second of the streams, of reading and packing all rows.
    """
    seconds, let_in = 1.0, 1.0
    for cost in costs:
        took = 0.2 + cost * let_in * seconds
        # No clock of this machine, which may be busy.
        patch.setattr(spark_rows, "time", SimpleNamespace(time_ns=lambda: 0))
        patch.setattr(processor, "time_ns", lambda took=took: int(took * 1e9))
        tables = part(first, seconds, 0), part(first, seconds, 1)
        yield [join.push(*tables, runs=2) for join in joins], first
        turned_away = joins[-1].total.dropped_left + joins[-1].total.dropped_right
        let_in = 1 - turned_away / (2 * len(tables[0]))
        first, seconds = first + seconds, max(1.0, took)


def test_gate_closes_when_packing_is_slow_and_opens_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    join = cluster(tmp_path)
    batches = [(join.total, at) for _, at in run([join], monkeypatch, 0.0, [1.6] * 12)]
    seen, end = [metrics for metrics, _ in batches], batches[-1][1]
    dropped = [m.dropped_left / m.rows_left for m in seen]
    assert dropped[:4] == [0] * 4
    assert all(share > 0.2 for share in dropped[-3:])
    assert all(m.lagging for m in seen[-5:])
    assert not any(m.selective for m in seen)  # it is not the join that costs
    # At most 1.2 times more in each.
    after = [join.total for _ in run([join], monkeypatch, end + 100, [0.1] * 14)]
    assert after[0].dropped_left > 0
    assert after[-1].dropped_left == after[-1].lagging == 0
    assert len(list(tmp_path.glob("hot/q/join/gate-*.json"))) <= 2


def test_a_long_batch_is_no_reason_to_turn_rows_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a trigger every batch takes as long as the time that it covers."""
    join = cluster(tmp_path)
    for _ in run([join], monkeypatch, 0.0, [0.85] * 10):
        assert join.total.dropped_left == 0


def test_rows_that_were_turned_away_count_in_the_recall(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exact = cluster(tmp_path / "exact", budget=None)
    join = cluster(tmp_path / "gate", weights=True)
    pairs, total, weights = 0, JoinCounts(), 0.0
    for (all_rows, rows), _ in run([exact, join], monkeypatch, 0.0, [1.6] * 10):
        pairs += all_rows.num_rows
        weights += float(np.asarray(rows["_weight"]).sum())
        total += join.total
    assert total.dropped_left > 0
    estimated = total.pairs + total.missed
    assert abs(estimated - pairs) < 3 * total.missed_variance**0.5 + 0.02 * pairs
    assert weights == pytest.approx(estimated, rel=0.01)


def test_lag_turns_nothing_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    join = cluster(tmp_path, shed=["selective", "lag"])
    for _ in run([join], monkeypatch, 0.0, [1.6] * 7):
        assert join.total.dropped_left == 0
    assert not list(tmp_path.glob("hot/**/gate-*.json"))


def test_a_batch_reads_what_earlier_ones_decided(tmp_path: Path) -> None:
    gate = Channel(str(tmp_path), "join", (0,), has_gate=True)

    def let_in(batch: int, query: str = "q") -> Sequence[float]:
        return gate.at(Run(query, batch, 0)).decided().let_in

    assert let_in(0) == (1.0, 1.0)
    for batch, share in ((1, 0.5), (2, 0.25), (5, 0.125)):  # some batches have no rows
        gate.at(Run("q", batch, 0), 0).tell_gate((share, share))
    found = [let_in(batch)[0] for batch in (2, 3, 5, 6, 9)]
    assert found == [1.0, 0.25, 0.25, 0.125, 0.125]  # what batch 5 read is kept, if it runs again
    gate.at(Run("q", 5, 1), 0).tell_gate((0.75, 0.75))  # a task that is run again decides nothing
    assert let_in(6)[0] == 0.125
    assert let_in(6, "other") == (1.0, 1.0)
    (tmp_path / "q" / "join" / "gate-5.json").write_text("damaged")
    assert let_in(6) == (1.0, 1.0)
