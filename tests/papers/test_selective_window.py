"""The selective window join: its pairs against plain Python, its counts against the plan."""

from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from papers.gedik.rotating_sets import RotatingSets
from papers.operators.kernels import selective_window as kernel
from papers.operators.selective_settings import Index, Policy
from papers.operators.selective_window import (
    SECOND,
    ProbeCosts,
    SelectiveJoin,
    SelectiveRun,
    SetTrace,
    selective_window_join,
)
from streamjoin.errors import ConfigError, DataError
from streamjoin.shedding.fractions import POLICIES

INDEXES: tuple[Index, ...] = ("none", "inverted-time", "inverted-identifier")
SHEDDING: tuple[Policy, ...] = ("drop", *POLICIES)
Rows = list[tuple[int, dict[int, float]]]

sets = st.dictionaries(st.integers(0, 5), st.sampled_from([1.0, 0.5, -2.0, 3.0]), max_size=4)
# Times with gaps in which whole basic windows stay empty.
rows = st.lists(st.tuples(st.integers(0, 12) | st.integers(30, 34), sets), max_size=25).map(
    lambda drawn: sorted(drawn, key=lambda row: row[0])
)


def trace(drawn: Rows, weighted: bool = False, first_item: int = 0) -> SetTrace:
    offsets = np.cumsum([0, *(len(items) for _, items in drawn)])
    flat = [(item + first_item, weight) for _, items in drawn for item, weight in items.items()]
    return SetTrace(
        np.array([time for time, _ in drawn], np.int64),
        offsets.astype(np.int64),
        np.array([item for item, _ in flat], np.int64),
        np.array([weight for _, weight in flat], np.float64) if weighted else None,
    )


def expected(
    left: Rows, right: Rows, windows: tuple[int, int], threshold: float, weighted: bool
) -> Counter[tuple[int, int]]:
    """Every pair that matches, looked for one by one."""
    found: Counter[tuple[int, int]] = Counter()
    for (i, (s, x)), (j, (t, y)) in product(enumerate(left), enumerate(right)):
        # Of two of one time the left one is the earlier. A window of 0 remembers nothing.
        window = windows[0] if s <= t else windows[1]
        score = sum(x[item] * y[item] if weighted else 1 for item in x.keys() & y.keys())
        if window and abs(t - s) <= window and score >= threshold:
            found[i, j] += 1
    return found


def pairs_of(run: SelectiveRun) -> Counter[tuple[int, int]]:
    assert run.pairs is not None
    found = Counter(zip(*(side.tolist() for side in run.pairs), strict=True))
    assert found.total() == run.total("outputs")
    return found


@cache
def streams(
    rates: Any = ((30.0, 100.0),), skew: float = 0.8, shift_s: float = 12.5, seed: int = 1
) -> tuple[SetTrace, SetTrace]:
    """Two streams of the paper's kind for windows of 10 s: the right one has the better window."""
    drawn = [
        RotatingSets(rates, skew, cycle_s=20, shift_s=shift, seed=(seed, side)).draw()
        for side, shift in enumerate((0.0, shift_s))
    ]
    left, right = (SetTrace(each.times, each.offsets, each.items) for each in drawn)
    return left, right


TEN = (10 * SECOND, 10 * SECOND)


@cache
def exact() -> SelectiveRun:
    """All that is to be found in the default streams."""
    return selective_window_join(*streams(), SelectiveJoin(TEN, policy="full"), collect=True)


# ---- exact without shedding, a subset with it


@pytest.mark.parametrize("index", INDEXES)
@given(
    left=rows,
    right=rows,
    windows=st.tuples(st.integers(0, 12), st.integers(0, 12)),
    basic=st.none() | st.integers(1, 15),
    threshold=st.sampled_from([1, 2, 2.5, 9]),
    weighted=st.booleans(),
    first_item=st.sampled_from([0, 60, 124]),  # in one word, in two, too many for bits
)
@settings(max_examples=20)
def test_full_is_exact(
    left: Rows, right: Rows, windows: tuple[int, int], basic: int | None, threshold: float,
    weighted: bool, first_item: int, index: Index,
) -> None:  # fmt: skip
    join = SelectiveJoin(windows, policy="full", basic_us=basic, threshold=threshold, index=index)
    traces = trace(left, weighted, first_item), trace(right, weighted, first_item)
    run = selective_window_join(*traces, join, collect=True)
    assert pairs_of(run) == expected(left, right, windows, threshold, weighted)
    assert run.total("comparisons") == run.total("planned")


