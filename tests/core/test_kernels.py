"""Kernels against plain Python, and against themselves uncompiled."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from streamjoin._typing import Keys, Positions, Times
from streamjoin.core.kernels import equi, equi_probe
from streamjoin.core.kernels.equi_probe import WIDTH, Bounds

INT64 = st.integers(-(2**63), 2**63 - 1)
KEYS = st.lists(st.integers(-3, 3) | INT64, max_size=60)


def _int64(values: list[int]) -> NDArray[np.int64]:
    return np.array(values, np.int64)


class Grouped(NamedTuple):
    bits: int
    slots: NDArray[np.int32]
    groups: NDArray[np.int64]
    group_of: Positions
    place_of: Positions
    rows: Positions
    row_times: Times
    known: NDArray[np.int64]


def _grouped(keys: Keys, times: Times, compiled: bool) -> Grouped:
    n = len(keys)
    bits = max(1, (2 * n - 1).bit_length())
    slots = np.zeros(1 << bits, np.int32)
    group_of, place_of = np.zeros(n, np.int32), np.zeros(n, np.int32)
    groups, known = np.zeros(2 * (n + 1), np.int64), np.zeros(4, np.int64)
    rows, row_times = np.zeros(n + WIDTH, np.int32), np.zeros(n + WIDTH, np.int64)
    group = equi.group_rows if compiled else equi.group_rows.py_func
    order = equi.order_rows if compiled else equi.order_rows.py_func
    mark = equi.mark_known if compiled else equi.mark_known.py_func
    n_groups = group(keys, bits, slots, groups, group_of, place_of)
    order(n_groups, groups, group_of, place_of, times, rows, row_times)
    mark(n_groups, groups, known)
    groups = groups[: 2 * n_groups]
    return Grouped(bits, slots, groups, group_of, place_of, rows, row_times, known)


@given(INT64)
def test_mix_equals_its_twin_and_murmur3(key: int) -> None:
    h = key % 2**64
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        h = (h ^ (h >> 33)) * factor % 2**64
    expected = np.uint64(h ^ (h >> 33)).astype(np.int64)
    assert equi.mix(np.int64(key)) == expected
    with np.errstate(over="ignore"):
        assert equi.mix.py_func(np.int64(key)) == expected


@given(KEYS, st.integers(1, 9))
def test_split_groups_rows_by_shard_in_their_order(values: list[int], n_shards: int) -> None:
    keys = _int64(values)
    order, begin = equi.split_by_shard(keys, n_shards)
    assert order.dtype == np.int32
    assert begin[0] == 0
    assert begin[-1] == len(keys)
    assert sorted(order.tolist()) == list(range(len(keys)))
    shard_of: dict[int, int] = {}
    for s in range(n_shards):
        rows = order[begin[s] : begin[s + 1]].tolist()
        assert rows == sorted(rows)
        for row in rows:
            assert shard_of.setdefault(values[row], s) == s


@given(KEYS, st.integers(1, 9))
def test_split_equals_its_twin(values: list[int], n_shards: int) -> None:
    compiled = equi.split_by_shard(_int64(values), n_shards)
    plain = equi.split_by_shard.py_func(_int64(values), n_shards)
    for one, other in zip(compiled, plain, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("step", [1, 1000, 2**32, -(2**40)])
def test_shards_of_plain_integers_are_even(step: int) -> None:
    _, begin = equi.split_by_shard(np.arange(80_000) * step, 8)
    np.testing.assert_allclose(np.diff(begin), 10_000, rtol=0.05)


def test_slots_of_one_shard_are_spread() -> None:
    order, begin = equi.split_by_shard(np.arange(80_000), 8)
    mixed = np.array([equi.mix(key) for key in order[begin[3] : begin[4]]])
    np.testing.assert_allclose(np.bincount((mixed >> 60) & 15, minlength=16), 625, rtol=0.2)


@given(KEYS)
def test_groups_hold_each_keys_rows_in_order(values: list[int]) -> None:
    times = np.arange(len(values)) * 10
    _, _, groups, _, _, rows, row_times, known = _grouped(_int64(values), times, compiled=True)
    spans = {int(h): int(span) for h, span in groups.reshape(-1, 2)[1:]}
    assert len(spans) == len(set(values))
    for key in set(values):
        h = int(equi.mix(np.int64(key)))
        begin, count = spans[h] >> 32, spans[h] & equi.LOW32
        expected = [i for i, value in enumerate(values) if value == key]
        assert rows[begin : begin + count].tolist() == expected
        assert row_times[begin : begin + count].tolist() == [10 * i for i in expected]
        word = int(known[(h >> 32) & 3])
        assert (word >> (h & 63)) & (word >> ((h >> 6) & 63)) & 1


@given(KEYS)
def test_grouping_equals_its_twin(values: list[int]) -> None:
    times = np.arange(len(values))
    compiled = _grouped(_int64(values), times, compiled=True)
    plain = _grouped(_int64(values), times, compiled=False)
    for one, other in zip(compiled, plain, strict=True):
        np.testing.assert_array_equal(one, other)


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 50)), min_size=1, max_size=60),
    st.lists(st.tuples(st.integers(0, 5), st.integers(-20, 70)), max_size=40),
    st.integers(-30, 30),
    st.integers(0, 40),
    st.integers(1, 300),
)
def test_probing_equals_its_twin(
    index: list[tuple[int, int]],
    probe: list[tuple[int, int]],
    low: int,
    width: int,
    size: int,
) -> None:
    index.sort(key=lambda row: row[1])
    times = _int64([t for _, t in index])
    built = _grouped(_int64([k for k, _ in index]), times, compiled=True)
    keys, others = _int64([k for k, _ in probe]), _int64([t for _, t in probe])
    bounds = Bounds.of(low, low + width, int(times[0]), int(times[-1]))
    assert bounds is not None
    table = (built.known, built.bits, built.slots, built.groups, built.row_times)
    found = []
    for find, fill in (
        (equi_probe.find_runs, equi_probe.fill_pairs),
        (equi_probe.find_runs.py_func, equi_probe.fill_pairs.py_func),
    ):
        run_rows, run_spans = np.zeros(len(keys), np.int32), np.zeros(len(keys), np.int64)
        stop, n_pairs = find(keys, others, 0, bounds, *table, WIDTH, run_rows, run_spans)
        size = min(size, n_pairs)
        mine, theirs = np.zeros(size + WIDTH, np.int32), np.zeros(size + WIDTH, np.int32)
        where = fill(run_rows, run_spans, 0, 0, size, built.rows, mine, theirs)
        found.append((stop, n_pairs, where, mine[:size].tolist(), theirs[:size].tolist()))
    assert found[0] == found[1]
