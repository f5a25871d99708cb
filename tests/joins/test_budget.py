"""Joins within a budget: a part of the exact result, nothing uncounted, the limits kept."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import streamjoin as sj
from streamjoin.joins.window.arguments import ALGORITHMS
from streamjoin.metrics import JoinCounts
from tests.joins.feeding import row
from tests.shedding.budgeted import BUDGETS, CPU_BUDGETS, INNER, RATES, Batch, batches, total
from tests.shedding.streams import counted, jump, pair, steps
from tests.strategies import FEW, Case, Row

LONG = 10**6  # microseconds: nothing becomes too old


def is_part(found: list[Batch], case: Case) -> bool:
    return all(one.found <= all_ for one, all_ in zip(found, case.answers(), strict=True))


@given(INNER, BUDGETS | CPU_BUDGETS, st.sampled_from(ALGORITHMS))
def test_each_batch_brings_a_part_of_the_exact_result(
    case: Case, budget: sj.Budget, algorithm: str
) -> None:
    band = case.where is not None and "abs" in case.where.text
    found = batches(case, budget=budget, algorithm="auto" if band else algorithm)
    assert is_part(found, case)
    assert total(found).pairs == sum(batch.found.total() for batch in found)


@FEW
@given(INNER, BUDGETS | CPU_BUDGETS)
def test_every_row_is_counted_once(case: Case, budget: sj.Budget) -> None:
    """It is remembered, or one of the causes why it is not."""
    case = replace(case, window=(LONG, LONG))
    found = batches(case, budget=budget)[:-1]
    counts = total(found)
    for side, name in enumerate(("left", "right")):
        causes = ("dropped", "cut", "late", "null")
        gone = sum(getattr(counts, f"{cause}_{name}") for cause in causes)
        assert getattr(counts, f"rows_{name}") == found[-1].held[side] + gone


@FEW
@given(INNER, BUDGETS)
def test_restarts_change_nothing(case: Case, budget: sj.Budget) -> None:
    assert batches(case, budget=budget, restarts=True) == batches(case, budget=budget)


@FEW
@given(INNER, RATES, st.sampled_from(["best", "rate", "inverse-rate", "window"]))
def test_the_rate_holds_from_the_beginning_to_every_batch(
    case: Case, rate: float, split: str
) -> None:
    """Rows let in are at most the rate times the event time that passed, and one more a side.

    A batch that brings no event time may borrow a little; and the span of the first counts again
    when the stream that was behind in it catches up, for event time is where the slower one is.
    """
    times, let_in, first = list[int](), 0, 0
    found = batches(case, budget=sj.Budget(rate=rate), split=split)
    for n, (batch, came) in enumerate(zip(found[:-1], case.batches, strict=True), start=1):
        times += [r["t"] for side in came for r in side if r["t"] is not None]
        for name in ("left", "right"):
            gone = sum(getattr(batch.counts, f"{c}_{name}") for c in ("dropped", "late", "null"))
            taken = getattr(batch.counts, f"rows_{name}") - gone
            let_in += taken
        passed = max(times) - min(times) if times else 0
        first = first or passed
        assert let_in <= rate * (passed + first) / 1e6 * (1 + 0.1 * n) + 2 + 1e-6


SPACIOUS = [
    sj.Budget(rate=1e12),
    sj.Budget(cpu="1 hour"),
    sj.Budget(memory=sj.rows(10**6)),
    sj.Budget(memory="100 MB"),
    sj.Budget(rate=1e12, memory=sj.rows(10**6)),
]


@pytest.mark.parametrize("budget", SPACIOUS, ids=sj.Budget.describe)
@pytest.mark.parametrize("rates", [(30, 30), (50, 2)])
def test_a_budget_above_the_need_changes_nothing(
    budget: sj.Budget, rates: tuple[float, float]
) -> None:
    streams = pair(rates, 30, keys=20)
    exact, found = counted(*streams), counted(*streams, budget=budget)
    assert found.pairs == exact.pairs > 100
    assert found.state_rows == exact.state_rows
    assert found.dropped_left == found.dropped_right == found.cut_left == found.cut_right == 0
    assert (found.missed, found.recall, found.recall_error) == (0, 1.0, 0.0)


def test_a_cpu_budget_that_bites() -> None:
    """The first batch is let in by a guess; what rows cost is known from then on."""
    streams = pair((3000, 3000), 20, keys=500)
    exact = counted(*streams)
    budget = sj.Budget(cpu="100 us")
    seen = [s.metrics for s in steps(*streams, budget=budget, shed="drop")]
    assert sum(m.pairs for m in seen) < exact.pairs / 2
    assert all(m.dropped_left > 0 and m.dropped_right > 0 for m in seen)


def let_in(seen: list[JoinCounts]) -> list[tuple[int, int]]:
    return [(m.rows_left - m.dropped_left, m.rows_right - m.dropped_right) for m in seen]


@pytest.mark.parametrize(("split", "before", "after"), [
    ("equal", (10, 10), (10, 10)), ("rate", (16, 4), (4, 16)), ("inverse-rate", (4, 16), (16, 4)),
])  # fmt: skip
def test_what_is_let_in_follows_a_jump_of_the_rates(
    split: str, before: tuple[int, int], after: tuple[int, int]
) -> None:
    """80 and 20 rows a second become 20 and 80 after 20 seconds; a step is two seconds."""
    streams = jump((80, 20), (20, 80), 20, keys=50)
    seen = [s.metrics for s in steps(*streams, budget=sj.Budget(rate=10), split=split)]
    shares = let_in(seen)
    for found, wanted in ((shares[5:10], before), (shares[12:], after)):
        for sides in found:
            assert max(abs(sides[0] - wanted[0]), abs(sides[1] - wanted[1])) <= 3


@pytest.mark.parametrize("split", ["equal", "rate", "inverse-rate"])
def test_an_equal_split_finds_the_most(split: str) -> None:
    """KAN-C14: of 8 and 2, 5 and 5, or 2 and 8 rows a second."""
    streams = pair((80, 20), 60, keys=10)
    most = counted(*streams, budget=sj.Budget(rate=10)).pairs
    found = counted(*streams, budget=sj.Budget(rate=10), split=split).pairs
    assert found == most if split == "equal" else found < 0.85 * most


def test_what_one_stream_does_not_use_goes_to_the_other() -> None:
    """KAN-C15: with 5 and 100 rows a second and 50 that can be taken, 5 and 45 are."""
    seen = [s.metrics for s in steps(*pair((5, 100), 40, keys=50), budget=sj.Budget(rate=50))]
    left, right = map(sum, zip(*let_in(seen), strict=True))
    assert left >= 0.95 * 200  # but for batches that bring more than was to be expected
    assert right == pytest.approx(45 * 40, rel=0.03)


@pytest.mark.parametrize("budget", [sj.Budget(rate=1e12), sj.Budget(memory=sj.rows(10**6))])
def test_streams_that_come_in_turns(budget: sj.Budget) -> None:
    """No event time passes in the batches of the right stream, which comes second."""
    turns = list[tuple[list[Row], list[Row]]]()
    for n in range(0, 40, 10):
        turns.append(([row(n + i, id=n + i) for i in range(10)], []))
        turns.append(([], [row(n + i, id=100 + n + i) for i in range(10)]))
    case = Case(turns, (60, 60), lateness=60)
    found = batches(case, budget=budget)
    assert [batch.found for batch in found] == case.answers()
