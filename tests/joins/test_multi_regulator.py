"""Joins of many streams with a budget: what comes out, what it costs, what is said to be missed."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streamjoin.budget import Budget
from streamjoin.joins.multi import regulator
from streamjoin.planning.many.planners import PLANNERS
from streamjoin.shedding.costs import Costs
from tests.joins.multi_streams import (
    SECOND,
    Batch,
    expected,
    local,
    numbers,
    poisson,
    probes,
    restarted,
    table,
)

PLANS = ("((a b) c) d", "(a b) (c d)")
RATES = {"a": 60.0, "b": 80.0, "c": 100.0, "d": 60.0}
KEYS, WARM = 400, 12


def _all(plan: str, batches: Sequence[Batch], **given: Any) -> tuple[float, float, float]:
    """Results, probes and the estimate of all results, per batch after the first ones."""
    join = local("abcd", window="4 seconds", plan=plan, **given)
    seen = []
    for batch in batches:
        join.push(batch)
        seen.append((join.counts["rows_out"], probes(join), join.counts["missed"]))
    results, made, missed = np.array(seen, np.float64)[WARM:].mean(axis=0).tolist()
    return results, made, results + missed


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[Batch], dict[str, Any]]:
    names = "abcd"[: draw(st.integers(2, 4))]
    seed = draw(st.integers(0, 10**6))
    rates = {name: draw(st.sampled_from([0.5, 4.0, 9.0])) for name in names}
    bursts = draw(st.sampled_from([(1.0,), (1.0, 0.0, 3.0)]))
    batches = list(poisson(rates, keys=4, batches=6, seed=seed, bursts=bursts))
    return batches, {"window": "2 seconds", "planner": draw(st.sampled_from(PLANNERS))}


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=25)
@given(cases(), st.sampled_from([0.1, 5.0, 20.0, 1e9]), st.booleans())
def test_results_are_some_of_all_and_all_if_the_budget_is_enough(
    case: tuple[list[Batch], dict[str, Any]], rate: float, cpu: bool
) -> None:
    batches, given = case
    names = list(batches[0])
    budget = Budget(cpu=min(1.0, rate / 1e4)) if cpu else Budget(rate=rate)
    join = local(names, budget=budget, costs=Costs(), **given)
    again = restarted(join)
    found = numbers(join.push({}), names) + numbers(again.push({}), names)
    for batch in batches:
        out = numbers(join.push(batch), names)
        assert numbers(again.push(batch), names) == out
        again = restarted(again)
        found += out
    every = expected(batches, 2)
    assert found <= every
    if rate == 1e9:
        assert found == every
        assert join.total["missed"] == 0


@pytest.mark.parametrize("planner", PLANNERS)
def test_probes_stay_within_the_rate_in_bursts_too(planner: str) -> None:
    plan = PLANS[PLANNERS.index(planner) % 2]
    batches = list(poisson(RATES, KEYS, 28, bursts=(1.0, 0.5, 1.0, 4.0)))
    rate = 120.0
    _, made, _ = _all(plan, batches, budget=Budget(rate=rate), planner=planner)
    assert made <= 1.1 * rate
    if planner in ("jaqpot", "exact"):
        assert made >= 0.8 * rate


def test_looking_around_does_not_break_a_tiny_budget() -> None:
    batches = list(poisson(RATES, KEYS, 60))
    _, made, _ = _all(PLANS[0], batches, budget=Budget(rate=3.0))
    assert 1.0 <= made <= 3.3


def test_cpu_time_stays_within_its_share() -> None:
    batches = list(poisson(RATES, KEYS, 40))
    costs = Costs(received=100, looked_at=500, handed_out=200)
    for budget, least in ((Budget(cpu=0.1), 1e5), (Budget(cpu="60 ms"), 6e4)):
        join = local("abcd", window="4 seconds", budget=budget, costs=costs, plan=PLANS[0])
        used = []
        for batch in batches:
            join.push(batch)
            used.append(join.counts["cpu_us"])
        assert np.mean(used[WARM:]) == pytest.approx(least, rel=0.1)


def test_a_batch_run_again_decides_the_same_whatever_the_order_of_its_rows() -> None:
    rng = np.random.default_rng(5)
    join = local("abc", window="4 seconds", budget=Budget(rate=100), costs=Costs())
    for batch in poisson({"a": 90.0, "b": 90.0, "c": 90.0}, keys=40, batches=12):
        coarse = {name: _to_seconds(rows) for name, rows in batch.items()}
        again, shuffled = restarted(join), {}
        for name, rows in coarse.items():
            parts = [rows.take(part) for part in np.array_split(rng.permutation(len(rows)), 3)]
            shuffled[name] = pa.concat_tables(parts)
        assert numbers(join.push(coarse), "abc") == numbers(again.push(shuffled), "abc")
        known = join.states[0].limits, again.states[0].limits
        assert known[0] is not None
        assert known[1] is not None
        assert _rounded(known[0].to_dict()) == _rounded(known[1].to_dict())
    assert join.total["skipped_a"] > 0


def _rounded(value: Any) -> Any:
    """With numbers that do not depend on the order in which they were added up."""
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


def _to_seconds(rows: pa.Table) -> pa.Table:
    """Times of whole seconds: many rows are alike but for their numbers."""
    times = np.asarray(rows["t"].cast(pa.int64())) // SECOND * SECOND
    return table(rows["k"], times, int(rows["n"][0].as_py()))


def test_the_results_that_are_missed_are_estimated() -> None:
    """About right: by chance, as the keys that came first are a sample of all."""
    told = []
    for seed in range(6):
        batches = list(poisson(RATES, KEYS, 24, seed=seed))
        every, made, _ = _all(PLANS[seed % 2], batches)
        told.append(_all(PLANS[seed % 2], batches, budget=Budget(rate=0.6 * made))[2] / every)
    assert np.mean(told) == pytest.approx(1, abs=0.1)


def test_what_a_node_misses_that_never_probes_is_estimated_too() -> None:
    """With many results of a and b it is c that had better probe."""
    batches = list(poisson({"a": 200, "b": 200, "c": 200}, keys=40, batches=12))
    exact = local("abc", window="2 seconds", plan="(a b) c")
    join = local("abc", window="2 seconds", plan="(a b) c", budget=Budget(rate=75), costs=Costs())
    missed = 0
    for batch in batches:
        missed += exact.push(batch).num_rows - join.push(batch).num_rows
    state = join.states[0].limits
    assert state is not None
    assert sum(one.probed[3] for one in state.observed) == 0
    assert join.total["missed"] == pytest.approx(missed, rel=0.25)


@pytest.mark.parametrize(("plan", "part"), [(PLANS[0], 0.5), (PLANS[1], 0.3)])
def test_jaqpot_finds_more_than_others_and_its_part_of_all(plan: str, part: float) -> None:
    batches = list(poisson(RATES, KEYS, 36))
    every, made, _ = _all(plan, batches)
    found = {
        planner: _all(plan, batches, budget=Budget(rate=part * made), planner=planner)[0]
        for planner in PLANNERS
        if planner != "exact"
    }
    assert found["jaqpot"] >= 0.95 * max(found.values())
    assert found["jaqpot"] >= 0.7 * part * every


def test_keys_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regulator, "TURNS", 2)
    join = local("ab", window="2 seconds", budget=Budget(rate=40), costs=Costs())
    batches = poisson({"a": 60.0, "b": 60.0}, keys=30, batches=40)
    seen = [set(join.push(batch)["k"].to_pylist()) for batch in batches]
    turns = [set[int]().union(*seen[i : i + 4]) for i in range(4, 40, 4)]
    assert all(one != other for one, other in pairwise(turns))
    assert len(set[int]().union(*turns)) == 30
