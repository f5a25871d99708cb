"""The hash index against a nested loop over Python's integers, which know no overflow."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from streamjoin.core import index as index_module
from streamjoin.core.index import HashIndex
from streamjoin.errors import ConfigError, DataError

MIN, MAX = -(2**63), 2**63 - 1
INT64 = st.integers(MIN, MAX)
EDGES = st.sampled_from([MIN, MIN + 1, -1, 0, 1, MAX - 1, MAX])

Row = tuple[int, int]
Case = tuple[list[Row], list[Row], int, int]


def rows(
    keys: st.SearchStrategy[int], times: st.SearchStrategy[int]
) -> st.SearchStrategy[list[Row]]:
    return st.lists(st.tuples(keys, times), max_size=50)


FEW = rows(st.integers(-3, 3), st.integers(0, 30))
ANY = rows(INT64 | st.integers(-2, 2), INT64)
EXTREME = rows(st.integers(0, 1), EDGES | INT64)
CASES = (
    st.tuples(FEW, FEW, st.integers(-20, 20), st.integers(-20, 20))
    | st.tuples(ANY, ANY, INT64, INT64)
    | st.tuples(EXTREME, EXTREME, EDGES | INT64, EDGES | INT64)
)


def arrays(side: list[Row]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    keys, times = ([row[i] for row in side] for i in range(2))
    return np.array(keys, np.int64), np.array(times, np.int64)


def nested_loop(index: list[Row], probe: list[Row], low: int, high: int) -> list[tuple[int, int]]:
    by_time = sorted(range(len(index)), key=lambda i: index[i][1])
    return [
        (i, j)
        for j, (key, time) in enumerate(probe)
        for i in by_time
        if index[i][0] == key and low <= index[i][1] - time <= high
    ]


def found(index: list[Row], probe: list[Row], low: int, high: int) -> list[tuple[int, int]]:
    mine, theirs = HashIndex.build(*arrays(index)).probe(*arrays(probe), low, high)
    assert mine.dtype == theirs.dtype == np.int32
    return list(zip(mine.tolist(), theirs.tolist(), strict=True))


@given(CASES)
@example(([(1, MAX)], [(1, MIN)], MAX, MAX))
@example(([(1, MIN)], [(1, 1)], MIN, MAX))
@example(([(1, MAX)], [(1, 1)], MAX, MAX))
@example(([(0, 5)] * 20, [(0, 5)] * 20, 0, 0))
@example(([(1, 3), (1, 1), (1, 2)], [(1, 2)], -1, 0))
def test_equals_the_nested_loop(case: Case) -> None:
    assert found(*case) == nested_loop(*case)


@given(CASES, st.integers(1, 20))
def test_chunks_together_are_the_whole(case: Case, max_pairs: int) -> None:
    index, probe, low, high = case
    built = HashIndex.build(*arrays(index))
    whole = built.probe(*arrays(probe), low, high)
    chunks = list(built.probe_chunks(*arrays(probe), low, high, max_pairs))
    assert all(0 < len(mine) == len(theirs) <= max_pairs for mine, theirs in chunks)
    for side in range(2):
        parts = [chunk[side] for chunk in chunks]
        joined = np.concatenate(parts) if parts else np.empty(0, np.int32)
        np.testing.assert_array_equal(joined, whole[side])


@pytest.mark.parametrize("n_keys", [2, 700, 100_000])
@pytest.mark.parametrize("in_order", [True, False])
@pytest.mark.parametrize("bounds", [(-300, 200), (-(2**62), 2**62), (500, 600)])
def test_many_blocks(n_keys: int, in_order: bool, bounds: tuple[int, int]) -> None:
    random = np.random.default_rng(n_keys)
    keys, others = random.integers(-n_keys, n_keys, (2, 2100))
    times, other_times = random.integers(0, 4000, (2, 2100))
    if in_order:
        times, other_times = np.sort(times), np.sort(other_times)
    low, high = bounds
    mine, theirs = HashIndex.build(keys, times).probe(others, other_times, low, high)
    gap = times[:, None] - other_times[None, :]
    match = (keys[:, None] == others[None, :]) & (low <= gap) & (gap <= high)
    expected = np.argwhere(match.T)
    order = np.lexsort((expected[:, 1], times[expected[:, 1]], expected[:, 0]))
    np.testing.assert_array_equal(np.column_stack((theirs, mine)), expected[order])


def test_a_heavy_key_costs_its_pairs_not_its_square() -> None:
    n = 60_000  # 3.6e9 comparisons, were all rows of the key compared
    keys, times = np.zeros(n, np.int64), np.arange(n) * 10
    mine, theirs = HashIndex.build(keys, times).probe(keys, times + 1, low=-1, high=0)
    np.testing.assert_array_equal(mine, np.arange(n))
    np.testing.assert_array_equal(theirs, np.arange(n))


def test_one_index_serves_many_probes_from_dense_to_sparse() -> None:
    keys, times = np.arange(5000), np.arange(5000)
    index = HashIndex.build(keys, times)
    probing = np.concatenate((np.arange(5000), np.arange(10**6, 10**6 + 5000), np.arange(5000)))
    for _ in range(2):
        mine, theirs = index.probe(probing, np.zeros(15_000, np.int64), low=0, high=5000)
        np.testing.assert_array_equal(mine, np.concatenate((keys, keys)))
        np.testing.assert_array_equal(theirs, np.concatenate((keys, keys + 10_000)))


def test_arrays_of_any_kind_are_read_and_left_alone() -> None:
    keys, times = np.arange(20)[::2], np.arange(20)[::-2]
    times.flags.writeable = False
    before = keys.copy(), times.copy()
    mine, theirs = HashIndex.build(keys, times).probe(keys, times, 0, 0)
    assert mine.tolist() == theirs.tolist() == list(range(10))
    np.testing.assert_array_equal((keys, times), before)


def test_more_runs_than_are_remembered_at_once() -> None:
    n = 150_000
    keys, zeros = np.arange(n), np.zeros(n, np.int64)
    chunks = HashIndex.build(keys, zeros).probe_chunks(keys[::-1], zeros, 0, 0, 10**6)
    sizes = 0
    for mine, theirs in chunks:
        np.testing.assert_array_equal(mine, n - 1 - theirs)
        np.testing.assert_array_equal(theirs, np.arange(sizes, sizes + len(theirs)))
        sizes += len(theirs)
    assert sizes == n


def test_rows_of_a_probe_come_in_order() -> None:
    random = np.random.default_rng(0)
    keys, times = random.integers(0, 9, 500), random.integers(0, 99, 500)
    mine, theirs = HashIndex.build(keys, times).probe(keys, times, -9, 9)
    placed = list(zip(theirs.tolist(), times[mine].tolist(), mine.tolist(), strict=True))
    assert all(one < other for one, other in pairwise(placed))


@pytest.mark.parametrize(
    ("keys", "times", "message"),
    [
        (np.zeros(2, np.int32), np.zeros(2, np.int64), "keys: got int32"),
        (np.zeros(2, np.int64), np.zeros(2), "times: got float64"),
        (np.zeros((2, 2), np.int64), np.zeros(2, np.int64), "of 2 dimensions"),
        (np.zeros(2, np.int64), np.zeros(3, np.int64), "times: got 3 for 2 keys"),
    ],
)
def test_other_arrays_are_refused(
    keys: NDArray[np.int64], times: NDArray[np.int64], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        HashIndex.build(keys, times)
    index = HashIndex.build(np.arange(2), np.arange(2))
    with pytest.raises(DataError, match=message):
        index.probe(keys, times, 0, 0)


def test_more_rows_than_positions_are_refused_at_once() -> None:
    endless = np.broadcast_to(np.int64(0), index_module.MAX_ROWS + 1)  # no memory behind it
    with pytest.raises(DataError, match="at most 2147483647"):
        HashIndex.build(endless, endless)


@pytest.mark.parametrize(("low", "high"), [(MIN - 1, 0), (0, MAX + 1)])
def test_bounds_beyond_64_bits_are_refused(low: int, high: int) -> None:
    with pytest.raises(ConfigError, match="64-bit"):
        HashIndex.build(np.arange(2), np.arange(2)).probe(np.arange(2), np.arange(2), low, high)


def test_chunks_of_nothing_are_refused() -> None:
    with pytest.raises(ConfigError, match="max_pairs: got 0"):
        HashIndex.build(np.arange(2), np.arange(2)).probe_chunks(
            np.arange(2), np.arange(2), 0, 0, 0
        )
