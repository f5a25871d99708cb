"""Finds the band in a condition: two number columns that may not be far from each other.

Every inequality that is linear in ``left.x - right.y`` bounds that difference. Whatever bounds it
from both sides makes a band, however it is written.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, inf
from typing import Final, NamedTuple

import pyarrow as pa

from streamjoin.core.predicate import build
from streamjoin.core.predicate.expressions import And, Attempt, Column, Expression, Literal
from streamjoin.core.predicate.linear import Inequality, inequalities
from streamjoin.core.predicate.types import is_float, is_whole

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
        band = None if limits is None else _band(bounds, limits)
        if limits is None or band is None or band.width > largest:
            continue
        if bounds[0].is_whole:
            return band, _replaced(conjuncts, places, _inside(*bounds[0].columns, limits))
        tried = places if largest < inf else []
        return band, [_attempt(c) if i in tried else c for i, c in enumerate(conjuncts)]
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


def _attempt(condition: Expression) -> Expression:
    return Attempt(pa.bool_(), condition)


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
        return _attempt(build.compare("<=", build.absolute(difference), high))
    both = build.compare(">=", difference, low), build.compare("<=", difference, high)
    return _attempt(build.all_of(both))


def _replaced(
    conjuncts: Sequence[Expression], places: list[int], new: Expression
) -> list[Expression]:
    """The conjuncts with a new one in the first of some places, and none in the others."""
    first, *others = places
    return [new if i == first else c for i, c in enumerate(conjuncts) if i not in others]


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
    if whole:
        limit = Fraction(_whole_limit(limit, is_upper=is_upper, is_strict=is_strict))
    return _Bound(
        columns=(left, right),
        is_upper=is_upper,
        limit=limit,
        is_whole=whole,
        is_single=both.is_single,
        refuses_nan=not larger.terms,
        has_endpoints=bool(smaller.terms and larger.terms),
    )


def _whole_limit(limit: Fraction, *, is_upper: bool, is_strict: bool) -> int:
    """The outermost whole number within a limit."""
    if is_upper:
        return ceil(limit) - 1 if is_strict else floor(limit)
    return floor(limit) + 1 if is_strict else ceil(limit)
