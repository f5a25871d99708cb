"""What two sets have in common: their overlap and their inner product (GED-A14).

`core.sets` says what is in a set. The overlap is the number of items that both sets have; the inner
product is the sum of the products of these items' weights, added up in the order of the items and
in double precision. Both are null where a set is. So is an inner product that is not a number
(infinities of both signs, or zero times one): it matches nothing, where in Spark's order NaN is
larger than all numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import ceil, floor, inf, nextafter
from typing import Final

import numpy as np
import pyarrow as pa

from streamjoin.core.kernels.sets import common_items, inner_products
from streamjoin.core.predicate.expressions import (
    And,
    Call,
    Cast,
    Column,
    Compare,
    Expression,
    Fetch,
    Literal,
)
from streamjoin.core.predicate.values import Values
from streamjoin.core.sets import Sets, Vocabulary

_NEVER: Final = 2**31  # more items than a set can have


@dataclass(frozen=True)
class Overlap(Call):
    """How many items two arrays have in common.

    Examples
    --------
    >>> kind = pa.list_(pa.string())
    >>> left, right = Column(kind, 0, 0, "tags"), Column(kind, 1, 0, "words")
    >>> overlap = Overlap(pa.int32(), left, right)
    >>> overlap.describe()
    'overlap(left.tags, right.words)'
    >>> rows = pa.array([["a", "b"], []]), pa.array([["b", "a", "b"], ["a"]])
    >>> overlap.compute(lambda side, position: rows[side]).data.to_pylist()
    [2, 0]
    """

    left: Column
    right: Column
    name = "overlap"

    def compute(self, fetch: Fetch) -> Values:
        """Counts; null where an array is."""
        left, right = _both((self.left,), (self.right,), fetch)
        counts = np.empty(len(left.valid), np.int32)
        each = np.arange(len(counts), dtype=np.int32)
        common_items(left.offsets, left.items, right.offsets, right.items, each, each, counts)
        return Values(pa.array(counts, mask=~(left.valid & right.valid)))


@dataclass(frozen=True)
class InnerProduct(Call):
    """The inner product of two weighted sets, each a map or two arrays, of items and weights.

    Examples
    --------
    >>> kind = pa.map_(pa.string(), pa.float64())
    >>> left, right = Column(kind, 0, 0, "words"), Column(kind, 1, 0, "words")
    >>> product = InnerProduct(pa.float64(), (left,), (right,))
    >>> product.describe()
    'inner_product(left.words, right.words)'
    >>> rows = [pa.array([[("a", 0.5), ("b", 2.0)]], kind), pa.array([[("b", 3.0)]], kind)]
    >>> product.compute(lambda side, position: rows[side]).data.to_pylist()
    [6.0]
    """

    left: tuple[Column, ...]
    right: tuple[Column, ...]
    name = "inner_product"

    def compute(self, fetch: Fetch) -> Values:
        """Sums; null where a set is, and instead of NaN."""
        left, right = _both(self.left, self.right, fetch)
        sums = np.empty(len(left.valid))
        each = np.arange(len(sums), dtype=np.int32)
        inner_products(
            left.offsets, left.items, left.weights,
            right.offsets, right.items, right.weights, each, each, sums,
        )  # fmt: skip
        return Values(pa.array(sums, mask=~(left.valid & right.valid) | np.isnan(sums)))


def _both(left: Sequence[Column], right: Sequence[Column], fetch: Fetch) -> tuple[Sets, Sets]:
    mine = [fetch(column.side, column.position) for column in left]
    theirs = [fetch(column.side, column.position) for column in right]
    words = Vocabulary.over(mine)
    return Sets.of(mine, words), Sets.of(theirs, words)


@dataclass(frozen=True)
class SetCondition:
    """Rows only match if their sets have enough in common.

    Parameters
    ----------
    left, right
        Positions of the columns of a set: an array, a map, or arrays of items and of weights.
    fewest
        So many items in common, at least 1.
    least
        An inner product that is not smaller; None for sets without weights.
    condition
        What this stands for.
    """

    left: tuple[int, ...]
    right: tuple[int, ...]
    fewest: int
    least: float | None
    condition: Expression

    def rest_of(self, predicate: Expression | None) -> Expression | None:
        """What of a predicate is left to check where this one holds.

        Examples
        --------
        >>> kind = pa.list_(pa.string())
        >>> overlap = Overlap(pa.int32(), Column(kind, 0, 0, "a"), Column(kind, 1, 0, "a"))
        >>> enough = Compare(pa.bool_(), ">", overlap, Literal(pa.int32(), 2, "2"))
        >>> other = Compare(pa.bool_(), "<", overlap, Literal(pa.int32(), 9, "9"))
        >>> sets = find_sets([enough, other])
        >>> sets.rest_of(And(pa.bool_(), (enough, other))) == other
        True
        """
        parts = predicate.parts if isinstance(predicate, And) else (predicate,)
        others = tuple(p for p in parts if p is not None and p != self.condition)
        return And(pa.bool_(), others) if len(others) > 1 else next(iter(others), None)


def find_sets(conjuncts: Sequence[Expression]) -> SetCondition | None:
    """The first of some conditions, which must all hold, that an index of items can use.

    That is one that only rows with an item in common can fulfil.

    Examples
    --------
    >>> kind = pa.list_(pa.string())
    >>> overlap = Overlap(pa.int32(), Column(kind, 0, 2, "a"), Column(kind, 1, 0, "a"))
    >>> found = find_sets([Compare(pa.bool_(), "<", Literal(pa.int32(), 2, "2"), overlap)])
    >>> found.left, found.right, found.fewest
    ((2,), (0,), 3)
    """
    return next((found for one in conjuncts if (found := _set_condition(one))), None)


def _set_condition(condition: Expression) -> SetCondition | None:
    if not isinstance(condition, Compare):
        return None
    operation, smaller, larger = condition.ascending
    call = larger.operand if isinstance(larger, Cast) else larger
    limit = smaller.value if isinstance(smaller, Literal) else None
    if operation not in ("<", "<=") or not isinstance(limit, int | float | Decimal):
        return None
    is_strict = operation == "<"
    if isinstance(call, Overlap):
        fewest = min(_NEVER, floor(limit) + 1 if is_strict else ceil(limit))
        positions = (call.left.position,), (call.right.position,)
        return SetCondition(*positions, fewest, None, condition) if fewest >= 1 else None
    if isinstance(call, InnerProduct):
        least = nextafter(float(limit), inf) if is_strict else float(limit)
        left, right = (tuple(c.position for c in side) for side in (call.left, call.right))
        return SetCondition(left, right, 1, least, condition) if least > 0 else None
    return None
