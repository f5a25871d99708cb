"""Parsed SQL as expressions."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import pyarrow as pa
from sqlglot import exp

from streamjoin.core.predicate import Expression, build
from streamjoin.core.predicate.build import NotUnderstoodError
from streamjoin.core.predicate.expressions import Literal
from streamjoin.errors import ConfigError
from streamjoin.sql_text import literals
from streamjoin.sql_text.columns import Columns
from streamjoin.sql_text.sets import arrays_overlap, set_function

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


class Translator:
    """Makes expressions of what is known to mean here what it means in Spark.

    Parameters
    ----------
    columns
        What names mean.
    time_zone
        Of timestamps that name none.

    Examples
    --------
    >>> from sqlglot import parse_one
    >>> schema = pa.schema({"x": pa.int64()})
    >>> translator = Translator(Columns((schema, schema)), None)
    >>> translator.condition(parse_one("left.x BETWEEN 1 AND 3", read="spark")).describe()
    'left.x >= 1 AND left.x <= 3'
    """

    def __init__(self, columns: Columns, time_zone: str | None) -> None:
        self._columns = columns
        self._time_zone = time_zone
        self._level = 0

    def conjunct(self, node: Node) -> Expression:
        """A condition that must hold by itself, so that false and null are the same."""
        return arrays_overlap(node, self._columns) or self.condition(node)

    def condition(self, node: Node) -> Expression:
        """An expression that is true, false or null."""
        expression = self._expression(node)
        if expression.type not in (pa.bool_(), pa.null()):
            msg = (
                f"where: {expression.describe()} is of type {expression.type}; allowed: a "
                "condition, that is true or false"
            )
            raise ConfigError(msg)
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
        found = self._columns.find(node)
        if not found.is_whole:
            raise NotUnderstoodError
        return found.column

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
        if kind == ("BIGINT", False):
            return literals.bigint(text)
        if kind == ("DOUBLE", False):
            return literals.double(text, f"{text}D")
        if kind == ("DATE", True):
            return literals.day(text)
        if kind in (("TIMESTAMPTZ", True), ("TIMESTAMPLTZ", True)):
            return literals.moment(text, self._time_zone)
        if kind == ("TIMESTAMPNTZ", True):
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
        found = set_function(node, self._columns)
        if found is None:
            raise NotUnderstoodError
        return found

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
