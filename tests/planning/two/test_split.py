"""Worked numbers of CLAIMS (KAN-C14 to C21), and what every division must keep."""

import math

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from papers.kang.cost_model import PAPER, prefers_nested
from streamjoin.errors import ConfigError
from streamjoin.planning.two.split import (
    JOINT_SPLITS,
    MEMORY_SPLITS,
    RATE_SPLITS,
    Allocation,
    Demand,
    Limits,
    held,
    output,
    plan,
    split_both,
    splits_for,
)

INF = math.inf

rates = st.just(0.0) | st.floats(0.1, 1000)
windows = st.floats(0.1, 1000) | st.just(INF)
sizes = st.just(1.0) | st.floats(0.5, 100)
demands = st.builds(
    Demand, st.tuples(rates, rates), st.tuples(windows, windows), st.tuples(sizes, sizes)
)
services = st.floats(0.1, 2000)
memories = st.floats(1, 1e5)
limits_given = st.builds(Limits, st.none() | services, st.none() | memories)


@st.composite
def scarce(draw: st.DrawFn) -> tuple[Demand, float, float]:
    """Rates, windows and memory of which each may be what limits the output."""
    service = draw(st.floats(1, 100))
    rate = st.floats(0.1 * service, 2 * service)
    window = st.sampled_from([0.3, 1.0, 2.5, 7.0, INF])
    size = st.sampled_from([1.0, 1.7, 4.0])
    pairs = (draw(st.tuples(values, values)) for values in (rate, window, size))
    return Demand(*pairs), service, service * draw(st.floats(0.05, 8))


def mirrored(demand: Demand) -> Demand:
    return Demand(demand.rates[::-1], demand.windows[::-1], demand.sizes[::-1])


def mirrored_name(split: str) -> str:
    return "/".join({"left": "right", "right": "left"}.get(s, s) for s in split.split("/"))


# ---- the paper's numbers


@pytest.mark.parametrize(
    ("split", "regulated", "results"),
    [
        ("equal", (5, 5), 5.0),
        ("rate", (8, 2), 3.2),
        ("inverse-rate", (2, 8), 3.2),
        ("window", (9, 1), 1.8),
        ("inverse-window", (1, 9), 1.8),
    ],
)
def test_figure_8(split: str, regulated: tuple[float, float], results: float) -> None:
    """KAN-C14, selectivity 0.02."""
    demand = Demand(rates=(80, 20), windows=(9, 1))
    allocation = plan(split, demand, Limits(service=10))
    assert allocation.rates == pytest.approx(regulated)
    assert 0.02 * output(allocation, demand) == pytest.approx(results)


@given(demands, services)
def test_equal_rates_whatever_the_windows(demand: Demand, service: float) -> None:
    """KAN-C15."""
    assume(sum(demand.rates) > service)
    slow = min(demand.rates)
    regulated = plan("best", demand, Limits(service=service)).rates
    expected = min(slow, service / 2)
    assert sorted(regulated) == pytest.approx([expected, service - expected])


def test_regulated_rates_decide_the_algorithm() -> None:
    """KAN-C16."""
    rates = plan("best", Demand((5, 100), (60, 60)), Limits(service=50)).rates
    assert rates == (5, 45)
    assert prefers_nested(*rates, 10, PAPER)
    assert not prefers_nested(*rates, 20, PAPER)


@pytest.mark.parametrize(
    ("split", "results", "kept_seconds"),
    [
        ("slower", 250, (100, 0)),
        ("inverse-rate", 216.67, (83.33, 3.33)),
        ("equal", 150, (50, 10)),
        ("rate", 83.33, (16.67, 16.67)),
        ("faster", 50, (0, 20)),
    ],
)
def test_figure_9(split: str, results: float, kept_seconds: tuple[float, float]) -> None:
    """KAN-C17, selectivity 0.005."""
    demand = Demand(rates=(10, 50), windows=(INF, INF))
    allocation = plan(split, demand, Limits(memory=1000))
    left, right = held(allocation, demand)
    assert round(0.005 * output(allocation, demand), 2) == results
    assert (round(left / 10, 2), round(right / 50, 2)) == kept_seconds


