"""Arrivals of varying rate (VAL-D4, VAL-D5) and keys with exact selectivities (VAL-D1..D3)."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from papers.valsomatzis.bursts import Course, b_model
from papers.valsomatzis.nary_streams import DATA_SETS, DURATION, DataSet, ExactKeys, NaryStreams
from streamjoin.errors import ConfigError


@pytest.mark.parametrize("first", [True, False])
def test_each_split_of_the_b_model_gives_one_half_its_share(first: bool) -> None:
    """VAL-D5."""
    volumes = b_model(np.random.default_rng(3), 0.8, first=first)
    assert len(volumes) == 1024
    while len(volumes) > 1:
        halves = volumes.reshape(-1, 2)
        assert np.allclose(halves.max(axis=1) / halves.sum(axis=1), 0.8)
        volumes = halves.sum(axis=1)
    assert volumes[0] == pytest.approx(1)
    assert (halves[0, 0] > halves[0, 1]) == first


def test_sides_of_the_b_model_are_tossed() -> None:
    volumes = b_model(np.random.default_rng(3), 0.8, first=True).reshape(-1, 2)
    assert 0.4 < np.mean(volumes[:, 0] > volumes[:, 1]) < 0.6
    assert volumes.max() == pytest.approx(0.8**10)


@pytest.mark.parametrize(("share", "levels"), [(0.3, 2), (1.0, 2), (0.8, -1), (0.8, 21)])
def test_wrong_bursts_are_refused(share: float, levels: int) -> None:
    with pytest.raises(ConfigError, match="allowed: "):
        b_model(np.random.default_rng(1), share, first=True, levels=levels)


@pytest.mark.parametrize("name", DATA_SETS)
def test_data_sets_have_the_papers_selectivities(name: DataSet) -> None:
    """VAL-D2 and VAL-U1: by pairs and of all three, counted."""
    data = NaryStreams(name, scale=0.02)
    drawn, keys = data.draw(), data.keys
    assert [len(each.times) for each in drawn] == list(keys.sizes)
    counts = [Counter(each.keys.tolist()) for each in drawn]
    for j, i in combinations(range(3), 2):
        pairs = sum(counts[i][key] * n for key, n in counts[j].items())
        expected = keys.pair_selectivity(j, i) * keys.sizes[j] * keys.sizes[i]
        assert pairs == round(expected) == round(keys.matches(i, j) * keys.sizes[i])
    whole = sum(counts[1][key] * counts[2][key] * n for key, n in counts[0].items())
    assert whole == keys.results == round(keys.selectivity * np.prod(keys.sizes))


@pytest.mark.parametrize(
    ("name", "pairs", "of_three", "shares"),
    [
        ("I", (5e-9, 1e-6, 5e-6), (1e-3, 5e-6, 1e-6), (5, 5, 5)),
        ("V", (1e-5, 1e-5, 1e-5), (1e-4, 1e-4, 1e-4), (100, 10, 1)),
    ],
)
def test_table_2_is_met_exactly(
    name: DataSet,
    pairs: tuple[float, ...],
    of_three: tuple[float, ...],
    shares: tuple[float, ...],
) -> None:
    """VAL-D2 at the paper's cardinalities; VAL-I1 and VAL-I2 for what is printed otherwise."""
    keys = NaryStreams(name).keys
    for (j, i, third), pair, rest in zip(
        ((0, 1, 2), (0, 2, 1), (1, 2, 0)), pairs, of_three, strict=True
    ):
        assert keys.pair_selectivity(j, i) == pytest.approx(pair)
        joined = pair * keys.sizes[j] * keys.sizes[i]
        assert keys.results / (joined * keys.sizes[third]) == pytest.approx(rest)
    assert [keys.results / size for size in keys.sizes] == list(shares)


def test_arrivals_follow_their_course() -> None:
    """VAL-D4: all end together; rates by quarters of the tuples."""
    for name in DATA_SETS:
        for stream in NaryStreams(name, scale=0.02).draw():
            assert np.all(np.diff(stream.times) >= 0)
            assert 0 <= stream.times[0] <= stream.times[-1] < DURATION
    first, second, third = NaryStreams("II", scale=0.1).draw()
    quarters = [third.times[i * 25_000] for i in range(4)]
    assert quarters == pytest.approx([0, 0.125e7, 0.5e7, 0.625e7], abs=200)
    assert second.times[25_000] == pytest.approx(0.375e7, abs=200)
    assert first.times[25_000] == pytest.approx(0.25e7, abs=200)
    wave = np.bincount(NaryStreams("III", scale=0.1).draw()[2].times * 8 // DURATION)
    assert (wave[::2] > 1.8 * wave[1::2]).all()
    for name, sparse in (("IV", True), ("V", False), ("VI", True)):
        halves = np.bincount(NaryStreams(name, scale=0.1).draw()[2].times * 2 // DURATION)
        assert halves[0] / halves.sum() == pytest.approx(0.2 if sparse else 0.8, abs=0.001)


def test_another_seed_is_another_data_set() -> None:
    one, same, other = (NaryStreams("IV", 0.01, seed).draw() for seed in (1, 1, 2))
    assert np.array_equal(one[2].times, same[2].times)
    assert np.array_equal(one[2].keys, same[2].keys)
    assert not np.array_equal(one[2].times, other[2].times)
    assert not np.array_equal(one[2].keys, other[2].keys)


def test_no_tuples_arrive_never() -> None:
    assert len(Course.steady().arrivals(np.random.default_rng(1), 0, 10)) == 0


def test_streams_too_small_for_their_keys_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"sizes: got .10, 10.; allowed: at least .5, 15."):
        ExactKeys((10, 10), 5, (1, 3))
    with pytest.raises(ConfigError, match="repeats: got 1; allowed: 2, one a stream"):
        ExactKeys((10, 10), 5, (1,))