def test_single_values_are_equal_or_not() -> None:
    rng = np.random.default_rng(3)
    times = np.sort(rng.integers(0, 400, (2, 200)))
    keys = rng.integers(0, 300, (2, 200))
    left, right = (SetTrace.single(t, k) for t, k in zip(times, keys, strict=True))
    join = SelectiveJoin((50, 80), policy="full", basic_us=20, threshold=1, index="hash")
    run = selective_window_join(left, right, join, collect=True)
    drawn = (
        [(int(t), {int(k): 1.0}) for t, k in zip(*side, strict=True)]
        for side in zip(times, keys, strict=True)
    )
    assert pairs_of(run) == expected(next(drawn), next(drawn), (50, 80), 1, False)
    assert run.total("look_ups") > 0
    assert run.total("entries") == run.total("outputs") == run.total("cost")


@pytest.mark.parametrize("policy", SHEDDING)
def test_shedding_finds_some_of_the_pairs_and_keeps_the_plan(policy: Policy) -> None:
    (left, right), full = streams(), exact()
    for index in INDEXES[:2]:
        join = SelectiveJoin(TEN, policy=policy, index=index, capacity=20_000.0)
        run = selective_window_join(left, right, join, collect=True)
        assert pairs_of(run) <= pairs_of(full)
        assert 0 < run.total("outputs") < full.total("outputs")
        assert bool(np.all(run.comparisons <= run.planned + 1e-6))
        whole = run.total("fetched") + run.total("lost") + run.total("dropped") + run.waiting
        assert run.total("arrived") == whole == len(left) + len(right)
        # What begins in a second may end in the next one.
        assert run.cost.max() < 20_000 + 2_000


def test_same_seed_same_output() -> None:
    left, right = streams()
    join = SelectiveJoin(TEN, policy="best", fraction=0.2, seed=5)
    first, again, other = (
        selective_window_join(left, right, replace(join, seed=seed), collect=True)
        for seed in (5, 5, 6)
    )
    assert pairs_of(first) == pairs_of(again) != pairs_of(other)
    assert bool(np.all(first.fractions == again.fractions))


