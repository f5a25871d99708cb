"""GED-U1 to U7, and what every choice of basic windows must keep."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from papers.operators.selective_state import n_basic_windows
from streamjoin.core.window import FloatArray
from streamjoin.errors import ConfigError, DataError
from streamjoin.shedding.fractions import (
    POLICIES,
    BasicWindows,
    by_priority,
    choose_fractions,
    direction_adapt,
    knapsack,
    newest_first,
    rate_adapt,
)

amounts = st.just(0.0) | st.floats(1e-3, 1e4)


@st.composite
def basic_windows(draw: st.DrawFn) -> BasicWindows:
    n = draw(st.integers(0, 6))
    values, costs = (draw(hnp.arrays(np.float64, n, elements=amounts)) for _ in range(2))
    return BasicWindows(values, costs)


two_sides = st.tuples(basic_windows(), basic_windows())


def windows(values: Any, costs: Any) -> BasicWindows:
    return BasicWindows(np.asarray(values, np.float64), np.asarray(costs, np.float64))


def spent(sides: tuple[BasicWindows, BasicWindows], parts: tuple[FloatArray, FloatArray]) -> float:
    return float(sum(part @ side.costs for side, part in zip(sides, parts, strict=True)))


def gained(sides: tuple[BasicWindows, BasicWindows], parts: tuple[FloatArray, FloatArray]) -> float:
    return float(sum(part @ side.values for side, part in zip(sides, parts, strict=True)))


# ---- the specification's numbers


def test_rate_adaptation() -> None:
    """GED-U1."""
    steps = [0.4, 1.0, 0.9]
    seen = [1.0]
    for beta in steps:
        seen.append(rate_adapt(seen[-1], beta))
    assert seen[1:] == pytest.approx([0.4, 0.48, 0.432])
    assert rate_adapt(0.9, 1.3) == 1.0


@pytest.mark.parametrize(
    ("r", "lengths", "productivity", "expected"),
    [
        (0.3, (1, 1), (2, 1), (0.6, 0)),
        (0.6, (1, 1), (2, 1), (1, 0.2)),
        (0.3, (1, 1), (1, 2), (0, 0.6)),
        (0.6, (1, 1), (1, 2), (0.2, 1)),
        (0.5, (20, 10), (2, 1), (0.75, 0)),
        (0.8, (20, 10), (2, 1), (1, 0.4)),
        (0.5, (20, 10), (1, 2), (0.25, 1)),
        (1.0, (20, 10), (1, 2), (1, 1)),
        (1.0, (20, 10), (2, 1), (1, 1)),
        (0.5, (0, 10), (0, 1), (1, 0.5)),  # a stream that is not remembered
    ],
)
def test_join_direction(r: float, lengths: Any, productivity: Any, expected: Any) -> None:
    """GED-U2, U3."""
    assert direction_adapt(r, lengths, productivity) == pytest.approx(expected)


@given(st.floats(0, 1), st.tuples(amounts, amounts), st.tuples(amounts, amounts))
def test_directions_cost_what_one_fraction_costs(r: float, lengths: Any, productivity: Any) -> None:
    """GED-U3, the invariant."""
    parts = direction_adapt(r, lengths, productivity)
    assert all(0 <= part <= 1 for part in parts)
    assert np.dot(parts, lengths) == pytest.approx(r * sum(lengths))


def test_n_basic_windows() -> None:
    """GED-U5."""
    assert [n_basic_windows(*at) for at in [(20, 1), (20, 3), (200, 5), (0, 1)]] == [21, 8, 41, 1]


def test_selective_budget() -> None:
    """GED-U6: 25 of 100 tuples are two basic windows of ten and half of a third."""
    values = np.arange(10.0)
    parts = by_priority(windows(values, np.full(10, 10)), budget=25)
    assert parts.tolist() == [0.0] * 7 + [0.5, 1.0, 1.0]
    assert (
        newest_first(windows(values, np.full(10, 10)), 25).tolist() == [1.0, 1.0, 0.5] + [0.0] * 7
    )


def test_rate_adaptation_alone_gets_the_newest() -> None:
    """GED-U7: F(r), which for a flat density is r, the share that random drop gets."""
    flat, newest = windows([1, 1, 1, 1], [5] * 4), windows([4, 2, 1, 1], [5] * 4)
    nothing = windows([], [])
    for r, most in [(0.25, 0.5), (0.5, 0.75)]:
        for side, share in [(flat, r), (newest, most)]:
            parts = choose_fractions("ra", (side, nothing), r * side.costs.sum())
            assert gained((side, nothing), parts) == pytest.approx(share * side.values.sum())


# ---- properties


@pytest.mark.parametrize("policy", POLICIES)
@given(sides=two_sides, budget=amounts)
def test_spends_the_budget_and_no_more(policy: str, sides: Any, budget: float) -> None:
    parts = choose_fractions(policy, sides, budget)
    for side, part in zip(sides, parts, strict=True):
        assert part.shape == side.costs.shape
        assert bool(np.all((part >= 0) & (part <= 1)))
    needed = sum(side.costs.sum() for side in sides)
    assert spent(sides, parts) == pytest.approx(min(budget, needed), rel=1e-9, abs=1e-9)


@given(two_sides, amounts)
def test_nothing_beats_the_knapsack(sides: Any, budget: float) -> None:
    most = gained(sides, knapsack(sides, budget))
    for policy in POLICIES:
        assert gained(sides, choose_fractions(policy, sides, budget)) <= most * (1 + 1e-9) + 1e-9


@given(two_sides, amounts)
def test_mirrored(sides: Any, budget: float) -> None:
    """Which stream is the left one makes no difference but between equals."""
    gains = [gained(s, choose_fractions("best", s, budget)) for s in (sides, sides[::-1])]
    assert gains[0] == pytest.approx(gains[1], abs=1e-9)


def test_a_tie_goes_to_the_newer() -> None:
    same = windows([1, 1, 1], [5, 5, 5])
    assert by_priority(same, 7).tolist() == [1.0, 0.4, 0.0]
    assert [part.tolist() for part in knapsack((same, same), 12)] == [[1, 0.4, 0], [1, 0, 0]]


def test_empty_basic_windows_are_skipped() -> None:
    gaps = windows([0, 2, 0, 4], [0, 5, 0, 5])
    assert by_priority(gaps, 7).tolist() == [1.0, 0.4, 1.0, 1.0]
    assert newest_first(gaps, 7).tolist() == [1.0, 1.0, 1.0, 0.4]
    assert by_priority(gaps, 0).tolist() == [1.0, 0.0, 1.0, 0.0]
    assert newest_first(windows([], []), 3).tolist() == []


def test_two_way_traffic() -> None:
    """Both windows have a productive part: to prefer one whole window is not the best (GED-A13)."""
    sides = windows([9, 8, 1, 1], [1] * 4), windows([1, 1, 1, 8], [1] * 4)
    gains = {policy: gained(sides, choose_fractions(policy, sides, 3)) for policy in POLICIES}
    assert gains == {"best": 25, "ra": 14.5, "ra+tc": 21.5, "ra+jd": 18, "ra+tc+jd": 18}


def test_refusals() -> None:
    side = windows([1], [1])
    with pytest.raises(ConfigError, match="policy: got 'most'; allowed: 'best', 'ra', "):
        choose_fractions("most", (side, side), 1)
    with pytest.raises(ConfigError, match="budget: got -1; allowed: 0 or more"):
        choose_fractions("ra", (side, side), -1)
    with pytest.raises(DataError, match="values: got"):
        windows([1, 2], [1])
    with pytest.raises(DataError, match="no negative cost"):
        windows([1], [-1])
    with pytest.raises(DataError, match="finite"):
        windows([np.nan], [1])
