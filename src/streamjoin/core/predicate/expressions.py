"""The parts of a condition, and its value for pairs of rows.

Operands already have the types they need; `build` sees to that.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from streamjoin._names import quoted
from streamjoin._typing import LEFT, Side
from streamjoin.core.predicate import values
from streamjoin.core.predicate.values import Values
from streamjoin.errors import DataError

Fetch = Callable[[Side, int], pa.Array]
"""Column `position` of a side, one value per pair of rows."""


@dataclass(frozen=True)
class Expression(ABC):
    """One part of a condition.

    Parameters
    ----------
    type
        Type of its values.
    """

    type: pa.DataType

    @abstractmethod
    def describe(self) -> str:
        """SQL text that means the same."""

    @abstractmethod
    def compute(self, fetch: Fetch) -> Values:
        """Values for all pairs of rows; a literal has one value for all of them."""

    @property
    def operands(self) -> tuple["Expression", ...]:
        """The expressions that this one is made of."""
        found = [getattr(self, field.name) for field in fields(self)]
        several = [value if isinstance(value, tuple) else (value,) for value in found]
        return tuple(v for value in several for v in value if isinstance(v, Expression))

    def columns(self) -> frozenset["Column"]:
        """Every column that is read."""
        mine = {self} if isinstance(self, Column) else set[Column]()
        return frozenset(mine.union(*(operand.columns() for operand in self.operands)))


def mask(expression: Expression, fetch: Fetch) -> NDArray[np.bool_]:
    """For which pairs of rows a condition is true; null is not true.

    Examples
    --------
    >>> from streamjoin.core.predicate import build
    >>> x = Column(pa.int64(), side=0, position=0, name="x")
    >>> expression = build.compare("<", x, Literal(pa.int32(), 5, "5"))
    >>> expression.describe()
    'left.x < 5'
    >>> mask(expression, lambda side, position: pa.array([3, 7, None])).tolist()
    [True, False, False]
    """
    computed = expression.compute(cache(fetch))
    if computed.failed is not None and computed.failed.any():
        raise DataError(
            f"where: {computed.reason} for {int(computed.failed.sum())} of "
            f"{len(computed.failed)} pairs of rows; allowed: a condition with a value for every "
            "pair (exclude the others with AND, or cast to a wider type)"
        )
    if isinstance(computed.data, pa.Scalar):  # no column is read: any tells the number of pairs
        return np.full(len(fetch(LEFT, 0)), computed.data.as_py() is True)
    return np.asarray(pc.fill_null(computed.data, False))


@dataclass(frozen=True)
class Column(Expression):
    """A column of one side."""

    side: Side
    position: int
    name: str

    def describe(self) -> str:
        """``left.name`` or ``right.name``."""
        return f"{('left', 'right')[self.side]}.{quoted(self.name)}"

    def compute(self, fetch: Fetch) -> Values:
        """The column itself."""
        return Values(fetch(self.side, self.position))


@dataclass(frozen=True)
class Literal(Expression):
    """A constant, with the text that it is shown as."""

    value: object
    text: str

    def describe(self) -> str:
        """The text."""
        return self.text

    def compute(self, fetch: Fetch) -> Values:
        """One value for all rows."""
        return Values(pa.scalar(self.value, self.type))


@dataclass(frozen=True)
class Hidden(Expression):
    """What is done with an operand without being shown."""

    operand: Expression

    def describe(self) -> str:
        """The operand."""
        return self.operand.describe()


@dataclass(frozen=True)
class Cast(Hidden):
    """A change of type that Spark makes without being asked."""

    def compute(self, fetch: Fetch) -> Values:
        """Values of the new type; a 64-bit number may be rounded to a double, as in Spark."""
        data, failed, reason = self.operand.compute(fetch)
        return Values(data.cast(self.type, safe=False), failed, reason)


@dataclass(frozen=True)
class Binary(Expression):
    """An operation between two operands."""

    operation: str
    left: Expression
    right: Expression

    def describe(self) -> str:
        """``left.x + right.y``."""
        return f"{_enclosed(self.left)} {self.operation} {_enclosed(self.right)}"


@dataclass(frozen=True)
class Arithmetic(Binary):
    """``+ - * /`` of two operands; ``/`` is division of doubles."""

    def compute(self, fetch: Fetch) -> Values:
        """Values; rows beyond the type or divided by zero have failed."""
        return _calculate(self, self.operation, fetch)


@dataclass(frozen=True)
class Unary(Expression):
    """``negate`` or ``abs`` of an operand."""

    operation: str
    operand: Expression

    def describe(self) -> str:
        """``abs(left.x)`` or ``-(left.x)``."""
        return f"{'abs' if self.operation == 'abs' else '-'}({self.operand.describe()})"

    def compute(self, fetch: Fetch) -> Values:
        """Values; the smallest whole number of its type has no counterpart and fails."""
        return _calculate(self, self.operation, fetch)


@dataclass(frozen=True)
class Call(Expression):
    """A function of columns, shown as ``name(left.x, right.y)``."""

    name: ClassVar[str]

    def describe(self) -> str:
        """The name with its arguments."""
        return f"{self.name}({', '.join(operand.describe() for operand in self.operands)})"


@dataclass(frozen=True)
class Compare(Binary):
    """``= <> < <= > >= <=>`` of two operands of one type."""

    @property
    def ascending(self) -> tuple[str, Expression, Expression]:
        """The operation and its operands, with ``<`` and ``<=`` in place of ``>`` and ``>=``."""
        if self.operation in (">", ">="):
            return self.operation.replace(">", "<"), self.right, self.left
        return self.operation, self.left, self.right

    def compute(self, fetch: Fetch) -> Values:
        """Null where an operand is, except for ``<=>``."""
        parts = [operand.compute(fetch) for operand in self.operands]
        data = values.compare(self.operation, *(part.data for part in parts))
        failures = values.any_failed if self.operation == "<=>" else values.failed_beside_null
        return Values(data, *failures(parts))


@dataclass(frozen=True)
class Connected(Expression):
    """Conditions with AND or OR between them; a part that decides alone may be beside a failure."""

    parts: tuple[Expression, ...]
    word: ClassVar[str]
    decisive: ClassVar[bool]

    def describe(self) -> str:
        """The parts with AND or OR between them, in parentheses if they are such themselves."""
        shown = [(part.describe(), isinstance(_shown(part), Connected)) for part in self.parts]
        return f" {self.word} ".join(f"({text})" if nested else text for text, nested in shown)

    def compute(self, fetch: Fetch) -> Values:
        """Decided by any part that is decisive, even where another has failed."""
        return values.connect([part.compute(fetch) for part in self.parts], self.decisive)


@dataclass(frozen=True)
class And(Connected):
    """True where all parts are true."""

    word = "AND"
    decisive = False


@dataclass(frozen=True)
class Or(Connected):
    """True where any part is true."""

    word = "OR"
    decisive = True


@dataclass(frozen=True)
class Not(Expression):
    """True where the operand is false."""

    operand: Expression

    def describe(self) -> str:
        """``NOT (...)``."""
        return f"NOT ({self.operand.describe()})"

    def compute(self, fetch: Fetch) -> Values:
        """Null where the operand is."""
        return _mapped(self.operand, pc.invert, fetch)


@dataclass(frozen=True)
class IsNull(Expression):
    """Whether there is no value."""

    operand: Expression

    def describe(self) -> str:
        """``left.x IS NULL``."""
        return f"{_enclosed(self.operand)} IS NULL"

    def compute(self, fetch: Fetch) -> Values:
        """Never null; NaN is a value."""
        return _mapped(self.operand, pc.is_null, fetch)


@dataclass(frozen=True)
class In(Expression):
    """Whether a value is in a list of literals of its type."""

    operand: Expression
    among: tuple[Literal, ...]

    def describe(self) -> str:
        """``left.x IN (1, 2)``."""
        return f"{_enclosed(self.operand)} IN ({', '.join(v.text for v in self.among)})"

    def compute(self, fetch: Fetch) -> Values:
        """Null where the operand is, and instead of false if the list has a null."""
        known = [literal.value for literal in self.among if literal.value is not None]
        listed, or_null = pa.array(known, self.operand.type), len(known) < len(self.among)
        return _mapped(self.operand, lambda d: values.is_among(d, listed, or_null=or_null), fetch)


@dataclass(frozen=True)
class Attempt(Hidden):
    """Null instead of a failure: for conditions that cannot hold where they fail."""

    def compute(self, fetch: Fetch) -> Values:
        """The operand's values."""
        data, failed, _ = self.operand.compute(fetch)
        if failed is None:
            return Values(data)
        return Values(pc.if_else(pa.array(failed), pa.scalar(None, data.type), data))


def _calculate(expression: Expression, operation: str, fetch: Fetch) -> Values:
    parts = [operand.compute(fetch) for operand in expression.operands]
    data, new = values.calculate(operation, *(part.data for part in parts))
    failed, reason = values.failed_beside_null(parts)
    if new is not None and new.any():
        problem = "divides by zero" if operation == "/" else f"is beyond {expression.type}"
        reason = reason or f"{expression.describe()} {problem}"
        failed = new if failed is None else failed | new
    return Values(data, failed, reason)


def _mapped(operand: Expression, kernel: Callable[..., values.Data], fetch: Fetch) -> Values:
    data, failed, reason = operand.compute(fetch)
    return Values(kernel(data), failed, reason)


def _shown(expression: Expression) -> Expression:
    return _shown(expression.operand) if isinstance(expression, Hidden) else expression


def _enclosed(expression: Expression) -> str:
    """An operand, in parentheses unless it is a single word or call."""
    single = isinstance(_shown(expression), Column | Literal | Unary | Call)
    return expression.describe() if single else f"({expression.describe()})"
