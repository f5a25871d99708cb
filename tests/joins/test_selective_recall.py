"""What a join that probes in part says of what it missed, against the truth."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import streamjoin as sj
from streamjoin.local import LocalJoin, run
from streamjoin.metrics import JoinMetrics
from tests.joins.virtual_cpu import VirtualCpu
from tests.shedding.streams import pair

WINDOW = 4_000_000
COMMON: dict[str, Any] = {"on": "k", "time": "t", "window": "4 s", "lateness": "1 s"}
RUNS = 10  # of each kind; benchmarks/recall_coverage.py makes more
KINDS: dict[str, dict[str, Any]] = {
    "flat": {"budget": sj.Budget(cpu="1500 us")},
    "skew": {"budget": sj.Budget(cpu="1500 us"), "split": "ra+tc", "skew": 1.0},
    "memory": {"budget": sj.Budget(cpu="1500 us", memory=sj.rows(400))},
    "dropped": {"budget": sj.Budget(cpu="120 us"), "keys": 15},
}


@pytest.fixture
def cpu() -> Iterator[VirtualCpu]:
    with pytest.MonkeyPatch.context() as patch:
        yield VirtualCpu(received=0.5, looked_at=1.0, handed_out=1.0).install(patch)


def true_pairs(left: pa.Table, right: pa.Table) -> int:
    """By comparing all with all."""
    keys = [np.asarray(side["k"]) for side in (left, right)]
    times = [np.asarray(side["t"].cast(pa.int64())) for side in (left, right)]
    near = np.abs(np.subtract.outer(*times)) <= WINDOW
    return int((near & (keys[0][:, None] == keys[1])).sum())


def estimated(
    seed: int, *, keys: int = 50, skew: float = 0.0, **said: Any
) -> tuple[int, JoinMetrics, float]:
    """True number of pairs of a short run, what it counts, and the weight of its results."""
    streams = pair((100, 100), 12, keys=keys, skew=skew, seed=seed)
    total, weight = JoinMetrics(), 0.0
    for step in run(*streams, weights=True, **COMMON, **said):
        total = step.metrics + total.without_state()
        weight += float(step.rows["_weight"].to_numpy().sum())
    return true_pairs(*streams), total, weight


@pytest.mark.parametrize("kind", KINDS)
def test_the_true_recall_lies_within_the_stated_error(kind: str, cpu: VirtualCpu) -> None:
    """In 95 of 100 runs: of ten, fewer than seven are one case in a thousand."""
    within, off = 0, []
    for seed in range(RUNS):
        pairs, found, weight = estimated(seed, **KINDS[kind])
        assert found.selective > 5
        assert found.pairs < 0.6 * pairs
        within += abs(found.recall - found.pairs / pairs) <= found.recall_error
        off.append((found.pairs + found.missed) / pairs - 1)
        if "memory" not in kind:  # results of what was forgotten do not come out
            assert weight == pytest.approx(found.pairs + found.missed, abs=20)
    assert within >= 7
    assert abs(np.mean(off)) <= 3 * np.std(off) / RUNS**0.5  # no bias


def test_what_was_remembered_without_a_budget_is_sampled_too(cpu: VirtualCpu) -> None:
    """A checkpoint goes on with a budget: nothing of what is skipped in old rows is forgotten."""
    off = []
    for seed in range(RUNS):
        left, right = pair((150, 150), 8, keys=30, seed=seed)
        exact = LocalJoin(left.schema, right.schema, **COMMON)
        times = [np.asarray(side["t"].cast(pa.int64())) for side in (left, right)]
        old, new = (
            [side.filter(pa.array((t < 5e6) == early)) for side, t in zip((left, right), times, strict=True)]
            for early in (True, False)
        )
        exact.push(*old)
        join = LocalJoin(left.schema, right.schema, budget=sj.Budget(cpu="1 ms"), **COMMON)
        join.state = type(exact.state).from_dict(exact.state.to_dict())
        join.store = exact.store
        before = exact.total.pairs
        for second in (5, 6, 7):
            at = [np.asarray(side["t"].cast(pa.int64())) // 1_000_000 for side in new]
            batch = [side.filter(pa.array(t == second)) for side, t in zip(new, at, strict=True)]
            join.push(*batch)
        off.append((join.total.pairs + join.total.missed) / (true_pairs(left, right) - before) - 1)
        assert join.total.selective == 3
    assert abs(np.mean(off)) <= 3 * np.std(off) / RUNS**0.5


def test_what_memory_forgot_is_missed_once(cpu: VirtualCpu) -> None:
    """A row for which there is no room leaves the sample too, or its pairs would count twice."""
    cpu.looked_at = cpu.handed_out = 0.001
    pairs, found, weight = estimated(1, budget=sj.Budget(cpu="40 us", memory=sj.rows(60)))
    assert found.cut_left > 500
    assert found.pairs <= weight < 0.5 * pairs
    assert found.pairs + found.missed == pytest.approx(pairs, rel=0.15)
