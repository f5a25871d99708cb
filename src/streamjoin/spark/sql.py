"""`sj.sql`: joins of streams as SQL."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import DataType

from streamjoin.durations import Duration
from streamjoin.errors import ConfigError, DataError
from streamjoin.spark.columns import as_structs, named, naming_of
from streamjoin.spark.failures import root_cause
from streamjoin.spark.frames import join
from streamjoin.spark.multi_frames import multi_join
from streamjoin.spark.plans import note
from streamjoin.sql_text.query import Query, parse_query
from streamjoin.sql_text.query_columns import Placed
from streamjoin.sql_text.query_plan import QueryPlan, plan_query, stream_name

_IN_THE_TEXT: Final = {
    "on": "ON or WHERE", "where": "WHERE", "how": "LEFT JOIN and the like", "window": "WINDOW",
    "freshness": "FRESHNESS", "budget": "BUDGET", "plan": "PLAN", "strategy": "STRATEGY",
    "order": "STRATEGY MJOIN ORDER ...",
}  # fmt: skip


def sql(
    text: str,
    streams: Mapping[str, DataFrame],
    *,
    time: str | Mapping[str, str] | None = None,
    lateness: Duration | None = None,
    **more: Any,
) -> DataFrame:
    """Join streams as a SQL query says.

    ``SELECT ... FROM ... WHERE ...`` over two or more streams, then what SQL lacks: ``WINDOW 10
    MINUTES`` (needed), ``FRESHNESS``, ``LATENESS``, ``BUDGET``, ``PLAN``, ``STRATEGY``, ``TIME``.
    Conditions on one stream filter it before the join, equalities between streams are the join's
    keys, and what the join cannot check Spark checks on its result; `explain` says which is which.

    Parameters
    ----------
    text
        The query.
    streams
        DataFrames by the names that the query calls them; all streaming, or all not.
    time
        Event-time column, or such columns by stream; where neither it nor the clause TIME says one,
        it is a stream's only timestamp.
    lateness
        How far a row may be behind the newest of its stream, if the query has no LATENESS.
    more
        Further arguments of `join` (two streams) or `multi_join` (more), such as ``shards``,
        ``name``, ``planner`` or ``selectivities``.

    Returns
    -------
    DataFrame
        The columns of SELECT.

    Examples
    --------
    The query Q1 of Mukherji et al.:

    >>> import streamjoin as sj
    >>> spark = getfixture("spark")
    >>> trades = spark.readStream.format("rate").load().selectExpr(
    ...     "'GOOG' AS symbol", "1.5D AS price", "value AS volume", "timestamp AS at")
    >>> out = sj.sql('''
    ...     SELECT B.symbol, B.price FROM stocksNYC A, stocksTokyo B
    ...     WHERE A.symbol = "GOOG" and B.volume > A.volume WINDOW 10 mins
    ... ''', {"stocksNYC": trades, "stocksTokyo": trades})
    >>> out.columns
    ['symbol', 'price']

    References
    ----------
    Mukherji et al. 2011, section 1 (query Q1, WINDOW and FRESHNESS).
    """
    return run_query(parse_query(text), streams, time=time, lateness=lateness, **more)


def run_query(
    query: Query,
    streams: Mapping[str, DataFrame],
    *,
    time: str | Mapping[str, str] | None = None,
    lateness: Duration | None = None,
    **more: Any,
) -> DataFrame:
    """Join streams as a query says that has been read already; see `sql`."""
    _check_arguments(streams, more)
    spark = next(iter(streams.values())).sparkSession
    zone = str(spark.conf.get("spark.sql.session.timeZone"))
    schemas = {name: _schema(frame) for name, frame in streams.items()}
    plan = plan_query(query, schemas, time, zone, naming_of(spark))
    names = {one.alias: stream_name(query, one, list(streams)) for one in query.streams.sources}
    inputs = {alias: input_of(plan, alias, streams[name]) for alias, name in names.items()}
    late, budget = query.clauses.lateness or lateness, query.clauses.budget
    settings = {**more, **({} if late is None else {"lateness": late}), "budget": budget}
    with _pointing(query):
        joined, structs = (_join_two if len(inputs) == 2 else _join_many)(plan, inputs, settings)
    result = _selected(plan, joined, structs)
    note(result, plan)
    return result


def _check_arguments(streams: object, more: Mapping[str, Any]) -> None:
    frames = list(streams.values()) if isinstance(streams, Mapping) else []
    if not frames or not all(isinstance(frame, DataFrame) for frame in frames):
        raise ConfigError.at(
            "streams", repr(streams), 'DataFrames by name, such as {"a": A, "b": B}'
        )
    for name, clause in _IN_THE_TEXT.items():
        if name in more:
            raise ConfigError.at(name, repr(more[name]), f"{clause} in the query's text")


def _schema(frame: DataFrame) -> pa.Schema:
    return pa.schema([(field.name, _arrow_type(field.dataType)) for field in frame.schema.fields])


def _arrow_type(kind: DataType) -> pa.DataType:
    try:
        return to_arrow_type(kind, timezone="UTC")
    except PySparkException:  # of no account unless the join has to carry the column
        return pa.null()


def input_of(plan: QueryPlan, alias: str, frame: DataFrame) -> DataFrame:
    """A stream's rows that fulfil its own conditions, and the columns that are needed later."""
    frame = _filtered(plan, frame.alias(alias), plan.at("stream", stream=alias))
    return frame.select(*map(named, plan.columns[alias]))