@pytest.mark.parametrize("split", MEMORY_SPLITS)
def test_equal_rates_make_every_memory_split_equal(split: str) -> None:
    """KAN-C18."""
    demand = Demand(rates=(10, 10), windows=(INF, INF))
    assert output(plan(split, demand, Limits(memory=1000)), demand) == pytest.approx(10 * 1000)


@pytest.mark.parametrize(
    ("favoured", "results"), [(0.9, (9, 9, 5, 1, 1)), (1 - 1e-9, (10, 10, 5, 0, 0))]
)
def test_figure_10(favoured: float, results: tuple[float, ...]) -> None:
    """KAN-C20, selectivity 0.01; the second case is the limit."""
    demand = Demand(rates=(10, 10), windows=(INF, INF))
    names = ("left/right", "right/left", "equal", "left/left", "right/right")
    outputs = [0.01 * output(split_both(name, demand, 10, 100, favoured), demand) for name in names]
    assert outputs == pytest.approx(results, abs=1e-6)


@pytest.mark.parametrize(
    ("x", "left", "results"),
    [(1, 0, 10), (0, 100, 10), (1, 100, 0), (0, 0, 0), (0.5, 0, 5), (0.5, 30, 5), (0.5, 100, 5)],
)
def test_figure_11(x: float, left: float, results: float) -> None:
    """KAN-C21: the surface of Eq. 14, its ends as limits."""
    x = min(max(x, 1e-9), 1 - 1e-9)
    demand = Demand(rates=(10, 10), windows=(INF, INF))
    allocation = Allocation((10 * x, 10 * (1 - x)), (left, 100 - left))
    assert 0.01 * output(allocation, demand) == pytest.approx(results, abs=1e-6)


def test_sizes_decide_which_window_is_filled_first() -> None:
    """The left stream has fewer tuples, but brings more memory a second."""
    demand = Demand(rates=(10, 50), windows=(INF, INF), sizes=(8, 1))
    assert plan("slower", demand, Limits(memory=400)).memory == (0, 400)
    assert plan("faster", demand, Limits(memory=400)).memory == (400, 0)


def test_a_full_window_leaves_its_memory_to_the_other() -> None:
    """KAN-A21, completed."""
    demand = Demand(rates=(10, 50), windows=(60, 60))
    assert plan("slower", demand, Limits(memory=1000)).memory == (600, 400)
    assert plan("faster", demand, Limits(memory=3300)).memory == (300, 3000)


def test_a_slow_stream_pushes_the_share_below_a_tenth() -> None:
    """KAN-I5: the range of x gives way to what a stream has."""
    demand = Demand(rates=(0.2, 100), windows=(INF, INF))
    allocation = plan("best", demand, Limits(service=10, memory=100))
    assert allocation == Allocation((0.2, 9.8), (100, 0))


# ---- what holds for every division


@given(demands, limits_given)
def test_limits_are_kept(demand: Demand, limits: Limits) -> None:
    for split in splits_for(limits):
        allocation = plan(split, demand, limits)
        taken = INF if limits.service is None else limits.service
        assert sum(allocation.rates) == pytest.approx(min(taken, sum(demand.rates)))
        for regulated, rate in zip(allocation.rates, demand.rates, strict=True):
            assert 0 <= regulated <= rate
        if limits.memory is None:
            assert allocation.memory is None
            continue
        assert allocation.memory is not None
        whole = demand.memory(allocation.rates)
        assert sum(allocation.memory) == pytest.approx(min(limits.memory, sum(whole)))
        for memory, most in zip(allocation.memory, whole, strict=True):
            assert 0 <= memory <= most


@given(demands, limits_given)
def test_best_is_best(demand: Demand, limits: Limits) -> None:
    best = output(plan("best", demand, limits), demand)
    for split in splits_for(limits):
        other = output(plan(split, demand, limits), demand)
        assert best >= other or best == pytest.approx(other, rel=1e-9)


@given(demands)
def test_what_fits_is_not_cut(demand: Demand) -> None:
    assume(INF not in demand.windows)
    need = demand.memory(demand.rates)
    limits = Limits(service=sum(demand.rates) + 1, memory=sum(need) + 1)
    for split in JOINT_SPLITS:
        assert plan(split, demand, limits) == Allocation(demand.rates, need)
    for split in RATE_SPLITS:
        assert plan(split, demand, Limits(service=limits.service)) == Allocation(demand.rates)
    for split in MEMORY_SPLITS:
        memory = plan(split, demand, Limits(memory=limits.memory)).memory
        assert memory == need


