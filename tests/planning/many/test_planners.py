"""Analyse and actuate (JAQ-A25)."""

import json
import math

import pytest

from streamjoin.errors import ConfigError
from streamjoin.planning.many.cover import uncovered
from streamjoin.planning.many.plan_model import PlanModel
from streamjoin.planning.many.planners import MAX_DECISIONS, Adaptation, Analysis, Analyst, analyse
from streamjoin.planning.many.tree import Tree
from tests.planning.many.plans import FIGURE_2A, TABLE_4


def test_analyses_when_something_varies() -> None:
    adaptation = Adaptation(epsilon=0.1)
    assert adaptation.should_analyse({"a": 1}) == "first analysis"
    adaptation.analysed({"a": 100.0, "b": 1.0, "c": 0.0})
    assert adaptation.should_analyse({"a": 109.0, "b": 0.91, "c": 0.0}) == ""
    assert adaptation.should_analyse({"a": 111.0, "b": 0.8, "c": 0.0}) == "b changed by 20 %"
    assert adaptation.should_analyse({"a": 100.0, "b": 1.0, "c": 0.1}) == "c changed by inf %"
    assert adaptation.should_analyse({"a": 100.0, "c": 0.0}) == "b changed by 100 %"


def analysis(mu: float = 300, freshness: list[float] | None = None) -> Analysis:
    return analyse("jaqpot", TABLE_4, mu, freshness)


def test_actuates_for_a_gain() -> None:
    adaptation = Adaptation(p=0.05)
    assert adaptation.decide(0, "first", None, analysis()).actuated
    best = analysis().allocation.allowances
    same = adaptation.decide(1, "a", best, analysis())
    assert (same.actuated, same.why) == (False, "a: gain 0 % only")
    little = adaptation.decide(2, "b", best * 0.96, analysis())
    assert (little.actuated, little.why) == (False, "b: gain 4.17 % only")
    much = adaptation.decide(3, "c", best * 0.8, analysis())
    assert (much.actuated, much.why) == (True, "c: gain 25 %")
    assert [much.before, much.after] == pytest.approx([1000, 1250])


def test_actuates_when_resources_shrink() -> None:
    best = analysis(300).allocation.allowances
    decision = Adaptation().decide(1, "mu", best, analysis(200))
    assert decision.actuated
    assert decision.after < decision.before
    assert decision.why == "mu: the probes cost 300 a second, there are 200"


def test_actuates_when_a_state_goes_stale() -> None:
    only_c = [0, 0, 300, 0]
    fresh = analysis(300, [15.0, math.inf, math.inf])
    assert fresh.refresh is not None
    assert not uncovered(TABLE_4, fresh.allocation.allowances, fresh.refresh)
    decision = Adaptation(p=9).decide(1, "x", only_c, fresh)
    assert decision.why == "x: the state of 'a b' lacks 40 tuples a second"
    infeasible = analysis(300, [9.0, math.inf, math.inf])  # nothing to gain by changing
    assert infeasible.allocation.infeasible
    assert not Adaptation(p=9).decide(1, "x", only_c, infeasible).actuated


def test_epsilon_follows_what_analyses_lead_to() -> None:
    adaptation, best = Adaptation(0.08, 0.05), analysis().allocation.allowances
    for _ in range(50):
        adaptation.decide(0, "", best, analysis())
    assert adaptation.epsilon == 0.32
    for _ in range(50):
        adaptation.decide(0, "", best / 2, analysis())
    assert adaptation.epsilon == 0.02
    fixed = Adaptation(0.08, 0.05, tuned=False)
    fixed.decide(0, "", best, analysis())
    fixed.learn(100, 50)
    assert (fixed.epsilon, fixed.p) == (0.08, 0.05)


def test_p_follows_the_errors_of_predictions() -> None:
    adaptation = Adaptation(p=0.05)
    for _ in range(100):
        adaptation.learn(predicted=100, observed=110)
    assert adaptation.p == pytest.approx(0.1, rel=1e-3)
    adaptation.learn(predicted=1, observed=1000)
    assert adaptation.p == pytest.approx(0.2)
    for _ in range(100):
        adaptation.learn(predicted=100, observed=100)
    assert adaptation.p == 0.0125
    adaptation.learn(predicted=0, observed=5)
    assert adaptation.p == 0.0125


def test_survives_json() -> None:
    adaptation = Adaptation(0.1, 0.2)
    adaptation.analysed({"a": 1.5, "s": 0.1})
    adaptation.decide(3, "why", None, analysis())
    adaptation.learn(1, 2)
    again = Adaptation.from_dict(json.loads(json.dumps(adaptation.to_dict(), allow_nan=False)))
    assert again.to_dict() == adaptation.to_dict()
    assert again.decisions == adaptation.decisions
    assert again.should_analyse({"a": 1.5, "s": 0.1}) == ""


def test_the_log_is_bounded() -> None:
    adaptation, found = Adaptation(), analysis()
    for at in range(MAX_DECISIONS + 5):
        adaptation.decide(at, "", None, found)
    assert [decision.at for decision in adaptation.decisions] == list(range(5, MAX_DECISIONS + 5))


# ---- in a thread of its own


def test_the_analyst_finds_what_the_planner_finds() -> None:
    analyst = Analyst()
    freshness = [15.0, math.inf, math.inf]
    for planner in ("jaqpot", "exact"):
        analyst.start(planner, TABLE_4, 300, freshness)
        found, expected = analyst.result(), analyse(planner, TABLE_4, 300, freshness)
        assert found.allocation.allowances.tolist() == expected.allocation.allowances.tolist()
        assert found.refresh is not None
        assert found.refresh.rates.tolist() == [0, 0, 0, 40]


def test_the_last_question_counts() -> None:
    analyst = Analyst()
    other = PlanModel.of(Tree.parse("a b"), [500, 700], [5000, 500], [0.002, 0.005])
    analyst.start("jaqpot", other, 300)
    analyst.start("jaqpot", FIGURE_2A, 300)
    assert analyst.result().allocation.throughput == 1500


def test_the_analyst_hands_on_errors() -> None:
    analyst = Analyst()
    with pytest.raises(ConfigError, match="result: got no analysis; allowed: after start"):
        analyst.result()
    analyst.start("best", FIGURE_2A, 300)
    with pytest.raises(ConfigError, match="planner: got 'best'"):
        analyst.result()


@pytest.mark.parametrize("value", [-0.1, 10, math.nan])
def test_refuses_wrong_thresholds(value: float) -> None:
    with pytest.raises(ConfigError, match="epsilon: got"):
        Adaptation(epsilon=value)
    with pytest.raises(ConfigError, match="p: got"):
        Adaptation(p=value)
