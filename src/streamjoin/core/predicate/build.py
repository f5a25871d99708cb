"""Expressions with the types that Spark would give them, as simple as they can be made.

Which types can meet in an expression, and what comes out, are the rules of Spark's ANSI mode.
"""

from collections.abc import Sequence
from decimal import Decimal
from typing import Final

import pyarrow as pa

from streamjoin.core.keys import BYTES
from streamjoin.core.predicate.expressions import (
    And,
    Arithmetic,
    Cast,
    Compare,
    Expression,
    In,
    IsNull,
    Literal,
    Not,
    Or,
    Unary,
)
from streamjoin.errors import ConfigError

_DIGITS: Final = {pa.int8(): 3, pa.int16(): 5, pa.int32(): 10, pa.int64(): 20}
_MOST_DIGITS: Final = 38


class NotUnderstoodError(Exception):
    """Spark may have a value for this; here it is not known."""


def compare(operation: str, left: Expression, right: Expression) -> Expression:
    """``= <> < <= > >= <=>`` in the common type of both.

    Examples
    --------
    >>> one, half = Literal(pa.int32(), 1, "1"), Literal(pa.float64(), 0.5, "5e-1")
    >>> compare("<", half, one).value
    True
    """
    # Spark has such comparisons decided, and false or true even of null.
    if any(is_whole(a.type) and _is_huge(b) for a, b in ((left, right), (right, left))):
        raise NotUnderstoodError
    kind = _common([left, right])
    parts = _as(kind, left), _as(kind, right)
    return _folded(Compare(pa.bool_(), operation, *parts))


def calculate(operation: str, left: Expression, right: Expression) -> Expression:
    """``+ - * /`` of two numbers.

    Examples
    --------
    >>> calculate("*", Literal(pa.int32(), 60, "60"), Literal(pa.int32(), 60, "60"))
    Literal(type=DataType(int32), value=3600, text='(60 * 60)')
    """
    kind = _common([left, right])
    if not is_number(kind):
        raise NotUnderstoodError
    if pa.types.is_decimal(kind):
        if operation == "/":
            raise NotUnderstoodError
        kinds = [kind if pa.types.is_null(e.type) else as_decimal(e.type) for e in (left, right)]
        parts = [_as(k, e) for k, e in zip(kinds, (left, right), strict=True)]
    else:
        kind = pa.float64() if operation == "/" else kind
        parts = [_as(kind, e) for e in (left, right)]
    result = result_type(operation, parts[0].type, parts[1].type)
    if result is None:
        raise NotUnderstoodError
    return _folded(Arithmetic(result, operation, *parts))


def negate(operand: Expression) -> Expression:
    """The number with the other sign."""
    return _unary("negate", operand)


def absolute(operand: Expression) -> Expression:
    """The number without its sign."""
    return _unary("abs", operand)


def all_of(parts: Sequence[Expression]) -> Expression:
    """True where all parts are."""
    return _connected(And, parts)


def any_of(parts: Sequence[Expression]) -> Expression:
    """True where any part is."""
    return _connected(Or, parts)


def opposite(operand: Expression) -> Expression:
    """True where the operand is false."""
    return _folded(Not(pa.bool_(), _as(pa.bool_(), operand)))


def is_null(operand: Expression) -> Expression:
    """Whether there is no value."""
    return _folded(IsNull(pa.bool_(), operand))


def is_in(operand: Expression, among: Sequence[Literal]) -> Expression:
    """Whether the operand equals one of some literals.

    Examples
    --------
    >>> two, three = Literal(pa.int32(), 2, "2"), Literal(pa.int32(), 3, "3")
    >>> is_in(two, [two, three]).describe()
    '(2 IN (2, 3))'
    """
    kind = _common([operand, *among])
    literals = [_as(kind, literal) for literal in among]
    known = tuple(literal for literal in literals if isinstance(literal, Literal))
    return _folded(In(pa.bool_(), _as(kind, operand), known))


def _is_huge(expression: Expression) -> bool:
    """Whether this is a decimal that is larger than any whole number."""
    value = expression.value if isinstance(expression, Literal) else None
    return isinstance(value, Decimal) and abs(value) >= 2**63


def _unary(operation: str, operand: Expression) -> Expression:
    if not is_number(operand.type):
        raise NotUnderstoodError
    return _folded(Unary(operand.type, operation, operand))


def _connected(kind: type[And] | type[Or], parts: Sequence[Expression]) -> Expression:
    flat = [p for part in parts for p in (part.parts if isinstance(part, kind) else (part,))]
    conditions = [_as(pa.bool_(), part) for part in flat]
    neutral = not kind.decisive
    needed = [c for c in conditions if not (isinstance(c, Literal) and c.value is neutral)]
    if len(needed) == 0:
        return conditions[0]
    return needed[0] if len(needed) == 1 else _folded(kind(pa.bool_(), tuple(needed)))


