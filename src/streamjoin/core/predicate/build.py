"""Expressions with the types that Spark would give them, as simple as they can be made."""

from collections.abc import Sequence
from decimal import Decimal

import pyarrow as pa

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
from streamjoin.core.predicate.types import (
    as_decimal,
    common_type,
    is_float,
    is_number,
    is_whole,
    result_type,
)
from streamjoin.errors import ConfigError


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
        parts = [_as(_decimal(e.type, kind), e) for e in (left, right)]
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
    return _connected(And, parts, neutral=True)


def any_of(parts: Sequence[Expression]) -> Expression:
    """True where any part is."""
    return _connected(Or, parts, neutral=False)


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


def _connected(
    kind: type[And] | type[Or], parts: Sequence[Expression], *, neutral: bool
) -> Expression:
    flat = [p for part in parts for p in (part.parts if isinstance(part, kind) else (part,))]
    conditions = [_as(pa.bool_(), part) for part in flat]
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


def _decimal(kind: pa.DataType, common: pa.DataType) -> pa.DataType:
    return common if pa.types.is_null(kind) else as_decimal(kind)


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
