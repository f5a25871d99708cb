"""The choice of a method for a micro-batch: its limits, its inertia, and the paper's equations."""

from dataclasses import asdict
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from papers.kang.cost_model import PAPER, hash_one_way, nested_one_way
from streamjoin.errors import ConfigError
from streamjoin.planning.two.algorithm_choice import (
    FAR_ROWS,
    Load,
    Method,
    OperationCosts,
    choose,
    costs_of,
)

OPERATIONS = OperationCosts()
METHODS: tuple[Method, ...] = get_args(Method)


def only(**costs: float) -> OperationCosts:
    """Nothing else costs anything."""
    return OperationCosts(**{**dict.fromkeys(asdict(OPERATIONS), 0.0), **costs})


amounts = st.floats(0, 1e7)
loads = st.builds(Load, amounts, amounts, amounts, amounts, st.integers(0, 64))


@pytest.mark.parametrize(
    ("load", "method"),
    [
        (Load(1, stored=20, stored_keys=20, inserted=1, n_windows=1), "nested"),
        (Load(1, stored=5_000_000, stored_keys=10_000, inserted=1, n_windows=4), "hash"),
        (Load(100, stored=5_000_000, stored_keys=10_000, inserted=100, n_windows=4), "hash"),
        (Load(1e6, stored=1e6, stored_keys=10_000, inserted=1e6, n_windows=4), "batch"),
        (Load(1000, stored=2000, stored_keys=100, inserted=1000, n_windows=4), "batch"),
    ],
)
def test_limits(load: Load, method: Method) -> None:
    assert choose(load, OPERATIONS) == method


@given(loads)
def test_without_a_current_method_the_cheapest(load: Load) -> None:
    costs = costs_of(load, OPERATIONS)
    assert tuple(costs) == METHODS
    assert costs[choose(load, OPERATIONS)] == min(costs.values())


@given(loads, st.sampled_from(METHODS), st.floats(0, 0.9))
def test_a_change_pays_more_than_the_margin(load: Load, current: Method, margin: float) -> None:
    costs = costs_of(load, OPERATIONS)
    chosen = choose(load, OPERATIONS, current, margin)
    if chosen != current:
        assert costs[chosen] == min(costs.values()) < (1 - margin) * costs[current]
    elif load.arrivals:
        assert min(costs.values()) >= (1 - margin) * costs[current]


def test_no_change_back_and_forth_near_a_crossover() -> None:
    methods: list[Method] = []
    current: Method | None = None
    for n in (9_000, 20_000, 9_000, 20_000, 50_000, 20_000, 9_000, 1_000):
        load = Load(n, stored=200_000, stored_keys=200_000, inserted=n, n_windows=2)
        current = choose(load, OPERATIONS, current)
        methods.append(current)
    assert methods == ["hash"] * 4 + ["batch"] * 3 + ["hash"]


@pytest.mark.parametrize("current", METHODS)
def test_a_batch_without_arrivals_changes_nothing(current: Method) -> None:
    load = Load(0, stored=1e6, stored_keys=100, inserted=5, n_windows=4)
    assert choose(load, OPERATIONS, current) == current


def test_without_fixed_costs_and_caches_it_is_the_papers_model() -> None:
    """Eqs. 2 and 3, for a second of arrivals, and one basic window."""
    rate_a, rate_b, window_b, keys_b = 10, 100, 60, 10
    stored = rate_b * window_b
    bucket = stored / keys_b
    load = Load(rate_a, stored, keys_b, inserted=rate_b, n_windows=1)
    n, h = PAPER.nested, PAPER.hashed
    as_nested = only(compare=n, invalidate=n)
    as_hash = only(insert=h, touch=h, invalidate=h * bucket)
    nested = nested_one_way(rate_a, rate_b, window_b, PAPER)
    assert costs_of(load, as_nested)["nested"] == pytest.approx(nested)
    hashed = hash_one_way(rate_a, rate_b, window_b, keys_b, PAPER)
    assert costs_of(load, as_hash)["hash"] == pytest.approx(hashed)


@pytest.mark.parametrize("n_keys", [9, 12])
def test_without_lookups_the_choice_is_the_papers(n_keys: int) -> None:
    """Eq. 8 for a slow B: nested loops if |B| is less than C_h / C_n, here 10."""
    load = Load(100, stored=1000, stored_keys=n_keys, inserted=0, n_windows=1)
    costs = costs_of(load, only(compare=1, touch=10))
    assert (costs["nested"] < costs["hash"]) == (n_keys < 10)


def test_lookups_in_large_indexes_cost_more() -> None:
    small, large = (
        costs_of(Load(100, n, 1e12, inserted=0, n_windows=1), only(far_probe=1))["hash"]
        for n in (1_000, FAR_ROWS)
    )
    assert small < 1
    assert large == pytest.approx(50, rel=1e-3)


@pytest.mark.parametrize("margin", [-0.1, 1])
def test_bad_margin_is_refused(margin: float) -> None:
    with pytest.raises(ConfigError, match=r"margin: got .*; allowed: from 0 to less than 1"):
        choose(Load(1, 1, 1, 1, 1), OPERATIONS, margin=margin)