@given(demands, limits_given)
def test_exchanged_streams_exchange_the_shares(demand: Demand, limits: Limits) -> None:
    for split in splits_for(limits):
        there = plan(split, demand, limits)
        back = plan(mirrored_name(split), mirrored(demand), limits)
        expected = output(there, demand)
        assert output(back, mirrored(demand)) == pytest.approx(expected)
        tied = math.isclose(*(r * s for r, s in zip(demand.rates, demand.sizes, strict=True)))
        if tied or (split == "best" and limits.service and limits.memory):
            continue  # several divisions are equally good
        assert back.rates[::-1] == pytest.approx(there.rates)
        if there.memory is not None and back.memory is not None:
            assert back.memory[::-1] == pytest.approx(there.memory, abs=1e-6)


@settings(max_examples=200)
@example((Demand((20, 20), (0.3, 2.5)), 10, 13))  # both windows whole, no memory left
@given(scarce() | st.tuples(demands, services, memories))
def test_best_of_both_against_brute_force(case: tuple[Demand, float, float]) -> None:
    """No point of a grid over rates and memory gives more; KAN-A24 with all limits."""
    demand, service, memory = case
    best = output(plan("best", demand, Limits(service, memory)), demand)
    total = min(service, sum(demand.rates))
    low, high = max(0.0, total - demand.rates[1]), min(total, demand.rates[0])
    first, last = (min(max(x * total, low), high) for x in (0.1, 0.9))
    left = np.linspace(first, last, 1001)[:, None]
    right = total - left
    with np.errstate(invalid="ignore"):  # nothing of something infinite is nothing
        whole_left, whole_right = (
            np.nan_to_num(rate * window, nan=0.0, posinf=np.inf)
            for rate, window in zip((left, right), demand.windows, strict=True)
        )
    # Any part of the memory for the left window, and just what makes one of the two whole.
    parts = np.broadcast_to(np.linspace(0, memory, 21), (len(left), 21))
    whole = whole_left * demand.sizes[0], memory - whole_right * demand.sizes[1]
    for_left = np.clip(np.hstack([parts, *whole]), 0, memory)
    a = np.minimum(whole_left, for_left / demand.sizes[0])
    b = np.minimum(whole_right, (memory - for_left) / demand.sizes[1])
    most = (a * right + b * left).max()
    assert most * (1 - 1e-9) <= best <= most * 1.01 + 1e-9


# ---- refusals


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (Limits(), "without a limit: 'best'"),
        (Limits(service=1), "with a limit of CPU: 'best', 'equal', 'rate'"),
        (Limits(memory=1), "with a limit of memory: 'best', 'slower', 'faster'"),
        (Limits(service=1, memory=1), "with a limit of CPU and memory: 'best', 'left/left'"),
    ],
)
def test_unknown_split_is_refused(limits: Limits, said: str) -> None:
    with pytest.raises(ConfigError, match=f"split: got 'fair'; allowed {said}"):
        plan("fair", Demand((1, 1), (1, 1)), limits)


@pytest.mark.parametrize("bad", [0, -1, INF, math.nan])
def test_bad_limits_are_refused(bad: float) -> None:
    with pytest.raises(ConfigError, match=r"service: got .*; allowed: a finite positive number"):
        Limits(service=bad)
    with pytest.raises(ConfigError, match=r"memory: got .*; allowed: a finite positive number"):
        Limits(memory=bad)


@pytest.mark.parametrize(
    ("argument", "values"),
    [
        ("rates", {"rates": (-1, 1), "windows": (1, 1)}),
        ("windows", {"rates": (1, 1), "windows": (1, math.nan)}),
        ("sizes", {"rates": (1, 1), "windows": (1, 1), "sizes": (0, 1)}),
    ],
)
def test_bad_demands_are_refused(argument: str, values: dict[str, tuple[float, float]]) -> None:
    with pytest.raises(ConfigError, match=f"{argument}: got .*; allowed: two"):
        Demand(**values)


def test_a_stream_must_not_stop() -> None:
    with pytest.raises(ConfigError, match=r"favoured: got 1; allowed: from 0\.5 to less than 1"):
        split_both("best", Demand((1, 1), (1, 1)), 1, 1, favoured=1)
