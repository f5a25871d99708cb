"""Streams of foreign keys (Naeem et al. 2017, NAE-D1 to D4)."""

import numpy as np
import pytest

from papers.naeem.foreign_keys import ForeignKeys, local_stream, longitudes
from papers.operators.kernels.semi_stream_draw import draw_ranks
from streamjoin.errors import ConfigError


@pytest.mark.parametrize("skew", [0.0, 0.7, 1.0])
def test_shares_are_those_of_zipfs_law(skew: float) -> None:
    keys = ForeignKeys(50, skew, seed=2)
    counts = np.bincount(keys.draw(200_000), minlength=50)[keys.by_rank]
    expected = np.arange(1, 51) ** -skew
    assert counts / counts.sum() == pytest.approx(expected / expected.sum(), abs=0.004)
    assert sorted(keys.by_rank.tolist()) == list(range(50))


def test_draws_repeat_and_parts_differ() -> None:
    keys = ForeignKeys(1000, 1.0, seed=(3, 4))
    assert (keys.draw(100) == ForeignKeys(1000, 1.0, seed=(3, 4)).draw(100)).all()
    assert (keys.draw(100) != keys.draw(100, part=1)).any()
    assert ForeignKeys(1000, 1.0, clustered=True).by_rank[:3].tolist() == [0, 1, 2]


def test_some_keys_may_never_occur() -> None:
    """NAE-I4: orders of TPC-H refer to two thirds of the customers."""
    keys = ForeignKeys(300, 0.0, seed=1, used=2 / 3)
    assert len(np.unique(keys.draw(20_000))) == 200
    assert keys.shares.sum() == pytest.approx(1)


def test_a_guide_finds_what_a_search_finds() -> None:
    rng = np.random.default_rng(5)
    cumulative = np.sort(rng.random(40))
    uniform = rng.random(500)
    for size in (1, 7, 64):
        guide = np.searchsorted(cumulative, np.arange(size) / size, side="right").astype(np.int32)
        found = draw_ranks(uniform, cumulative, guide)
        assert (found == np.searchsorted(cumulative, uniform, side="right")).all()
        assert (found == draw_ranks.py_func(uniform, cumulative, guide)).all()


def test_intervals_have_domains_of_their_own() -> None:
    """NAE-D4 with the bounds of NAE-I3."""
    table, stream = local_stream(n_table=5000, copies=10, n_stream=2500, seed=1)
    assert np.bincount(table).tolist() == [10] * 500
    assert (stream.reshape(25, 100) // 20 == np.arange(25)[:, None]).all()


def test_longitudes_are_dense_in_regions() -> None:
    keys = longitudes(100_000, seed=3)
    assert 0 <= keys.min() <= keys.max() <= 36_000
    counts = np.sort(np.bincount(keys // 100, minlength=361))[::-1]
    assert counts[:30].sum() > 0.5 * counts.sum()


def test_bad_settings_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"n_keys: got 0; allowed: 1 to 2147483647"):
        ForeignKeys(0, 1.0)
    with pytest.raises(ConfigError, match=r"skew: got -1; allowed: 0 to 10"):
        ForeignKeys(5, -1)
    with pytest.raises(ConfigError, match=r"n_table: got 100; allowed: 25 or more for each"):
        local_stream(100, 10, 50)
