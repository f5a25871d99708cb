"""The streams of Gedik et al. (GED-D1 to D5): law of draws, rotation, rates, match densities."""

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from papers.gedik.densities import Correlation, overlap_probability
from papers.gedik.rotating_sets import BURST, RotatingSets
from streamjoin.errors import ConfigError
from streamjoin.workloads.drawing import draw_ranks

STEADY = ((60.0, 100.0),)


def _sequential(order: tuple[int, ...], weights: NDArray[np.float64]) -> float:
    """Probability of drawing these ranks one after the other, each among those left."""
    left, probability = float(weights.sum()), 1.0
    for rank in order:
        probability *= weights[rank] / left
        left -= weights[rank]
    return float(probability)


@pytest.mark.parametrize("skew", [0.0, 1.2])
def test_draws_without_repetition_follow_the_sequential_law(skew: float) -> None:
    n = 40_000
    ranks, _ = draw_ranks(np.random.default_rng(5), np.full(n, 3), domain=4, skew=skew)
    codes, counts = np.unique(ranks.reshape(n, 3) @ [16, 4, 1], return_counts=True)
    drawn = dict(zip(codes.tolist(), counts.tolist(), strict=True))
    weights = np.arange(1.0, 5.0) ** -skew
    for order in permutations(range(4), 3):
        expected = n * _sequential(order, weights)
        assert abs(drawn[order @ np.array([16, 4, 1])] - expected) < 4.5 * expected**0.5


def test_single_values_follow_the_same_law() -> None:
    ranks, offsets = draw_ranks(np.random.default_rng(5), np.ones(50_000, np.int64), 5000, 0.8)
    assert len(ranks) == offsets[-1] == 50_000
    weights = np.arange(1, 5001) ** -0.8
    expected = 50_000 * weights[:3] / weights.sum()
    assert np.abs(np.bincount(ranks)[:3] - expected).max() < 4.5 * expected[0] ** 0.5


def test_items_of_a_set_are_distinct_and_sizes_normal() -> None:
    stream = RotatingSets(STEADY, skew=1.0, cycle_s=40, seed=3).draw()
    rows = np.repeat(np.arange(len(stream)), np.diff(stream.offsets))
    assert len(np.unique(rows * 100 + stream.items)) == len(stream.items)
    assert 0 <= stream.items.min() <= stream.items.max() < 100
    sizes = np.diff(stream.offsets)
    assert sizes.min() >= 1
    assert sizes.mean() == pytest.approx(5, abs=0.06)
    assert sizes.std() == pytest.approx((1 + 1 / 12) ** 0.5, abs=0.06)


def test_a_shift_delays_what_is_popular() -> None:
    at = RotatingSets(STEADY, skew=1.0, cycle_s=40)
    late = RotatingSets(STEADY, skew=1.0, cycle_s=40, shift_s=25)
    times = np.linspace(0, 90, 1000)
    assert (at.first_items(times) == late.first_items(times + 25)).all()
    assert at.first_items(np.array([39.999, 40.0, 80.3])).tolist() == [99, 0, 0]
    drawn = RotatingSets(((4000.0, 5.0),), 2.0, cycle_s=40, size=(1, 0), seed=1).draw()
    hottest = at.first_items(drawn.times / 1e6) == drawn.items
    assert hottest.mean() == pytest.approx(1 / (np.arange(1, 101) ** -2.0).sum(), abs=0.02)


@pytest.mark.parametrize("spacing", ["constant", "poisson"])
def test_arrivals_follow_the_rates(spacing: Any) -> None:
    stream = RotatingSets(BURST, 0.6, cycle_s=40, spacing=spacing, seed=1).draw()
    assert (np.diff(stream.times) >= 0).all()
    counts = np.histogram(stream.times / 1e6, [0, 60, 75, 105, 160])[0]
    allowed = 1 if spacing == "constant" else 400
    assert np.abs(counts - [6000, 7500, 9000, 5500]).max() <= allowed


def test_a_seed_decides_the_stream() -> None:
    def items(seed: int | tuple[int, ...]) -> bytes:
        return RotatingSets(STEADY, 0.6, cycle_s=40, seed=seed).draw().items.tobytes()

    assert items((1, 0)) == items((1, 0))
    assert len({items(1), items(2), items((1, 1))}) == 3


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"rates": ()}, "rates: got \\(\\); allowed: one or more steps"),
        ({"rates": ((1.0, 0.0),)}, "rates: got .*; allowed: one or more steps"),
        ({"skew": -1}, "skew: got -1; allowed: 0 to 10"),
        ({"cycle_s": 0}, "cycle_s: got 0; allowed: more than 0 seconds"),
        ({"domain": 0}, "domain: got 0; allowed: 1 or more items"),
        ({"size": (5, -1)}, "size: got \\(5, -1\\); allowed: a mean and a deviation"),
    ],
)
def test_bad_settings_are_refused(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        RotatingSets(**{"rates": STEADY, "skew": 0.6, "cycle_s": 40.0, **wrong})


TABLE = {
    (0.6, 3): ((4.10e-3, 1.6e-3, 1.1e-3, 7.6e-4, 5.8e-4), (9.3e-4, 6.6e-4, 1.20e-3)),
    (0.8, 3): ((1.40e-2, 2.5e-3, 1.4e-3, 6.4e-4, 4.3e-4), (1.21e-3, 5.0e-4, 1.92e-3)),
    (0.6, 4): ((1.4e-4, 3.6e-5, 2.3e-5, 1.5e-5, 1.1e-5), (2.1e-5, 1.2e-5, 3.1e-5)),
    (0.8, 4): ((6.3e-4, 6.5e-5, 3.3e-5, 1.2e-5, 7e-6), (3.4e-5, 8.5e-6, 6.0e-5)),
}


@pytest.mark.parametrize(("skew", "theta"), TABLE)
def test_match_densities_are_the_derived_ones(skew: float, theta: int) -> None:
    """GED-D5; that table and ours are both found by chance, with few matches at theta = 4."""
    offsets, means = TABLE[skew, theta]
    noise = 0.2 if theta == 3 else 0.4
    found = overlap_probability(skew)[theta][[0, 5, 10, 20, 50]]
    assert found == pytest.approx(offsets, rel=noise)
    ages = np.linspace(0, 20, 401)
    aligned = Correlation(skew, theta, shift_s=0).at(ages)
    first, second = Correlation(skew, theta).at(ages)
    averages = [float(f.mean()) for f in (aligned[0], first, second)]
    assert averages == pytest.approx(means, rel=noise / 2)
    assert ages[second.argmax()] == pytest.approx(15)


def test_without_skew_the_density_is_flat() -> None:
    assert overlap_probability(0.0)[3] == pytest.approx(np.full(51, 8.5e-4), rel=0.07)
