"""What becomes of a query: settings and filters of its streams, the join, what comes after it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from streamjoin._names import ANY_CASE, Naming, quoted
from streamjoin.durations import parse_duration
from streamjoin.errors import ConfigError, DataError
from streamjoin.joins.columns import kind_name, refuse_duplicates
from streamjoin.joins.multi.keys import parse_on
from streamjoin.planning.many.tree import Tree
from streamjoin.sql_text.clauses import EXAMPLES, Given
from streamjoin.sql_text.query import Query, Source
from streamjoin.sql_text.query_columns import Output, Place, Placed, Places, outputs
from streamjoin.sql_text.words import allowed
from streamjoin.windows import Rows


def windows(query: Query) -> dict[str, str | Rows]:
    """The window of each stream; every stream must have one.

    Examples
    --------
    >>> from streamjoin.sql_text.query import parse_query
    >>> windows(parse_query("SELECT * FROM a, b WINDOW a 10 MINUTES, b 500 ROWS"))
    {'a': '10 MINUTES', 'b': Rows(n=500)}
    """
    if not query.clauses.window:
        what = f"no WINDOW; allowed: {EXAMPLES['WINDOW']} at the end"
        raise query.text.error(query.end, what)
    given = _by_source(query, "WINDOW", query.clauses.window)
    for source in query.streams.sources:
        if source.alias not in given:
            what = f"WINDOW leaves out {source.alias!r}; allowed: one for each stream"
            raise query.text.error(query.clauses.starts["WINDOW"], what)
    return {alias: one.value for alias, one in given.items()}


def freshness(query: Query, window: Mapping[str, str | Rows]) -> dict[str, str | Rows]:
    """The freshness of streams that have one: at least their window (JAQ-A9).

    Examples
    --------
    >>> from streamjoin.sql_text.query import parse_query
    >>> query = parse_query("SELECT * FROM a, b WINDOW 10 mins FRESHNESS a 12 mins, b 5 mins")
    >>> freshness(query, windows(query))
    Traceback (most recent call last):
        ...
    streamjoin.errors.ConfigError: query: line 1, column 56: FRESHNESS 5 mins of 'b' is shorter than
    its window; allowed: 10 mins or more
    """
    given = _by_source(query, "FRESHNESS", query.clauses.freshness)
    for alias, one in given.items():
        (said, size), (least, least_size) = _measured(one.value), _measured(window[alias])
        if isinstance(one.value, Rows) == isinstance(window[alias], Rows) and size < least_size:
            what = f"FRESHNESS {said} of {alias!r} is shorter than its window; "
            raise query.text.error(one.start, f"{what}allowed: {least} or more")
    return {alias: one.value for alias, one in given.items()}


def _measured(value: str | Rows) -> tuple[str, int]:
    """A length in words, and as a number."""
    if isinstance(value, Rows):
        return f"{value.n} rows", value.n
    return value, parse_duration(value, "FRESHNESS")


def times(
    query: Query,
    schemas: Mapping[str, pa.Schema],
    time: str | Mapping[str, str] | None,
    naming: Naming,
) -> dict[str, str]:
    """The event-time column of each stream: of TIME, of `time`, or its only timestamp."""
    given = _by_source(query, "TIME", query.clauses.time)
    return {
        source.alias: _time(query, source, given.get(source.alias), time, schema, naming)
        for source, schema in zip(query.streams.sources, schemas.values(), strict=True)
    }


def _time(
    query: Query,
    source: Source,
    clause: Given | None,
    time: object,
    schema: pa.Schema,
    naming: Naming,
) -> str:
    alias = source.alias
    name = str(clause.value) if clause else _argument(time, source)
    start = clause.start if clause else source.start
    if name is None:
        names = [field.name for field in schema if pa.types.is_timestamp(field.type)]
        if len(names) == 1:
            return str(names[0])
        has = f"timestamps {', '.join(names)}" if names else "no timestamp"
        what = f"stream {alias!r} has {has}; allowed: one, or a clause such as TIME "
        what += f"{alias}.{names[0] if names else 'column'}"
        raise query.text.error(start, what, DataError)
    at = naming.find(schema.names, name)
    if at is None:
        what = f"TIME: {alias} has no column {name!r}; {allowed(schema.names, name)}"
        raise query.text.error(start, what, DataError)
    field = schema.field(at)
    if not pa.types.is_timestamp(field.type):
        what = f"TIME: {alias}.{field.name} has type {kind_name(field.type)}; "
        what += "allowed: timestamp or timestamp_ntz"
        raise query.text.error(start, what, DataError)
    return str(field.name)


def _argument(time: object, source: Source) -> str | None:
    if time is None or isinstance(time, str):
        return time
    if not isinstance(time, Mapping):
        raise ConfigError.at("time", repr(time), "a column name, or such names by stream")
    names = list(time)
    places = (ANY_CASE.find(names, key) for key in (source.alias, source.stream))
    return next((time[names[at]] for at in places if at is not None), None)


def _by_source(query: Query, word: str, given: Sequence[Given]) -> dict[str, Given]:
    """What a clause says of each stream: of its alias, of its name, or of all."""
    sources = query.streams.sources
    names = [name for source in sources for name in (source.alias, source.stream)]
    for one in given:
        if one.stream is not None and ANY_CASE.find(names, one.stream) is None:
            aliases = [source.alias for source in sources]
            what = f"{word} of {one.stream!r}, which is not in the query; "
            raise query.text.error(one.start, what + allowed(aliases, one.stream))
    chosen = {}
    for source in sources:
        said = [
            one
            for name in (source.alias, source.stream, "")
            for one in given
            if ANY_CASE.same(one.stream or "", name)
        ]
        if said:
            chosen[source.alias] = said[0]
    return chosen


def plan_text(query: Query) -> str | None:
    """The plan, if there is one and it has each stream once."""
    text = query.clauses.plan
    if text is None:
        return None
    try:
        return str(Tree.parse(text, [source.alias for source in query.streams.sources]))
    except ConfigError as error:
        raise query.text.error(query.clauses.starts["PLAN"], str(error)) from None


@dataclass(frozen=True)
class QueryPlan:
    """What becomes of a query."""

    query: Query
    conditions: tuple[Placed, ...]
    columns: Mapping[str, tuple[str, ...]]
    outputs: tuple[Output, ...]
    time: Mapping[str, str]
    window: Mapping[str, str | Rows]
    freshness: Mapping[str, str | Rows]
    plan: str | None

    def at(self, *places: Place, stream: str | None = None) -> list[Placed]:
        """Conditions of some places."""
        return [c for c in self.conditions if c.place in places and c.stream == stream]

    @property
    def keys(self) -> list[str]:
        """Equalities between columns of different streams."""
        return _keys(self.conditions)


def plan_query(
    query: Query,
    schemas: Mapping[str, pa.Schema],
    time: str | Mapping[str, str] | None = None,
    time_zone: str | None = None,
    naming: Naming = ANY_CASE,
) -> QueryPlan:
    """Look up all names and place all conditions, or say what is wrong and where.

    Parameters
    ----------
    query
        What `parse_query` gave.
    schemas
        Of the registered streams, by their names.
    time
        Event-time columns, where no clause TIME says them: one name, or names by stream.
    time_zone
        For timestamps in the text that name none.
    naming
        Which names are one.

    Examples
    --------
    >>> from streamjoin.sql_text.query import parse_query
    >>> schema = pa.schema({"symbol": pa.string(), "volume": pa.int64(), "at": pa.timestamp("us")})
    >>> text = "SELECT B.symbol FROM x A, y B WHERE A.symbol = 'GOOG' AND B.volume > A.volume"
    >>> plan = plan_query(parse_query(text + " WINDOW 10 mins"), {"x": schema, "y": schema})
    >>> [(c.text, c.place) for c in plan.conditions]
    [("A.symbol = 'GOOG'", 'stream'), ('B.volume > A.volume', 'join')]
    >>> plan.columns
    {'A': ('volume', 'at'), 'B': ('symbol', 'volume', 'at')}
    """
    names = list(schemas)
    by_alias = {s.alias: schemas[stream_name(query, s, names)] for s in query.streams.sources}
    for alias, schema in by_alias.items():
        refuse_duplicates(schema.names, alias, naming)
    places = Places(query, by_alias, time_zone, naming)
    conditions = places.conditions
    _check_connected(query, conditions, by_alias, naming)
    selected = outputs(query.items, places.result)
    clock = times(query, by_alias, time, naming)
    window = windows(query)
    used = {*clock.items(), *(column for one in conditions for column in one.columns)}
    used |= {column for one in selected for column in one.columns}
    return QueryPlan(
        query=query,
        conditions=conditions,
        columns={a: tuple(n for n in s.names if (a, n) in used) for a, s in by_alias.items()},
        outputs=selected,
        time=clock,
        window=window,
        freshness=freshness(query, window),
        plan=plan_text(query),
    )


def stream_name(query: Query, source: Source, known: Sequence[str]) -> str:
    """The registered name of a stream: letters of either case are one, as in Spark."""
    at = ANY_CASE.find(known, source.stream)
    if at is None:
        what = f"unknown stream {source.stream!r}; {allowed(known, source.stream)}"
        raise query.text.error(source.start, what)
    return known[at]


def _keys(conditions: Sequence[Placed]) -> list[str]:
    columns = [c.columns for c in conditions if c.place == "key"]
    return [" = ".join(f"{quoted(a)}.{quoted(n)}" for a, n in pair) for pair in columns]


def _check_connected(
    query: Query,
    conditions: Sequence[Placed],
    schemas: Mapping[str, pa.Schema],
    naming: Naming,
) -> None:
    """Refuse a cross join, and equalities that no tree of joins can check."""
    keys = [c for c in conditions if c.place == "key"]
    if len(schemas) == 2:
        # What is filtered after an outer join does not join.
        keys = [c for c in conditions if c.place != "after" or query.streams.how == "inner"]
    reached, todo = {next(iter(schemas))}, list(keys)
    while near := [c for c in todo if any(alias in reached for alias, _ in c.columns)]:
        reached |= {alias for c in near for alias, _ in c.columns}
        todo = [c for c in todo if c not in near]
    for source in query.streams.sources:
        if source.alias not in reached:
            others = [alias for alias in schemas if alias in reached]
            kind = "an equality" if len(schemas) > 2 else "a condition"
            what = (
                f"nothing joins {source.alias!r} with {', '.join(others)}, which would be a cross "
                f"join; allowed: {kind} over both, such as {others[0]}.x = {source.alias}.y"
            )
            raise query.text.error(source.start, what)
    if len(schemas) == 2:
        return
    try:
        is_mjoin = query.clauses.strategy == "mjoin"
        parse_on(_keys(conditions), schemas, may_be_cyclic=is_mjoin, naming=naming)
    except (ConfigError, DataError) as error:
        what = str(error).removeprefix("on: ").replace("strategy='mjoin'", "STRATEGY MJOIN")
        what = f"{what}; or ({keys[-1].text}) IS TRUE, which Spark checks after the join"
        raise query.text.error(keys[-1].start, what, type(error)) from None
