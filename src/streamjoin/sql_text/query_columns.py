"""What the names of columns in a query mean."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from sqlglot import exp

from streamjoin._names import ANY_CASE, Naming, backquoted, quoted
from streamjoin.errors import DataError
from streamjoin.joins.columns import kind_name
from streamjoin.sql_text.columns import names
from streamjoin.sql_text.query import Part
from streamjoin.sql_text.query_text import Text, allowed

Column = tuple[str, str]
"""Alias of a stream, and column."""
Merged = Mapping[str, tuple[str, ...]]
"""Columns of USING, folded, and the streams that have them."""

_COMPARISONS: Final = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ)


@dataclass(frozen=True)
class Name:
    """A name in the text, and the column of one or more streams that it means.

    `start` to `end` is its first word: the stream, or if the name is bare the column.
    """

    aliases: tuple[str, ...]
    column: str
    type: pa.DataType
    is_whole: bool
    is_bare: bool
    start: int
    end: int


@dataclass(frozen=True)
class Scope:
    """The columns that a part of the query can name.

    Parameters
    ----------
    text
        For places.
    schemas
        Of each stream, by its alias.
    merged
        Columns that come out once, and whose they are.
    how
        Type of the join: which of these streams then has the value.
    earlier
        Names that the query itself gave to what it selects further to the left.
    naming
        Which names are one.
    """

    text: Text
    schemas: Mapping[str, pa.Schema]
    merged: Merged
    how: str = "inner"
    earlier: Collection[str] = ()
    naming: Naming = ANY_CASE

    def names(self, part: Part) -> list[Name]:
        """Every column that a part names.

        Examples
        --------
        >>> from streamjoin.sql_text.query import parse_query
        >>> query = parse_query("SELECT x FROM a, b WHERE a.k = b.k WINDOW 1 DAY")
        >>> a, b = pa.schema({"k": pa.int64()}), pa.schema({"k": pa.int64(), "x": pa.int64()})
        >>> scope = Scope(query.text, {"a": a, "b": b}, {})
        >>> [(name.aliases, name.column) for name in scope.names(query.items[0])]
        [(('b',), 'x')]
        """
        return list(self._names(part))

    def _names(self, part: Part) -> Iterator[Name]:
        for column in names(part.meaning):
            if not isinstance(column.this, exp.Star):
                found = self._find(column, part.start)
                if found is not None:
                    yield found

    def _find(self, column: exp.Column, base: int) -> Name | None:
        words = column.parts
        texts = [word.name for word in words]
        start, end = (base + int(words[0].meta[of]) + (of == "end") for of in ("start", "end"))
        alias = next((a for a in self.schemas if self.naming.same(a, texts[0])), None)
        if len(texts) > 1 and alias is not None:
            field = self._field(alias, texts[1])
            if field is None:
                what = f"{alias} has no column {texts[1]!r}; {self._choices(alias, texts[1:])}"
                raise self.text.error(base + int(words[1].meta["start"]), what, DataError)
            return Name((alias,), field.name, field.type, len(texts) == 2, False, start, end)
        return self._bare(texts, start, end)

    def _choices(self, alias: str, texts: Sequence[str]) -> str:
        known, dotted = self.schemas[alias].names, ".".join(texts)
        if len(texts) > 1 and self.naming.find(known, dotted) is not None:
            return f"allowed: {quoted(alias)}.{backquoted(dotted)}"
        return allowed(known, texts[0])

    def _bare(self, texts: Sequence[str], start: int, end: int) -> Name | None:
        name = texts[0]
        found = {a: f for a in self.schemas if (f := self._field(a, name)) is not None}
        is_one = len(found) == 1 or set(found) <= set(self.holders(name))
        if found and is_one:
            holders = self.with_the_value(list(found))
            field = found[holders[0]]
            return Name(holders, field.name, field.type, len(texts) == 1, True, start, end)
        if found:
            choices = ", ".join(f"{alias}.{quoted(name)}" for alias in found)
            what = f"several streams have a column {name!r}; allowed: {choices}"
            raise self.text.error(start, what, DataError)
        if any(self.naming.same(name, other) for other in self.earlier):
            return None
        raise self.text.error(start, self._unknown(texts), DataError)

    def with_the_value(self, holders: list[str]) -> tuple[str, ...]:
        """Of streams whose columns come out as one, those whose value is never missing."""
        if self.how == "full":
            return tuple(holders)
        return (holders[-1 if self.how == "right" else 0],)

    def holders(self, name: str) -> tuple[str, ...]:
        """The streams whose columns of a name come out as one; none if they do not."""
        return self.merged.get(self.naming.fold(name), ())

    def field(self, alias: str, name: str) -> str:
        """A column of a stream as the stream spells it."""
        found = self._field(alias, name)
        assert found is not None
        return str(found.name)

    def _field(self, alias: str, name: str) -> pa.Field | None:
        at = self.naming.find(self.schemas[alias].names, name)
        return None if at is None else self.schemas[alias].field(at)

    def _unknown(self, texts: Sequence[str]) -> str:
        if len(texts) > 1:
            return f"unknown stream {texts[0]!r}; {allowed(list(self.schemas), texts[0])}"
        known = list(dict.fromkeys(name for s in self.schemas.values() for name in s.names))
        who = f"a {self.how} join gives no" if self.how in ("semi", "anti") else "no stream has a"
        return f"{who} column {texts[0]!r}; {allowed(known, texts[0])}"

    def rewritten(self, part: Part, targets: Mapping[str, str]) -> str:
        """The text of a part, with other names for the streams, also where it has none."""
        text = part.text
        for name in sorted(self._names(part), key=lambda name: name.start, reverse=True):
            begin, end = name.start - part.start, name.end - part.start
            new = targets[name.aliases[0]]
            if len(name.aliases) > 1:
                values = ", ".join(f"{targets[a]}.{quoted(name.column)}" for a in name.aliases)
                new = f"coalesce({values})"
            elif name.is_bare:
                new = f"{new}.{text[begin:end]}"
            text = f"{text[:begin]}{new}{text[end:]}"
        return text

    def check_types(self, part: Part) -> None:
        """Refuse a comparison of two columns whose types Spark would have to convert."""
        if type(part.meaning) not in _COMPARISONS:
            return
        found = self.names(part)
        sides = (part.meaning.this, part.meaning.expression)
        if len(found) != 2 or not all(type(side) is exp.Column for side in sides):
            return
        if all(n.is_whole for n in found) and _family(found[0].type) != _family(found[1].type):
            kinds = " and ".join(f"{n.column!r} is {kind_name(n.type)}" for n in found)
            what = f"{part.text}: {kinds}; allowed: types that can be compared (cast one of them)"
            raise self.text.error(part.start, what, DataError)


def _family(kind: pa.DataType) -> str:
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "number"
    return "time" if pa.types.is_timestamp(kind) or pa.types.is_date(kind) else str(kind)
