"""Arithmetic and comparisons of Arrow columns with the results of Spark SQL.

Whole numbers do not wrap and nothing is divided by zero: such rows are marked as failed, and what
stands in them is undefined. NaN equals NaN and is larger than any other number; -0.0 equals 0.0.

Operands are arrays or, for literals, scalars.
"""

import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Data = Any  # pa.Array or pa.Scalar; pyarrow is untyped
Failed = NDArray[np.bool_] | None

# Of Arrow, where floats and decimals do not fail; of Arrow with whole numbers; of Python's own.
_CALCULATE: dict[str, tuple[Callable[..., Data], Callable[..., Data], Callable[..., Any]]] = {
    "+": (pc.add, pc.add_checked, operator.add),
    "-": (pc.subtract, pc.subtract_checked, operator.sub),
    "*": (pc.multiply, pc.multiply_checked, operator.mul),
    "negate": (pc.negate, pc.negate_checked, operator.neg),
    "abs": (pc.abs, pc.abs_checked, abs),
}
_COMPARE: dict[str, Callable[..., Data]] = {"=": pc.equal, "<": pc.less, "<=": pc.less_equal}
_MIRRORED = {">": "<", ">=": "<="}


class Values(NamedTuple):
    """A computed column: the data, which rows have no value, and why the first of them failed."""

    data: Data
    failed: Failed = None
    reason: str = ""


def calculate(operation: str, *operands: Data) -> tuple[Data, Failed]:
    """Apply ``+ - * /``, ``negate`` or ``abs`` to operands of one kind of number.

    Examples
    --------
    >>> data, failed = calculate("+", pa.array([1, 127], pa.int8()), pa.scalar(1, pa.int8()))
    >>> failed.tolist()
    [False, True]
    """
    if operation == "/":
        return _divide(*operands)
    kind = operands[0].type
    unchecked, checked, exact = _CALCULATE[operation]
    if not pa.types.is_integer(kind):
        return unchecked(*operands), None
    try:
        return checked(*operands), None
    except pa.ArrowInvalid:  # some row is beyond the type: find out which
        columns = [_column(o) for o in operands]
        numbers = exact(*(np.asarray(c.fill_null(0)).astype(object) for c in columns))
        limits = np.iinfo(kind.to_pandas_dtype())
        beyond = ((numbers < int(limits.min)) | (numbers > int(limits.max))).astype(np.bool_)
        valid = _all_valid(columns)
        kept = np.where(beyond, 0, numbers).astype(kind.to_pandas_dtype())
        return pa.array(kept, kind, mask=~valid), beyond & valid


def compare(operation: str, left: Data, right: Data) -> Data:
    """Apply ``= <> < <= > >= <=>`` to operands of one type.

    Examples
    --------
    >>> nan = float("nan")
    >>> compare("<", pa.array([1.0, nan, None]), pa.array([nan, nan, 1.0])).to_pylist()
    [True, False, None]
    >>> compare("<=>", pa.array([None, 1]), pa.array([None, None], pa.int64())).to_pylist()
    [True, False]
    """
    if operation in _MIRRORED:
        return compare(_MIRRORED[operation], right, left)
    if operation == "<>":
        return pc.invert(compare("=", left, right))
    if operation == "<=>":
        nulls = pc.is_null(left), pc.is_null(right)
        return pc.if_else(pc.or_(*nulls), pc.and_(*nulls), compare("=", left, right))
    result = _COMPARE[operation](left, right)
    if pa.types.is_floating(left.type):
        nans = pc.is_nan(left), pc.is_nan(right)
        if any(pc.any(_column(nan)).as_py() for nan in nans):
            return pc.or_(result, _ordered_by_nan(operation, *nans))
    return result


def is_among(data: Data, values: pa.Array, *, or_null: bool) -> Data:
    """Whether each value is in a list without nulls; `or_null` if the list has a null besides.

    Examples
    --------
    >>> is_among(pa.array([1, 2, None]), pa.array([1]), or_null=False).to_pylist()
    [True, False, None]
    >>> is_among(pa.array([1, 2, None]), pa.array([1]), or_null=True).to_pylist()
    [True, None, None]
    """
    if pa.types.is_floating(values.type):  # -0.0 becomes 0.0
        zero = pa.scalar(0.0, values.type)
        data, values = pc.add(data, zero), pc.add(values, zero)
    found = pc.is_in(data, value_set=values)
    known = found if or_null else pc.is_valid(data)
    return pc.if_else(known, found, pa.scalar(None, pa.bool_()))


def connect(parts: Sequence[Values], decisive: bool) -> Values:
    """Parts with OR between them, where one that is true decides; or with AND, one that is false.

    A part that decides hides what failed in another.

    Examples
    --------
    >>> guard = Values(pa.array([False, True]))
    >>> guarded = Values(pa.array([True, True]), np.array([True, True]), "1 / 0")
    >>> connect([guard, guarded], decisive=False).failed.tolist()
    [False, True]
    """

    def decides(column: pa.Array) -> pa.Array:
        return pc.fill_null(pc.equal(column, decisive), False)

    data = reduce(pc.or_kleene if decisive else pc.and_kleene, (part.data for part in parts))
    return Values(data, *_undecided(parts, decides))


def any_failed(parts: Sequence[Values]) -> tuple[Failed, str]:
    """Where any of the parts failed, and the first reason."""
    failed: Failed = None
    for part in parts:
        if part.failed is not None:
            failed = part.failed if failed is None else failed | part.failed
    return failed, next((part.reason for part in parts if part.failed is not None), "")


def failed_beside_null(parts: Sequence[Values]) -> tuple[Failed, str]:
    """Where a part failed and no other is null, which makes all of it null."""
    return _undecided(parts, lambda column: column.is_null())


def _divide(left: Data, right: Data) -> tuple[Data, Failed]:
    zero = np.asarray(pc.fill_null(pc.equal(_column(right), 0.0), False))
    failed = zero & _all_valid([_column(left), _column(right)]) if zero.any() else None
    return pc.divide(left, right), failed


def _ordered_by_nan(operation: str, left: Data, right: Data) -> Data:
    """Where NaN alone makes a comparison true."""
    if operation == "=":
        return pc.and_(left, right)
    return pc.and_(pc.invert(left), right) if operation == "<" else right


def _undecided(
    parts: Sequence[Values], decides: Callable[[pa.Array], pa.Array]
) -> tuple[Failed, str]:
    """Where a part failed and no other decides alone."""
    failed, reason = any_failed(parts)
    if failed is None:
        return None, ""
    for part in parts:
        alone = np.asarray(decides(_column(part.data)))
        failed = failed & ~(alone if part.failed is None else alone & ~part.failed)
    return failed, reason


def _column(data: Data) -> pa.Array:
    """A literal as a column of one row, which NumPy stretches."""
    return pa.array([data.as_py()], data.type) if isinstance(data, pa.Scalar) else data


def _all_valid(columns: Sequence[pa.Array]) -> NDArray[np.bool_]:
    return reduce(operator.and_, [np.asarray(column.is_valid()) for column in columns])
