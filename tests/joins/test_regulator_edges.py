"""What real streams do to budgets: bad clocks, silences, shards that differ, restarts."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import streamjoin as sj
from streamjoin.core.batch import Batch, arrange
from streamjoin.joins.base import Arrival, MemoryStore
from streamjoin.joins.window.logic import WindowJoinLogic
from streamjoin.joins.window.settings import WindowJoinState
from streamjoin.local import LocalJoin
from streamjoin.metrics import JoinCounts

SCHEMA = pa.schema({"k": pa.int64(), "t": pa.timestamp("us"), "x": pa.string()})
SECOND = 1_000_000
DAY = 86_400 * SECOND


def rows(times: object, keys: object = None, text: list[str] | None = None) -> pa.Table:
    at = np.asarray(times, np.int64)
    columns = {"k": np.zeros(len(at), np.int64) if keys is None else np.asarray(keys, np.int64)}
    texts = [""] * len(at) if text is None else text
    return pa.table({**columns, "t": pa.array(at, pa.timestamp("us")), "x": texts}, schema=SCHEMA)


def within(second: int, n: int) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    return second * SECOND + np.arange(n) * (SECOND // n)


def join(**said: Any) -> LocalJoin:
    return LocalJoin(SCHEMA, SCHEMA, on="k", time="t", **{"window": "10 seconds", **said})


def let_in(metrics: JoinCounts) -> int:
    dropped = metrics.dropped_left + metrics.dropped_right
    return metrics.rows_left + metrics.rows_right - dropped - metrics.late_left - metrics.late_right


@pytest.mark.parametrize("ahead", [DAY, 75 * 365 * DAY])
def test_one_row_of_the_future_does_not_open_the_gates(ahead: int) -> None:
    limited, found = join(budget=sj.Budget(rate=200)), []
    for second in range(8):
        left, right = within(second, 500), within(second, 500)
        if second == 3:
            left[-1] += ahead
        limited.push(rows(left), rows(right))
        found.append(let_in(limited.metrics))
    assert all(190 <= n <= 210 for n in found[1:])


def test_a_silence_does_not_pay_for_a_flood() -> None:
    limited = join(budget=sj.Budget(rate=200))
    for second in range(5):
        limited.push(rows(within(second, 500)), rows(within(second, 500)))
    limited.push(rows(within(3600, 20_000)), rows(within(3600, 20_000)))
    assert let_in(limited.metrics) <= 4 * 200 + 2
    limited.push(rows(within(3601, 500)), rows(within(3601, 500)))
    assert let_in(limited.metrics) <= 2 * 200 + 2


def test_a_stream_that_pauses_keeps_its_rows_while_there_is_room() -> None:
    limited = join(window="100 seconds", budget=sj.Budget(memory=sj.rows(20_000)))
    limited.push(rows(within(0, 100)), rows(within(0, 1000)))
    for second in range(1, 80):
        limited.push(rows(within(second, 100)), None)
    assert limited.total.cut_left == limited.total.cut_right == 0
    assert sum(window.rows for window in limited.state.windows[1]) == 1000


def test_arrivals_meet_arrivals_by_an_index() -> None:
    """Nested loops over two whole batches would take minutes."""
    exact, n = join(), 200_000
    exact.push(rows(within(0, n), np.arange(n)), rows(within(0, n), np.arange(n)))
    assert exact.metrics.pairs == n
    assert exact.metrics.by_nested == 0
    assert exact.state.methods == [None, None]


class Shards:
    """A join in several shards, as Spark runs it."""

    def __init__(self, n: int, budget: sj.Budget) -> None:
        settings = join(window="100 seconds", budget=budget).join
        assert settings.shedding is not None
        limits = settings.shedding.over_shards(n, n, (1, 1))
        self.settings = replace(settings, shedding=limits)
        self.shards = [(WindowJoinState(), MemoryStore()) for _ in range(n)]

    def push(self, left: pa.Table, right: pa.Table) -> JoinCounts:
        total = JoinCounts()
        for number, (state, store) in enumerate(self.shards):
            arrivals = self._arrival(left, 0, number), self._arrival(right, 1, number)
            logic = WindowJoinLogic(self.settings, state, store)
            assert all(len(results) for results in logic.on_batch(arrivals))
            total += logic.metrics
        return total

    def _arrival(self, table: pa.Table, side: int, number: int) -> Arrival:
        stream = self.settings.streams[side]
        own = table.filter(pa.array(np.asarray(table["k"]) % len(self.shards) == number))
        parts = [arrange(batch, stream).rows for batch in own.to_batches()]
        latest = int(np.asarray(table["t"].cast(pa.int64())).max())
        return Arrival(Batch.gather(parts, stream), latest=latest, total=table.num_rows)


@pytest.mark.parametrize("budget", [sj.Budget(memory="200 KB"), sj.Budget(memory=sj.rows(3000))])
def test_shards_that_divide_differently_keep_the_memory_together(budget: sj.Budget) -> None:
    """In each shard another side is the frequent one, and has the shorter rows."""
    rng, shards = np.random.default_rng(0), Shards(2, budget)
    for second in range(40):
        keys = (rng.random(200) < 0.1).astype(int), (rng.random(200) < 0.9).astype(int)
        texts = (
            ["a" * (10 if key == side else 60) for key in keys[side].tolist()] for side in (0, 1)
        )
        left, right = (
            rows(within(second, 200), k, text) for k, text in zip(keys, texts, strict=True)
        )
        counts = shards.push(left, right)
        held = counts.state_rows if budget.memory == sj.rows(3000) else counts.state_bytes
        assert held <= (budget.memory_limit or 0)
    assert counts.cut_left + counts.cut_right > 0


def test_a_budget_that_is_taken_away_is_counted_until_nothing_is_left_of_it() -> None:
    rng = np.random.default_rng(1)

    def batch(second: int) -> pa.Table:
        return rows(within(second, 500), rng.integers(0, 50, 500))

    limited = join(budget=sj.Budget(rate=400, memory="40 KB"))
    for second in range(10):
        limited.push(batch(second), batch(second))
    exact = join()
    exact.state = WindowJoinState.from_dict(json.loads(json.dumps(limited.state.to_dict())))
    exact.store = limited.store
    exact.push(batch(10), batch(10))
    assert exact.metrics.dropped_left == 0
    assert exact.metrics.missed > 0
    for second in range(11, 40):
        exact.push(batch(second), batch(second))
    assert exact.metrics.missed == 0
    assert exact.state.shedding is None
    assert exact.state.sampled == [0, 0]
