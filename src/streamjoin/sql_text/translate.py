"""A SQL condition as expressions, part for part, each as far as it is understood.

First functions of sets, with their arguments checked, then all that is known, then the whole.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import pyarrow as pa
from sqlglot import Token, TokenType, exp
from sqlglot.errors import ParseError, SqlglotError

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
from streamjoin.sql_text.columns import Sides, named
from streamjoin.sql_text.words import Text, parse_condition, parts

REFUSED: Final[dict[str, tuple[type, ...]]] = {
    "a subquery": (exp.Query,),
    "a window function": (exp.Window,),
    "an aggregate function": (exp.AggFunc,),
    "a function that makes rows": (exp.UDTF,),
    "a placeholder": (exp.Placeholder, exp.Parameter),
    "a star": (exp.Star,),
}
_ALLOWED: Final = "a condition on one pair of rows, such as 'left.x < right.y'"
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


def set_function(node: Any, sides: Sides) -> Expression | None:
    """``overlap`` or ``inner_product``; None for any other function.

    Examples
    --------
    >>> from sqlglot import parse_one
    >>> schema = pa.schema({"tags": pa.list_(pa.string())})
    >>> node = parse_one("overlap(right.tags, left.tags)", read="spark")
    >>> set_function(node, Sides(schemas={"left": schema, "right": schema})).describe()
    'overlap(left.tags, right.tags)'
    """
    name, text = node.name.lower(), node.sql("spark", normalize_functions=False)
    if name not in _USES:
        return None
    both = _by_side(node.expressions, sides)
    most = 1 if name == "overlap" else 2
    if not all(1 <= len(side) <= most for side in both):
        raise ConfigError.at("where", text, _USES[name])
    for side in both:
        _check(side, text, weighted=name == "inner_product")
    left, right = (_item_type(side[0].type) for side in both)
    if not comparable(left, right):
        raise DataError(
            f"where: in {text} the items are {kind_name(left)} on the left and {kind_name(right)} "
            "on the right; allowed: equal types (cast one of them)"
        )
    if name == "overlap":
        return Overlap(pa.int32(), both[0][0], both[1][0])
    return InnerProduct(pa.float64(), *both)


def arrays_overlap(node: Any, sides: Sides) -> Expression | None:
    """Spark's ``arrays_overlap`` where false and null are the same; None for anything else."""
    bare = node.unnest()
    if type(bare) is not exp.Anonymous or bare.name.lower() != "arrays_overlap":
        return None
    left, right = _by_side(bare.expressions, sides)
    if not len(left) == len(right) == 1:
        return None
    items = [_item_type(column.type) for column in (*left, *right) if _is_array(column.type)]
    if len(items) < 2 or not all(map(can_be_item, items)) or not comparable(*items):
        return None
    count = Overlap(pa.int32(), left[0], right[0])
    return build.compare(">=", count, Literal(pa.int32(), 1, "1"))


def _by_side(arguments: Sequence[Any], sides: Sides) -> _Sides:
    """The columns of each side; none at all if anything else is among the arguments."""
    named = [sides.column(argument) for argument in arguments if type(argument) is exp.Column]
    whole = [column for column in named if column is not None]
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
        raise _unfit(text, side, f"a map, or {_TWO_ARRAYS}" if as_map else "arrays")
    if not can_be_item(_item_type(items.type)):
        raise _unfit(text, [items], _ITEMS)
    weight = weights.type.item_type if as_map else weights.type.value_type
    if weighted and not is_number(weight):
        raise _unfit(text, [weights], "weights that are numbers")


