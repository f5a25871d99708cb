"""The numbers of CLAIMS (KAN-C*), to the printed digits."""

from collections import deque
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from papers.kang.cost_model import (
    PAPER,
    Values,
    crossover_exact,
    crossover_ratio,
    hash_one_way,
    hash_one_way_lazy,
    hhj,
    hnj,
    join_selectivity,
    nested_one_way,
    nested_one_way_lazy,
    nhj,
    nnj,
    output_rate,
    prefers_nested,
    ratio_from_crossover,
    thrashing_rate,
)
from papers.operators.moving_window import AccessCosts
from streamjoin.errors import ConfigError

JOINS = (hhj, hnj, nhj, nnj)
Join = Callable[..., Values]

positive = st.floats(0.1, 500)


def at(join: Join, rate_b: Values, keys: float = 10) -> Values:
    """Set-up of Figures 2, 3, 6 and 7."""
    return join(10, rate_b, 60, 60, keys, keys, PAPER)


@pytest.mark.parametrize(
    ("rate_b", "costs"),
    [
        (10, (1573, 3796.5, 3796.5, 6020)),
        (60, (19155.5, 20796.5, 34429, 36070)),
        (70, (25012, 24196.5, 42895.5, 42080)),
        (100, (47261.5, 34396.5, 72975, 60110)),
        (120, (65994.5, 41196.5, 96928, 72130)),
        (160, (112820.5, 54796.5, 154194, 96170)),
    ],
)
def test_figure_2(rate_b: float, costs: tuple[float, ...]) -> None:
    """KAN-C1."""
    assert [at(join, rate_b) for join in JOINS] == pytest.approx(costs, rel=1e-12)


@pytest.mark.parametrize(
    ("rate_b", "costs"),
    [(140, (43972.5, 45071.5, 83051, 84150)), (150, (50024, 48276.5, 91907.5, 90160))],
)
def test_figure_3(rate_b: float, costs: tuple[float, ...]) -> None:
    """KAN-C2."""
    assert [at(join, rate_b, keys=20) for join in JOINS] == pytest.approx(costs, rel=1e-12)


def test_crossovers_of_figures_2_and_3() -> None:
    """KAN-C1, C2, C3."""
    first, second = (float(crossover_exact(10, 60, keys, PAPER)) for keys in (10, 20))
    assert (round(first, 2), round(second, 2)) == (67.01, 144.03)
    assert round(second / first, 3) == 2.149
    limits = [float(crossover_ratio(keys, PAPER)) for keys in (10, 20)]
    assert round(limits[1] / limits[0], 3) == 2.149


def test_full_joins_cross_where_one_direction_crosses() -> None:
    """KAN-C4."""
    rate_b = crossover_exact(10, 60, 10, PAPER)
    assert at(hhj, rate_b) == pytest.approx(at(hnj, rate_b))
    assert at(nhj, rate_b) == pytest.approx(at(nnj, rate_b))
    both = thrashing_rate(lambda b: at(hhj, b) - at(nnj, b), 0, 70, 200)
    assert round(both, 1) == 133.2


@given(positive, positive, positive, positive, positive, positive)
def test_exchanged_streams_exchange_hnj_and_nhj(
    a: float, b: float, t_a: float, t_b: float, n_a: float, n_b: float
) -> None:
    """KAN-C4, KAN-A12."""
    for join, other in ((hhj, hhj), (nnj, nnj), (hnj, nhj)):
        mirrored = other(b, a, t_b, t_a, n_b, n_a, PAPER)
        assert join(a, b, t_a, t_b, n_a, n_b, PAPER) == pytest.approx(mirrored)


@given(positive, positive, positive, positive, positive, positive)
def test_sums_of_directions_are_the_printed_formulas(
    a: float, b: float, t_a: float, t_b: float, n_a: float, n_b: float
) -> None:
    """KAN-A4, A9 to A12."""
    n, h = PAPER.nested, PAPER.hashed
    bucket_a, bucket_b = a * t_a / n_a, b * t_b / n_b
    printed = (
        (a + b) * (bucket_b + bucket_a + 1) * h,
        a * (t_b * b * n + bucket_a * h + h) + b * (bucket_a * h + 2 * n),
        a * (bucket_b * h + 2 * n) + b * (t_a * a * n + bucket_b * h + h),
        a * (t_b * b + 2) * n + b * (t_a * a + 2) * n,
    )
    assert [join(a, b, t_a, t_b, n_a, n_b, PAPER) for join in JOINS] == pytest.approx(printed)


def test_one_way_of_figure_4() -> None:
    """KAN-C5."""
    costs = hash_one_way(10, np.array([110, 120]), 60, 10, PAPER)
    assert costs == pytest.approx([51551.5, 60918])


