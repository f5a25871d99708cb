"""Joins on Spark DataFrames: what users call."""

from dataclasses import replace
from typing import Literal

from pyspark.sql import DataFrame

from streamjoin._typing import SIDES
from streamjoin.budget import Budget
from streamjoin.durations import Duration
from streamjoin.errors import ConfigError
from streamjoin.joins.channel import Channel
from streamjoin.joins.columns import SIDE_NAMES
from streamjoin.joins.folders import LateSink
from streamjoin.joins.plans import JoinPlan
from streamjoin.joins.routing import ByKey, Routing, grid_for
from streamjoin.joins.window.arguments import Both, On, Window, resolve
from streamjoin.joins.window.settings import WindowJoin
from streamjoin.joins.window.shard import WindowOperator
from streamjoin.joins.window.spread_join import can_spread
from streamjoin.shedding.limits import Shed
from streamjoin.spark.columns import check_ahead, filtered, naming_of, refuse_collation
from streamjoin.spark.operator import (
    Division,
    Input,
    arrow_schema,
    check_limits,
    check_name,
    find_folder,
    known_costs,
    operate,
    prepare_and_divide,
)


def join(
    left: DataFrame,
    right: DataFrame,
    *,
    on: On = None,
    where: str | None = None,
    how: str = "inner",
    direction: str = "backward",
    time: Both[str],
    window: Both[Window],
    lateness: Duration = "0 seconds",
    idle_timeout: Duration | None = None,
    ahead: Duration | None = "1 day",
    late_rows: str | None = None,
    suffixes: tuple[str, str] = ("_left", "_right"),
    shards: int | None = None,
    rates: tuple[float, float] | None = None,
    hot_keys: str | Literal[False] | None = None,
    freshness: Both[Duration | None] = None,
    budget: Budget | None = None,
    shed: Shed = None,
    split: str = "best",
    utility: Both[str | None] = None,
    weights: bool = False,
    algorithm: Both[str] = "auto",
    invalidation: str = "active",
    name: str = "streamjoin",
) -> DataFrame:
    """Join two streams within windows: exactly, or within a budget.

    Rows a of `left` and b of `right` match iff their keys are equal, `where` is true and
    ``-window_left <= a.time - b.time <= window_right``. In every argument a tuple means
    (left, right) and a list means several.

    Parameters
    ----------
    left, right
        Streaming DataFrames; or two batch DataFrames, which give the rows that streams of the same
        rows would.
    on
        Key columns: a name, a pair of names (left, right), or a list of such. Any type that can be
        compared for equality; a null key matches nothing. None: see `where`.
    where
        What else a pair must fulfil, as SQL over ``left.x`` and ``right.y``:
        ``"abs(left.x - right.x) <= 5 AND left.volume < right.volume"``. Here a name that is no
        plain word stands in backquotes, as in ``"left.`a.b` > 1"``; in other arguments names
        are as they are. Equalities become keys; a
        band is indexed, and so is what two sets have in common: ``"overlap(left.tags, right.tags)
        >= 3"`` of arrays, ``"inner_product(left.words, right.words) >= 0.5"`` of maps. With no
        equality at all the shards form a grid. Comparisons, arithmetic, abs, overlap,
        inner_product, BETWEEN, IN, IS NULL, AND, OR, NOT work with every `how`; other SQL with
        inner joins.
    how
        ``inner``, ``left``, ``right``, ``full``, ``semi``, ``anti`` (both of the left side) or
        ``asof`` (every left row once, with the nearest right row of its key). Rows without a
        partner come as soon as the watermark has passed their window.
    direction
        Of an as-of join: ``backward`` (the nearest right row that is not later) or ``nearest``.
    time
        Event-time column: timestamp or timestamp_ntz.
    window
        How long a tuple is remembered, such as ``"10 minutes"``; or how many of a stream are,
        ``sj.rows(5000)``; or None for a side that only probes.
    lateness
        How far a row may be behind the newest row of its stream. Later rows may be left out; they
        are counted as ``late_left`` and ``late_right``.
    idle_timeout
        After so long (by the clock) without a row, a side no longer holds the watermark. Rows that
        this makes late are counted as ``idle_late_left`` and ``idle_late_right``.
    ahead
        How far a row of a stream may be ahead of the clock, by the time at which Spark begins its
        micro-batch; whole days count by the date, so that with ``"1 day"`` tomorrow is allowed.
        A row that is further ahead comes from a wrong clock: it moves no window and matches
        nothing, as if its time were null, and is counted as ``ahead_left`` or ``ahead_right``. None
        where times may lie in the future.
    late_rows
        Folder for late rows: Parquet files in ``left`` and ``right`` below it, with a column
        ``late_by`` in microseconds.
    suffixes
        Added to names that both sides have. Key columns of the same name come out once.
    shards
        Into how many independent parts the work is split; by default one per core. A query keeps
        its number of shards; `rescale` changes over how many partitions they are spread.
    rates
        How many rows the two streams bring, relative to each other; decides the shape of the grid.
    hot_keys
        Folder that all machines see, through which shards tell which keys to spread over several
        shards, as inner joins by key over time windows do, and, with a budget of CPU, which part
        of the rows can still be taken in; False for none. By default it is beside the checkpoints,
        if ``spark.sql.streaming.checkpointLocation`` is set, else there is none.
    freshness
        How old a row may be in a result, by the newest time that either stream has shown: ``"12
        minutes"``, at least the window; or a pair (left, right) with None for any age. Results
        that are not fresh, as after a backlog, are withheld and counted as ``stale``. The newest
        time is that of the whole batch, so the longer a batch is, the more is withheld. Streams
        only, and inner joins over windows of time only.
    budget
        What the join may use, such as ``sj.Budget(cpu=0.25, memory="64 MB")``; None for an exact
        join. With a budget the result is a part of the exact one; what was left out is counted
        (``skipped_left``, ``dropped_left``, ``cut_left`` and the like), and how many pairs that
        cost is estimated (``missed``). Inner joins over windows of time only.
    shed
        What gives way when CPU is short. ``selective``, the default of a budget of CPU: every row
        is kept, and the less productive parts of the windows are not probed; only if to receive
        rows takes too much by itself, some are turned away. ``["selective", "lag"]``: batches then
        take longer instead. ``drop``, the default of a budget of rate: rows are turned away on
        arrival.
    split
        How a budget is divided; ``best`` gives the most results. Where comparisons are chosen, the
        paper's policies are there to compare: ``ra`` (the newest part of both windows), ``ra+tc``
        (the most productive part), ``ra+jd`` and ``ra+tc+jd`` (the less productive window gives
        way first). Where rows are dropped, with a budget of CPU or rate: ``equal`` (the best),
        ``rate``, ``inverse-rate``, ``window``, ``inverse-window``. Of memory: ``slower`` (the
        best), ``faster``, ``rate``, ``inverse-rate``, ``equal``. Of both: ``equal``, or whose
        window and whose rate is favoured: ``left/right``, ``right/left``, ``left/left``,
        ``right/right``.
    utility
        Where comparisons are chosen: column of numbers, or a pair (left, right) with None for a
        side that has none. A result is worth the product of its values, and the most worth is
        aimed at instead of the most results. Null, NaN and negative values count as 0.
    weights
        Adds a column ``_weight``: for how many pairs of the exact result a row stands. Their sum
        estimates the exact number, and ``sum(x * _weight)`` the exact sum of x. Inner joins only.
    algorithm
        How the rows that are remembered of a stream are probed: ``hash`` (an index of each basic
        window is kept), ``nested`` (all are compared), ``batch`` (they are streamed past an index
        of the arrivals) or ``auto`` (the cheapest by the cost model, decided in each batch).
    invalidation
        When rows that are too old go: ``active``, in every batch; ``lazy``, when they are probed.
    name
        Name of the join's counters in the query's ``observedMetrics``; give each join of a query
        its own.

    Returns
    -------
    DataFrame
        Key columns first, then the rest of left, then of right; of semi and anti joins the left
        columns.

    Examples
    --------
    >>> import streamjoin as sj
    >>> spark = getfixture("spark")
    >>> ticks = spark.readStream.format("rate").load()
    >>> calls = ticks.selectExpr("value % 9 AS person", "timestamp AS called_at")
    >>> trades = ticks.selectExpr("value % 9 AS person", "timestamp AS traded_at", "value AS price")
    >>> out = sj.join(calls, trades, on="person", time=("called_at", "traded_at"),
    ...               window=("10 minutes", "2 minutes"), lateness="30 seconds", how="left")
    >>> out.columns
    ['person', 'called_at', 'traded_at', 'price']

    References
    ----------
    Kang, Naughton, Viglas 2003, section 1 (the moving window join), 3 (algorithms), 4 (budgets by
    dropping); Gedik, Wu, Yu, Liu 2005, sections 3 (the join), 4 and 5 (budgets by
    selection).
    """
    _refuse_other_frames(left, right)
    spark = left.sparkSession
    naming = naming_of(spark)
    resolved = resolve(
        (arrow_schema(left, "left"), arrow_schema(right, "right")),
        on=on, where=where, how=how, direction=direction, time=time, window=window,
        lateness=lateness, idle_timeout=idle_timeout, suffixes=suffixes, freshness=freshness,
        budget=budget, shed=shed, split=split, utility=utility, weights=weights,
        algorithm=algorithm, invalidation=invalidation,
        time_zone=_time_zone(left, where), naming=naming,
    )  # fmt: skip
    settings, ahead_us = resolved.join, check_ahead(ahead, left)
    is_fresh = any(age is not None for age in settings.freshness_us)
    check_limits(left, budget, has_freshness=is_fresh)
    _refuse_collations(settings, left, right)
    check_name(name, left, right)
    streams = dict(zip(SIDE_NAMES, settings.streams, strict=True))
    late = LateSink.at(late_rows, name, streams, naming)
    division = prepare_and_divide(shards, spark, streaming=left.isStreaming)
    n_shards, relative_rates = division.n_shards, _rates(rates)
    routing: Routing = ByKey(n_shards)
    if not settings.left.key:
        routing = grid_for(n_shards, settings.how, relative_rates)
    division = replace(division, n_shards=routing.n_shards)
    settings = replace(settings, operations=known_costs()).over_shards(routing, division.n_cores)
    resolved = replace(resolved, join=settings)
    channel = _channel(hot_keys, settings, division, left, name)
    plan = JoinPlan(
        name,
        resolved,
        routing,
        division.n_partitions,
        left.isStreaming,
        late.folder if late else None,
        channel.folder if channel and channel.tasks else None,
        budget,
    )
    inputs = [
        Input(frame, stream.time, ahead_us)
        for frame, stream in zip((left, right), settings.streams, strict=True)
    ]
    operator = WindowOperator(settings)
    result = operate(operator, inputs, plan, division, late=late, channel=channel)
    if resolved.rest is None:
        return result
    return filtered(result, _columns_by_side(settings), resolved.rest)


