"""Parsed SQL as expressions; first its functions of sets, with their arguments checked."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import pyarrow as pa
from sqlglot import exp

from streamjoin._typing import SIDES
from streamjoin.core.keys import comparable
from streamjoin.core.predicate import Expression, build
from streamjoin.core.predicate.build import NotUnderstoodError, is_number
from streamjoin.core.predicate.expressions import Column, Literal
from streamjoin.core.predicate.sets import InnerProduct, Overlap
from streamjoin.core.sets import can_be_item
from streamjoin.errors import ConfigError, DataError
from streamjoin.joins.columns import kind_name
from streamjoin.sql_text import literals
from streamjoin.sql_text.columns import Columns

_TWO_ARRAYS: Final = "an array of items and one of weights"
_USES: Final = {
    "overlap": "an array of each side, as in overlap(left.x, right.y)",
    "inner_product": f"of each side a map, or {_TWO_ARRAYS}",
}
_ITEMS: Final = "whole numbers, strings, binary, dates or timestamps"
_Sides = tuple[tuple[Column, ...], tuple[Column, ...]]
Node = Any  # exp.Expr with the arguments of its kind

_COMPARISONS: Final[dict[type, str]] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
}
_DEEPEST: Final = 100
"""Levels of an expression. Spark evaluates deeper ones: Python has less room for them."""
_ARITHMETIC: Final[dict[type, str]] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/"}


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
        raise ConfigError.at("where", text, _USES[name])
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
    if not len(left) == len(right) == 1:
        return None
    items = [_item_type(column.type) for column in (*left, *right) if _is_array(column.type)]
    if len(items) < 2 or not all(map(can_be_item, items)) or not comparable(*items):
        return None
    count = Overlap(pa.int32(), left[0], right[0])
    return build.compare(">=", count, Literal(pa.int32(), 1, "1"))


def _sides(arguments: Sequence[Any], columns: Columns) -> _Sides:
    """The columns of each side; none at all if anything else is among the arguments."""
    named = [columns.find(argument) for argument in arguments if type(argument) is exp.Column]
    whole = [one.column for one in named if one.is_whole]
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
        raise DataError(f"where: in {text} {kinds}; allowed: {wanted}")
    if not can_be_item(_item_type(items.type)):
        raise DataError(
            f"where: in {text} {items.describe()} is {kind_name(items.type)}; allowed: {_ITEMS}"
        )
    weight = weights.type.item_type if as_map else weights.type.value_type
    if weighted and not is_number(weight):
        kind = kind_name(weights.type)
        raise DataError(
            f"where: in {text} {weights.describe()} is {kind}; allowed: weights that are numbers"
        )


def _check_items(sides: _Sides, text: str) -> None:
    left, right = (_item_type(side[0].type) for side in sides)
    if not comparable(left, right):
        raise DataError(
            f"where: in {text} the items are {kind_name(left)} on the left and {kind_name(right)} "
            "on the right; allowed: equal types (cast one of them)"
        )


def _is_array(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _item_type(kind: pa.DataType) -> pa.DataType:
    return kind.key_type if pa.types.is_map(kind) else kind.value_type


class Translator:
    """Makes expressions of what is known to mean here what it means in Spark.

    Examples
    --------
    >>> from sqlglot import parse_one
    >>> schema = pa.schema({"x": pa.int64()})
    >>> translator = Translator(Columns((schema, schema)), None)
    >>> translator.condition(parse_one("left.x BETWEEN 1 AND 3", read="spark")).describe()
    'left.x >= 1 AND left.x <= 3'
    """

    def __init__(self, columns: Columns, time_zone: str | None) -> None:
        self._columns, self._time_zone, self._level = columns, time_zone, 0

    def conjunct(self, node: Node) -> Expression:
        """A condition that must hold by itself, so that false and null are the same."""
        return arrays_overlap(node, self._columns) or self.condition(node)

    def condition(self, node: Node) -> Expression:
        """An expression that is true, false or null."""
        expression = self._expression(node)
        if expression.type not in (pa.bool_(), pa.null()):
            raise ConfigError(
                f"where: {expression.describe()} is of type {expression.type}; allowed: a "
                "condition, that is true or false"
            )
        return expression

    def _expression(self, node: Node) -> Expression:
        if self._level == _DEEPEST:
            raise NotUnderstoodError
        self._level += 1
        try:
            return self._made(node)
        finally:
            self._level -= 1

    def _made(self, node: Node) -> Expression:
        kind = type(node)
        if kind in _COMPARISONS:
            return build.compare(_COMPARISONS[kind], *self._both(node))
        if kind in _ARITHMETIC:
            return build.calculate(_ARITHMETIC[kind], *self._both(node))
        if kind not in _OTHERS:
            raise NotUnderstoodError
        return _OTHERS[kind](self, node)

    def _operand(self, node: Node) -> Expression:
        # Spark's grammar groups a = b IN (c) and the like in another way than sqlglot's.
        if isinstance(node, exp.Predicate | exp.Connector | exp.Not):
            raise NotUnderstoodError
        return self._expression(node)

    def _both(self, node: Node) -> tuple[Expression, Expression]:
        return self._operand(node.this), self._operand(node.expression)

    def _column(self, node: Node) -> Expression:
        meant = self._columns.find(node)
        if not meant.is_whole:
            raise NotUnderstoodError
        return meant.column

    def _literal(self, node: Node) -> Expression:
        return literals.string(node.name) if node.is_string else literals.number(node.name)

    def _negation(self, node: Node) -> Expression:
        if isinstance(node.this, exp.Literal) and not node.this.is_string:
            return literals.number(f"-{node.this.name}")  # to Spark one literal, with its sign
        return build.negate(self._operand(node.this))

    def _cast(self, node: Node) -> Expression:
        """``5L``, ``5D``, ``DATE'...'`` and ``TIMESTAMP'...'``, which sqlglot reads as casts."""
        if not isinstance(node.this, exp.Literal):
            raise NotUnderstoodError
        text, kind = node.this.name, (node.to.this.name, node.this.is_string)
        match kind:
            case ("BIGINT", False):
                return literals.bigint(text)
            case ("DOUBLE", False):
                return literals.double(text, f"{text}D")
            case ("DATE", True):
                return literals.day(text)
            case ("TIMESTAMPTZ" | "TIMESTAMPLTZ", True):
                return literals.moment(text, self._time_zone)
            case ("TIMESTAMPNTZ", True):
                return literals.local_moment(text)
        raise NotUnderstoodError

    def _between(self, node: Node) -> Expression:
        if node.args.get("symmetric"):
            raise NotUnderstoodError
        value, low, high = (self._operand(node.args[name]) for name in ("this", "low", "high"))
        return build.all_of([build.compare(">=", value, low), build.compare("<=", value, high)])

    def _in(self, node: Node) -> Expression:
        listed = [self._operand(one) for one in node.expressions]
        constants = [one for one in listed if isinstance(one, Literal)]
        if not constants or len(constants) < len(listed):
            raise NotUnderstoodError
        return build.is_in(self._operand(node.this), constants)

    def _is(self, node: Node) -> Expression:
        operand = self._operand(node.this)
        if isinstance(node.expression, exp.Null):
            return build.is_null(operand)
        if isinstance(node.expression, exp.Boolean):
            return build.compare("<=>", operand, self._operand(node.expression))
        raise NotUnderstoodError

    def _function(self, node: Node) -> Expression:
        expression = set_function(node, self._columns)
        if expression is None:
            raise NotUnderstoodError
        return expression

    def _connected(
        self, node: Node, connect: Callable[[Sequence[Expression]], Expression]
    ) -> Expression:
        return connect([self.condition(part) for part in node.flatten(unnest=False)])


_OTHERS: Final[dict[type, Callable[[Translator, Node], Expression]]] = {
    exp.Abs: lambda translator, node: build.absolute(translator._operand(node.this)),
    exp.Anonymous: Translator._function,
    exp.And: lambda translator, node: translator._connected(node, build.all_of),
    exp.Between: Translator._between,
    exp.Boolean: lambda _, node: Literal(pa.bool_(), node.this, str(node.this).upper()),
    exp.Cast: Translator._cast,
    exp.Column: Translator._column,
    exp.In: Translator._in,
    exp.Is: Translator._is,
    exp.Literal: Translator._literal,
    exp.Neg: Translator._negation,
    exp.Not: lambda translator, node: build.opposite(translator.condition(node.this)),
    exp.NullSafeNEQ: lambda translator, node: build.opposite(
        build.compare("<=>", *translator._both(node))
    ),
    exp.Null: lambda *_: Literal(pa.null(), None, "NULL"),
    exp.Or: lambda translator, node: translator._connected(node, build.any_of),
    exp.Paren: lambda translator, node: translator._expression(node.this),
    exp.TryCast: Translator._cast,
}
