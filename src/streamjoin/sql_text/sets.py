"""Functions of sets in a condition: their arguments, checked and made an expression."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa
from sqlglot import exp

from streamjoin._typing import SIDES
from streamjoin.core.keys import comparable
from streamjoin.core.predicate import Expression, build
from streamjoin.core.predicate.expressions import Column, Literal
from streamjoin.core.predicate.sets import InnerProduct, Overlap
from streamjoin.core.predicate.types import is_number
from streamjoin.core.sets import can_be_item
from streamjoin.errors import ConfigError, DataError
from streamjoin.joins.columns import kind_name
from streamjoin.sql_text.columns import Columns

_TWO_ARRAYS: Final = "an array of items and one of weights"
_USES: Final = {
    "overlap": "an array of each side, as in overlap(left.x, right.y)",
    "inner_product": f"of each side a map, or {_TWO_ARRAYS}",
}
_ITEMS: Final = "whole numbers, strings, binary, dates or timestamps"
_Sides = tuple[tuple[Column, ...], tuple[Column, ...]]


def set_functions(condition: exp.Expr) -> Iterator[str]:
    """Names of the functions in a condition that Spark does not have.

    Examples
    --------
    >>> from sqlglot import parse_one
    >>> list(set_functions(parse_one("left.x OR overlap(left.a, right.b) > 2", read="spark")))
    ['overlap']
    """
    called = (node.name.lower() for node in condition.find_all(exp.Anonymous))
    return (name for name in called if name in _USES)


def set_function(node: Any, columns: Columns) -> Expression | None:
    """``overlap`` or ``inner_product``; None for any other function.

    Examples
    --------
    >>> from sqlglot import parse_one
    >>> schema = pa.schema({"tags": pa.list_(pa.string())})
    >>> node = parse_one("overlap(right.tags, left.tags)", read="spark")
    >>> set_function(node, Columns((schema, schema))).describe()
    'overlap(left.tags, right.tags)'
    """
    name, text = node.name.lower(), node.sql("spark", normalize_functions=False)
    if name not in _USES:
        return None
    sides = _sides(node.expressions, columns)
    most = 1 if name == "overlap" else 2
    if not all(1 <= len(side) <= most for side in sides):
        msg = f"where: got {text}; allowed: {_USES[name]}"
        raise ConfigError(msg)
    for side in sides:
        _check(side, text, weighted=name == "inner_product")
    _check_items(sides, text)
    if name == "overlap":
        return Overlap(pa.int32(), sides[0][0], sides[1][0])
    return InnerProduct(pa.float64(), *sides)


def arrays_overlap(node: Any, columns: Columns) -> Expression | None:
    """Spark's ``arrays_overlap`` where false and null are the same; None for anything else."""
    bare = node.unnest()
    if type(bare) is not exp.Anonymous or bare.name.lower() != "arrays_overlap":
        return None
    left, right = _sides(bare.expressions, columns)
    if len(left) != 1 or len(right) != 1:
        return None
    items = [_item_type(column.type) for column in (*left, *right) if _is_array(column.type)]
    if len(items) < 2 or not all(map(can_be_item, items)) or not comparable(*items):
        return None
    count = Overlap(pa.int32(), left[0], right[0])
    return build.compare(">=", count, Literal(pa.int32(), 1, "1"))


def _sides(arguments: Sequence[Any], columns: Columns) -> _Sides:
    """The columns of each side; none at all if anything else is among the arguments."""
    found = [columns.find(argument) for argument in arguments if type(argument) is exp.Column]
    whole = [one.column for one in found if one.is_whole]
    if len(whole) < len(arguments):
        return (), ()
    left, right = (tuple(column for column in whole if column.side == side) for side in SIDES)
    return left, right


def _check(side: tuple[Column, ...], text: str, *, weighted: bool) -> None:
    """Refuse columns that are not what a function needs of each side."""
    items, weights = side[0], side[-1]
    as_map = weighted and len(side) == 1
    if as_map:
        fits = bool(pa.types.is_map(items.type))
    else:
        fits = _is_array(items.type) and (not weighted or _is_array(weights.type))
    if not fits:
        wanted = f"a map, or {_TWO_ARRAYS}" if as_map else "arrays"
        kinds = " and ".join(f"{c.describe()} is {kind_name(c.type)}" for c in side)
        msg = f"where: in {text} {kinds}; allowed: {wanted}"
        raise DataError(msg)
    if not can_be_item(_item_type(items.type)):
        msg = f"where: in {text} {items.describe()} is {kind_name(items.type)}; allowed: {_ITEMS}"
        raise DataError(msg)
    if weighted and not is_number(_weight_type(weights.type)):
        kind = kind_name(weights.type)
        msg = f"where: in {text} {weights.describe()} is {kind}; allowed: weights that are numbers"
        raise DataError(msg)


def _check_items(sides: _Sides, text: str) -> None:
    left, right = (_item_type(side[0].type) for side in sides)
    if not comparable(left, right):
        msg = (
            f"where: in {text} the items are {kind_name(left)} on the left and {kind_name(right)} "
            "on the right; allowed: equal types (cast one of them)"
        )
        raise DataError(msg)


def _is_array(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _item_type(kind: pa.DataType) -> pa.DataType:
    return kind.key_type if pa.types.is_map(kind) else kind.value_type


def _weight_type(kind: pa.DataType) -> pa.DataType:
    return kind.item_type if pa.types.is_map(kind) else kind.value_type
