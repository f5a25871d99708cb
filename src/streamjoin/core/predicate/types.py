"""Which types can meet in an expression, and what comes out; the rules of Spark's ANSI mode."""

from typing import Final

import pyarrow as pa

_DIGITS: Final = {pa.int8(): 3, pa.int16(): 5, pa.int32(): 10, pa.int64(): 20}
_MOST_DIGITS: Final = 38


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
        return _common_number(left, right)
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
    if operation == "*":
        digits, scale = left.precision + right.precision + 1, left.scale + right.scale
    else:
        scale = max(left.scale, right.scale)
        digits = max(left.precision - left.scale, right.precision - right.scale) + scale + 1
    return pa.decimal128(digits, scale) if digits <= _MOST_DIGITS else None


def _is_comparable(kind: pa.DataType) -> bool:
    plain = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.bool_())
    return bool(
        is_number(kind) or kind in plain or kind == pa.date32() or pa.types.is_timestamp(kind)
    )


def _common_number(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    if is_float(left) or is_float(right):
        return pa.float64()  # Spark avoids the single precision that could not hold the other
    if is_whole(left) and is_whole(right):
        return max(left, right, key=_DIGITS.__getitem__)
    one, two = as_decimal(left), as_decimal(right)
    scale = max(one.scale, two.scale)
    digits = max(one.precision - one.scale, two.precision - two.scale) + scale
    return pa.decimal128(digits, scale) if digits <= _MOST_DIGITS else None
