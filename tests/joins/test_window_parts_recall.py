"""What a join that probes in part says of what it missed, against the truth."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import streamjoin as sj
from benchmarks.recall import KINDS as STUDY
from benchmarks.recall import drawn, true_pairs
from streamjoin.local import LocalJoin, run
from streamjoin.metrics import JoinCounts
from tests.joins.virtual_cpu import VirtualCpu
from tests.shedding.streams import pair

COMMON: dict[str, Any] = {"on": "k", "time": "t", "window": "4 s", "lateness": "1 s"}
RUNS = 10  # of each kind
KINDS: dict[str, dict[str, Any]] = {
    "flat": {"budget": sj.Budget(cpu="1500 us")},
    "skew": {"budget": sj.Budget(cpu="1500 us"), "split": "ra+tc", "skew": 1.0},
    "memory": {"budget": sj.Budget(cpu="1500 us", memory=sj.rows(400))},
    "dropped": {"budget": sj.Budget(cpu="500 us"), "keys": 100},
}


@pytest.fixture
def cpu() -> Iterator[VirtualCpu]:
    with pytest.MonkeyPatch.context() as patch:
        yield VirtualCpu(received=0.5, looked_at=1.0, handed_out=1.0).install(patch)


def estimated(
    seed: int, *, keys: int = 50, skew: float = 0.0, **said: Any
) -> tuple[int, JoinCounts, float]:
    """True number of pairs of a short run, what it counts, and the weight of its results."""
    streams = pair((100, 100), 12, keys=keys, skew=skew, seed=seed)
    total, weight = JoinCounts(), 0.0
    left, right = streams
    for step in run(left, right, weights=True, **COMMON, **said):
        total = step.metrics + total.without_state()
        weight += float(step.rows["_weight"].to_numpy().sum())
    return true_pairs(*streams), total, weight


@pytest.mark.parametrize("kind", KINDS)
def test_the_true_recall_lies_within_the_interval(kind: str, cpu: VirtualCpu) -> None:
    """In 95 of 100 runs: of ten, fewer than seven are one case in a thousand."""
    within, off = 0, []
    for seed in range(RUNS):
        pairs, found, weight = estimated(seed, **KINDS[kind])
        assert found.selective > 5
        assert found.pairs < 0.6 * pairs
        assert found.recall_interval is not None
        low, high = found.recall_interval
        within += low <= found.pairs / pairs <= high
        off.append((found.pairs + found.missed) / pairs - 1)
        if "memory" not in kind:  # results of what was forgotten do not come out
            assert weight == pytest.approx(found.pairs + found.missed, abs=20)
    assert within >= 7
    assert abs(np.mean(off)) <= 3 * np.std(off) / RUNS**0.5  # no bias


def test_where_the_sample_sees_nothing_missed_something_may_be() -> None:
    """With comparisons left out, an interval that is a point would claim to know."""
    blind = 0
    for seed in range(RUNS):
        found, pairs = drawn(STUDY["unseen"], seed)
        assert found.skipped_left + found.skipped_right > 0
        assert found.recall_interval is not None
        low, high = found.recall_interval
        assert low < 1
        assert low <= found.pairs / pairs <= high
        blind += found.missed == 0
    assert blind >= 3


def seconds_of(left: pa.Table, right: pa.Table, first: int, last: int) -> list[pa.Table]:
    """Rows of the seconds from `first` to before `last`."""
    times = [np.asarray(side["t"].cast(pa.int64())) // 1_000_000 for side in (left, right)]
    chosen = [pa.array((first <= t) & (t < last)) for t in times]
    return [side.filter(some) for side, some in zip((left, right), chosen, strict=True)]


def test_what_was_remembered_without_a_budget_is_sampled_too(cpu: VirtualCpu) -> None:
    """A checkpoint goes on with a budget: nothing that is skipped in old rows is forgotten."""
    off = []
    for seed in range(RUNS):
        streams = pair((150, 150), 8, keys=30, seed=seed)
        exact = LocalJoin(streams[0].schema, streams[1].schema, **COMMON)
        exact.push(*seconds_of(*streams, 0, 5))
        join = LocalJoin(exact.join.left.schema, exact.join.right.schema, **COMMON, **KINDS["flat"])
        join.state, join.store = exact.state, exact.store
        for second in (5, 6, 7):
            join.push(*seconds_of(*streams, second, second + 1))
        assert join.total.selective >= 2
        expected = true_pairs(*streams) - exact.total.pairs
        off.append((join.total.pairs + join.total.missed) / expected - 1)
    assert abs(np.mean(off)) <= 3 * np.std(off) / RUNS**0.5


def test_what_memory_forgot_is_missed_once(cpu: VirtualCpu) -> None:
    """A row for which there is no room leaves the sample too, or its pairs would count twice."""
    cpu.received, cpu.looked_at = 0.01, 0.1
    off = []
    for seed in range(RUNS):
        budget = sj.Budget(cpu="500 us", memory=sj.rows(60))
        pairs, found, weight = estimated(seed, keys=10, budget=budget)
        assert min(found.cut_left, found.cut_right) > 500
        assert found.pairs <= weight < 0.6 * pairs
        off.append((found.pairs + found.missed) / pairs - 1)
    assert abs(np.mean(off)) <= max(0.02, 3 * np.std(off) / RUNS**0.5)