def _filtered(plan: QueryPlan, frame: DataFrame, conditions: Sequence[Placed]) -> DataFrame:
    for condition in conditions:
        with _evaluating(plan, condition.start, condition.text):
            frame = frame.filter(condition.sql)
    return frame


def _join_two(
    plan: QueryPlan, inputs: Mapping[str, DataFrame], settings: Mapping[str, Any]
) -> tuple[DataFrame, dict[str, list[str]]]:
    """The join of two streams, and which of its columns are whose."""
    (a, left), (b, right) = inputs.items()
    how = plan.query.streams.how
    conditions = [f"({condition.sql})" for condition in plan.at("key", "join")]
    arguments: dict[str, Any] = {"suffixes": (f"_{a}", f"_{b}"), **settings}
    if plan.freshness:
        arguments["freshness"] = plan.freshness.get(a), plan.freshness.get(b)
    joined = join(
        left,
        right,
        where=" AND ".join(conditions) or None,
        how=how,
        time=(plan.time[a], plan.time[b]),
        window=(plan.window[a], plan.window[b]),
        **arguments,
    )
    n = len(left.columns)
    rest = [] if how in ("semi", "anti") else joined.columns[n : n + len(right.columns)]
    return joined, {a: joined.columns[:n], b: rest}


def _join_many(
    plan: QueryPlan, inputs: Mapping[str, DataFrame], settings: Mapping[str, Any]
) -> tuple[DataFrame, dict[str, list[str]]]:
    said = {name: getattr(plan.query.clauses, name) for name in ("strategy", "order")}
    joined = multi_join(
        inputs,
        on=plan.keys,
        time=plan.time,
        window=plan.window,
        plan=plan.plan,
        freshness=plan.freshness or None,
        **{name: way for name, way in said.items() if way is not None},
        **settings,
    )
    return joined, {a: [f"{a}_{name}" for name in names] for a, names in plan.columns.items()}


def _selected(plan: QueryPlan, joined: DataFrame, structs: Mapping[str, list[str]]) -> DataFrame:
    """Let Spark check and select, over structs that are called as the streams are."""
    known = {name for names in structs.values() for name in names}
    extra = [named(name) for name in joined.columns if name not in known]
    by_stream = {
        a: dict(zip(plan.columns[a], names, strict=True)) for a, names in structs.items() if names
    }
    frame = _filtered(plan, joined.select(*as_structs(by_stream), *extra), plan.at("after"))
    selected = [F.expr(output.sql) for output in plan.outputs]
    try:
        return frame.select(*selected, *extra)
    except PySparkException:
        for i, output in enumerate(plan.outputs, 1):
            with _evaluating(plan, output.start, output.sql):
                frame.select(*selected[:i])
        raise


@contextmanager
def _evaluating(plan: QueryPlan, start: int, part: str) -> Iterator[None]:
    """Point at what Spark cannot evaluate."""
    try:
        yield
    except PySparkException as error:
        what = f"{part}: {root_cause(error).rstrip('.')}; allowed: SQL that Spark can evaluate"
        raise plan.query.text.error(start, what, DataError) from error


@contextmanager
def _pointing(query: Query) -> Iterator[None]:
    """Point at the clause that a join refuses."""
    try:
        yield
    except (ConfigError, DataError) as error:
        clause = str(error).partition(":")[0].upper()
        if clause not in query.clauses.starts:
            raise
        raise query.text.error(query.clauses.starts[clause], str(error), type(error)) from None
