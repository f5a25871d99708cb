"""`sj.multi_join`: joins of many streams on Spark DataFrames."""

from collections.abc import Mapping
from dataclasses import replace

from pyspark.sql import DataFrame

from streamjoin.budget import Budget
from streamjoin.durations import Duration
from streamjoin.errors import ConfigError
from streamjoin.joins.channel import Channel
from streamjoin.joins.folders import LateSink
from streamjoin.joins.multi.arguments import ResolvedPlan, Selectivities, Window, resolve_plan
from streamjoin.joins.multi.keys import OnMany, check_streams
from streamjoin.joins.multi.operators import prefixed
from streamjoin.joins.multi.shard import PlanOperator
from streamjoin.joins.plans import MultiPlan, operator_name
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
from streamjoin.windows import Rows


def multi_join(
    streams: Mapping[str, DataFrame],
    *,
    on: OnMany,
    where: str | None = None,
    time: str | Mapping[str, str],
    window: Window | Mapping[str, Window],
    plan: str | None = None,
    freshness: Window | Mapping[str, Window] = None,
    states: Mapping[str, Rows] | None = None,
    lateness: Duration = "0 seconds",
    idle_timeout: Duration | None = None,
    ahead: Duration | None = "1 day",
    late_rows: str | None = None,
    shards: int | None = None,
    budget: Budget | None = None,
    planner: str = "jaqpot",
    strategy: str = "auto",
    order: str = "adaptive",
    selectivities: Selectivities | None = None,
    shared: str | None = None,
    name: str = "streamjoin",
) -> DataFrame:
    """Join many streams within windows, by a plan of two-way joins: exactly, or within a budget.

    A row of each stream form a result iff their keys are equal and each is still in its window when
    the last of them comes: ``(largest of their times) - t <= window``. The plan does not change
    what the results are. Joins on one key run in one operator; where the key changes, another one
    begins.

    Parameters
    ----------
    streams
        DataFrames by name, two or more; all streaming, or all not. The same DataFrame may have
        several names.
    on
        What must be equal: a column that all streams have, or a list of such; a column of each
        stream, ``{"a": "x", "b": "y"}``; or equalities, ``["a.x = b.x", "b.y = c.z"]``, which must
        connect all streams and form no cycle; in them a name that is no plain word stands in
        backquotes, ``"a.`x.y` = b.x"``.
    where
        What else a result must fulfil, as Spark SQL over ``a.x`` and the like; Spark checks it on
        the results.
    time
        Event-time column, or one for each stream.
    window
        How long a tuple is remembered, such as ``"10 minutes"``; how many of a stream are,
        ``sj.rows(5000)``; None for a stream that only probes; or one of these for each stream.
    plan
        The order of the joins, such as ``"((a b) c) d"`` or ``"(a b) (c d)"``. None: joins on one
        key begin in the order given and change to the plan that forms the fewest intermediate
        results, by what was measured while running; joins on different keys stay in the order in
        which their equalities connect the streams.
    freshness
        How old a tuple may be in a result, by the newest time of any stream: ``"12 minutes"``, or
        one for some of the streams; ``sj.rows(n)`` where the window counts; None for any age. Not
        shorter than the window. Results that are not fresh are withheld and counted as ``stale``.
        The newest time is that of the whole batch, so the longer a batch is, the more is withheld.
        Streams only.
    states
        How many results of each join below the root are remembered, ``{"a b": sj.rows(2000)}``: the
        last ones, however old their tuples are, in place of those whose tuples are all in their
        windows. What the results are then depends on the plan, which must be given. The number is
        shared equally by the shards.
    lateness, idle_timeout, ahead, late_rows, shards
        As for `join`.
    budget
        What the join may use: ``sj.Budget(cpu=0.3)``, or ``sj.Budget(rate=300)`` for so many probes
        per second of the streams. All tuples are kept; the half-way joins that are most productive
        for the whole plan probe.
    planner
        Who divides the budget: ``jaqpot``; ``exact`` (a linear programme: the best there is in the
        model); ``grepp`` (as jaqpot, without care for freshness); or one of the heuristics that the
        paper compares with: ``equal-hj``, ``global-hjpr``, ``e-best-hjp``, ``s-best-hjp``.
    strategy
        How results are found: ``tree``, two-way joins as the plan says, which keep what they form;
        ``mjoin``, one n-ary join, which keeps the streams' rows only and forms the rest anew for
        each row that comes; ``auto``, whichever is cheaper by what was measured while running. A
        plan, a budget, `states` and joins on different keys are for trees. An n-ary join on
        different keys is one operator, whose shards form a grid: a row is sent to all cells in
        which it may meet another, and equalities may form a cycle.
    order
        Which stream of an n-ary join drives, that is, in what order the rows of a batch are
        processed: ``adaptive`` (the order that costs least), ``timestamp``, ``round-robin``,
        ``consumption-rate``, ``initial-output-size`` or ``output-rate``. It changes when results
        of a batch come, not which.
    selectivities
        What is known of the streams: which part of all combinations of their rows match, such as
        ``{"a b": 1e-5, "b c": 1e-6}``. None: measured while running.
    shared
        Folder that all machines see. With a budget, shards write there what they decided and why,
        ``decisions-<shard>.json`` in a folder for each query and join; and through it the operators
        of joins on different keys tell each other what they measured, so these need it. By default
        it is beside the checkpoints, if ``spark.sql.streaming.checkpointLocation`` is set, else
        there is none.
    name
        Name of the join's counters in the query's ``observedMetrics``; of several operators the
        last has this name, those before ``<name> 1``, ``<name> 2`` and so on.

    Returns
    -------
    DataFrame
        If `on` names columns that all have: these, once. Then the other columns stream by stream,
        as ``<stream>_<column>``.

    Examples
    --------
    >>> import streamjoin as sj
    >>> spark = getfixture("spark")
    >>> ticks = spark.readStream.format("rate").load()
    >>> ticks = ticks.selectExpr("value % 9 AS k", "timestamp AS t", "value AS v")
    >>> out = sj.multi_join({"a": ticks, "b": ticks, "c": ticks}, on="k", time="t",
    ...                     window="10 seconds", plan="(a b) c", freshness="12 seconds")
    >>> out.columns
    ['k', 'a_t', 'a_v', 'b_t', 'b_v', 'c_t', 'c_v']

    References
    ----------
    Mukherji, Rundensteiner, Ward 2011 (JAQPOT), sections 2 to 4; Valsomatzis, Gounaris 2013.
    """
    check_streams(streams)
    _refuse_other_frames(streams)
    schemas = {stream: arrow_schema(frame, stream) for stream, frame in streams.items()}
    spark = next(iter(streams.values())).sparkSession
    naming = naming_of(spark)
    resolved = resolve_plan(
        schemas, on=on, time=time, window=window, plan=plan, freshness=freshness, states=states,
        lateness=lateness, idle_timeout=idle_timeout, budget=budget, planner=planner,
        strategy=strategy, order=order, selectivities=selectivities, naming=naming,
    )  # fmt: skip
    frames = list(streams.values())
    ahead_us = check_ahead(ahead, frames[0])
    n_steps = len(resolved.steps)
    for called in (name, *(f"{name} {i}" for i in range(1, n_steps))):
        check_name(called, *frames)
    check_limits(frames[0], budget, has_freshness=bool(resolved.steps[-1].join.freshness))
    for one in resolved.keys.classes:
        for stream, key in one.columns.items():
            refuse_collation(streams[stream], streams[stream].columns.index(key))
    streaming = frames[0].isStreaming
    inputs = {i.name: i.stream for step in resolved.steps for i in step.join.inputs if not i.end}
    late = LateSink.at(late_rows, name, inputs, naming)
    division = prepare_and_divide(shards, spark, streaming=streaming)
    resolved = _over_shards(resolved, division)
    has_budget, allowed = budget is not None, "a folder that all machines see"
    folder = find_folder(shared, "shared", allowed, spark, wanted=has_budget)
    if folder is None and has_budget and n_steps > 1:
        raise ConfigError.at(
            "shared",
            "no folder for a budget of joins on different keys",
            f"{allowed}, or spark.sql.streaming.checkpointLocation set",
        )
    channel = None
    made: list[DataFrame] = []
    for number, step in enumerate(resolved.steps):
        plan_made = MultiPlan(
            operator_name(name, number, n_steps),
            resolved,
            number,
            step.join.routing(division.n_shards),
            division.n_partitions,
            streaming,
            late.folder if late else None,
            budget,
            where,
            folder,
        )
        if folder is not None:
            channel = Channel(folder, name, division.labels, n_operators=n_steps, operator=number)
        operator = PlanOperator(step.join, (resolved.tree, step.nodes) if n_steps > 1 else None)
        given = [
            Input(streams[source], one.stream.time, ahead_us)
            if isinstance(source, str)
            else Input(made[source])
            for source, one in zip(step.sources, step.join.inputs, strict=True)
        ]
        made.append(operate(operator, given, plan_made, division, late=late, channel=channel))
    result = made[-1]
    if where is None:
        return result
    if not isinstance(where, str) or not where.strip():
        raise ConfigError.at("where", repr(where), "a SQL condition such as 'a.x < b.y'")
    return filtered(result, _columns_by_stream(resolved, streams), where)


