"""Nested loops give what the hash index gives, pair for pair."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from streamjoin.core.index import HashIndex, ListIndex
from streamjoin.core.kernels import equi_probe
from streamjoin.core.kernels.equi_probe import Bounds
from streamjoin.errors import ConfigError, DataError

MIN, MAX = -(2**63), 2**63 - 1
INT64 = st.integers(MIN, MAX)
EDGES = st.sampled_from([MIN, MIN + 1, -1, 0, 1, MAX - 1, MAX]) | INT64

Row = tuple[int, int]
Case = tuple[list[Row], list[Row], int, int]


def cases(
    keys: st.SearchStrategy[int], times: st.SearchStrategy[int], bounds: st.SearchStrategy[int]
) -> st.SearchStrategy[Case]:
    rows = st.lists(st.tuples(keys, times), max_size=50)
    return st.tuples(rows, rows, bounds, bounds)


CASES = (
    cases(st.integers(-3, 3), st.integers(0, 30), st.integers(-20, 20))
    | cases(st.integers(0, 1) | INT64, EDGES, EDGES)
)  # fmt: skip


def arrays(side: list[Row]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    keys, times = ([row[i] for row in side] for i in range(2))
    return np.array(keys, np.int64), np.array(times, np.int64)


@given(CASES)
@example(([(1, MAX)], [(1, MIN)], MAX, MAX))
@example(([(1, MIN)], [(1, 1)], MIN, MAX))
@example(([(1, 3), (1, 1), (1, 2)], [(1, 2)], -1, 0))
def test_equals_the_hash_index(case: Case) -> None:
    index, probe, low, high = case
    wanted = HashIndex.build(*arrays(index)).probe(*arrays(probe), low, high)
    found = ListIndex.build(*arrays(index)).probe(*arrays(probe), low, high)
    for mine, theirs in zip(found, wanted, strict=True):
        assert mine.dtype == np.int32
        np.testing.assert_array_equal(mine, theirs)


@given(CASES, st.integers(1, 20))
def test_chunks_together_are_the_whole(case: Case, max_pairs: int) -> None:
    index, probe, low, high = case
    built = ListIndex.build(*arrays(index))
    whole = built.probe(*arrays(probe), low, high)
    chunks = list(built.probe_chunks(*arrays(probe), low, high, max_pairs))
    assert all(0 < len(mine) == len(theirs) <= max_pairs for mine, theirs in chunks)
    for side in range(2):
        parts = [chunk[side] for chunk in chunks]
        joined = np.concatenate(parts) if parts else np.empty(0, np.int32)
        np.testing.assert_array_equal(joined, whole[side])


@pytest.mark.parametrize("n_keys", [2, 700, 2**62])
@pytest.mark.parametrize("in_order", [True, False])
def test_many_blocks_and_pieces(n_keys: int, in_order: bool) -> None:
    random = np.random.default_rng(n_keys)
    keys, times = random.integers(-n_keys, n_keys, 2100), random.integers(0, 4000, 2100)
    others = np.concatenate((keys[:300], random.integers(-n_keys, n_keys, 300)))
    if in_order:
        times = np.sort(times)
    other_times = random.integers(0, 4000, 600)
    wanted = HashIndex.build(keys, times).probe(others, other_times, -900, 900)
    found = ListIndex.build(keys, times).probe(others, other_times, -900, 900)
    assert len(found[0]) > 30
    np.testing.assert_array_equal(found, wanted)


def test_keys_with_one_fingerprint_are_told_apart() -> None:
    keys, times, rows = np.array([5, 6, 5]), np.array([1, 2, 3]), np.arange(3, dtype=np.int32)
    prints, key = np.zeros(equi_probe.STRIDE, np.int32), np.array([5])
    equi_probe.fingerprints(key, prints)
    prints[:] = prints[0]  # those of the other key and of what fills the block up, too
    mine, theirs = np.empty(9, np.int32), np.empty(9, np.int32)
    bounds = Bounds.of(-9, 9, 1, 3)
    assert bounds is not None
    for kernel in (equi_probe.scan_pairs, equi_probe.scan_pairs.py_func):
        table = (prints, keys, times, rows)
        assert kernel(key, np.array([2]), 0, 0, bounds, *table, mine, theirs) == (1, 0, 2)
        assert mine[:2].tolist() == [0, 2]


def test_what_the_hash_index_refuses_is_refused() -> None:
    index, two = ListIndex.build(np.arange(2), np.arange(2)), np.arange(2)
    with pytest.raises(DataError, match="keys: got int32"):
        ListIndex.build(two.astype(np.int32), two)
    with pytest.raises(DataError, match="times: got 3 for 2 keys"):
        index.probe(two, np.arange(3), 0, 0)
    with pytest.raises(ConfigError, match="low: got"):
        index.probe(two, two, MIN - 1, 0)
    with pytest.raises(ConfigError, match="max_pairs: got 0"):
        index.probe_chunks(two, two, 0, 0, 0)
