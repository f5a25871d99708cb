"""Names of columns in a condition, and the columns that they mean."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from streamjoin._names import ANY_CASE, Naming, backquoted, nearest, quoted
from streamjoin._typing import SIDES, Side
from streamjoin.core.keys import can_be_key, comparable
from streamjoin.core.predicate.expressions import Column
from streamjoin.errors import DataError

_NAMES = ("left", "right")


@dataclass(frozen=True)
class Meant:
    """A column that a name means; `is_whole` unless the name goes on to a field of it."""

    column: Column
    is_whole: bool
    is_bare: bool


@dataclass(frozen=True)
class Columns:
    """The columns of both streams; `naming` says which names are one."""

    schemas: tuple[pa.Schema, pa.Schema]
    naming: Naming = ANY_CASE

    def find(self, name: exp.Column) -> Meant:
        """What ``left.x``, ``x`` or ``left.x.field`` means; ``left`` in letters of either case."""
        parts = [part.name for part in name.parts]
        if len(parts) > 1 and parts[0].lower() in _NAMES:
            side: Side = 0 if parts[0].lower() == "left" else 1
            position = self._position(side, parts[1])
            if position is None:
                raise DataError(self._missing(parts[1:], [side]))
            return Meant(self._column(side, position), len(parts) == 2, is_bare=False)
        return Meant(self._bare(parts), len(parts) == 1, is_bare=True)

    def equality(self, condition: exp.Expr) -> tuple[int, int] | None:
        """Positions of the columns, if this is ``left.a = right.b`` and both can be keys."""
        if isinstance(condition, exp.Paren):
            return self.equality(condition.this)
        if not is_of_two_columns(condition, exp.EQ):
            return None
        sides = map(self.find, (condition.this, condition.expression))
        both = sorted(sides, key=lambda meant: meant.column.side)
        left, right = (meant.column for meant in both)
        both_sides = (left.side, right.side) == SIDES and all(meant.is_whole for meant in both)
        keys = can_be_key(left.type) and can_be_key(right.type)
        is_key = both_sides and keys and comparable(left.type, right.type)
        return (left.position, right.position) if is_key else None

    def qualified(self, text: str, condition: exp.Expr) -> str:
        """The text of a condition with the side in front of every name."""
        sides: dict[int, tuple[int, str]] = {}
        for name in names(condition):
            meant, place = self.find(name), name.parts[0].meta
            start, side = int(place["start"]), _NAMES[meant.column.side]
            sides[start] = (start, f"{side}.") if meant.is_bare else (int(place["end"]) + 1, side)
        for start, (end, side) in sorted(sides.items(), reverse=True):
            text = f"{text[:start]}{side}{text[end:]}"
        return text

    def _position(self, side: Side, name: str) -> int | None:
        return self.naming.find(self.schemas[side].names, name)

    def _column(self, side: Side, position: int) -> Column:
        field = self.schemas[side].field(position)
        return Column(field.type, side, position, field.name)

    def _bare(self, parts: Sequence[str]) -> Column:
        name = parts[0]
        places = [(s, p) for s in SIDES if (p := self._position(s, name)) is not None]
        if len(places) == 1:
            return self._column(*places[0])
        if places:
            choices = ", ".join(f"{side}.{quoted(name)}" for side in _NAMES)
            raise DataError(f"where: both streams have a column {name!r}; allowed: {choices}")
        if len(parts) > 1:
            raise DataError.at("where", repr(".".join(parts)), "columns as left.name or right.name")
        raise DataError(self._missing(parts, SIDES))

    def _missing(self, parts: Sequence[str], sides: Sequence[Side]) -> str:
        name, dotted = parts[0], ".".join(parts)
        known = list(dict.fromkeys(other for s in sides for other in self.schemas[s].names))
        close = nearest(name, known)
        hint = f" (did you mean {close!r}?)" if close else ""
        if self.naming.find(known, dotted) is not None:
            hint = f" (did you mean {backquoted(dotted)}?)"
        where = f"on the {_NAMES[sides[0]]}" if len(sides) == 1 else "on either side"
        return f"where: there is no column {name!r} {where}{hint}; allowed: {', '.join(known)}"


def is_of_two_columns(condition: exp.Expr, *kinds: type) -> bool:
    """Whether a condition is a comparison of such a kind, with nothing but a column on each side.

    Examples
    --------
    >>> [is_of_two_columns(exp.condition(sql), exp.EQ) for sql in ("a = b", "a = 1", "a > b")]
    [True, False, False]
    """
    if type(condition) not in kinds:
        return False
    return type(condition.this) is type(condition.expression) is exp.Column


def names(condition: exp.Expr) -> Iterator[exp.Column]:
    """Every column that a condition names."""
    return condition.find_all(exp.Column)
