"""Comparisons as inequalities between sums of columns and literals."""

from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

import pyarrow as pa

from streamjoin.core.predicate.expressions import (
    Arithmetic,
    Cast,
    Column,
    Compare,
    Expression,
    Literal,
    Unary,
)
from streamjoin.core.predicate.types import is_float, is_whole


class Linear(NamedTuple):
    """Columns with factors, and a constant; whether some of it is computed in floats."""

    terms: dict[Column, int]
    constant: Fraction = Fraction(0)
    n_literals: int = 0
    is_float: bool = False
    is_single: bool = False

    def plus(self, other: "Linear", sign: int, kind: pa.DataType) -> "Linear":
        """Sum or difference, computed in some type."""
        terms = dict(self.terms)
        for column, factor in other.terms.items():
            terms[column] = terms.get(column, 0) + sign * factor
        return Linear(
            {column: factor for column, factor in terms.items() if factor},
            self.constant + sign * other.constant,
            self.n_literals + other.n_literals,
            self.is_float or other.is_float or is_float(kind),
            self.is_single or other.is_single or kind == pa.float32(),
        )


class Inequality(NamedTuple):
    """``smaller <= larger``, or ``<`` if it is strict."""

    smaller: Linear
    larger: Linear
    is_strict: bool


def inequalities(condition: Expression) -> list[Inequality]:
    """Inequalities that together are the condition; none if there are no such.

    Examples
    --------
    >>> x = Column(pa.int32(), 0, 0, "x")
    >>> distance, three = Unary(pa.int32(), "abs", x), Literal(pa.int32(), 3, "3")
    >>> found = inequalities(Compare(pa.bool_(), "<", distance, three))
    >>> [(one.smaller.terms[x], int(one.larger.constant)) for one in found]
    [(1, 3), (-1, 3)]
    """
    if not isinstance(condition, Compare):
        return []
    operation, left, right = condition.operation, condition.left, condition.right
    if operation in (">", ">="):
        operation, left, right = operation.replace(">", "<"), right, left
    if operation not in ("<", "<=", "="):
        return []
    sides = [(left, right), (right, left)] if operation == "=" else [(left, right)]
    found = [_smaller(*side, is_strict=operation == "<") for side in sides]
    return [one for several in found for one in several] if all(found) else []


def _smaller(left: Expression, right: Expression, *, is_strict: bool) -> list[Inequality]:
    larger, inner = linear(right), _absolute(left)
    smaller = linear(left if inner is None else inner)
    if smaller is None or larger is None:
        return []
    if inner is None:
        return [Inequality(smaller, larger, is_strict)]
    opposite = Linear({}).plus(smaller, -1, inner.type)
    return [Inequality(one, larger, is_strict) for one in (smaller, opposite)]


def _absolute(expression: Expression) -> Expression | None:
    """X, if the expression is abs(x)."""
    if isinstance(expression, Cast):
        return _absolute(expression.operand)
    is_absolute = isinstance(expression, Unary) and expression.operation == "abs"
    return expression.operands[0] if is_absolute else None


def linear(expression: Expression) -> Linear | None:
    """The expression as a sum of whole or floating-point columns and literals, if it is one.

    Examples
    --------
    >>> x = Column(pa.int32(), 0, 0, "x")
    >>> linear(Arithmetic(pa.int32(), "-", Literal(pa.int32(), 7, "7"), x)).constant
    Fraction(7, 1)
    """
    kind = expression.type
    if isinstance(expression, Column):
        known = is_whole(kind) or is_float(kind)
        return Linear({expression: 1}, is_float=is_float(kind)) if known else None
    if isinstance(expression, Literal):
        value = expression.value
        if not isinstance(value, int | float | Decimal) or kind == pa.bool_():
            return None
        return Linear({}, Fraction(value), 1, is_float(kind))
    if isinstance(expression, Cast):
        inner = linear(expression.operand)
        return inner and inner._replace(is_float=inner.is_float or is_float(kind))
    if isinstance(expression, Arithmetic) and expression.operation in ("+", "-"):
        left, right = linear(expression.left), linear(expression.right)
        sign = 1 if expression.operation == "+" else -1
        return left.plus(right, sign, kind) if left and right else None
    if isinstance(expression, Unary) and expression.operation == "negate":
        inner = linear(expression.operand)
        return Linear({}).plus(inner, -1, kind) if inner else None
    return None
