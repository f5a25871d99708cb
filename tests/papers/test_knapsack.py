"""Discrete knapsacks and BestHJP: JAQ-C2, C5, C6 and C13."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from papers.jaqpot.knapsack import best_hjp, dynamic, greedy
from streamjoin.planning.many.jaqpot import (
    grepp,
)
from streamjoin.planning.many.plan_model import PlanModel
from tests.planning.many.plans import FIGURE_2A, lively_models


# ---- the paper's numbers
@pytest.mark.parametrize(
    ("mu", "allowances", "results"),
    [(300, [0, 300], 1500), (1000, [300, 700], 4250), (1200, [500, 700], 4750)],
)
def test_best_hjp(mu: float, allowances: list[float], results: float) -> None:  # JAQ-C2
    allocation = best_hjp(FIGURE_2A, mu)
    assert allocation.allowances.tolist() == allowances
    assert allocation.throughput == results
    assert FIGURE_2A.flow(allowances).produced[:2].sum() == 1200  # all are inserted


def test_other_ways_to_divide_one_join() -> None:  # JAQ-C2, derived
    assert FIGURE_2A.throughput([300, 0]) == 750
    assert FIGURE_2A.throughput([150, 150]) == 1125


@pytest.mark.parametrize(
    ("mu", "by_greed", "best"),
    [
        (15, 4, 4),
        (16, 5, 5),
        (26, 6, 6),
        (30, 6, 8),
        (31, 9, 9),
        (32, 10, 10),
        (45, 11, 12),
        (46, 11, 13),
        (47, 14, 14),
        (60, 16, 16),
        (100, 30, 30),
    ],
)
def test_whole_cycles(mu: int, by_greed: float, best: float) -> None:  # JAQ-C5, C6
    table = [15, 16, 10], [4, 5, 1]
    assert greedy(*table, mu).output == by_greed
    assert dynamic(*table, mu).output == best


def test_whole_cycles_with_each_path_once() -> None:  # JAQ-C6
    assert dynamic([15, 16, 10], [4, 5, 1], 30, once=True).output == 6
    assert greedy([15, 16, 10], [4, 5, 1], 100, once=True).counts == (1, 1, 1)


@given(lively_models(most=5))
def test_best_hjp_is_the_optimum_of_one_join(model: PlanModel) -> None:
    mu = model.saturation_resources / 3
    best, found = grepp(model, mu).throughput, best_hjp(model, mu).throughput
    assert found <= best * (1 + 1e-9)
    if model.tree.n_streams == 2:
        assert found == pytest.approx(best)


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9)), min_size=1, max_size=4),
    st.integers(0, 30),
    st.booleans(),
)
def test_dynamic_programming_tries_everything(
    paths: list[tuple[int, int]], mu: int, once: bool
) -> None:
    resources, outputs = [used for used, _ in paths], [float(out) for _, out in paths]

    def best(left: int, first: int) -> float:
        if first == len(paths):
            return 0.0
        most = min(left // resources[first], 1 if once else left)
        return max(
            n * outputs[first] + best(left - n * resources[first], first + 1)
            for n in range(most + 1)
        )

    packing = dynamic(resources, outputs, mu, once=once)
    assert packing.output == best(mu, 0)
    assert packing.used <= mu
    assert greedy(resources, outputs, mu, once=once).output <= packing.output


@pytest.mark.parametrize(("k", "mu"), [(3, 100), (3, 200), (6, 100)])
def test_steps_of_dynamic_programming(k: int, mu: int) -> None:
    assert dynamic([1] * k, [1.0] * k, mu).steps == k * mu
    assert greedy([1] * k, [1.0] * k, mu).steps == k
