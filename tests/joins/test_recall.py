"""The estimated recall against the true one, on made-up streams."""

import numpy as np
import pytest

import streamjoin as sj
from benchmarks.recall import KINDS, drawn
from streamjoin.joins.window import samples
from streamjoin.local import LocalJoin
from tests.shedding.streams import counted, pair, steps

BUDGETS = {
    "rate": sj.Budget(rate=40),
    "memory": sj.Budget(memory=sj.rows(150)),
    "both": sj.Budget(rate=40, memory=sj.rows(100)),
}
STREAMS = {"uniform": (100, 0.0), "zipf": (300, 1.0)}
SEEDS = range(6)


def estimates(budget: sj.Budget, keys: int, skew: float) -> tuple[list[float], list[float]]:
    """By seed: how far the estimate was off, and how far it said it might be."""
    off, said = [], []
    for seed in SEEDS:
        streams = pair((60, 30), 20, keys=keys, skew=skew, seed=seed)
        exact, found = counted(*streams), counted(*streams, budget=budget)
        assert found.recall is not None
        assert found.recall_error is not None
        off.append(found.recall - found.pairs / exact.pairs)
        said.append(found.recall_error)
        assert found.pairs < 0.6 * exact.pairs
    return off, said


def test_the_true_recall_lies_within_the_stated_error() -> None:
    """In nine runs of ten."""
    within, off, said = 0, list[float](), list[float]()
    for budget in BUDGETS.values():
        for keys, skew in STREAMS.values():
            some_off, some_said = estimates(budget, keys, skew)
            within += sum(abs(o) <= s for o, s in zip(some_off, some_said, strict=True))
            off, said = off + some_off, said + some_said
    assert within >= 0.9 * len(off)
    assert max(said) < 0.1
    assert abs(np.mean(off)) < 0.01  # no bias


@pytest.mark.parametrize("stream", STREAMS)
def test_what_memory_cuts_is_known_exactly_while_the_sample_has_it_all(stream: str) -> None:
    keys, skew = STREAMS[stream]
    streams = pair((60, 30), 20, keys=keys, skew=skew)
    exact, found = counted(*streams), counted(*streams, budget=BUDGETS["memory"])
    assert found.missed == exact.pairs - found.pairs
    assert found.recall_error == 0


def test_missed_pairs_obey_the_condition_and_the_window() -> None:
    streams = pair((60, 30), 20, keys=5)
    said = {
        "where": "left.id + right.id > 500 AND left.id < right.id + 400",
        "window": ("3 s", "9 s"),
    }
    budget = sj.Budget(memory=sj.rows(60))
    exact, found = counted(*streams, **said), counted(*streams, **said, budget=budget)
    assert found.missed == exact.pairs - found.pairs > 0


def test_a_tiny_memory_is_not_taken_for_a_full_recall() -> None:
    found = counted(*pair((60, 30), 20, keys=100), budget=sj.Budget(memory="8 kB"))
    assert found.cut_left + found.cut_right > 1000
    assert found.recall_interval is None or found.recall_interval[0] < 0.9


DRAWS = 12


@pytest.mark.parametrize("kind", ["flood", "tenth", "hot keys", "drop"])
def test_the_interval_holds_the_truth_however_few_rows_are_let_in(kind: str) -> None:
    """In 95 of 100 runs: of twelve, fewer than nine are one case in 500."""
    held, off = 0, []
    for seed in range(DRAWS):
        found, pairs = drawn(KINDS[kind], seed)
        assert found.recall_interval is not None
        low, high = found.recall_interval
        held += low <= found.pairs / pairs <= high
        off.append((found.pairs + found.missed) / pairs - 1)
    assert held >= 9
    assert abs(np.mean(off)) <= max(0.01, 3 * np.std(off) / DRAWS**0.5)  # no bias


@pytest.mark.parametrize("kind", ["flood", "tenth"])
def test_seeing_rows_that_are_turned_away_changes_no_result(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_more, _ = drawn(KINDS[kind], 0)
    monkeypatch.setattr(samples, "SEEN_ROWS", 0)
    without, _ = drawn(KINDS[kind], 0)
    names = ("pairs", "rows_out", "dropped_left", "dropped_right", "state_rows")
    assert [getattr(with_more, n) for n in names] == [getattr(without, n) for n in names]


def test_weights_are_those_of_what_was_let_in() -> None:
    """What is only seen stands for nothing that comes out."""
    streams = pair((300, 300), 20, keys=30)
    budget, exact = sj.Budget(rate=200), counted(*streams).pairs
    weights = [s.rows["_weight"].to_numpy() for s in steps(*streams, budget=budget, weights=True)]
    assert np.concatenate(weights).min() > 2
    assert np.concatenate(weights).sum() == pytest.approx(exact, rel=0.1)


def test_a_batch_that_lets_in_nothing_tells_what_it_missed() -> None:
    """While it can see all of its rows, exactly."""
    left, right = pair((100, 100), 8, keys=10)
    join = LocalJoin(
        left.schema, right.schema, on="k", time="t", window="8 s", budget=sj.Budget(rate=20)
    )
    for at in range(0, 800, 200):  # the left one comes first, and time stands still without both
        join.push(left.slice(at, 200), None)
    for at in range(0, 800, 200):
        join.push(None, right.slice(at, 200))
    exact = counted(left, right, window="8 s").pairs
    assert join.total.missed == exact - join.total.pairs > 0.9 * exact
    assert join.total.recall_error == 0


def test_the_sample_of_what_was_turned_away_stays_small() -> None:
    *_, last = steps(*pair((3000, 3000), 20, keys=500), budget=sj.Budget(rate=20))
    rows = last.metrics.state_bytes - last.metrics.state_bytes_left
    assert 100_000 < rows - last.metrics.state_bytes_right < 2 * (256 << 10)
