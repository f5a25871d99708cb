"""Times, windows and freshness of the streams of a query."""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from streamjoin._names import ANY_CASE, Naming
from streamjoin.durations import parse_duration
from streamjoin.errors import ConfigError, DataError
from streamjoin.joins.columns import kind_name
from streamjoin.planning.many.tree import Tree
from streamjoin.sql_text.clauses import EXAMPLES, Given
from streamjoin.sql_text.query import Query
from streamjoin.sql_text.query_from import Source
from streamjoin.sql_text.query_text import allowed
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
    return {alias: found.value for alias, found in given.items()}


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
    for alias, found in given.items():
        least = window[alias]
        alike = isinstance(least, Rows) == isinstance(found.value, Rows)
        if alike and _size(found.value) < _size(least):
            what = (
                f"FRESHNESS {_said(found.value)} of {alias!r} is shorter than its window; "
                f"allowed: {_said(least)} or more"
            )
            raise query.text.error(found.start, what)
    return {alias: found.value for alias, found in given.items()}


def _size(value: str | Rows) -> int:
    return value.n if isinstance(value, Rows) else parse_duration(value, "FRESHNESS")


def _said(value: str | Rows) -> str:
    return f"{value.n} rows" if isinstance(value, Rows) else value


def times(
    query: Query,
    schemas: Mapping[str, pa.Schema],
    time: str | Mapping[str, str] | None,
    naming: Naming,
) -> dict[str, str]:
    """The event-time column of each stream: of TIME, of `time`, or its only timestamp."""
    given = _by_source(query, "TIME", query.clauses.time)
    found = {}
    for source in query.streams.sources:
        alias, schema = source.alias, schemas[source.alias]
        clause = given.get(alias)
        name = str(clause.value) if clause else _argument(time, source)
        start = clause.start if clause else source.start
        found[alias] = _only(query, source, schema) if name is None else ""
        if name is not None:
            found[alias] = _timestamp(query, start, alias, schema, name, naming)
    return found


def _argument(time: object, source: Source) -> str | None:
    if time is None or isinstance(time, str):
        return time
    if not isinstance(time, Mapping):
        msg = f"time: got {time!r}; allowed: a column name, or such names by stream"
        raise ConfigError(msg)
    names = list(time)
    of = (ANY_CASE.find(names, key) for key in (source.alias, source.stream))
    return next((time[names[at]] for at in of if at is not None), None)


def _timestamp(
    query: Query, start: int, alias: str, schema: pa.Schema, name: str, naming: Naming
) -> str:
    at = naming.find(schema.names, name)
    if at is None:
        what = f"TIME: {alias} has no column {name!r}; {allowed(schema.names, name)}"
        raise query.text.error(start, what, DataError)
    field = schema.field(at)
    if not pa.types.is_timestamp(field.type):
        what = (
            f"TIME: {alias}.{field.name} has type {kind_name(field.type)}; "
            "allowed: timestamp or timestamp_ntz"
        )
        raise query.text.error(start, what, DataError)
    return str(field.name)


def _only(query: Query, source: Source, schema: pa.Schema) -> str:
    found = [field.name for field in schema if pa.types.is_timestamp(field.type)]
    if len(found) == 1:
        return str(found[0])
    has = f"timestamps {', '.join(found)}" if found else "no timestamp"
    example = found[0] if found else "column"
    what = f"stream {source.alias!r} has {has}; allowed: one, or a clause such as TIME "
    raise query.text.error(source.start, f"{what}{source.alias}.{example}", DataError)


def _by_source(query: Query, word: str, given: Sequence[Given]) -> dict[str, Given]:
    """What a clause says of each stream: of its alias, of its name, or of all."""
    sources = query.streams.sources
    names = [name for source in sources for name in (source.alias, source.stream)]
    for one in given:
        if one.stream is not None and ANY_CASE.find(names, one.stream) is None:
            aliases = [source.alias for source in sources]
            what = f"{word} of {one.stream!r}, which is not in the query; "
            raise query.text.error(one.start, what + allowed(aliases, one.stream))
    found = {}
    for source in sources:
        for name in (source.alias, source.stream, None):
            fit = [
                g for g in given if g.stream == name or ANY_CASE.same(g.stream or "", name or "")
            ]
            if fit:
                found[source.alias] = fit[0]
                break
    return found


def plan_text(query: Query) -> str | None:
    """The plan, if there is one and it has each stream once."""
    text = query.clauses.plan
    if text is None:
        return None
    try:
        return str(Tree.parse(text, [source.alias for source in query.streams.sources]))
    except ConfigError as error:
        raise query.text.error(query.clauses.starts["PLAN"], str(error)) from None