def _channel(
    asked: object, join: WindowJoin, division: Division, frame: DataFrame, name: str
) -> Channel | None:
    """The way from shards to map tasks, where hot keys may be spread or rows turned away."""
    live = frame.isStreaming
    may_spread = live and can_spread(join) and len(division.tasks) > 1
    has_gate = live and join.shedding is not None and join.shedding.has_gate
    if asked is False:
        return None
    allowed, wanted = "a folder that all machines see, or False", may_spread or has_gate
    folder = find_folder(asked, "hot_keys", allowed, frame.sparkSession, wanted=wanted)
    if folder is None:
        return None
    tasks = division.tasks if may_spread else ()
    return Channel(folder, name, division.labels, tasks, has_gate=has_gate)


def _columns_by_side(join: WindowJoin) -> dict[str, dict[str, str]]:
    """The result's columns of each side, by what the side calls them."""
    return {
        SIDE_NAMES[side]: {
            stream.schema.names[position]: column.name
            for column in join.output
            if (position := column.position_on(side)) is not None
        }
        for side, stream in zip(SIDES, join.streams, strict=True)
    }


def _rates(rates: object) -> tuple[float, float]:
    if rates is None:
        return 1.0, 1.0
    numbers = isinstance(rates, tuple | list) and len(rates) == 2
    if numbers and all(isinstance(r, int | float) and 0 < r < float("inf") for r in rates):  # type: ignore[attr-defined]
        return float(rates[0]), float(rates[1])  # type: ignore[index]
    raise ConfigError.at("rates", repr(rates), "a pair (left, right) of positive numbers")