def _unfit(text: str, columns: Sequence[Column], allowed: str) -> DataError:
    kinds = " and ".join(f"{c.describe()} is {kind_name(c.type)}" for c in columns)
    return DataError(f"where: in {text} {kinds}; allowed: {allowed}")


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
    >>> translator = Translator(Sides(schemas={"left": schema, "right": schema}), None)
    >>> translator.condition(parse_one("left.x BETWEEN 1 AND 3", read="spark")).describe()
    'left.x >= 1 AND left.x <= 3'
    """

    def __init__(self, sides: Sides, time_zone: str | None) -> None:
        self.sides, self._time_zone, self._level = sides, time_zone, 0

    def conjunct(self, node: Node) -> Expression:
        """A condition that must hold by itself, so that false and null are the same."""
        return arrays_overlap(node, self.sides) or self.condition(node)

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
        column = self.sides.column(node)
        if column is None:
            raise NotUnderstoodError
        return column

    def _literal(self, node: Node) -> Expression:
        make = literals.string if node.is_string else literals.number
        return _constant(make, node.name)

    def _negation(self, node: Node) -> Expression:
        if isinstance(node.this, exp.Literal) and not node.this.is_string:
            return _constant(
                literals.number, f"-{node.this.name}"
            )  # to Spark one literal, with its sign
        return build.negate(self._operand(node.this))

    def _cast(self, node: Node) -> Expression:
        """``5L``, ``5D``, ``DATE'...'`` and ``TIMESTAMP'...'``, which sqlglot reads as casts."""
        if not isinstance(node.this, exp.Literal):
            raise NotUnderstoodError
        text, kind = node.this.name, (node.to.this.name, node.this.is_string)
        match kind:
            case ("BIGINT", False):
                return _constant(literals.bigint, text)
            case ("DOUBLE", False):
                return _constant(literals.double, text, f"{text}D")
            case ("DATE", True):
                return _constant(literals.day, text)
            case ("TIMESTAMPTZ" | "TIMESTAMPLTZ", True):
                return _constant(literals.moment, text, self._time_zone)
            case ("TIMESTAMPNTZ", True):
                return _constant(literals.local_moment, text)
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
        expression = set_function(node, self.sides)
        if expression is None:
            raise NotUnderstoodError
        return expression

    def _connected(
        self, node: Node, connect: Callable[[Sequence[Expression]], Expression]
    ) -> Expression:
        return connect([self.condition(part) for part in node.flatten(unnest=False)])


def _constant(make: Callable[..., Expression], *words: str | None) -> Expression:
    try:
        return make(*words)
    except ValueError:
        raise NotUnderstoodError from None


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

Conjunct = tuple[int, int] | Expression | str
"""Positions of two columns that are equal and can be keys, a condition, or text for Spark."""


def conjuncts(text: str, sides: Sides, time_zone: str | None) -> list[Conjunct]:
    """The parts of a condition that must all hold, each as far as it is understood.

    Examples
    --------
    >>> schema = pa.schema({"k": pa.string(), "x": pa.int64()})
    >>> sides = Sides(schemas={"left": schema, "right": schema})
    >>> key, bound, rest = conjuncts(
    ...     "left.k = right.k AND left.x > 3 AND rand() < 0.5", sides, None)
    >>> key, bound.describe(), rest
    ((0, 0), 'left.x > 3', 'rand() < 0.5')
    """
    whole = Text(text, "where")
    tokens = _tokens(whole)
    meaning = _parse(whole.cut(tokens))
    for what, kinds in REFUSED.items():
        node = meaning.find(*kinds)
        if node is not None:
            raise ConfigError(f"where: {node.sql('spark')} is {what}; allowed: {_ALLOWED}")
    for name in named(meaning):
        sides.find(name)
    translator = Translator(sides, time_zone)
    return [
        _conjunct(whole, words, condition, translator)
        for words, condition in parts(whole, tokens, meaning)
    ]


def _tokens(text: Text) -> list[Token]:
    try:
        tokens = text.tokens()
    except SqlglotError:
        raise _unreadable(text.text) from None
    while tokens and tokens[-1].token_type == TokenType.SEMICOLON:
        tokens.pop()
    if not tokens or any(token.token_type == TokenType.SEMICOLON for token in tokens):
        raise ConfigError.at("where", repr(text.text), "one condition, such as 'left.x < right.y'")
    return tokens


def _parse(text: str) -> exp.Expr:
    try:
        return parse_condition(text)
    except ParseError as error:
        near = error.errors[0].get("highlight") if error.errors else None
        raise _unreadable(text, f" near {near!r}" if near else "") from None
    except RecursionError:
        raise _unreadable(text, " with so many levels") from None


def _unreadable(text: str, place: str = "") -> ConfigError:
    return ConfigError(f"where: cannot read {text!r} as SQL{place}; allowed: {_ALLOWED}")


def _conjunct(
    text: Text, words: Sequence[Token], condition: exp.Expr, translator: Translator
) -> Conjunct:
    equality = translator.sides.equality(condition)
    if equality is not None:
        return equality
    said = text.cut(words)
    # Escapes and variables are Spark's business; names have no escapes.
    others = (text.cut([word]) for word in words if word.token_type != TokenType.IDENTIFIER)
    try:
        if "${" in said or any("\\" in other for other in others):
            raise NotUnderstoodError
        return translator.conjunct(condition)
    except NotUnderstoodError:
        name = next(set_functions(condition), None)
        if name is not None:
            raise ConfigError(
                f"where: {said!r} has parts that only Spark can evaluate, and Spark has no {name}; "
                f"allowed: {name} with comparisons, arithmetic, AND, OR, NOT"
            ) from None
        return translator.sides.rewritten(said, condition, {"left": "left", "right": "right"})
