"""Sets in normal form, and what two of them have in common, against plain Python."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from streamjoin import oracle
from streamjoin._typing import Side
from streamjoin.core.index import fixed
from streamjoin.core.kernels import sets as kernels
from streamjoin.core.predicate.expressions import Column
from streamjoin.core.predicate.sets import InnerProduct, Overlap
from streamjoin.core.sets import Sets, Vocabulary, can_be_item

WORDS = ["", "a", "b", "ab", "é", "\U0001f600"]
ITEMS = {
    "int8": (pa.int8(), st.integers(-3, 3)),
    "int64": (pa.int64(), st.integers(0, 4) | st.integers(-(2**63), 2**63 - 1)),
    "string": (pa.string(), st.sampled_from(WORDS)),
    "large_binary": (pa.large_binary(), st.sampled_from([word.encode() for word in WORDS])),
    "date": (pa.date32(), st.dates()),
    "bool": (pa.bool_(), st.booleans()),
}
WEIGHTS = st.none() | st.sampled_from(
    [0.0, -0.0, 0.1, 0.2, 0.3, -0.7, 1.0, 1e16, -1e16, np.inf, -np.inf, np.nan]
)
Rows = list[Any]


def arrays(kind: pa.DataType, rows: Rows, large: bool = False) -> pa.Array:
    """A column with a row before and one after it that are not seen."""
    whole = (pa.large_list if large else pa.list_)(kind)
    return pa.array([rows[0] if rows else [], *rows, None], whole).slice(1, len(rows))


def columns(side: Side, *kinds: pa.DataType) -> tuple[Column, ...]:
    return tuple(Column(kind, side, i, f"c{i}") for i, kind in enumerate(kinds))


def computed(call: Overlap | InnerProduct, *sides: Sequence[pa.Array]) -> Rows:
    found: Rows = call.compute(lambda side, position: sides[side][position]).data.to_pylist()
    return found


@st.composite
def sets(draw: st.DrawFn) -> tuple[pa.DataType, Rows, Rows]:
    """Two columns of as many sets of one type of item."""
    kind, items = ITEMS[draw(st.sampled_from(list(ITEMS)))]
    one = st.none() | st.lists(st.none() | items, max_size=6) | st.lists(items, max_size=50)
    pairs = draw(st.lists(st.tuples(one, one), max_size=6))
    return kind, [x for x, _ in pairs], [y for _, y in pairs]


@given(sets(), st.booleans())
def test_overlap_is_the_oracles_whichever_side_is_first(
    drawn: tuple[pa.DataType, Rows, Rows], large: bool
) -> None:
    kind, left, right = drawn
    call = Overlap(pa.int32(), *columns(0, kind), *columns(1, kind))
    mine, theirs = [arrays(kind, left, large)], [arrays(kind, right)]
    wanted = [oracle.overlap(x, y) for x, y in zip(left, right, strict=True)]
    assert computed(call, mine, theirs) == wanted
    assert computed(call, theirs, mine) == wanted


@st.composite
def weighted_sets(draw: st.DrawFn) -> tuple[pa.DataType, Rows, Rows]:
    """Two columns of (items, weights), now and then not as many."""
    kind, items = ITEMS[draw(st.sampled_from(list(ITEMS)))]
    pairs = st.lists(st.tuples(st.none() | items, WEIGHTS), max_size=8)
    split = pairs.map(lambda some: ([i for i, _ in some], [w for _, w in some]))
    odd: st.SearchStrategy[Any] = st.sampled_from(
        [(None, [1.0]), ([], None), ([], [1.0]), (None, None)]
    )
    rows = draw(st.lists(st.tuples(split | odd, split), max_size=6))
    return kind, [x for x, _ in rows], [y for _, y in rows]


MANY = [i * 7 % 5 for i in range(150)], [1.1**i for i in range(150)]


@given(weighted_sets())
@example((pa.int64(), [([1, 2, 3], [1e16, 1.0, -1e16])], [([3, 1, 2], [1.0, 1.0, 1.0])]))
@example((pa.int64(), [([1, 2], [np.inf, 1.0])], [([1, 2], [0.0, 1.0])]))
@example((pa.int64(), [([1, 1], [np.inf, -np.inf])], [([1, 2], [1.0, 1.0])]))
@example((pa.int64(), [MANY], [(list(range(5)), [1.0] * 5)]))
def test_inner_product_is_the_oracles_bit_for_bit(drawn: tuple[pa.DataType, Rows, Rows]) -> None:
    kind, left, right = drawn
    call = InnerProduct(pa.float64(), *(columns(s, kind, pa.float64()) for s in (0, 1)))
    mine, theirs = (
        [arrays(kind, [i for i, _ in side]), arrays(pa.float64(), [w for _, w in side])]
        for side in (left, right)
    )
    wanted = [oracle.inner_product(x, y) for x, y in zip(left, right, strict=True)]
    assert computed(call, mine, theirs) == wanted
    assert computed(call, theirs, mine) == wanted


def test_maps_and_weights_of_other_types() -> None:
    kind = pa.map_(pa.string(), pa.decimal128(4, 2))
    left = pa.array([[("a", 1), ("b", 2)], None, [], [("a", None)]], kind)
    right = [
        pa.array([["b", "a"], ["a"], [], ["a"]]),
        pa.array([[3, 4], [5], [], [6]], pa.list_(pa.int16())),
    ]
    call = InnerProduct(pa.float64(), columns(0, kind), columns(1, pa.string(), pa.int16()))
    assert computed(call, [left], right) == [10.0, None, 0.0, 0.0]
    assert computed(call, [left.slice(1)], [column.slice(1) for column in right])[0] is None


def test_a_null_may_have_items_beneath_it() -> None:
    column = pa.ListArray.from_arrays(
        pa.array([0, 2, 4], pa.int32()), pa.array([1, 2, 3, 4]), mask=pa.array([True, False])
    )
    found = Sets.of([column], Vocabulary.over([column]))
    assert (found.offsets.tolist(), found.items.tolist()) == ([0, 0, 2], [3, 4])
    assert found.valid.tolist() == [False, True]


def test_only_known_words_are_kept() -> None:
    words = Vocabulary.over([pa.array([["b", "a"]])])
    found = Sets.of([pa.array([["x", "b"], ["a", "y"], ["z"]])], words)
    assert (found.offsets.tolist(), found.items.tolist()) == ([0, 1, 2, 2], [1, 0])


@pytest.mark.parametrize("kind", [pa.float64(), pa.uint64(), pa.list_(pa.int8()), pa.null()])
def test_other_types_are_no_items(kind: pa.DataType) -> None:
    assert not can_be_item(kind)


NUMBERED = st.lists(st.lists(st.tuples(st.integers(0, 5), WEIGHTS), max_size=150), max_size=4)


@given(NUMBERED)
@example([[(i * 7 % 5, 0.1 * i) for i in range(150)]])
def test_the_compiled_normal_form_is_the_plain_one(rows: list[list[tuple[int, Any]]]) -> None:
    lengths = np.array([len(row) for row in rows], np.int64)
    starts = np.cumsum(lengths) - lengths
    flat = [pair for row in rows for pair in row]
    codes = fixed(np.array([code for code, _ in flat], np.int64))
    weights = np.array([np.nan if w is None else w for _, w in flat], np.float64)
    results: Rows = []
    for run in (kernels.normal_form, kernels.normal_form.py_func):
        out = np.zeros(len(rows) + 1, np.int64), np.zeros(len(flat), np.int64), np.zeros(len(flat))
        with np.errstate(invalid="ignore"):
            run(starts, lengths, codes, codes != 5, starts, weights, True, *out)
        results.append((out[0], *(side[: out[0][-1]] for side in out[1:])))
    for mine, theirs in zip(*results, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@given(weighted_sets())
def test_compiled_comparisons_are_the_plain_ones(drawn: tuple[pa.DataType, Rows, Rows]) -> None:
    kind, rows, _ = drawn
    column = [arrays(kind, [i for i, _ in rows]), arrays(pa.float64(), [w for _, w in rows])]
    one = Sets.of(column, Vocabulary.over(column))
    each = np.arange(len(rows), dtype=np.int32)
    pairs = each, each[::-1].copy()
    items, weighted = (one.offsets, one.items), (one.offsets, one.items, one.weights)
    counts = [np.zeros(len(rows), np.int32) for _ in range(2)]
    sums = [np.zeros(len(rows)) for _ in range(2)]
    kernels.common_items(*items, *items, *pairs, counts[0])
    kernels.common_items.py_func(*items, *items, *pairs, counts[1])
    kernels.inner_products(*weighted, *weighted, *pairs, sums[0])
    with np.errstate(invalid="ignore"):
        kernels.inner_products.py_func(*weighted, *weighted, *pairs, sums[1])
    np.testing.assert_array_equal(counts[0], counts[1])
    np.testing.assert_array_equal(sums[0], sums[1])
