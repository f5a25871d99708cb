"""What becomes of a query: filters of its streams, the join, and what comes after it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from streamjoin._names import ANY_CASE, Naming, quoted
from streamjoin.budget import Budget
from streamjoin.errors import ConfigError, DataError
from streamjoin.joins.columns import refuse_duplicates
from streamjoin.joins.multi.keys import parse_on
from streamjoin.sql_text.query import Query
from streamjoin.sql_text.query_from import Source
from streamjoin.sql_text.query_places import Place, Placed, Places
from streamjoin.sql_text.query_select import Output, outputs
from streamjoin.sql_text.query_settings import freshness, plan_text, times, windows
from streamjoin.sql_text.query_text import Text, allowed
from streamjoin.windows import Rows


@dataclass(frozen=True)
class QueryPlan:
    """What becomes of a query.

    Parameters
    ----------
    text
        The query's text, for places.
    sources
        Streams by the names that the query gives them.
    how
        Join type.
    conditions
        Every condition with its place.
    columns
        Columns that the join must carry, by stream.
    outputs
        What is selected.
    time, window, freshness, lateness, budget, plan, strategy, order
        The clauses, by stream where they can differ.
    """

    text: Text
    sources: tuple[Source, ...]
    how: str
    conditions: tuple[Placed, ...]
    columns: Mapping[str, tuple[str, ...]]
    outputs: tuple[Output, ...]
    time: Mapping[str, str]
    window: Mapping[str, str | Rows]
    freshness: Mapping[str, str | Rows]
    lateness: str | None
    budget: Budget | None
    plan: str | None
    strategy: str | None
    order: str | None

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
    by_alias = {s.alias: _schema(query, s, schemas) for s in query.streams.sources}
    for alias, schema in by_alias.items():
        refuse_duplicates(schema.names, alias, naming)
    places = Places(query, by_alias, time_zone, naming)
    conditions = tuple(places.all())
    _check_connected(query, conditions, by_alias, naming)
    selected = outputs(query.items, places.scope("select"))
    clock = times(query, by_alias, time, naming)
    window = windows(query)
    used = {*clock.items(), *(column for one in conditions for column in one.columns)}
    used |= {column for one in selected for column in one.columns}
    return QueryPlan(
        text=query.text,
        sources=query.streams.sources,
        how=query.streams.how,
        conditions=conditions,
        columns={a: tuple(n for n in s.names if (a, n) in used) for a, s in by_alias.items()},
        outputs=selected,
        time=clock,
        window=window,
        freshness=freshness(query, window),
        lateness=query.clauses.lateness,
        budget=query.clauses.budget,
        plan=plan_text(query),
        strategy=query.clauses.strategy,
        order=query.clauses.order,
    )


def stream_name(query: Query, source: Source, known: Sequence[str]) -> str:
    """The registered name of a stream: letters of either case are one, as in Spark."""
    found = ANY_CASE.find(known, source.stream)
    if found is None:
        what = f"unknown stream {source.stream!r}; {allowed(known, source.stream)}"
        raise query.text.error(source.start, what)
    return known[found]


def _schema(query: Query, source: Source, schemas: Mapping[str, pa.Schema]) -> pa.Schema:
    return schemas[stream_name(query, source, list(schemas))]


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
    while found := [c for c in todo if any(alias in reached for alias, _ in c.columns)]:
        reached |= {alias for c in found for alias, _ in c.columns}
        todo = [c for c in todo if c not in found]
    for source in query.streams.sources:
        if source.alias not in reached:
            raise _apart(query, source, [alias for alias in schemas if alias in reached])
    if len(schemas) == 2:
        return
    try:
        is_mjoin = query.clauses.strategy == "mjoin"
        parse_on(_keys(conditions), schemas, may_be_cyclic=is_mjoin, naming=naming)
    except (ConfigError, DataError) as error:
        what = str(error).removeprefix("on: ").replace("strategy='mjoin'", "STRATEGY MJOIN")
        what = f"{what}; or ({keys[-1].text}) IS TRUE, which Spark checks after the join"
        raise query.text.error(keys[-1].start, what, type(error)) from None


def _apart(query: Query, source: Source, others: Sequence[str]) -> Exception:
    kind = "an equality" if len(query.streams.sources) > 2 else "a condition"
    what = (
        f"nothing joins {source.alias!r} with {', '.join(others)}, which would be a cross join; "
        f"allowed: {kind} over both, such as {others[0]}.x = {source.alias}.y"
    )
    return query.text.error(source.start, what)
