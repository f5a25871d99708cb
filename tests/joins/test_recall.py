"""The estimated recall against the true one, on made-up streams."""

import numpy as np
import pytest

import streamjoin as sj
from streamjoin.joins import row_sample
from tests.shedding.streams import counted, pair

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
        off.append(found.recall - found.pairs / exact.pairs)
        said.append(found.recall_error)
        assert found.pairs < 0.6 * exact.pairs
    return off, said


def test_the_true_recall_lies_within_the_stated_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """In nine runs of ten, with samples so small that they too are a matter of chance."""
    monkeypatch.setattr(row_sample, "MOST_ROWS", 256)
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
    assert found.recall - found.recall_error < 0.9
