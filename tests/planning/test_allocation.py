"""Who gets the resources: JAQ-C2, C5 to C9, C13, U1 to U3, and what every planner keeps."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamjoin.errors import ConfigError
from streamjoin.planning.allocation import Allocation
from streamjoin.planning.heuristics import (
    best_hjp,
    e_best_hjp,
    equal_hj,
    global_hjpr,
    s_best_hjp,
)
from streamjoin.planning.jaqpot import grepp
from streamjoin.planning.knapsack import dynamic, fill, greedy
from streamjoin.planning.plan_model import PlanModel
from streamjoin.planning.planners import PLANNERS, allocate
from tests.planning.plans import FIGURE_2A, TABLE_2, TABLE_4, lively_models, models

HEURISTICS = (equal_hj, global_hjpr, e_best_hjp, s_best_hjp)


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


def test_grepp_without_caps() -> None:  # JAQ-C7
    allocation = grepp(TABLE_2, 30, capped=False)
    assert allocation.allowances == pytest.approx([0, 20.625, 0, 9.375])
    assert allocation.throughput == pytest.approx(30 * 5 / 16)
    assert allocation.throughput > 8 > 6


def test_grepp_with_caps() -> None:  # JAQ-U3
    allocation = grepp(TABLE_2, 30)
    assert allocation.paths == pytest.approx([14, 16, 0])
    assert allocation.throughput == pytest.approx(5 + 14 * 4 / 15)


@pytest.mark.parametrize(
    ("planner", "allowances", "made", "results"),
    [
        (equal_hj, [75, 75, 75, 75], 412.5, 450),
        (global_hjpr, [13.0435, 130.4348, 26.0870, 130.4348], 658.6957, 678.2609),
        (e_best_hjp, [0, 150, 0, 150], 750, 750),
        (s_best_hjp, [0, 50, 0, 250], 250, 1250),  # the paper prints 150 and 750 (JAQ-I1)
        (grepp, [0, 50, 0, 250], 250, 1250),
    ],
)
def test_table_4(  # JAQ-C9
    planner: object, allowances: list[float], made: float, results: float
) -> None:
    assert callable(planner)
    allocation: Allocation = planner(TABLE_4, 300)
    assert allocation.allowances == pytest.approx(allowances, rel=1e-5)
    assert TABLE_4.flow(allocation.allowances).produced[3] == pytest.approx(made, rel=1e-6)
    assert allocation.throughput == pytest.approx(results, rel=1e-6)


def test_table_4_with_rounded_allowances() -> None:  # JAQ-C9: GlobalHJPR as printed
    assert TABLE_4.throughput([13, 130, 27, 130]) == 677


# ---- what always holds


@given(models(), st.floats(0, 1e5))
def test_whoever_plans(model: PlanModel, mu: float) -> None:
    best = grepp(model, mu).throughput
    for planner in PLANNERS:
        allocation = allocate(planner, model, mu)
        flow = model.flow(allocation.allowances)
        assert np.all(np.isfinite(allocation.allowances))
        assert np.all(allocation.allowances >= 0)
        assert allocation.resources <= mu * (1 + 1e-9) + 1e-300
        assert allocation.resources == pytest.approx(
            model.costs @ flow.probes, abs=1e-9 * mu + 1e-300
        )
        assert allocation.throughput == pytest.approx(flow.throughput, rel=1e-6, abs=1e-9)
        assert allocation.throughput <= best * (1 + 1e-6) + 1e-9


@given(models(), st.floats(0, 1e4))
def test_giving_again_loses_nothing(model: PlanModel, mu: float) -> None:  # JAQ-I13
    for planner in HEURISTICS:
        once, again = planner(model, mu), planner(model, mu, redistribute=True)
        assert again.resources <= mu * (1 + 1e-9)
        assert again.throughput >= once.throughput * (1 - 1e-9)


@given(lively_models())
def test_giving_again_uses_all(model: PlanModel) -> None:
    mu = model.saturation_resources / 2
    for planner in HEURISTICS:
        assert planner(model, mu, redistribute=True).resources == pytest.approx(mu, rel=1e-6)


@given(lively_models())
def test_full_resources_give_full_throughput(model: PlanModel) -> None:  # JAQ-U1
    allocation = grepp(model, model.saturation_resources)
    assert allocation.throughput == pytest.approx(model.saturation_throughput)
    assert grepp(model, 2 * model.saturation_resources).resources == pytest.approx(
        model.saturation_resources
    )


@given(models(), st.floats(0, 1e5), st.floats(0, 1e5), st.floats(0, 1))
def test_throughput_is_concave(model: PlanModel, low: float, high: float, part: float) -> None:
    between = grepp(model, part * low + (1 - part) * high).throughput  # JAQ-U2
    chord = part * grepp(model, low).throughput + (1 - part) * grepp(model, high).throughput
    assert between >= chord * (1 - 1e-9)


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


# ---- how many steps they take (JAQ-C13)


class Counted(float):
    """A number that counts comparisons."""

    comparisons = 0

    def __lt__(self, other: float) -> bool:
        Counted.comparisons += 1
        return float(self) < float(other)


@pytest.mark.parametrize("k", [4, 16, 64, 256])
def test_steps_of_grepp(k: int) -> None:
    values = np.random.default_rng(k).random(k)
    for mu in (1.0, 1e6):
        Counted.comparisons = 0
        fill([Counted(value) for value in values], [1.0] * k, mu)
        assert Counted.comparisons <= k * math.log2(k)


@pytest.mark.parametrize(("k", "mu"), [(3, 100), (3, 200), (6, 100)])
def test_steps_of_dynamic_programming(k: int, mu: int) -> None:
    assert dynamic([1] * k, [1.0] * k, mu).steps == k * mu
    assert greedy([1] * k, [1.0] * k, mu).steps == k


@pytest.mark.parametrize("mu", [-1, math.inf, math.nan])
def test_refuses_wrong_resources(mu: float) -> None:
    for planner in PLANNERS:
        with pytest.raises(
            ConfigError, match=r"mu: got .*; allowed: a finite number of at least 0"
        ):
            allocate(planner, TABLE_4, mu)


def test_refuses_an_unknown_planner() -> None:
    with pytest.raises(ConfigError, match="planner: got 'best'; allowed: jaqpot, exact, grepp"):
        allocate("best", TABLE_4, 1)