def _common(parts: Sequence[Expression]) -> pa.DataType:
    kind = parts[0].type
    for part in parts[1:]:
        kind = common_type(kind, part.type)
        if kind is None:
            raise NotUnderstoodError
    return kind


def _as(kind: pa.DataType, expression: Expression) -> Expression:
    """The expression in another type."""
    if expression.type == kind:
        return expression
    to_float = pa.types.is_decimal(expression.type) and is_float(kind)
    if not isinstance(expression, Literal):
        if to_float:  # Arrow and Java may round differently
            raise NotUnderstoodError
        return Cast(kind, expression)
    if to_float and isinstance(expression.value, Decimal):
        return Literal(kind, float(expression.value), expression.text)
    value = pa.scalar(expression.value, expression.type).cast(kind, safe=False).as_py()
    return Literal(kind, value, expression.text)


def _folded(expression: Expression) -> Expression:
    """A literal instead of an expression of literals."""
    if not all(isinstance(operand, Literal) for operand in expression.operands):
        return expression
    data, failed, reason = expression.compute(_no_column)
    if failed is not None and failed.any():
        raise ConfigError(f"where: {reason}; allowed: constants that can be computed")
    return Literal(expression.type, data.as_py(), f"({expression.describe()})")


def _no_column(side: object, position: object) -> pa.Array:
    raise AssertionError


def is_whole(kind: pa.DataType) -> bool:
    """Whether this is one of Spark's whole numbers.

    Examples
    --------
    >>> is_whole(pa.int8()), is_whole(pa.uint8())
    (True, False)
    """
    return kind in _DIGITS


def is_float(kind: pa.DataType) -> bool:
    """Whether this is one of Spark's floating-point numbers."""
    return kind in (pa.float32(), pa.float64())


def is_number(kind: pa.DataType) -> bool:
    """Whether one can calculate with values of this type."""
    return is_whole(kind) or is_float(kind) or bool(pa.types.is_decimal128(kind))


def common_type(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    """The type in which Spark compares two others; None where that is not known here.

    Examples
    --------
    >>> common_type(pa.int64(), pa.float32())
    DataType(double)
    >>> common_type(pa.int32(), pa.decimal128(2, 1))
    Decimal128Type(decimal128(11, 1))
    >>> common_type(pa.int32(), pa.string()) is None
    True
    """
    if pa.types.is_null(left) or pa.types.is_null(right):
        known = right if pa.types.is_null(left) else left
        return known if _is_comparable(known) else None
    if left == right:
        return left if _is_comparable(left) else None
    if is_number(left) and is_number(right):
        if is_float(left) or is_float(right):
            return pa.float64()  # Spark avoids the single precision that could not hold the other
        if is_whole(left) and is_whole(right):
            return max(left, right, key=_DIGITS.__getitem__)
        return _decimal(as_decimal(left), as_decimal(right))
    strings = {pa.string(), pa.large_string()}
    if {left, right} == strings:
        return pa.large_string()
    times = pa.types.is_timestamp(left) and pa.types.is_timestamp(right)
    if times and left.unit == right.unit and (left.tz is None) == (right.tz is None):
        return left
    return None


def as_decimal(kind: pa.DataType) -> pa.DataType:
    """The decimals that hold every whole number of a type; decimals are themselves.

    Examples
    --------
    >>> as_decimal(pa.int32())
    Decimal128Type(decimal128(10, 0))
    """
    return pa.decimal128(_DIGITS[kind], 0) if is_whole(kind) else kind


def result_type(operation: str, left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    """Type of ``+ - * /`` of two equal types or two decimals; None if it needs too many digits.

    Examples
    --------
    >>> result_type("*", pa.decimal128(10, 2), pa.decimal128(5, 1))
    Decimal128Type(decimal128(16, 3))
    """
    if not pa.types.is_decimal128(left):
        return left
    if operation != "*":
        return _decimal(left, right, more=1)
    digits = left.precision + right.precision + 1
    return pa.decimal128(digits, left.scale + right.scale) if digits <= _MOST_DIGITS else None


def _is_comparable(kind: pa.DataType) -> bool:
    plain = (*BYTES, pa.bool_(), pa.date32())
    return bool(is_number(kind) or kind in plain or pa.types.is_timestamp(kind))


def _decimal(left: pa.DataType, right: pa.DataType, more: int = 0) -> pa.DataType | None:
    """Decimals that hold those of two types, with some digits more; None if it needs too many."""
    scale = max(left.scale, right.scale)
    digits = max(left.precision - left.scale, right.precision - right.scale) + scale + more
    return pa.decimal128(digits, scale) if digits <= _MOST_DIGITS else None
