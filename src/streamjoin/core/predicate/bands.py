"""Finds the band in a condition: two number columns that may not be far from each other.

Every inequality that is linear in ``left.x - right.y`` bounds that difference. Whatever bounds it
from both sides makes a band, however it is written. Such inequalities are comparisons of sums of
columns and literals.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor, inf
from typing import Final, NamedTuple

import pyarrow as pa

from streamjoin.core.predicate import build
from streamjoin.core.predicate.build import is_float, is_whole
from streamjoin.core.predicate.expressions import (
    And,
    Arithmetic,
    Attempt,
    Cast,
    Column,
    Compare,
    Expression,
    Literal,
    Unary,
)

_SINGLE: Final = 1 + 2.0**-20  # more than single precision can round away


@dataclass(frozen=True)
class Band:
    """Rows only match if ``abs(left.x - right.y) <= width``, give or take a rounding error.

    Parameters
    ----------
    left, right
        Positions of the columns, both numbers.
    width
        Finite and not negative; whole if both columns are.
    beyond_finite
        Whether NaN can match NaN, and an infinity itself: so in ``x BETWEEN y - 1 AND y + 1``,
        where nothing is subtracted from them. Otherwise only finite values match.
    """

    left: int
    right: int
    width: int | float
    beyond_finite: bool = False


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


class _Bound(NamedTuple):
    """Left - right is at most (`is_upper`) or at least some limit.

    The inequality that says so is false of NaN if it `refuses_nan`; it `has_endpoints` if there is
    a column on each side of it.
    """

    columns: tuple[Column, Column]
    is_upper: bool
    limit: Fraction
    is_whole: bool
    is_single: bool
    refuses_nan: bool
    has_endpoints: bool


def find_band(conjuncts: Sequence[Expression]) -> tuple[Band | None, list[Expression]]:
    """The first band in some conditions that must all hold, and the conditions to check.

    Those of the band do not fail where the difference of whole numbers is beyond their type: such
    rows are not in the band.

    Examples
    --------
    >>> x, y = Column(pa.int32(), 0, 2, "x"), Column(pa.int32(), 1, 0, "y")
    >>> three = Literal(pa.int32(), 3, "3")
    >>> low = build.compare(">=", x, build.calculate("-", y, three))
    >>> high = build.compare("<", x, build.calculate("+", y, three))
    >>> band, conditions = find_band([low, high])
    >>> band
    Band(left=2, right=0, width=3, beyond_finite=False)
    >>> [condition.describe() for condition in conditions]
    ['(left.x - right.y) >= -3 AND (left.x - right.y) <= 2']
    """
    groups: dict[object, list[tuple[int, list[_Bound]]]] = defaultdict(list)
    for i, conjunct in enumerate(conjuncts):
        bounds = _bounds(conjunct)
        if len({(bound.columns, bound.is_whole) for bound in bounds}) == 1:
            groups[bounds[0].columns, bounds[0].is_whole].append((i, bounds))
    for group in groups.values():
        places = [i for i, _ in group]
        bounds = [bound for _, several in group for bound in several]
        limits, largest = _limits(bounds), _largest(*bounds[0].columns)
        band = limits and _band(bounds, limits)
        if limits is None or band is None or band.width > largest:
            continue
        if bounds[0].is_whole:
            inside, (first, *others) = _inside(*bounds[0].columns, limits), places
            rest = [(i, c) for i, c in enumerate(conjuncts) if i not in others]
            return band, [inside if i == first else c for i, c in rest]
        tried = places if largest < inf else []
        return band, [Attempt(pa.bool_(), c) if i in tried else c for i, c in enumerate(conjuncts)]
    return None, list(conjuncts)


def _limits(bounds: Sequence[_Bound]) -> tuple[Fraction, Fraction] | None:
    """Where left - right must lie, if it is bounded and anything lies there."""
    lows = [bound.limit for bound in bounds if not bound.is_upper]
    highs = [bound.limit for bound in bounds if bound.is_upper]
    if not lows or not highs or max(lows) > min(highs):
        return None
    return max(lows), min(highs)


def _largest(left: Column, right: Column) -> int | float:
    """What a difference that is beyond the type of two columns is larger than."""
    if is_float(left.type) or is_float(right.type):
        return inf
    return int(2 ** (max(left.type.bit_width, right.type.bit_width) - 1)) - 1


def _band(bounds: Sequence[_Bound], limits: tuple[Fraction, Fraction]) -> Band | None:
    left, right = bounds[0].columns
    width = max(abs(limit) for limit in limits)
    if bounds[0].is_whole:
        return Band(left.position, right.position, int(width))
    refuses_nan = any(bound.refuses_nan for bound in bounds)
    if not (refuses_nan or all(bound.has_endpoints for bound in bounds)):
        return None  # NaN would match anything
    rounding = _SINGLE if any(bound.is_single for bound in bounds) else 1.0
    floats = is_float(left.type) and is_float(right.type)
    beyond_finite = floats and not refuses_nan
    return Band(left.position, right.position, float(width) * rounding, beyond_finite)


def _inside(left: Column, right: Column, limits: tuple[Fraction, Fraction]) -> Expression:
    """Whether the difference of two whole numbers is within limits."""
    difference = build.calculate("-", left, right)
    low, high = (Literal(difference.type, int(limit), str(limit)) for limit in limits)
    if limits[0] == -limits[1]:
        within = build.compare("<=", build.absolute(difference), high)
    else:
        both = build.compare(">=", difference, low), build.compare("<=", difference, high)
        within = build.all_of(both)
    return Attempt(pa.bool_(), within)


def _bounds(condition: Expression) -> list[_Bound]:
    """What a condition says of left - right; nothing if it says something else besides."""
    parts = condition.parts if isinstance(condition, And) else (condition,)
    bounds = []
    for part in parts:
        found = [_bound(inequality) for inequality in inequalities(part)]
        if not found or None in found:
            return []
        bounds += [bound for bound in found if bound is not None]
    return bounds


def _bound(inequality: Inequality) -> _Bound | None:
    smaller, larger, is_strict = inequality
    both = smaller.plus(larger, -1, pa.null())
    columns = sorted(both.terms, key=lambda column: column.side)
    if [c.side for c in columns] != [0, 1] or sorted(both.terms.values()) != [-1, 1]:
        return None
    left, right = columns
    whole = not both.is_float and is_whole(left.type) and is_whole(right.type)
    if not whole and both.n_literals > 1:  # together they might round too much away
        return None
    # Either left - right + constant <= 0, or right - left + constant <= 0.
    is_upper = both.terms[left] == 1
    limit = -both.constant if is_upper else both.constant
    if whole:  # the outermost whole number within it
        outermost = floor(limit) if is_upper else ceil(limit)
        inward = -1 if is_upper else 1
        limit = Fraction(outermost + inward * (is_strict and outermost == limit))
    return _Bound(
        columns=(left, right),
        is_upper=is_upper,
        limit=limit,
        is_whole=whole,
        is_single=both.is_single,
        refuses_nan=not larger.terms,
        has_endpoints=bool(smaller.terms and larger.terms),
    )


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
    operation, left, right = condition.ascending
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