def _over_shards(resolved: ResolvedPlan, division: Division) -> ResolvedPlan:
    """With the settings of one shard, and what operations cost on this machine."""
    costs, steps = known_costs(), []
    for step in resolved.steps:
        routing = step.join.routing(division.n_shards)
        join = step.join.over_shards(routing, division.n_cores)
        steps.append(replace(step, join=replace(join, operations=costs)))
    return replace(resolved, steps=tuple(steps))


def _columns_by_stream(
    resolved: ResolvedPlan, streams: Mapping[str, DataFrame]
) -> dict[str, dict[str, str]]:
    """The result's columns of each stream, by what the stream calls them."""
    shared = resolved.keys.shared
    merged = {c for one in resolved.keys.classes for c in one.columns.items()} if shared else set()
    return {
        stream: {
            name: name if (stream, name) in merged else prefixed(stream, name)
            for name in frame.columns
        }
        for stream, frame in streams.items()
    }


def _refuse_other_frames(streams: Mapping[str, DataFrame]) -> None:
    for name, frame in streams.items():
        if not isinstance(frame, DataFrame):
            raise ConfigError.at("streams", f"{type(frame).__name__} for {name!r}", "a DataFrame")
    kinds = {name: frame.isStreaming for name, frame in streams.items()}
    if len(set(kinds.values())) > 1:
        batch = next(name for name, streaming in kinds.items() if not streaming)
        raise ConfigError.at(
            "streams", f"a batch DataFrame for {batch!r} with streaming ones", "all of one kind"
        )
