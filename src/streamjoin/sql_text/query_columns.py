"""What the names of columns in a query mean."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa
from sqlglot import exp

from streamjoin._names import ANY_CASE, Naming, backquoted, quoted
from streamjoin.errors import DataError
from streamjoin.joins.columns import kind_name
from streamjoin.sql_text.columns import is_of_two_columns, names
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

    `merged` columns come out once, and with `how` they say whose value that is; `earlier` are names
    that the query itself gave to what it selects further to the left.
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
                name = self._find(column, part.start)
                if name is not None:
                    yield name

    def _find(self, column: exp.Column, base: int) -> Name | None:
        words = column.parts
        texts = [word.name for word in words]
        first = words[0].meta
        start, end = base + int(first["start"]), base + int(first["end"]) + 1
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
        fields = {a: f for a in self.schemas if (f := self._field(a, name)) is not None}
        is_one = len(fields) == 1 or set(fields) <= set(self.holders(name))
        if fields and is_one:
            holders = self.with_the_value(list(fields))
            field = fields[holders[0]]
            return Name(holders, field.name, field.type, len(texts) == 1, True, start, end)
        if fields:
            choices = ", ".join(f"{alias}.{quoted(name)}" for alias in fields)
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
        field = self._field(alias, name)
        assert field is not None
        return str(field.name)

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
        known = self.names(part) if is_of_two_columns(part.meaning, *_COMPARISONS) else []
        if len(known) != 2 or not all(name.is_whole for name in known):
            return
        if _family(known[0].type) != _family(known[1].type):
            kinds = " and ".join(f"{name.column!r} is {kind_name(name.type)}" for name in known)
            what = f"{part.text}: {kinds}; allowed: types that can be compared (cast one of them)"
            raise self.text.error(part.start, what, DataError)


def _family(kind: pa.DataType) -> str:
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "number"
    return "time" if pa.types.is_timestamp(kind) or pa.types.is_date(kind) else str(kind)


@dataclass(frozen=True)
class Output:
    """One column of the result: its SQL over structs that are called as the streams are."""

    sql: str
    start: int
    name: str | None
    columns: tuple[Column, ...]


def outputs(items: Sequence[Part], scope: Scope) -> tuple[Output, ...]:
    """The columns of the result, in order.

    A column that a star brings and whose name comes twice gets its stream's name in front.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from streamjoin.sql_text.query import parse_query
    >>> query = parse_query("SELECT *, b.x + 1 AS y FROM a, b WINDOW 1 DAY")
    >>> one, two = pa.schema({"k": "int64"}), pa.schema({"k": "int64", "x": "int64"})
    >>> for output in outputs(query.items, Scope(query.text, {"a": one, "b": two}, {})):
    ...     print(output.sql)
    a.k AS a_k
    b.k AS b_k
    b.x AS x
    b.x + 1 AS y
    """
    starred = [column for item in items for column in _starred(item, scope)]
    times = Counter(scope.naming.fold(column) for _, column in starred)
    selected: list[Output] = []
    earlier: list[str] = []
    for item in items:
        star = list(_starred(item, scope))
        selected += [_column(item, column, times, scope) for column in star]
        if not star:
            selected.append(_expression(item, replace(scope, earlier=earlier)))
            earlier += [item.meaning.alias] if isinstance(item.meaning, exp.Alias) else []
    _refuse_twice(selected, scope)
    return tuple(selected)


def _starred(item: Part, scope: Scope) -> Iterator[Column]:
    """The columns that a star stands for; none if the item is no star."""
    star = item.meaning
    table = star.table if isinstance(star, exp.Column) else ""
    star = star.this if isinstance(star, exp.Column) else star
    if not isinstance(star, exp.Star):
        return
    if any(star.args.values()):
        what = f"{item.text}: a star with more; allowed: *, a.*, or the columns one by one"
        raise scope.text.error(item.start, what)
    aliases = [alias for alias in scope.schemas if not table or scope.naming.same(alias, table)]
    if not aliases:
        what = f"unknown stream {table!r}; {allowed(list(scope.schemas), table)}"
        raise scope.text.error(item.start, what)
    seen: set[str] = set()
    for alias in aliases:
        for name in scope.schemas[alias].names:
            holders = () if table else scope.holders(name)
            folded = scope.naming.fold(name)
            if alias not in holders or folded not in seen:
                yield alias, name
            seen |= {folded} if alias in holders else set()


def _column(item: Part, column: Column, times: Counter[str], scope: Scope) -> Output:
    alias, name = column
    if "${" in name:
        what = (
            f"{item.text} brings the column {name!r}, which Spark's SQL takes for a variable; "
            "allowed: other names (rename it), or the columns one by one"
        )
        raise scope.text.error(item.start, what, DataError)
    title = f"{alias}_{name}" if times[scope.naming.fold(name)] > 1 else name
    holders = [a for a in scope.holders(name) if a in scope.schemas]
    is_star = isinstance(item.meaning, exp.Star)
    chosen = scope.with_the_value(holders) if is_star and alias in holders else (alias,)
    values = [f"{quoted(a)}.{quoted(name)}" for a in chosen]
    value = values[0] if len(values) == 1 else f"coalesce({', '.join(values)})"
    columns = tuple((a, scope.field(a, name)) for a in chosen)
    return Output(f"{value} AS {quoted(title)}", item.start, title, columns)


def _expression(item: Part, scope: Scope) -> Output:
    names = scope.names(item)
    sql = scope.rewritten(item, {alias: quoted(alias) for alias in scope.schemas})
    title = item.meaning.alias_or_name or None
    if isinstance(item.meaning, exp.Column) and len(names[0].aliases) > 1:
        sql = f"{sql} AS {quoted(names[0].column)}"
    columns = tuple((alias, name.column) for name in names for alias in name.aliases)
    return Output(sql, item.start, title, columns)


def _refuse_twice(selected: Sequence[Output], scope: Scope) -> None:
    seen: set[str] = set()
    for output in selected:
        name = None if output.name is None else scope.naming.fold(output.name)
        if name is not None and name in seen:
            what = (
                f"two columns of the result are called {output.name!r}; "
                f"allowed: names of their own, such as {output.sql.partition(' AS ')[0]} AS other"
            )
            raise scope.text.error(output.start, what, DataError)
        seen |= {name} if name is not None else set()
