"""The cost model of semi-stream joins: NAE-A10, A19, A20, U2, U3."""

import numpy as np
import pytest

from papers.operators.semi_stream_costs import (
    Operations,
    Prices,
    TupleSizes,
    best_buffer_bytes,
    iteration,
    matches_of_equals,
    matches_per_load,
    most_speed_up,
    shedding_amounts,
    split_memory,
)
from streamjoin.errors import ConfigError
from streamjoin.planning.table import ideal_hit_share

MILLIONS = 100_000_000


def test_bounds_on_speed_ups_are_the_derived_ones() -> None:
    """NAE-U2."""
    found = [
        round(most_speed_up(back_end, h, 0.15), 2)
        for h in (0.51, ideal_hit_share(1_500_000, MILLIONS, 1.0))
        for back_end in ("index", "mesh")
    ]
    assert found == [2.04, 1.73, 4.52, 3.85]


def test_shedding_amounts_are_the_derived_ones() -> None:
    """NAE-U3 and NAE-I2: strictly above twice the expected; what there is limits both ways."""
    assert shedding_amounts(50, 20, waiting=100, spilled=100) == (10, 0)
    assert shedding_amounts(50, 20, waiting=4, spilled=100) == (4, 0)
    assert shedding_amounts(30, 20, waiting=100, spilled=100) == (0, 10)
    assert shedding_amounts(0, 20, waiting=100, spilled=100) == (0, 40)
    assert shedding_amounts(0, 20, waiting=100, spilled=3) == (0, 3)
    assert shedding_amounts(40, 20, waiting=100, spilled=100) == (0, 0)


def test_no_byte_is_spent_twice() -> None:
    """NAE-A20."""
    sizes = TupleSizes()
    for back_end in ("mesh", "hybrid"):
        split = split_memory(back_end, 1e6, 50_000)
        used = (
            split.waiting * sizes.waiting(back_end)
            + split.cached * (sizes.table + sizes.recorded)
            + split.partition * sizes.table
        )
        assert 0.999e6 < used <= 1e6


def test_too_little_memory_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"memory_bytes: got 1000 with a disk buffer of 1200"):
        split_memory("mesh", 1000, 1200)
    with pytest.raises(ConfigError, match=r"front_share: got 1; allowed: 0 to less than 1"):
        split_memory("mesh", 1e6, 1e3, front_share=1)


def test_equal_partitions_are_a_special_case() -> None:
    for k, waiting in ((10, 1000.0), (1000, 50.0), (7, 7.0)):
        shares = np.full(k, 1 / k)
        assert matches_per_load(shares, waiting) == pytest.approx(matches_of_equals(k, waiting))


def test_an_iteration_costs_what_the_formula_says() -> None:
    """NAE-A19, term by term."""
    prices = Prices(operations=Operations(1, 2, 4, 8, 16, 32))
    split = split_memory("mesh", 1e6, 12_000)
    found = iteration("mesh", split, 1000, prices, hit_share=0.5)
    w = split.waiting / 10
    seconds = prices.disk.access_s(12_000) + 100 + w * (2 + 4 + 8 + 16) + 2 * w * 32 + w * 2
    assert (found.front, found.back) == (w, w)
    assert found.seconds == pytest.approx(seconds)


def test_the_best_buffer_grows_with_memory() -> None:
    buffers = [best_buffer_bytes("hybrid", m, MILLIONS, Prices()) for m in (1e7, 1e8, 1e9)]
    assert buffers == sorted(buffers)
    assert best_buffer_bytes("mesh", 100, 10, Prices()) == 240
