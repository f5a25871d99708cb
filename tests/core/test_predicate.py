"""Conditions against plain Python, row by row."""

import operator
import pickle
from collections.abc import Callable
from datetime import date
from decimal import Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from streamjoin._typing import Side
from streamjoin.core.predicate import Expression, build, mask
from streamjoin.core.predicate import expressions as ex
from streamjoin.core.predicate.bands import Band, find_band
from streamjoin.core.predicate.build import NotUnderstoodError, common_type
from streamjoin.errors import ConfigError, DataError

FAILED = "failed"
SIGNS: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "negate": operator.neg,
    "abs": abs,
}
EXACT = Context(prec=80)


def _whole(kind: pa.DataType) -> st.SearchStrategy[int]:
    low, high = -(2 ** (kind.bit_width - 1)), 2 ** (kind.bit_width - 1) - 1
    return st.sampled_from([0, 1, -1, 2, low, high]) | st.integers(-3, 3) | st.integers(low, high)


def _floats(width: int) -> st.SearchStrategy[float]:
    return st.sampled_from([0.0, -0.0, 1.0, float("nan"), float("inf")]) | st.floats(width=width)  # type: ignore[arg-type]


DECIMAL = pa.decimal128(10, 2)
VALUES: dict[pa.DataType, st.SearchStrategy[Any]] = {
    **{kind: _whole(kind) for kind in (pa.int8(), pa.int32(), pa.int64())},
    pa.float32(): _floats(32),
    pa.float64(): _floats(64),
    DECIMAL: st.integers(-300, 300).map(lambda n: Decimal(n) / 100),
    pa.string(): st.sampled_from(["", "a", "b", "é", "\U0001f600"]),
    pa.bool_(): st.booleans(),
    pa.date32(): st.sampled_from([date(1, 1, 1), date(2024, 2, 29), date(9999, 12, 31)]),
}
KINDS = list(VALUES)
NUMBERS = KINDS[:6]


def _literal(kind: pa.DataType) -> st.SearchStrategy[ex.Literal]:
    known = VALUES[kind].filter(lambda v: v == v)  # SQL has no literal for NaN
    return (known | st.none()).map(lambda v: ex.Literal(kind, v, str(v)))


def _column(kind: pa.DataType) -> st.SearchStrategy[Expression]:
    place = KINDS.index(kind)
    return st.sampled_from([ex.Column(kind, 0, place, "x"), ex.Column(kind, 1, place, "y")])


def _leaf(kind: pa.DataType) -> st.SearchStrategy[Expression]:
    return _column(kind) | _column(kind) | _literal(kind)


def _made(make: Callable[..., Expression], *parts: Any) -> Expression:
    try:
        return make(*parts)
    except (NotUnderstoodError, ConfigError):  # a type or a constant that is refused
        reject()


def _numbers() -> st.SearchStrategy[Expression]:
    return st.recursive(
        st.sampled_from(NUMBERS).flatmap(_leaf),
        lambda inner: (
            st.builds(_made, st.just(build.calculate), st.sampled_from("+-*/"), inner, inner)
            | st.builds(_made, st.sampled_from([build.negate, build.absolute]), inner)
        ),
        max_leaves=4,
    )


def _comparisons() -> st.SearchStrategy[Expression]:
    signs = st.sampled_from(["=", "<>", "<", "<=", ">", ">=", "<=>"])
    alike = st.sampled_from(KINDS).flatmap(lambda k: st.tuples(_leaf(k), _leaf(k)))
    numbers = st.tuples(_numbers(), _numbers())
    compared = st.tuples(signs, alike | numbers).map(lambda c: _made(build.compare, c[0], *c[1]))
    listed = st.sampled_from(KINDS).flatmap(
        lambda k: st.builds(
            _made, st.just(build.is_in), _column(k), st.lists(_literal(k), min_size=1, max_size=3)
        )
    )
    return compared | listed | _numbers().map(build.is_null) | _leaf(pa.bool_())


CONDITIONS = st.recursive(
    _comparisons(),
    lambda inner: (
        st.builds(
            _made,
            st.sampled_from([build.all_of, build.any_of]),
            st.lists(inner, min_size=1, max_size=3),
        )
        | st.builds(_made, st.just(build.opposite), inner)
        | inner.map(lambda e: ex.Attempt(pa.bool_(), e))
    ),
    max_leaves=4,
)
ROWS = st.lists(st.tuples(*(st.tuples(*[VALUES[k] | st.none() for k in KINDS]),) * 2), max_size=5)


