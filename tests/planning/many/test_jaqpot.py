"""Who gets the resources: JAQ-C7 to C9, C13, U1 to U3, I4, and what every planner keeps."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamjoin.errors import ConfigError
from streamjoin.planning.many.cover import Refresh, gh_wmscp, too_dear, uncovered
from streamjoin.planning.many.jaqpot import HEURISTICS, fill, grepp, heuristic, jaqpot
from streamjoin.planning.many.plan_model import PathTable, PlanModel
from streamjoin.planning.many.planners import PLANNERS, allocate
from streamjoin.planning.many.tree import Tree
from tests.planning.many.plans import TABLE_2, TABLE_4, lively_models, models, refresh


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
        ("equal-hj", [75, 75, 75, 75], 412.5, 450),
        ("global-hjpr", [13.0435, 130.4348, 26.0870, 130.4348], 658.6957, 678.2609),
        ("e-best-hjp", [0, 150, 0, 150], 750, 750),
        ("s-best-hjp", [0, 50, 0, 250], 250, 1250),  # the paper prints 150 and 750 (JAQ-I1)
        ("grepp", [0, 50, 0, 250], 250, 1250),
    ],
)
def test_table_4(  # JAQ-C9
    planner: str, allowances: list[float], made: float, results: float
) -> None:
    allocation = allocate(planner, TABLE_4, 300)
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
        once = heuristic(planner, model, mu)
        again = heuristic(planner, model, mu, redistribute=True)
        assert again.resources <= mu * (1 + 1e-9)
        assert again.throughput >= once.throughput * (1 - 1e-9)


@given(lively_models())
def test_giving_again_uses_all(model: PlanModel) -> None:
    mu = model.saturation_resources / 2
    for planner in HEURISTICS:
        allocation = heuristic(planner, model, mu, redistribute=True)
        assert allocation.resources == pytest.approx(mu, rel=1e-6)


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


@given(models(), st.floats(0, 1e4))
def test_without_freshness_it_is_grepp(model: PlanModel, mu: float) -> None:
    assert jaqpot(model, mu).allowances.tolist() == grepp(model, mu).allowances.tolist()
    nothing = Refresh(np.zeros(model.tree.root))
    assert jaqpot(model, mu, nothing).throughput == grepp(model, mu).throughput


@given(lively_models(least=3), st.floats(0.01, 0.9), st.floats(0.05, 1.5))
def test_covers_within_its_resources(model: PlanModel, share: float, resources: float) -> None:
    mu, needed = resources * model.saturation_resources, refresh(model, share)
    cost = gh_wmscp(model, needed).cost
    allocation = jaqpot(model, mu, needed)
    assert allocation.cover == cost
    assert allocation.resources <= mu * (1 + 1e-9)
    assert allocation.throughput <= grepp(model, mu).throughput * (1 + 1e-9)
    assert (allocation.infeasible is None) == (too_dear(cost, mu) is None)
    if allocation.infeasible is None:
        assert allocation.paths is not None
        assert np.all(allocation.paths <= PathTable.of(model).caps * (1 + 1e-9))
        assert not uncovered(model, allocation.allowances, needed)


def test_the_cover_and_the_rest_add_up() -> None:  # JAQ-I4
    model = PlanModel.of(
        Tree.parse("(a b) c"), [500, 700, 600], [5000, 500, 100, 2000], [0.001, 0.005]
    )
    allocation = jaqpot(model, 300, Refresh(np.array([0, 0, 0, 40.0])))
    assert allocation.paths == pytest.approx([0, 48, 252])
    assert allocation.cover == pytest.approx(48)
    assert allocation.resources == pytest.approx(300)


@pytest.mark.parametrize(
    ("needed", "mu", "why"),
    [
        (Refresh(np.zeros(4), "no slack"), 300, "no slack"),
        (Refresh(np.array([0, 0, 0, 40.0])), 30, "18 more than the 30 there are"),
        (Refresh(np.array([0, 0, 0, 1e4])), 300, "gets 3750 at most"),
        (Refresh(np.array([0, 0, 0, math.inf])), 300, "needs inf new tuples"),
    ],
)
def test_falls_back_to_throughput(needed: Refresh, mu: float, why: str) -> None:
    allocation = jaqpot(TABLE_4, mu, needed)
    assert allocation.infeasible is not None
    assert why in allocation.infeasible
    assert allocation.throughput == grepp(TABLE_4, mu).throughput


def test_twenty_streams() -> None:
    tree = Tree.linear([f"s{i}" for i in range(20)])
    model = PlanModel.of(tree, [1000] * 20, [5000] * 38, [0.1] * 19)
    needed = Refresh(np.array([0.0] * 20 + [10.0] * 18))
    allocation = jaqpot(model, model.saturation_resources / 2, needed)
    assert allocation.infeasible is None
    assert not uncovered(model, allocation.allowances, needed)
