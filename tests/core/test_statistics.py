"""Rates as they are learned from batches."""

import json
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamjoin.shedding.costs import Rates
from tests.strategies import FEW

COUNTS = st.tuples(st.integers(0, 1000), st.integers(0, 1000))
BATCHES = st.lists(st.tuples(COUNTS, st.sampled_from([0.0, 0.5, 1.0, 60.0])), max_size=12)


def test_a_steady_stream_has_its_rate_at_once() -> None:
    rates = Rates()
    for _ in range(3):
        rates.see((50, 8), seconds=2.0)
        assert rates.per_second == [25.0, 4.0]


def test_the_third_batch_after_a_jump_is_within_an_eighth() -> None:
    rates = Rates()
    for counts in [(80, 20)] * 5 + [(20, 80)] * 3:
        rates.see(counts, seconds=1.0)
    assert rates.per_second == [pytest.approx(20 + 60 / 8), pytest.approx(80 - 60 / 8)]


def test_rows_of_batches_that_take_no_time_count_with_the_next() -> None:
    rates = Rates()
    rates.see((5, 0), seconds=0.0)
    assert rates.per_second == []
    rates.see((5, 4), seconds=2.0)
    assert (rates.per_second, rates.waiting) == ([5.0, 2.0], [0, 0])


@FEW
@given(BATCHES)
def test_rates_lie_between_the_least_and_the_most_seen(
    batches: list[tuple[tuple[int, int], float]],
) -> None:
    rates, waiting, seen = Rates(), [0, 0], list[tuple[float, float]]()
    for counts, seconds in batches:
        rates.see(counts, seconds)
        waiting = [waiting[0] + counts[0], waiting[1] + counts[1]]
        if seconds:
            seen.append((waiting[0] / seconds, waiting[1] / seconds))
            waiting = [0, 0]
    assert rates.waiting == waiting
    for side, known in enumerate(rates.per_second):
        assert min(s[side] for s in seen) <= known * (1 + 1e-9)
        assert known <= max(s[side] for s in seen) * (1 + 1e-9)


@FEW
@given(BATCHES, BATCHES)
def test_rates_go_on_from_what_was_stored(
    before: list[tuple[tuple[int, int], float]], after: list[tuple[tuple[int, int], float]]
) -> None:
    rates = Rates()
    for counts, seconds in before:
        rates.see(counts, seconds)
    again = Rates(**json.loads(json.dumps(asdict(rates))))
    for counts, seconds in after:
        rates.see(counts, seconds)
        again.see(counts, seconds)
    assert again == rates
