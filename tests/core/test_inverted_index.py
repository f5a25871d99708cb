"""The inverted index gives the pairs that plain Python finds, in order, and counts its work."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from streamjoin import oracle
from streamjoin.core.index import fixed
from streamjoin.core.kernels import inverted
from streamjoin.core.kernels.equi_probe import Bounds
from streamjoin.core.sets import InvertedIndex, Sets, Vocabulary
from streamjoin.errors import ConfigError, DataError

MIN, MAX = -(2**63), 2**63 - 1
EDGES = st.sampled_from([MIN, MIN + 1, -1, 0, 1, MAX - 1, MAX])
WEIGHTS = st.sampled_from([0.1, 0.2, 0.3, -0.5, 1.0, 1e16, -1e16, float("inf")])
Row = tuple[int, int, dict[str, float]]
Case = tuple[list[Row], list[Row], int, int]
"""Rows of (key, time, weights of items) in the index and others that probe it, and bounds."""


def cases(times: st.SearchStrategy[int], bounds: st.SearchStrategy[int]) -> st.SearchStrategy[Case]:
    items = st.dictionaries(st.sampled_from("abcdefg"), WEIGHTS, max_size=6)
    rows = st.lists(st.tuples(st.integers(0, 1), times, items), max_size=20)
    return st.tuples(rows, rows, bounds, bounds)


CASES = cases(st.integers(0, 30), st.integers(-20, 20)) | cases(EDGES, EDGES)
ONE = [(0, MAX, {"a": 1.0})], [(0, MIN, {"a": 1.0})]


def arrays(rows: list[Row], weighted: bool) -> tuple[Any, list[pa.Array], Any]:
    keys, times = (np.array([row[i] for row in rows], np.int64) for i in range(2))
    items = pa.array([list(row[2]) for row in rows], pa.list_(pa.string()))
    weights = pa.array([list(row[2].values()) for row in rows], pa.list_(pa.float64()))
    return keys, [items, weights] if weighted else [items], times


def probe(case: Case, max_pairs: int, fewest: int, least: float | None) -> tuple[Any, int]:
    """Pieces of pairs, and the number of postings walked."""
    index, probing, low, high = case
    keys, columns, times = arrays(index, least is not None)
    words = Vocabulary.over(columns)
    built = InvertedIndex.build(keys, Sets.of(columns, words), times)
    keys, columns, times = arrays(probing, least is not None)
    limits = {"fewest": fewest} if least is None else {"fewest": fewest, "least": least}
    found = built.probe_chunks(keys, Sets.of(columns, words), times, low, high, max_pairs, **limits)
    return list(found), built.walked


def plain(case: Case, fewest: int, least: float | None) -> list[tuple[int, int]]:
    index, probing, low, high = case
    in_order = sorted(range(len(index)), key=lambda i: index[i][1])
    return [
        (i, j)
        for j, (key, time, items) in enumerate(probing)
        for i in in_order
        if index[i][0] == key
        and low <= index[i][1] - time <= high
        and (oracle.overlap(index[i][2], items) or 0) >= fewest
        and (least is None or (oracle.inner_product(index[i][2], items) or -1) >= least)
    ]


@given(CASES, st.integers(1, 4), st.none() | st.sampled_from([0.05, 0.06, 0.3, 1.0]))
@example((*ONE, MAX, MAX), 1, None)
@example((*ONE[::-1], MIN, MAX), 1, None)
def test_equals_plain_python(case: Case, fewest: int, least: float | None) -> None:
    pieces, _ = probe(case, 10**6, fewest, least)
    found = [(int(i), int(j)) for piece in pieces for i, j in zip(*piece, strict=True)]
    assert found == plain(case, fewest, least)
    assert all(side.dtype == np.int32 for piece in pieces for side in piece)


@given(CASES, st.integers(1, 7))
def test_pieces_together_are_the_whole(case: Case, max_pairs: int) -> None:
    pieces, walked = probe(case, max_pairs, 1, None)
    assert all(0 < len(mine) == len(theirs) <= max_pairs for mine, theirs in pieces)
    found = [(int(i), int(j)) for piece in pieces for i, j in zip(*piece, strict=True)]
    pairs = plain(case, 1, None)
    assert found == pairs
    # One posting is walked for each item that two rows in reach have in common.
    assert walked == sum(oracle.overlap(case[0][i][2], case[1][j][2]) or 0 for i, j in pairs)


def test_rows_come_in_order_whichever_item_finds_them_first() -> None:
    index: list[Row] = [(0, 0, {"b": 1.0}), (0, 1, {"a": 1.0}), (0, 2, {"a": 1.0, "b": 1.0})]
    pieces, _ = probe((index, [(0, 0, {"a": 1.0, "b": 1.0})], 0, 9), 10, 1, None)
    assert [mine.tolist() for mine, _ in pieces] == [[0, 1, 2]]


def test_an_item_of_many_keys_is_found_by_its_own() -> None:
    rows: list[Row] = [(key, 0, {"a": 1.0, "b": 1.0}) for key in range(2000)]
    pieces, walked = probe((rows, rows, 0, 0), 10**6, 2, None)
    assert [mine.tolist() for mine, _ in pieces] == [list(range(2000))]
    assert walked == 4000


def test_more_pairs_than_fit_the_arrays_at_once() -> None:
    n, column = 700, [pa.array([["a", "b"]] * 700)]
    keys, times = np.zeros(n, np.int64), np.arange(n)[::-1].copy()
    words = Vocabulary.over(column)
    sets = Sets.of(column, words)
    index = InvertedIndex.build(keys, sets, times)
    pieces = list(index.probe_chunks(keys, sets, times, -n, n, 100_000, fewest=2))
    assert [len(mine) for mine, _ in pieces] == [65100] * 7 + [34300]
    mine = np.concatenate([piece[0] for piece in pieces]).reshape(n, n)
    assert (mine == np.arange(n)[::-1]).all()
    assert index.walked == 2 * n * n


@given(CASES, st.integers(1, 3))
def test_compiled_and_plain_kernels_agree(case: Case, fewest: int) -> None:
    index, probing, low, high = case
    keys, columns, times = arrays(index, weighted=True)
    words = Vocabulary.over(columns)
    built = InvertedIndex.build(keys, Sets.of(columns, words), times)
    bounds = Bounds.of(low, high, int(min(times, default=0)), int(max(times, default=0)))
    if bounds is None or not index:
        return
    keys, columns, times = arrays(probing, weighted=True)
    sets = Sets.of(columns, words)
    given_rows = fixed(keys), sets.offsets, sets.items, sets.weights, fixed(times)
    n, results = len(index), []
    for run in (inverted.find_sets, inverted.find_sets.py_func):
        scratch = inverted.Scratch(np.zeros(n, np.int32), np.zeros(n), np.zeros(n + 1, np.int32))
        out = np.zeros(n, np.int32), np.zeros(n, np.int32)
        found = run(*given_rows, 0, bounds, built._table, fewest, 0.1, scratch, *out)
        assert not scratch.counts.any()
        assert not scratch.sums.any()
        results.append((found, [side[: found[1]].tolist() for side in out]))
    assert results[0] == results[1]


def test_what_cannot_be_probed_is_refused() -> None:
    rows = [(0, 0, {"a": 1.0})]
    with pytest.raises(ConfigError, match=r"^max_pairs: got 0; allowed: a positive number$"):
        probe((rows, rows, 0, 0), 0, 1, None)
    with pytest.raises(ConfigError, match=r"^fewest: got 0; allowed: a positive number$"):
        probe((rows, rows, 0, 0), 1, 0, None)
    with pytest.raises(DataError, match=r"^times: got 2 for 1 keys"):
        InvertedIndex.build(np.zeros(1, np.int64), None, np.zeros(2, np.int64))  # type: ignore[arg-type]