def test_crossover_ratios_of_figure_5() -> None:
    """KAN-C7."""
    ratios = crossover_ratio(np.array([5, 10, 15, 20, 30, 40, 50]), PAPER)
    assert np.round(ratios, 2).tolist() == [2.85, 6.69, 10.54, 14.38, 22.08, 29.77, 37.46]


def test_overhead_ratio_from_a_crossover() -> None:
    """KAN-A13, C6."""
    assert round(float(ratio_from_crossover(10, 6.7)), 3) == 1.299
    assert ratio_from_crossover(10, 7) == 1.25
    assert ratio_from_crossover(30, crossover_ratio(30, PAPER)) == pytest.approx(1.3)


def test_worked_examples_of_the_determinant() -> None:
    """KAN-C8, C16."""
    assert round(float(crossover_ratio(10, PAPER)), 3) == 6.692
    assert prefers_nested(10, 100, 10, PAPER)
    chosen = prefers_nested(5, 45, np.array([10, 20]), PAPER)
    assert np.asarray(chosen).tolist() == [True, False]


def test_thrashing_points_of_figure_7() -> None:
    """KAN-C10."""
    costs: dict[str, Callable[[float], Values]] = {
        "nhj": lambda b: at(nhj, b),
        "nnj": lambda b: at(nnj, b),
        "hhj": lambda b: at(hhj, b),
        "hash": lambda b: hash_one_way(10, b, 60, 10, PAPER),
        "hnj": lambda b: at(hnj, b),
        "nested": lambda b: nested_one_way(10, b, 60, PAPER),
    }
    rates = [round(thrashing_rate(cost, 60_000, 10, 300), 1) for cost in costs.values()]
    assert rates == [87.9, 99.8, 114.0, 119.1, 175.3, 199.3]


def test_thrashing_point_outside_the_range_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"capacity: got 100; allowed: from 3 to 6, the costs"):
        thrashing_rate(lambda rate: 3 * rate, 100, 1, 2)


@given(rate_a=positive, slower=st.floats(0.01, 1), keys=st.floats(2.61, 1000))
def test_hash_from_the_faster_to_the_slower(rate_a: float, slower: float, keys: float) -> None:
    """KAN-C19."""
    assert not prefers_nested(rate_a, slower * rate_a, keys, PAPER)


def test_lazy_and_active_nested_loops() -> None:
    """KAN-C22."""
    rate_b = np.array([10, 100, 160, 5])
    lazy = nested_one_way_lazy(10, rate_b, 60, PAPER)
    active = nested_one_way(10, rate_b, 60, PAPER)
    assert np.asarray(lazy).tolist() == [3010, 30070, 48105, 1507.5]
    assert np.asarray(active).tolist() == [3010, 30100, 48160, 1505]


def test_lazy_hash_counts_each_expired_tuple_once() -> None:
    """The formula that the paper does not print, against a count."""
    rate_a, rate_b, window, keys, seconds = 10, 25, 8, 6, 400
    generator = np.random.default_rng(3)
    buckets: list[deque[float]] = [deque() for _ in range(keys)]
    arrivals = [(i / rate_a, True) for i in range(rate_a * seconds)]
    arrivals += [(i / rate_b, False) for i in range(rate_b * seconds)]
    accesses = 0
    for time, probes in sorted(arrivals):
        bucket = buckets[generator.integers(keys)]
        if not probes:
            bucket.append(time)
            accesses += 1
            continue
        accesses += len(bucket)
        while bucket and time - bucket[0] > window:
            bucket.popleft()
    model = hash_one_way_lazy(rate_a, rate_b, window, keys, AccessCosts(1, 1))
    assert accesses / seconds == pytest.approx(model, rel=0.03)


@given(positive, positive, st.floats(2, 500))
def test_exact_crossover_is_where_the_costs_are_equal(
    rate_a: float, window_b: float, keys_b: float
) -> None:
    """Eq. 7 before its simplification."""
    rate_b = float(crossover_exact(rate_a, window_b, keys_b, PAPER))
    for rate, nested_wins in ((rate_b * 1.01, True), (rate_b * 0.99, False)):
        if rate > 0:
            nested = nested_one_way(rate_a, rate, window_b, PAPER)
            assert (nested < hash_one_way(rate_a, rate, window_b, keys_b, PAPER)) == nested_wins


def test_output_rate_and_selectivity() -> None:
    """KAN-A16 with the numbers of KAN-C11 and C14."""
    assert output_rate(10, np.array([190, 110]), 60, 60, 0.1) == pytest.approx([22800, 13200])
    assert output_rate(5, 5, 9, 1, join_selectivity(50, 12.5)) == pytest.approx(5.0)
