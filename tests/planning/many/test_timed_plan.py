"""Allowances where states follow what is formed, against those of the planners."""

import numpy as np
import pytest

from streamjoin.planning.many.plan_model import PlanModel
from streamjoin.planning.many.planners import PLANNERS, allocate
from streamjoin.planning.many.timed_plan import CLEARLY, TimedPlan, best_mix
from streamjoin.planning.many.tree import Tree
from tests.planning.many.plans import timed

TREES = ("a b", "(a b) c", "((a b) c) d", "(a b) (c d)", "((a b) (c d)) e")


def _plan(seed: int) -> TimedPlan:
    """Rates and sizes of any kind; those of joins are what full load makes them."""
    rng = np.random.default_rng(seed)
    tree = Tree.parse(TREES[seed % len(TREES)])
    rates = rng.uniform(5, 100, tree.n_streams)
    model = timed(tree, rates, rng.uniform(1, 9, tree.root), rng.uniform(0.001, 0.02, tree.root))
    costs = rng.uniform(0.5, 3, tree.root)
    return TimedPlan(tree, model.rates, model.sizes, model.sigmas, costs)


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("part", [0.05, 0.4, 0.9])
def test_no_planner_is_better_by_much_and_resources_suffice(seed: int, part: float) -> None:
    plan = _plan(seed)
    mu = part * plan.saturation_resources
    best = best_mix("jaqpot", plan, mu)
    assert best.resources <= mu * (1 + 1e-6)
    assert best.throughput >= 0.98 * part * plan.saturation_throughput
    model = PlanModel(plan.tree, plan.rates, plan.sizes, plan.sigmas, plan.costs)
    for planner in PLANNERS:
        other = plan.throughput(allocate(planner, model, mu).allowances)
        assert best.throughput * CLEARLY >= 0.98 * other


def test_all_tuples_probe_if_that_is_paid_for() -> None:
    plan = _plan(3)
    best = best_mix("exact", plan, plan.saturation_resources)
    assert best.throughput == pytest.approx(plan.saturation_throughput)
    assert best.allowances == pytest.approx(plan.saturation.probes)


def test_plans_of_many_streams_and_of_nothing() -> None:
    tree = Tree.linear([f"s{i}" for i in range(12)])
    plan = TimedPlan(tree, np.full(12, 10.0), np.full(22, 50.0), np.full(22, 0.02), np.ones(22))
    best = best_mix("jaqpot", plan, 0.3 * plan.saturation_resources)
    assert best.throughput >= 0.29 * plan.saturation_throughput
    idle = TimedPlan(tree, np.zeros(12), np.zeros(22), np.zeros(22), np.ones(22))
    assert best_mix("jaqpot", idle, 5.0).throughput == 0