def test_compiled_as_written(monkeypatch: pytest.MonkeyPatch) -> None:
    left, right = streams(((4.0, 50.0),))
    join = SelectiveJoin((SECOND, SECOND), policy="best", basic_us=SECOND // 4, capacity=900.0)
    compiled = selective_window_join(left, right, join, collect=True)
    for name in ("run_until", "_admit", "_probe"):
        monkeypatch.setattr(kernel, name, getattr(kernel, name).py_func)
    plain = selective_window_join(left, right, join, collect=True)
    assert pairs_of(compiled) == pairs_of(plain)
    assert bool(np.all(compiled.planned == plain.planned))


# ---- how much is probed


def test_r_returns_to_one_after_a_burst() -> None:
    """GED-C4: it falls with a burst and grows by 1.2 every 5 s afterwards."""
    left, right = streams(((10.0, 50.0), (15.0, 250.0), (60.0, 50.0)))
    join = SelectiveJoin(TEN, policy="ra", capacity=150_000.0)
    run = selective_window_join(left, right, join)
    assert run.fraction[:10].min() > 0.99
    assert run.fraction[20:30].min() < 0.5
    assert run.fraction[-1] == 1.0
    assert run.lost[:10].sum() == run.lost[-20:].sum() == 0
    growth = run.fraction[35::5][1:] / run.fraction[35::5][:-1]
    assert growth.max() <= 1.2 + 1e-9


def test_capacity_that_changes() -> None:
    left, right = streams(((40.0, 50.0),))
    join = SelectiveJoin(TEN, policy="ra", capacity=(60_000.0,) * 15 + (10_000.0,))
    run = selective_window_join(left, right, join)
    assert run.fraction[14] > 0.99
    assert run.fraction[-1] < 0.35
    assert run.cost[25:].max() < 11_000


@pytest.mark.parametrize(("policy", "share"), [("ra", 0.2), ("ra+tc", 0.216), ("best", 0.2)])
def test_comparisons_at_a_fixed_r(policy: Policy, share: float) -> None:
    """GED-U4: samples come on top of r in the paper's policies; "best" pays them from it."""
    (left, right), full = streams(), exact()
    join = SelectiveJoin(TEN, policy=policy, fraction=0.2)
    run = selective_window_join(left, right, join)
    made = run.comparisons[15:].sum() / full.comparisons[15:].sum()
    assert made == pytest.approx(share, rel=0.08)


def test_random_drop_keeps_the_root_of_r() -> None:
    """GED-U7: to compare a share r of pairs, and settles where the capacity is used."""
    (left, right), full = streams(), exact()
    fixed = selective_window_join(left, right, SelectiveJoin(TEN, policy="drop", fraction=0.25))
    assert fixed.total("dropped") == pytest.approx(0.5 * fixed.total("arrived"), rel=0.05)
    compared = fixed.comparisons[15:].sum() / full.comparisons[15:].sum()
    assert compared == pytest.approx(0.25, rel=0.1)
    join = SelectiveJoin(TEN, policy="drop", capacity=50_000.0)
    settled = selective_window_join(left, right, join)
    assert settled.cost[15:].mean() == pytest.approx(50_000, rel=0.05)
    assert settled.fraction[15:].mean() == pytest.approx(0.25, rel=0.15)


# ---- which parts are probed


def test_the_better_parts_bring_more() -> None:
    """The order of GED-C8, and the control: where all items are alike nothing helps (GED-C2)."""
    chosen: tuple[Policy, ...] = ("drop", "ra", "ra+tc", "ra+tc+jd", "best")
    found = {}
    for skew in (0.0, 0.8):
        left, right = streams(((50.0, 120.0),), skew)
        for policy in chosen:
            run = selective_window_join(
                left, right, SelectiveJoin(TEN, policy=policy, fraction=0.1)
            )
            found[skew, policy] = run.outputs[20:].sum() / run.comparisons[20:].sum()
    drop, ra, tc, jd, best = (found[0.8, policy] for policy in chosen)
    assert ra < drop < tc < jd < best
    assert best > 3 * drop
    flat = [found[0.0, policy] for policy in chosen]
    assert max(flat) < 1.1 * min(flat)


def followed(first: SetTrace, second: SetTrace, after_s: int) -> SetTrace:
    return SetTrace(
        np.concatenate([first.times, second.times + after_s * SECOND]),
        np.concatenate([first.offsets, first.offsets[-1] + second.offsets[1:]]),
        np.concatenate([first.items, second.items]),
    )


@pytest.mark.parametrize("policy", POLICIES)
def test_silence_is_no_excuse(policy: Policy) -> None:
    """After a time in which nothing was probed, not more is probed than before."""
    both = streams(((10.0, 100.0),))
    left, right = (followed(side, side, after_s=35) for side in both)
    full = selective_window_join(left, right, SelectiveJoin(TEN, policy="full"))
    run = selective_window_join(left, right, SelectiveJoin(TEN, policy=policy, fraction=0.2))
    assert run.comparisons[35:].sum() <= 0.24 * full.comparisons[35:].sum()


def test_memory_needs_fewer_samples() -> None:
    left, right = streams(((50.0, 120.0),), 0.6)
    join = SelectiveJoin(TEN, policy="ra+tc", fraction=0.05)
    none, some = (
        selective_window_join(left, right, replace(join, memory=memory)) for memory in (0, 0.8)
    )
    assert some.outputs[20:].sum() > 1.1 * none.outputs[20:].sum()


@pytest.mark.parametrize("policy", ["ra+jd", "best"])
def test_a_window_that_is_not_probed_is_still_observed(policy: Policy) -> None:
    """GED-I4: when the other stream becomes the delayed one, its window takes over."""
    first, then = streams(((40.0, 100.0),)), streams(((40.0, 100.0),), seed=2)
    left, right = followed(first[0], then[1], after_s=40), followed(first[1], then[0], after_s=40)
    run = selective_window_join(left, right, SelectiveJoin(TEN, policy=policy, fraction=0.1))
    assert run.fractions[39] == pytest.approx([0, 0.2], abs=0.03)
    assert run.fractions[-1] == pytest.approx([0.2, 0], abs=0.03)


def test_where_matches_are() -> None:
    """GED-C3, D5: the peak is at 3/4 of the delayed stream's window."""
    left, right = streams(((50.0, 120.0),))
    run = selective_window_join(left, right, SelectiveJoin(TEN, policy="full"))
    density = run.sampled_matches[1] / np.maximum(run.sampled_comparisons[1], 1)
    assert len(density) == 11
    assert density[:-1].argmax() in (7, 8)  # j = 8 holds ages of 6.5 to 8.5 windows of 1 s
    learned = selective_window_join(left, right, SelectiveJoin(TEN, policy="best", fraction=0.3))
    assert learned.productivity[1].argmax() in (7, 8)


def test_identifier_sorted_lists_take_whole_basic_windows() -> None:
    """GED-C12: what does not fit is not probed, so large basic windows are hardly ever."""
    left, right = streams()
    found = {}
    for index in ("inverted-time", "inverted-identifier"):
        join = SelectiveJoin(TEN, "ra+tc+jd", 4 * SECOND, index=index, fraction=0.15)
        run = selective_window_join(left, right, join)
        found[index] = run.outputs[15:].sum()
        assert run.total("comparisons") <= run.total("planned")
    assert 2 * found["inverted-identifier"] < found["inverted-time"]


def test_costs_of_an_index() -> None:
    left, right = streams(((10.0, 50.0),))
    costs = ProbeCosts(comparison=7, entry=2, look_up=0.5)
    for index in ("none", "inverted-time"):
        join = SelectiveJoin(TEN, "full", index=index, costs=costs)
        run = selective_window_join(left, right, join)
        spent = 2 * run.total("entries") + 0.5 * run.total("look_ups")
        spent += 7 * run.total("comparisons") if index == "none" else 0
        assert run.total("cost") == pytest.approx(spent)
    adapting = SelectiveJoin(TEN, "ra", capacity=1e6, costs=ProbeCosts(0, adaptation=1e5))
    assert selective_window_join(left, right, adapting).total("cost") == 4 * 1e5


@pytest.mark.parametrize("policy", ["full", *SHEDDING])
def test_a_stream_that_is_not_remembered(policy: Policy) -> None:
    """GED-I5: only the other window is probed."""
    left, right = streams(((10.0, 50.0),))
    join = SelectiveJoin((10 * SECOND, 0), policy=policy, capacity=5_000.0)
    run = selective_window_join(left, right, join)
    assert run.comparisons[:, 0].sum() > 0
    assert run.comparisons[:, 1].sum() == run.outputs[:, 1].sum() == 0


def test_nothing_comes() -> None:
    nothing = trace([])
    for policy in ("full", *SHEDDING):
        join = SelectiveJoin((5, 5), policy=policy, capacity=10.0)
        run = selective_window_join(nothing, nothing, join, collect=True)
        assert run.total("arrived") == len(pairs_of(run)) == 0


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"policy": "most"}, "policy: got 'most'; allowed: 'full', 'drop', 'best'"),
        ({"index": "tree"}, "index: got 'tree'"),
        ({"windows_us": (-1, 1)}, "windows_us: got -1; allowed: 0 or more"),
        ({"threshold": 0}, "threshold: got 0; allowed: more than 0"),
        ({"basic_us": 0}, "basic_us: got 0; allowed: 1 or more"),
        ({"gamma": 1.5}, "gamma: got 1.5; allowed: 0 or more, 1 at most"),
        ({"fraction": 2.0}, "fraction: got 2.0"),
        ({"fraction": 0.5, "policy": "full"}, "fraction: got 0.5 with policy 'full'"),
        ({"policy": "drop"}, "capacity: got None with policy 'drop'"),
        ({"capacity": 0.0}, "capacity: got 0.0; allowed: more than 0"),
    ],
)
def test_refused_settings(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        SelectiveJoin(**{"windows_us": (1, 1), **changed})


def test_refused_traces() -> None:
    two, one = np.array([0, 1]), np.array([0])
    cases: list[tuple[Any, str]] = [
        ((two[::-1], np.arange(3), two), "times: got times out of order"),
        ((two - 1, np.arange(3), two), "times: got .* below 0"),
        ((two, two, one), "offsets: got others; allowed: 3, from 0 to 1"),
        ((one, np.array([0, 2]), np.array([4, 4])), "items: got an item twice"),
        ((one, two, np.array([-1])), "items: got -1"),
        ((one, two, one, np.ones(2)), "weights: got 2 of float64; allowed: 1 of float64"),
        ((one, two, one, np.array([np.nan])), "weights: got NaN"),
        ((one.astype(float), two, one), "times: got float64"),
    ]
    for arguments, message in cases:
        with pytest.raises(DataError, match=message):
            SetTrace(*arguments)
    sets_of_two = SetTrace(one, np.array([0, 2]), two)
    with pytest.raises(DataError, match="index: got 'hash' with sets"):
        selective_window_join(sets_of_two, sets_of_two, SelectiveJoin((1, 1), index="hash"))