def plain(e: Expression, row: Any) -> Any:
    """The value for one pair of rows, None for null, FAILED for none."""
    if isinstance(e, ex.Column):
        return row[e.side][e.position]
    if isinstance(e, ex.Literal):
        return e.value
    parts = [plain(operand, row) for operand in e.operands]
    if isinstance(e, ex.And | ex.Or):
        decisive = isinstance(e, ex.Or)
        for value in (decisive, FAILED, None):
            if any(part is value for part in parts):
                return value
        return not decisive
    if isinstance(e, ex.Attempt):
        return None if parts[0] is FAILED else parts[0]
    if not isinstance(e, ex.In | ex.IsNull) and getattr(e, "operation", "") != "<=>":
        for value in (None, FAILED):
            if any(part is value for part in parts):
                return value
    if FAILED in parts:
        return FAILED
    if isinstance(e, ex.IsNull):
        return parts[0] is None
    if isinstance(e, ex.Compare):
        return _plain_compare(e.operation, *parts)
    if isinstance(e, ex.In):
        found = [_plain_compare("=", parts[0], other) for other in parts[1:]]
        return True if True in found else None if None in found else False
    if isinstance(e, ex.Not):
        return not parts[0]
    if isinstance(e, ex.Cast):
        return _plain_cast(e.type, parts[0])
    assert isinstance(e, ex.Arithmetic | ex.Unary)
    return _plain_calculate(e.operation, e.type, parts)


def _plain_compare(sign: str, left: Any, right: Any) -> bool | None:
    if sign == "<=>":
        return left is right if None in (left, right) else _plain_compare("=", left, right)
    if left is None or right is None:
        return None
    left, right = (_sortable(v) for v in (left, right))
    return bool(
        {
            "=": left == right,
            "<>": left != right,
            "<": left < right,
            "<=": left <= right,
            ">": left > right,
            ">=": left >= right,
        }[sign]
    )


def _sortable(value: Any) -> Any:
    """NaN after everything else; strings by their bytes."""
    if isinstance(value, str):
        return value.encode()
    return (value != value, 0 if value != value else value)


def _plain_cast(kind: pa.DataType, value: Any) -> Any:
    return float(value) if kind == pa.float64() else value


def _plain_calculate(sign: str, kind: pa.DataType, parts: list[Any]) -> Any:
    if sign == "/":
        return FAILED if parts[1] == 0 else float(np.float64(parts[0]) / np.float64(parts[1]))
    if pa.types.is_floating(kind):
        scalar = np.float32 if kind == pa.float32() else np.float64
        return float(SIGNS[sign](*(scalar(part) for part in parts)))
    if pa.types.is_decimal(kind):
        names = {"+": "add", "-": "subtract", "*": "multiply", "negate": "minus", "abs": "abs"}
        return getattr(EXACT, names[sign])(*parts)
    exact = SIGNS[sign](*parts)
    return exact if -(2 ** (kind.bit_width - 1)) <= exact < 2 ** (kind.bit_width - 1) else FAILED


def _fetch(rows: list[Any]) -> Callable[[Side, int], pa.Array]:
    def fetch(side: Side, position: int) -> pa.Array:
        return pa.array([row[side][position] for row in rows], KINDS[position])

    return fetch


