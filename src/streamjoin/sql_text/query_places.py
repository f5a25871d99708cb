"""Where each condition of a query is evaluated."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

import pyarrow as pa
from sqlglot import exp, parse_one

from streamjoin._names import Naming, backquoted, quoted
from streamjoin.errors import ConfigError, DataError
from streamjoin.joins.where import parse_where
from streamjoin.sql_text.columns import LEFT_RIGHT, Name, can_be_keys, is_of_two_columns
from streamjoin.sql_text.query import Part, Query
from streamjoin.sql_text.query_columns import Column, Merged, Scope, carried

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


@dataclass(frozen=True)
class Places:
    """Finds the places of the conditions of one query."""

    query: Query
    schemas: Mapping[str, pa.Schema]  # by alias
    time_zone: str | None  # of timestamps in the text that name none
    naming: Naming

    @property
    def how(self) -> str:
        """Type of the join."""
        return self.query.streams.how

    @property
    def merged(self) -> Merged:
        """Columns of USING, and whose they are."""
        merged: dict[str, tuple[str, ...]] = {}
        aliases = list(self.schemas)
        for i, join in enumerate(self.query.streams.joins):
            for token in join.using:
                name = self.naming.fold(token.text)
                before = merged.get(name, tuple(aliases[: i + 1]))
                merged[name] = (*before, aliases[i + 1])
        return merged

    def scope(self, clause: str) -> Scope:
        """What ON can name, or WHERE and SELECT: a semi or anti join gives left columns only."""
        aliases = list(self.schemas)
        visible = aliases[:1] if clause != "on" and self.how in ("semi", "anti") else aliases
        schemas = {alias: self.schemas[alias] for alias in visible}
        return Scope(
            text=self.query.text,
            schemas=schemas,
            merged=self.merged,
            how=self.how,
            naming=self.naming,
        )

    def all(self) -> Iterator[Placed]:
        """Every condition, USING first."""
        yield from self._using()
        for part in self.query.on:
            yield self._placed(part, "on")
        for part in self.query.where:
            yield self._placed(part, "where")

    def _using(self) -> Iterator[Placed]:
        """The equalities that USING stands for."""
        aliases = list(self.schemas)
        merged: dict[str, tuple[str, ...]] = {}
        for i, join in enumerate(self.query.streams.joins):
            for token in join.using:
                # in backquotes no name can mean something else than a column
                meaning = parse_one(backquoted(token.text), read="spark")
                part = Part(token.text, token.start, meaning)
                before = {alias: self.schemas[alias] for alias in aliases[: i + 1]}
                after = {aliases[i + 1]: self.schemas[aliases[i + 1]]}
                left, right = (
                    Scope(
                        text=self.query.text, schemas=streams, merged=known, naming=self.naming
                    ).names(part)[0]
                    for streams, known in ((before, merged), (after, {}))
                )
                name = self.naming.fold(token.text)
                merged[name] = (*merged.get(name, left.aliases), aliases[i + 1])
                yield self._equal(token.start, left, right)

    def _equal(self, start: int, left: Name, right: Name) -> Placed:
        text, sql = (
            " = ".join(
                f"{quote(name.aliases[0])}.{quote(name.field.name)}" for name in (left, right)
            )
            for quote in (quoted, backquoted)
        )
        placed = self._placed(Part(sql, 0, parse_one(sql, read="spark")), "on")
        if placed.place != "key":
            what = (
                f"USING ({left.field.name}): the two columns cannot be keys; allowed: equal types"
            )
            raise self.query.text.error(start, what, DataError)
        return Placed(text, start, "key", None, placed.sql, placed.columns)

    def _placed(self, part: Part, clause: str) -> Placed:
        scope = self.scope(clause)
        scope.check_types(part)
        names = scope.names(part)
        streams = list(dict.fromkeys(alias for name in names for alias in name.aliases))
        if len(streams) == 1 and not part.meaning.find(*_RANDOM):
            may_be = _BEFORE.get((self.how, clause))
            if may_be is None or list(self.schemas).index(streams[0]) in may_be:
                return Placed(part.text, part.start, "stream", streams[0], part.text, ())
        targets = {alias: quoted(alias) for alias in self.schemas}
        sql = scope.rewritten(part.text, part.meaning, targets)
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
            where = parse_where(sql, (left, right), self.time_zone, self.naming)
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
