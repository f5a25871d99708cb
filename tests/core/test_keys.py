"""Hashes and comparisons of keys of any type."""

import decimal
import math
from datetime import date, datetime, timezone
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamjoin.core.keys import can_be_key, equal_keys, exact_keys, hash_keys, is_exact
from streamjoin.oracle import _same

D = decimal.Decimal
NESTED = pa.struct([("a", pa.int32()), ("b", pa.list_(pa.float64()))])
VALUES: list[tuple[pa.DataType, list[Any]]] = [
    (pa.int8(), [1, -1, 127]),
    (pa.bool_(), [True, False]),
    (pa.date32(), [date(2020, 1, 1), date(1960, 1, 1)]),
    (pa.timestamp("us", "UTC"), [datetime(2020, 1, 1, tzinfo=timezone.utc)]),
    (pa.string(), ["", "a", "aa", "a\0", "abcdefgh", "abcdefghi", "ä" * 30]),
    (pa.binary(), [b"", b"\0", b"\0\0", b"abcdefgh1"]),
    (pa.decimal128(30, 2), [D("1.00"), D("-1.00"), D("12345678901234567890.12")]),
    (pa.float64(), [0.0, -0.0, math.nan, math.inf, -math.inf, 1.5]),
    (pa.float32(), [0.0, -0.0, math.nan, 1.5]),
    (pa.list_(pa.string()), [[], ["a"], ["a", None], [None], ["a", "b"]]),
    (NESTED, [{"a": 1, "b": [1.0]}, {"a": None, "b": [1.0]}, {"a": 1, "b": None}, {"a": 1, "b": []},
              {"a": 1, "b": [-0.0]}, {"a": 1, "b": [0.0]}, {"a": 1, "b": [math.nan]}]),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "values"), VALUES, ids=[str(kind) for kind, _ in VALUES])
def test_equal_values_and_only_those_are_equal(kind: pa.DataType, values: list[Any]) -> None:
    values = [*values, None] if not is_exact(kind) else values
    left = pa.array([x for x in values for _ in values], kind)
    right = pa.array([y for _ in values for y in values], kind)
    want = [_same(x, y) for x in values for y in values]
    assert equal_keys([left], [right]).tolist() == want
    same_hash = hash_keys([left]) == hash_keys([right])
    assert same_hash.tolist() == want  # no collision among so few


@pytest.mark.parametrize(("kind", "values"), VALUES, ids=[str(kind) for kind, _ in VALUES])
def test_slices_hash_as_their_rows(kind: pa.DataType, values: list[Any]) -> None:
    whole = pa.array([*values, None, *values], kind)
    hashes = hash_keys([whole])
    assert hash_keys([whole.slice(1)]).tolist() == hashes[1:].tolist()
    assert equal_keys([whole.slice(1)], [whole.slice(1)]).all()
    again = pa.array(whole.slice(2).to_pylist(), kind)
    assert hash_keys([again]).tolist() == hashes[2:].tolist()


@given(st.lists(st.lists(st.text(max_size=9) | st.none(), max_size=3) | st.none(), min_size=1))
def test_lists_of_strings(values: list[list[str | None] | None]) -> None:
    left = pa.array(values, pa.list_(pa.string()))
    right = pa.array(values[1:] + values[:1], pa.list_(pa.string()))
    want = [x == y for x, y in zip(left.to_pylist(), right.to_pylist(), strict=True)]
    assert equal_keys([left], [right]).tolist() == want
    hashes = hash_keys([left]), hash_keys([right])
    assert all(a == b for a, b, same in zip(*hashes, want, strict=True) if same)


def test_exact_keys_keep_their_value() -> None:
    assert exact_keys(pa.array([-1, 2**62])).tolist() == [-1, 2**62]
    assert exact_keys(pa.array([date(1970, 1, 2)])).tolist() == [1]
    assert exact_keys(pa.array([True, False])).tolist() == [1, 0]


def test_column_order_and_boundaries_matter() -> None:
    one = hash_keys([pa.array(["ab"]), pa.array(["c"])])[0]
    two = hash_keys([pa.array(["a"]), pa.array(["bc"])])[0]
    three = hash_keys([pa.array(["c"]), pa.array(["ab"])])[0]
    assert len({one, two, three}) == 3


def test_maps_cannot_be_keys() -> None:
    assert not can_be_key(pa.map_(pa.string(), pa.int64()))
    assert not can_be_key(pa.struct([("m", pa.map_(pa.string(), pa.int64()))]))