def _refuse_other_frames(left: DataFrame, right: DataFrame) -> None:
    for argument, frame in (("left", left), ("right", right)):
        if not isinstance(frame, DataFrame):
            raise ConfigError.at(argument, type(frame).__name__, "a DataFrame")
    if left.isStreaming != right.isStreaming:
        batch = "right" if left.isStreaming else "left"
        raise ConfigError.at(
            batch,
            "a batch DataFrame with a streaming one",
            "both of one kind (for a stream and a table: sj.table_join)",
        )


def _time_zone(frame: DataFrame, where: str | None) -> str:
    """The session's time zone; a predicate also needs Spark's default arithmetic."""
    conf = frame.sparkSession.conf
    if where is not None and conf.get("spark.sql.ansi.enabled", "true") != "true":
        raise ConfigError.at(
            "spark.sql.ansi.enabled", "'false' with a `where`", "'true', the default"
        )
    return str(conf.get("spark.sql.session.timeZone"))


def _refuse_collations(join: WindowJoin, left: DataFrame, right: DataFrame) -> None:
    frames = left, right
    used = [("on", side, i) for side in SIDES for i in join.streams[side].key]
    if join.predicate is not None:
        used += [("where", column.side, column.position) for column in join.predicate.columns()]
    for argument, side, position in used:
        refuse_collation(frames[side], position, argument)
