"""Names of columns in a condition, and the columns that they mean."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import pyarrow as pa
from sqlglot import exp

from streamjoin._names import ANY_CASE, Naming, backquoted, quoted
from streamjoin._typing import SIDES, Side
from streamjoin.core.keys import can_be_key, comparable
from streamjoin.core.predicate.expressions import Column
from streamjoin.errors import DataError

_NAMES = ("left", "right")


@dataclass(frozen=True)
class Found:
    """A column that a name means; `is_whole` unless the name goes on to a field of it."""

    column: Column
    is_whole: bool
    is_bare: bool


@dataclass(frozen=True)
class Columns:
    """The columns of both streams; `naming` says which names are one."""

    schemas: tuple[pa.Schema, pa.Schema]
    naming: Naming = ANY_CASE

    def find(self, name: exp.Column) -> Found:
        """What ``left.x``, ``x`` or ``left.x.field`` means; ``left`` in letters of either case."""
        parts = [part.name for part in name.parts]
        if len(parts) > 1 and parts[0].lower() in _NAMES:
            side: Side = 0 if parts[0].lower() == "left" else 1
            position = self._position(side, parts[1])
            if position is None:
                raise DataError(self._missing(parts[1:], [side]))
            return Found(self._column(side, position), len(parts) == 2, is_bare=False)
        return Found(self._bare(parts), len(parts) == 1, is_bare=True)

    def equality(self, condition: exp.Expr) -> tuple[int, int] | None:
        """Positions of the columns, if this is ``left.a = right.b`` and both can be keys."""
        if isinstance(condition, exp.Paren):
            return self.equality(condition.this)
        sides = [condition.this, condition.expression] if type(condition) is exp.EQ else []
        if not sides or not all(type(side) is exp.Column for side in sides):
            return None
        found = sorted((self.find(side) for side in sides), key=lambda f: f.column.side)
        left, right = (f.column for f in found)
        both_sides = (left.side, right.side) == SIDES and all(f.is_whole for f in found)
        alike = comparable(left.type, right.type)
        if not (both_sides and alike and can_be_key(left.type) and can_be_key(right.type)):
            return None
        return left.position, right.position

    def qualified(self, text: str, condition: exp.Expr) -> str:
        """The text of a condition with the side in front of every name."""
        sides: dict[int, tuple[int, str]] = {}
        for name in names(condition):
            found, place = self.find(name), name.parts[0].meta
            start, side = int(place["start"]), _NAMES[found.column.side]
            sides[start] = (start, f"{side}.") if found.is_bare else (int(place["end"]) + 1, side)
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
        found = [(s, p) for s in SIDES if (p := self._position(s, name)) is not None]
        if len(found) == 1:
            return self._column(*found[0])
        if found:
            choices = ", ".join(f"{side}.{quoted(name)}" for side in _NAMES)
            msg = f"where: both streams have a column {name!r}; allowed: {choices}"
            raise DataError(msg)
        if len(parts) > 1:
            msg = f"where: got {'.'.join(parts)!r}; allowed: columns as left.name or right.name"
            raise DataError(msg)
        raise DataError(self._missing(parts, SIDES))

    def _missing(self, parts: Sequence[str], sides: Sequence[Side]) -> str:
        name, dotted = parts[0], ".".join(parts)
        known = list(dict.fromkeys(other for s in sides for other in self.schemas[s].names))
        lower = {other.lower(): other for other in known}
        close = get_close_matches(name.lower(), lower, n=1)
        hint = f" (did you mean {lower[close[0]]!r}?)" if close else ""
        if self.naming.find(known, dotted) is not None:
            hint = f" (did you mean {backquoted(dotted)}?)"
        where = f"on the {_NAMES[sides[0]]}" if len(sides) == 1 else "on either side"
        return f"where: there is no column {name!r} {where}{hint}; allowed: {', '.join(known)}"


def names(condition: exp.Expr) -> Iterator[exp.Column]:
    """Every column that a condition names."""
    return condition.find_all(exp.Column)
