"""The linear programmes: never worse than the greedy ones, and equal to GrePP without freshness."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from papers.jaqpot.knapsack import by_multiples
from streamjoin.planning.many.cover import Refresh, gh_wmscp, refresh_rates, uncovered
from streamjoin.planning.many.jaqpot import exact, exact_cover, grepp, jaqpot
from streamjoin.planning.many.plan_model import PathTable, PlanModel
from streamjoin.planning.many.planners import PLANNERS, allocate
from streamjoin.planning.many.tree import Tree
from tests.planning.many.plans import TABLE_4, lively_models, models, refresh

NEAR = 1e-6


@given(models(), st.floats(0, 1e5), st.booleans())
def test_without_freshness_greed_is_the_optimum(model: PlanModel, mu: float, match: bool) -> None:
    best = exact(model, mu, match=match).throughput
    assert best == pytest.approx(grepp(model, mu).throughput, rel=NEAR, abs=1e-9)


@given(lively_models(least=3), st.floats(0.01, 0.9), st.floats(0.05, 1.5))
def test_never_worse_than_jaqpot(model: PlanModel, share: float, resources: float) -> None:
    mu, needed = resources * model.saturation_resources, refresh(model, share)
    greedy = jaqpot(model, mu, needed)
    paths, free = exact(model, mu, needed), exact(model, mu, needed, match=False)
    for allocation in (paths, free):
        flow = model.flow(allocation.allowances)
        assert allocation.resources <= mu * (1 + 1e-9)
        assert allocation.resources == pytest.approx(model.costs @ flow.probes, rel=NEAR)
        assert allocation.throughput == pytest.approx(flow.throughput, rel=NEAR)
        assert allocation.infeasible or not uncovered(model, allocation.allowances, needed)
    if not greedy.infeasible:
        assert paths.infeasible is None
        assert greedy.throughput <= paths.throughput * (1 + NEAR)
    if not paths.infeasible:
        assert free.infeasible is None
        assert paths.throughput <= free.throughput * (1 + NEAR)
        assert paths.paths is not None
        assert np.all(paths.paths <= PathTable.of(model).caps * (1 + NEAR))


@given(lively_models(least=3), st.floats(0.01, 0.9), st.booleans())
def test_the_cheapest_cover(model: PlanModel, share: float, capped: bool) -> None:
    needed, m = refresh(model, share), model.tree.n_streams - 2
    greedy = gh_wmscp(model, needed, capped=capped)
    paths = exact_cover(model, needed, capped=capped)
    free = exact_cover(model, needed, capped=capped, match=False)
    assert free.cost <= paths.cost * (1 + NEAR)
    assert paths.cost <= greedy.cost * (1 + NEAR)
    if capped:
        assert not uncovered(model, PathTable.of(model).allowances(paths.resources), needed)
        listed = gh_wmscp(model, needed, search=by_multiples)
        assert paths.cost <= listed.cost * (1 + NEAR)
        assert not uncovered(model, PathTable.of(model).allowances(listed.resources), needed)
    else:  # JAQ-A23: within a logarithm of the optimum
        assert greedy.cost <= paths.cost * (1 + math.log(m)) * (1 + NEAR)


def test_what_refreshes_need_not_probe_on() -> None:
    needed = Refresh(np.array([0, 0, 0, 40.0]))
    assert exact_cover(TABLE_4, needed).cost == pytest.approx(48)
    assert exact_cover(TABLE_4, needed, match=False).cost == pytest.approx(8)
    tight = exact(TABLE_4, 10, needed, match=False)
    assert tight.infeasible is None
    assert tight.throughput > 0
    assert exact(TABLE_4, 10, needed).infeasible == (
        "freshness: keeping intermediate states fresh costs 48 a second, 38 more than the 10 there "
        "are"
    )


@pytest.mark.parametrize("needed", [Refresh(np.zeros(4), "no"), Refresh(np.array([0, 0, 0, 1e4]))])
def test_falls_back_to_throughput(needed: Refresh) -> None:
    allocation = exact(TABLE_4, 300, needed)
    assert allocation.infeasible
    assert (allocation.planner, allocation.throughput) == ("exact", 1250)


@pytest.mark.parametrize("match", [True, False])
def test_twenty_streams(match: bool) -> None:
    tree = Tree.linear([f"s{i}" for i in range(20)])
    model = PlanModel.of(tree, [1000] * 20, [5000] * 38, [0.1] * 19)
    needed = Refresh(np.array([0.0] * 20 + [10.0] * 18))
    mu = model.saturation_resources / 2
    best = exact(model, mu, needed, match=match)
    assert not uncovered(model, best.allowances, needed)
    assert best.throughput >= jaqpot(model, mu, needed).throughput * (1 - NEAR)


@given(models(endless=True), st.floats(0, 1e5), st.floats(0.1, 100) | st.just(math.inf))
def test_whatever_the_numbers(model: PlanModel, mu: float, freshness: float) -> None:
    needed = refresh_rates(model, [freshness] * model.tree.n_streams)
    for planner in PLANNERS:
        allocation = allocate(planner, model, mu, needed)
        assert np.all(np.isfinite(allocation.allowances))
        assert np.isfinite([allocation.throughput, allocation.cover]).all()
        assert allocation.resources <= mu * (1 + 1e-9)
        if planner in ("jaqpot", "exact") and not allocation.infeasible:
            assert not uncovered(model, allocation.allowances, needed)


@given(lively_models(least=3), st.floats(0.01, 0.9), st.booleans())
def test_just_enough_is_enough(model: PlanModel, share: float, match: bool) -> None:
    needed = refresh(model, share)
    mu = exact_cover(model, needed, match=match).cost
    allocation = exact(model, mu, needed, match=match)
    assert allocation.infeasible is None
    assert allocation.resources <= mu * (1 + 1e-9)
    assert not uncovered(model, allocation.allowances, needed)
    assert exact(model, 0.999 * mu, needed, match=match).infeasible


def test_goes_on_when_the_solver_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streamjoin.planning.many.jaqpot._solve", lambda *args: None)
    needed = Refresh(np.array([0, 0, 0, 40.0]))
    allocation = exact(TABLE_4, 300, needed)
    assert allocation.allowances.tolist() == jaqpot(TABLE_4, 300, needed).allowances.tolist()
    assert allocation.planner == "exact"
    assert allocation.cover == pytest.approx(48)
