"""Fresh states at little cost: JAQ-C12, C13, U4, and what every cover keeps."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamjoin.errors import ConfigError
from streamjoin.planning.many.cover import Refresh, gh_wmscp, refresh_rates, too_dear, uncovered
from streamjoin.planning.many.plan_model import PathTable, PlanModel
from streamjoin.planning.many.tree import Tree
from tests.planning.many.plans import TABLE_4, lively_models, models, random_model, refresh

NO_LIMIT = math.inf


# ---- from freshness to refresh rates


@pytest.mark.parametrize(("times", "rate"), [(1.5, 40), (3, 10), (5, 5)])
@pytest.mark.parametrize("share", ["best", "equal"])
def test_refresh_rate_of_one_state(times: float, rate: float, share: str) -> None:  # JAQ-U4
    needed = refresh_rates(TABLE_4, [times * 10, NO_LIMIT, NO_LIMIT], share=share)  # type: ignore[arg-type]
    assert needed.rates == pytest.approx([0, 0, 0, rate])


def test_equal_shares_take_the_hardest_stream() -> None:  # JAQ-I8
    tree = Tree.parse("((a b) c) d")
    model = PlanModel.of(tree, [10, 10, 10, 10], [100, 100, 100, 100, 30, 60], [0.1, 0.1, 0.1])
    needed = refresh_rates(model, [22, 16, 14, NO_LIMIT], share="equal")
    # slack: a 12, b 6 in two states, c 4 in one
    assert needed.rates == pytest.approx([0, 0, 0, 0, 30 / 3, 60 / 3])
    assert refresh_rates(model, [22, 16, 12, NO_LIMIT], share="equal").rates[5] == 30


def test_a_stream_at_the_root_needs_its_own_window_only() -> None:
    assert not refresh_rates(TABLE_4, [NO_LIMIT, NO_LIMIT, 1000 / 600]).rates.any()
    needed = refresh_rates(TABLE_4, [NO_LIMIT, NO_LIMIT, 1.5])
    assert needed.infeasible == (
        "freshness: got 1.5 s for 'c', 0.1667 s too little; "
        "allowed: at least the 1.667 s that its state lasts"
    )


def test_freshness_of_the_window_leaves_no_slack() -> None:
    needed = refresh_rates(TABLE_4, [10, NO_LIMIT, NO_LIMIT])
    assert needed.infeasible == (
        "freshness: got 10 s for 'a', 0 s too little; "
        "allowed: more than the 10 s that its state lasts"
    )


@given(lively_models(least=3), st.floats(1.2, 6))
def test_best_shares_are_fresh_and_never_dearer(model: PlanModel, times: float) -> None:
    stays = model.sizes[: model.tree.n_streams] / model.rates
    freshness = (times * stays).tolist()
    best = refresh_rates(model, freshness)
    for stream, path in enumerate(model.tree.paths):  # JAQ-A20
        states = list(path[1:])
        in_states = (model.sizes[states] / best.rates[states]).sum()
        assert stays[stream] + in_states <= freshness[stream] * (1 + 1e-9)
    equal_cover = gh_wmscp(model, refresh_rates(model, freshness, share="equal"))
    if not equal_cover.infeasible:
        assert gh_wmscp(model, best).cost <= equal_cover.cost * (1 + 1e-9)


def test_best_shares_save_much() -> None:
    rng = np.random.default_rng(3)
    saved = []
    for _ in range(30):
        model = random_model(rng, Tree.parse("(a b) ((c d) e)"), sigmas=(0.01, 0.1))  # Table 3
        freshness = (4 * model.sizes[:5] / model.rates).tolist()
        equal = gh_wmscp(model, refresh_rates(model, freshness, share="equal"))
        best = gh_wmscp(model, refresh_rates(model, freshness))
        if not equal.infeasible:
            saved.append(1 - best.cost / equal.cost)
    assert len(saved) > 20
    assert np.mean(saved) > 0.3


@pytest.mark.parametrize("freshness", [[1, 1], [1, 1, 0], [1, 1, math.nan]])
def test_refuses_wrong_freshness(freshness: list[float]) -> None:
    with pytest.raises(ConfigError, match=r"freshness: got .* one positive number for each stream"):
        refresh_rates(TABLE_4, freshness)


# ---- covers


def covering(plan: str, needed: list[str], streams: str) -> bool:
    """Whether the paths of some streams refresh all the states."""
    tree = Tree.parse(plan)
    reached = {tree.label(n) for s in streams for n in tree.path(tree.names.index(s))[1:]}
    return set(needed) <= reached


def test_minimal_coverage() -> None:  # JAQ-C12
    figure_5a = "(a b) ((c d) e)"
    states = ["a b", "c d", "c d e"]
    assert covering(figure_5a, states, "ac")
    assert not any(covering(figure_5a, states, s) for s in ("a", "c", "ab", "ae", "cd", "ce"))
    assert covering("((a b) c) d", ["a b", "a b c"], "a")
    assert not any(covering("(a b) (c d)", ["a b", "c d"], s) for s in "abcd")
    assert covering("(a b) (c d)", ["a b", "c d"], "ac")


def test_greedy_finds_the_minimal_coverage() -> None:  # JAQ-C12
    """The states left of the root are reached by a or b, those right of it by c or d."""
    tree = Tree.parse("(a b) ((c d) e)")
    model = PlanModel.of(tree, [500] * 5, [1000, 900, 1000, 900, 300, 500, 500, 500], [0.001] * 4)
    used = set(np.flatnonzero(gh_wmscp(model, refresh(model, 0.1)).resources))
    assert used & {0, 1}
    assert used & {2, 3}


@given(lively_models(most=20), st.floats(0.01, 0.95))
def test_a_cover_covers(model: PlanModel, share: float) -> None:
    needed, table = refresh(model, share), PathTable.of(model)
    cover = gh_wmscp(model, needed)
    assert cover.infeasible is None
    assert not uncovered(model, table.allowances(cover.resources), needed)
    assert np.all(cover.resources <= table.caps * (1 + 1e-9))
    assert cover.cost == pytest.approx(cover.resources.sum())


@given(models(least=3), st.floats(0.01, 2), st.integers(0, 5))
def test_covers_or_says_why_not(model: PlanModel, share: float, which: int) -> None:
    needed = refresh(model, share)
    node = model.tree.susceptible[which % (model.tree.n_streams - 2)]
    needed.rates[node] += 1.0
    cover, table = gh_wmscp(model, needed), PathTable.of(model)
    possible = not uncovered(model, model.saturation.probes, needed)
    assert (cover.infeasible is None) == possible
    if possible:
        assert not uncovered(model, table.allowances(cover.resources), needed)
    else:
        assert cover.cost == 0


def test_says_what_a_state_lacks() -> None:
    most = 500 * 0.5 + 700 * 5
    cover = gh_wmscp(TABLE_4, Refresh(np.array([0, 0, 0, most + 10])))
    assert cover.infeasible == (
        "freshness: the state of 'a b' needs 3760 new tuples a second and gets 3750 at most, "
        "10 too few"
    )
    endless = gh_wmscp(TABLE_4, Refresh(np.array([0, 0, 0, math.inf])), capped=False)
    assert endless.infeasible is not None
    assert gh_wmscp(TABLE_4, Refresh(np.array([0, 0, 0, 4000.0])), capped=False).cost == (
        pytest.approx(4800)
    )


def test_says_what_a_cover_lacks() -> None:
    assert too_dear(48, 48) is None
    assert too_dear(48, 30) == (
        "freshness: keeping intermediate states fresh costs 48 a second, 18 more than the 30 there "
        "are"
    )


@pytest.mark.parametrize("shape", ["linear", "balanced"])
def test_steps_are_quadratic(shape: str) -> None:  # JAQ-C13
    per_square = []
    for k in (8, 16, 32, 64):
        names = [f"s{i}" for i in range(k)]
        tree = Tree.linear(names) if shape == "linear" else Tree.parse(_balanced(names))
        model = random_model(np.random.default_rng(k), tree)
        per_square.append(gh_wmscp(model, refresh(model, 0.3)).steps / k**2)
    assert max(per_square) < 6
    assert per_square[-1] < 1.2 * per_square[-2]


def _balanced(names: list[str]) -> str:
    if len(names) == 1:
        return names[0]
    half = len(names) // 2
    return f"({_balanced(names[:half])} {_balanced(names[half:])})"
