"""Freshness, then throughput: JAQ-A24, I4 and C13, against what is possible."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamjoin.planning.cover import Refresh, gh_wmscp, too_dear, uncovered
from streamjoin.planning.jaqpot import grepp, jaqpot
from streamjoin.planning.path_productivity import PathTable
from streamjoin.planning.plan_model import PlanModel
from streamjoin.planning.tree import Tree
from tests.planning.plans import TABLE_4, lively_models, models, refresh


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
