"""What names of columns in a query mean, what is selected, where each condition is evaluated."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

import pyarrow as pa
from sqlglot import exp, parse_one

from streamjoin._names import Naming, backquoted, quoted
from streamjoin.errors import ConfigError, DataError, StreamJoinError
from streamjoin.joins.columns import kind_name
from streamjoin.joins.where import parse_where
from streamjoin.sql_text.columns import (
    LEFT_RIGHT,
    Name,
    Streams,
    can_be_keys,
    is_of_two_columns,
    named,
)
from streamjoin.sql_text.query import Part, Query
from streamjoin.sql_text.words import Text, allowed

Column = tuple[str, str]
"""Alias of a stream, and column."""
Merged = Mapping[str, tuple[str, ...]]
"""Columns of USING, folded, and the streams that have them."""

Place = Literal["stream", "key", "join", "after"]
# Of which streams (0, 1) a condition may be evaluated before the join without another result.
_BEFORE: Final[dict[tuple[str, str], tuple[int, ...]]] = {
    ("left", "on"): (1,), ("left", "where"): (0,),
    ("right", "on"): (0,), ("right", "where"): (1,),
    ("full", "on"): (), ("full", "where"): (),
    ("semi", "on"): (0, 1), ("semi", "where"): (0,),
    ("anti", "on"): (1,), ("anti", "where"): (0,),
}  # fmt: skip
_RANDOM: Final = (exp.Rand, exp.Randn, exp.Uuid)
_COMPARISONS: Final = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ)


@dataclass(frozen=True, kw_only=True)
class Scope(Streams):
    """The columns that a part of the query can name.

    `merged` columns come out once, and with `how` they say whose value that is; `earlier` are names
    that the query itself gave to what it selects further to the left.
    """

    text: Text
    merged: Merged = field(default_factory=dict)
    how: str = "inner"
    earlier: Collection[str] = ()

    def names(self, part: Part) -> list[Name]:
        """Every column that a part names.

        Examples
        --------
        >>> from streamjoin.sql_text.query import parse_query
        >>> query = parse_query("SELECT x FROM a, b WHERE a.k = b.k WINDOW 1 DAY")
        >>> a, b = pa.schema({"k": pa.int64()}), pa.schema({"k": pa.int64(), "x": pa.int64()})
        >>> scope = Scope(text=query.text, schemas={"a": a, "b": b})
        >>> [(name.aliases, name.field.name) for name in scope.names(query.items[0])]
        [(('b',), 'x')]
        """
        names = (self.find(column, part.start) for column in named(part.meaning))
        return [name for name in names if name is not None]

    def quoted(self, part: Part) -> str:
        """A part as SQL over structs that are called as the streams are."""
        targets = {alias: quoted(alias) for alias in self.schemas}
        return self.rewritten(part.text, part.meaning, targets)

    def with_the_value(self, holders: list[str]) -> tuple[str, ...]:
        """Of streams whose columns come out as one, those whose value is never missing."""
        if self.how == "full":
            return tuple(holders)
        return (holders[-1 if self.how == "right" else 0],)

    def holders(self, name: str) -> tuple[str, ...]:
        """The streams whose columns of a name come out as one; none if they do not."""
        return self.merged.get(self.naming.fold(name), ())

    def spelled(self, alias: str, name: str) -> str:
        """A column of a stream as the stream spells it."""
        position = self._position(alias, name)
        assert position is not None
        return str(self.schemas[alias].names[position])

    def _as_one(self, name: str, aliases: list[str]) -> tuple[str, ...]:
        is_one = aliases and set(aliases) <= set(self.holders(name))
        return self.with_the_value(aliases) if is_one else ()

    def _refused(
        self, texts: Sequence[str], alias: str | None, several: list[str], start: int
    ) -> StreamJoinError | None:
        name, dotted = texts[0], ".".join(texts)
        if alias is not None:
            known = self.schemas[alias].names
            is_dotted = len(texts) > 1 and self.naming.find(known, dotted) is not None
            dotted_one = f"allowed: {quoted(alias)}.{backquoted(dotted)}"
            choices = dotted_one if is_dotted else allowed(known, name)
            what = f"{alias} has no column {name!r}; {choices}"
        elif several:
            choices = ", ".join(f"{alias}.{quoted(name)}" for alias in several)
            what = f"several streams have a column {name!r}; allowed: {choices}"
        elif any(self.naming.same(name, other) for other in self.earlier):
            return None
        elif len(texts) > 1:
            what = f"unknown stream {name!r}; {allowed(list(self.schemas), name)}"
        else:
            known = list(dict.fromkeys(one for s in self.schemas.values() for one in s.names))
            gives_less = self.how in ("semi", "anti")
            who = f"a {self.how} join gives no" if gives_less else "no stream has a"
            what = f"{who} column {name!r}; {allowed(known, name)}"
        return self.text.error(start, what, DataError)

    def check_types(self, part: Part) -> None:
        """Refuse a comparison of two columns whose types Spark would have to convert."""
        known = self.names(part) if is_of_two_columns(part.meaning, *_COMPARISONS) else []
        if len(known) != 2 or not all(name.is_whole for name in known):
            return
        fields = [name.field for name in known]
        if _family(fields[0].type) != _family(fields[1].type):
            kinds = " and ".join(f"{one.name!r} is {kind_name(one.type)}" for one in fields)
            what = f"{part.text}: {kinds}; allowed: types that can be compared (cast one of them)"
            raise self.text.error(part.start, what, DataError)


def carried(names: Iterable[Name]) -> tuple[Column, ...]:
    """The columns that some names mean."""
    return tuple((alias, name.field.name) for name in names for alias in name.aliases)


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
    >>> for output in outputs(query.items, Scope(text=query.text, schemas={"a": one, "b": two})):
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
    columns = tuple((a, scope.spelled(a, name)) for a in chosen)
    return Output(f"{value} AS {quoted(title)}", item.start, title, columns)


def _expression(item: Part, scope: Scope) -> Output:
    names = scope.names(item)
    sql = scope.quoted(item)
    if isinstance(item.meaning, exp.Column) and len(names[0].aliases) > 1:
        sql = f"{sql} AS {quoted(names[0].field.name)}"
    return Output(sql, item.start, item.meaning.alias_or_name or None, carried(names))


def _refuse_twice(selected: Sequence[Output], scope: Scope) -> None:
    seen: set[str] = set()
    for output in selected:
        if output.name is None:
            continue
        name = scope.naming.fold(output.name)
        if name in seen:
            what = (
                f"two columns of the result are called {output.name!r}; "
                f"allowed: names of their own, such as {output.sql.partition(' AS ')[0]} AS other"
            )
            raise scope.text.error(output.start, what, DataError)
        seen.add(name)


@dataclass(frozen=True)
class Placed:
    """A condition, as the user wrote it, and where it is evaluated.

    ``stream``: on one stream, before the join; ``key``: an equality that the join looks up;
    ``join``: checked by the join; ``after``: by Spark on the join's result.
    """

    text: str
    start: int
    place: Place
    stream: str | None
    sql: str  # as it is evaluated
    columns: tuple[Column, ...]  # what the join must carry for it; of a key its two columns


class Places:
    """Finds the places of the conditions of one query.

    Timestamps in the text that name no time zone are of `time_zone`.
    """

    def __init__(
        self,
        query: Query,
        schemas: Mapping[str, pa.Schema],
        time_zone: str | None,
        naming: Naming,
    ) -> None:
        self.query, self.schemas, self.time_zone = query, schemas, time_zone
        self.how = query.streams.how
        self.on = Scope(text=query.text, schemas=schemas, how=self.how, naming=naming)
        using = [self._equal(*names) for names in self._using()]
        # What WHERE and SELECT can name: a semi or anti join gives left columns only.
        visible = list(schemas)[:1] if self.how in ("semi", "anti") else schemas
        self.result = replace(self.on, schemas={alias: schemas[alias] for alias in visible})
        self.conditions = (
            *using,
            *(self._placed(part, "on", self.on) for part in query.on),
            *(self._placed(part, "where", self.result) for part in query.where),
        )

    def _using(self) -> Iterator[tuple[int, Name, Name]]:
        """The names that USING says are equal, and where; from now on they are one."""
        aliases, merged = list(self.schemas), dict[str, tuple[str, ...]]()
        self.on = replace(self.on, merged=merged)
        for i, join in enumerate(self.query.streams.joins):
            for token in join.using:
                # in backquotes no name can mean something else than a column
                meaning = parse_one(backquoted(token.text), read="spark")
                part = Part(token.text, token.start, meaning)
                left, right = (
                    replace(
                        self.on,
                        schemas={alias: self.schemas[alias] for alias in streams},
                        how="inner",
                    ).names(part)[0]
                    for streams in (aliases[: i + 1], aliases[i + 1 : i + 2])
                )
                name = self.on.naming.fold(token.text)
                merged[name] = (*merged.get(name, left.aliases), aliases[i + 1])
                yield token.start, left, right

    def _equal(self, start: int, left: Name, right: Name) -> Placed:
        columns = [(name.aliases[0], name.field.name) for name in (left, right)]
        text, sql = (
            " = ".join(f"{quote(alias)}.{quote(name)}" for alias, name in columns)
            for quote in (quoted, backquoted)
        )
        placed = self._placed(Part(sql, 0, parse_one(sql, read="spark")), "on", self.on)
        if placed.place != "key":
            name = columns[0][1]
            what = f"USING ({name}): the two columns cannot be keys; allowed: equal types"
            raise self.query.text.error(start, what, DataError)
        return replace(placed, text=text, start=start)

    def _placed(self, part: Part, clause: str, scope: Scope) -> Placed:
        scope.check_types(part)
        names = scope.names(part)
        streams = list(dict.fromkeys(alias for name in names for alias in name.aliases))
        if len(streams) == 1 and not part.meaning.find(*_RANDOM):
            may_be = _BEFORE.get((self.how, clause))
            if may_be is None or list(self.schemas).index(streams[0]) in may_be:
                return Placed(part.text, part.start, "stream", streams[0], part.text, ())
        sql = scope.quoted(part)
        place: Place = "after"
        if len(self.schemas) > 2:
            place = "key" if _is_equality(part, names) else "after"
        elif self.how == "inner" or clause == "on":
            sides = dict(zip(self.schemas, LEFT_RIGHT, strict=True))
            sided = scope.rewritten(part.text, part.meaning, sides)
            place = self._of_two(part, sided)
            sql = sql if place == "after" else sided
        return Placed(part.text, part.start, place, None, sql, carried(names))

    def _of_two(self, part: Part, sql: str) -> Place:
        """What the join of two streams understands of a condition."""
        left, right = self.schemas.values()
        try:
            where = parse_where(sql, (left, right), self.time_zone, self.on.naming)
        except (ConfigError, DataError) as error:
            words = str(error).removeprefix("where: ")
            raise self.query.text.error(part.start, words, type(error)) from None
        if where.rest and self.how != "inner":
            what = (
                f"{part.text} can only be evaluated after an inner join, and this one is "
                f"{self.how}; allowed: comparisons, arithmetic, BETWEEN, IN, IS NULL, AND, OR, NOT"
            )
            raise self.query.text.error(part.start, what)
        if where.rest:
            return "after"
        return "key" if where.equalities else "join"


def _is_equality(part: Part, names: list[Name]) -> bool:
    """Whether a condition says that columns of two streams are equal, and both can be keys."""
    if not is_of_two_columns(part.meaning, exp.EQ):
        return False
    left, right = names
    whole = left.is_whole and right.is_whole and left.aliases != right.aliases
    return whole and can_be_keys(left.field.type, right.field.type)