@given(CONDITIONS, ROWS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy scalars warn of overflow
def test_conditions_are_what_plain_python_says(condition: Expression, rows: list[Any]) -> None:
    expected = [plain(condition, row) for row in rows]
    data, failed, _ = condition.compute(_fetch(rows))
    values = [data.as_py()] * len(rows) if isinstance(data, pa.Scalar) else data.to_pylist()
    marks = [False] * len(rows) if failed is None else failed.tolist()
    assert [FAILED if m else v for v, m in zip(values, marks, strict=True)] == expected
    if FAILED in expected:
        with pytest.raises(DataError, match=f"^where: .* for {expected.count(FAILED)} of "):
            mask(condition, _fetch(rows))
    else:
        assert mask(condition, _fetch(rows)).tolist() == [value is True for value in expected]


@given(CONDITIONS)
def test_expressions_are_values(condition: Expression) -> None:
    again = pickle.loads(pickle.dumps(condition))
    assert again == condition
    assert hash(again) == hash(condition)
    assert again.describe() == condition.describe()


X, Y = ex.Column(pa.int64(), 0, 2, "x"), ex.Column(pa.int64(), 1, 2, "y")
ZERO = ex.Literal(pa.int32(), 0, "0")


def test_a_guard_hides_what_it_excludes() -> None:
    rows: list[Any] = [((None, None, x), (None, None, y)) for x, y in [(4, 2), (1, 0), (None, 0)]]
    ratio = build.compare(">", build.calculate("/", X, Y), ZERO)
    guard = build.compare("<>", Y, ZERO)
    for parts in ([guard, ratio], [ratio, guard]):
        assert mask(build.all_of(parts), _fetch(rows)).tolist() == [True, False, False]
    unless = build.any_of([build.compare("=", Y, ZERO), ratio])
    assert mask(unless, _fetch(rows)).tolist() == [True, True, True]


def test_failures_are_named() -> None:
    rows: list[Any] = [((None, None, 2**62), (None, None, y)) for y in (0, 2**62)]
    for condition, message in [
        (build.compare(">", build.calculate("/", X, Y), ZERO), "left.x / right.y divides by zero"),
        (
            build.compare(">", build.calculate("+", X, Y), ZERO),
            "left.x [+] right.y is beyond int64",
        ),
    ]:
        with pytest.raises(DataError, match=f"^where: {message} for 1 of 2 pairs of rows; allowed"):
            mask(condition, _fetch(rows))


@pytest.mark.parametrize(("value", "expected"), [(True, True), (False, False), (None, False)])
def test_a_constant_counts_for_every_pair(value: bool | None, expected: bool) -> None:
    rows: list[Any] = [((1,), (1,))] * 3
    literal = ex.Literal(pa.bool_(), value, str(value))
    assert mask(literal, _fetch(rows)).tolist() == [expected] * 3


def test_columns_are_known() -> None:
    ratio = build.calculate("/", X, build.absolute(X))
    assert build.compare(">", ratio, ZERO).columns() == {X}
    assert build.all_of([build.is_null(X), build.compare(">", Y, ZERO)]).columns() == {X, Y}


def test_columns_are_fetched_once() -> None:
    fetched = []

    def fetch(side: Side, position: int) -> pa.Array:
        fetched.append((side, position))
        return pa.array([1])

    parts = [build.compare(sign, X, Y) for sign in ("<", ">", "=")]
    mask(build.any_of(parts), fetch)
    assert sorted(fetched) == [(0, 2), (1, 2)]


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (pa.int8(), pa.int64(), pa.int64()),
        (pa.int8(), pa.float32(), pa.float64()),
        (pa.float32(), pa.float32(), pa.float32()),
        (pa.decimal128(30, 10), pa.int64(), pa.decimal128(30, 10)),
        (pa.decimal128(38, 30), pa.int64(), None),
        (pa.float32(), DECIMAL, pa.float64()),
        (pa.null(), pa.string(), pa.string()),
        (pa.null(), pa.null(), None),
        (pa.string(), pa.large_string(), pa.large_string()),
        (pa.timestamp("us", "UTC"), pa.timestamp("us", "Asia/Tokyo"), pa.timestamp("us", "UTC")),
        (pa.timestamp("us", "UTC"), pa.timestamp("us"), None),
        (pa.timestamp("us"), pa.timestamp("ns"), None),
        (pa.date32(), pa.timestamp("us"), None),
        (pa.uint8(), pa.uint8(), None),
        (pa.list_(pa.int32()), pa.list_(pa.int32()), None),
    ],
)
def test_common_types(left: pa.DataType, right: pa.DataType, expected: pa.DataType | None) -> None:
    assert common_type(left, right) == expected


def test_a_decimal_column_is_not_rounded_to_a_double() -> None:
    column, half = ex.Column(DECIMAL, 0, 0, "m"), ex.Literal(pa.float64(), 0.5, "5e-1")
    with pytest.raises(NotUnderstoodError):
        build.compare("<", column, half)


def test_a_difference_beyond_its_type_is_beyond_the_band() -> None:
    five = ex.Literal(pa.int32(), 5, "5")
    near = build.compare("<=", build.absolute(build.calculate("-", X, Y)), five)
    band, conditions = find_band([near])
    assert band == Band(2, 2, 5)
    rows: list[Any] = [((0, 0, 2**63 - 1), (0, 0, y)) for y in (-(2**63), -1, 2**63 - 4)]
    assert mask(build.all_of(conditions), _fetch(rows)).tolist() == [False, False, True]
