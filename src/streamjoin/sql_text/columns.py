"""Names of columns in SQL, and the columns of streams that they mean."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from sqlglot import exp

from streamjoin._names import ANY_CASE, Naming, backquoted, nearest, quoted
from streamjoin._typing import Side
from streamjoin.core.keys import can_be_key, comparable
from streamjoin.core.predicate.expressions import Column
from streamjoin.errors import DataError, StreamJoinError

LEFT_RIGHT: Final = ("left", "right")


@dataclass(frozen=True)
class Name:
    """A name in the text, and the column of one or more streams that it means."""

    aliases: tuple[str, ...]
    position: int  # of the column in the first of these streams
    field: pa.Field
    is_whole: bool  # unless the name goes on to a field of the column
    is_bare: bool  # without a stream
    first: exp.Expr  # its first word: the stream, or if the name is bare the column


@dataclass(frozen=True, kw_only=True)
class Streams(ABC):
    """The columns of streams, by what a text calls them; `naming` says which names are one."""

    schemas: Mapping[str, pa.Schema]
    naming: Naming = ANY_CASE

    def find(self, name: exp.Column, base: int = 0) -> Name | None:
        """What ``a.x``, ``x`` or ``a.x.field`` means; None if that is no column of a stream.

        Positions of words in the whole text count from `base`.
        """
        texts, words = [part.name for part in name.parts], name.parts
        alias = self._alias(texts[0]) if len(texts) > 1 else None
        if alias is not None:
            aliases, texts, last = [alias], texts[1:], words[1]
        else:
            aliases, last = list(self.schemas), words[0]
        places = {a: p for a in aliases if (p := self._position(a, texts[0])) is not None}
        holders = tuple(places) if len(places) == 1 else self._as_one(texts[0], list(places))
        if not holders:
            error = self._refused(texts, alias, list(places), base + last.meta.get("start", 0))
            if error is not None:
                raise error
            return None
        position = places[holders[0]]
        field = self.schemas[holders[0]].field(position)
        return Name(holders, position, field, len(texts) == 1, alias is None, words[0])

    def rewritten(self, text: str, meaning: exp.Expr, targets: Mapping[str, str]) -> str:
        """A text with other names for the streams, also where it has none."""
        names = {name.first.meta["start"]: name for name in map(self.find, named(meaning)) if name}
        for start, name in sorted(names.items(), reverse=True):
            end, new = name.first.meta["end"] + 1, targets[name.aliases[0]]
            if len(name.aliases) > 1:
                values = (f"{targets[a]}.{quoted(name.field.name)}" for a in name.aliases)
                new = f"coalesce({', '.join(values)})"
            elif name.is_bare:
                new = f"{new}.{text[start:end]}"
            text = f"{text[:start]}{new}{text[end:]}"
        return text

    def _alias(self, text: str) -> str | None:
        return next((alias for alias in self.schemas if self.naming.same(alias, text)), None)

    def _position(self, alias: str, name: str) -> int | None:
        return self.naming.find(self.schemas[alias].names, name)

    def _as_one(self, name: str, aliases: list[str]) -> tuple[str, ...]:
        """Of several streams with a column those whose value it is; none if they are not one."""
        return ()

    @abstractmethod
    def _refused(
        self, texts: Sequence[str], alias: str | None, several: list[str], start: int
    ) -> StreamJoinError | None:
        """What is wrong with a name of no stream, or of several; None if nothing is."""


class Sides(Streams):
    """The columns of ``left`` and ``right``, in letters of either case."""

    def column(self, name: exp.Column) -> Column | None:
        """The column that a name means; None if it goes on to a field of that."""
        meant = self.find(name)
        if meant is None or not meant.is_whole:
            return None
        side: Side = 0 if meant.aliases[0] == "left" else 1
        return Column(meant.field.type, side, meant.position, meant.field.name)

    def equality(self, condition: exp.Expr) -> tuple[int, int] | None:
        """Positions of the columns, if this is ``left.a = right.b`` and both can be keys."""
        bare = condition.unnest()
        if not is_of_two_columns(bare, exp.EQ):
            return None
        one, other = self.column(bare.this), self.column(bare.expression)
        if one is None or other is None or one.side == other.side:
            return None
        left, right = sorted((one, other), key=lambda column: column.side)
        return (left.position, right.position) if can_be_keys(left.type, right.type) else None

    def _alias(self, text: str) -> str | None:
        return text.lower() if text.lower() in LEFT_RIGHT else None

    def _refused(
        self, texts: Sequence[str], alias: str | None, several: list[str], start: int
    ) -> StreamJoinError:
        name, dotted = texts[0], ".".join(texts)
        if several:
            choices = ", ".join(f"{side}.{quoted(name)}" for side in LEFT_RIGHT)
            return DataError(f"where: both streams have a column {name!r}; allowed: {choices}")
        if alias is None and len(texts) > 1:
            return DataError.at("where", repr(dotted), "columns as left.name or right.name")
        sides = self.schemas if alias is None else [alias]
        known = list(dict.fromkeys(other for side in sides for other in self.schemas[side].names))
        close = nearest(name, known)
        hint = f" (did you mean {close!r}?)" if close else ""
        if self.naming.find(known, dotted) is not None:
            hint = f" (did you mean {backquoted(dotted)}?)"
        where = "on either side" if alias is None else f"on the {alias}"
        return DataError(
            f"where: there is no column {name!r} {where}{hint}; allowed: {', '.join(known)}"
        )


def can_be_keys(left: pa.DataType, right: pa.DataType) -> bool:
    """Whether the join can look up that columns of two types are equal."""
    return can_be_key(left) and can_be_key(right) and comparable(left, right)


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


def named(meaning: exp.Expr) -> Iterator[exp.Column]:
    """Every column that a text names; a star names none."""
    return (name for name in meaning.find_all(exp.Column) if not isinstance(name.this, exp.Star))
