"""`sj.table_join`: a stream with a table that memory does not hold."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pyspark.sql import DataFrame

from streamjoin._private import cache_folder
from streamjoin.budget import Budget
from streamjoin.durations import Duration
from streamjoin.errors import ConfigError
from streamjoin.joins.plans import TablePlan
from streamjoin.joins.routing import ByKey
from streamjoin.joins.table.arguments import OnTable, resolve_table_join
from streamjoin.joins.table.measuring import suited
from streamjoin.joins.table.settings import STREAM
from streamjoin.joins.table.shard import TableOperator
from streamjoin.joins.window.arguments import not_negative
from streamjoin.spark.columns import naming_of, refuse_collation
from streamjoin.spark.operator import Input, arrow_schema, check_name, operate, prepare_and_divide
from streamjoin.spark.plans import plans_of
from streamjoin.spark.requirements import refuse_too_much_memory
from streamjoin.tables.access import TableAccess
from streamjoin.tables.base import Table


def table_join(
    stream: DataFrame,
    table: Table,
    *,
    on: OnTable,
    how: str = "inner",
    columns: Sequence[str] | Mapping[str, str] | None = None,
    budget: Budget | None = None,
    algorithm: str = "auto",
    shed: str = "considering",
    front_share: float | None = None,
    max_wait: Duration | None = None,
    refresh: Duration | None = "1 minute",
    on_failure: str = "fail",
    max_staleness: Duration = "10 minutes",
    index_folder: str | Path | None = None,
    shards: int | None = None,
    name: str = "streamjoin",
) -> DataFrame:
    """Add to each row of a stream the rows of a table with the same key, within a memory budget.

    The table may be far larger than memory and may change while the query runs. Table rows that the
    stream asks for often are cached one by one; the others are looked up, or wait for the part of
    the table that has their key, whichever costs less.

    Parameters
    ----------
    stream
        A stream, or a table that is joined at once.
    table
        `parquet_table` or `sql_table`.
    on
        The column that equals the table's key; several for a key of several columns, or a dict from
        the stream's columns to the table's.
    how
        ``"inner"``, or ``"left"``: rows without a table row come out too.
    columns
        The table's columns that come out, or a dict from them to what they are called; by default
        all but the key.
    budget
        Memory, over all shards (256 MB if not said), and CPU: the share of each core's time, or the
        time for each batch, that the join may take, waiting for the table included. Rows for
        which there is no time are *spilled*: kept with the query's state and answered when the
        load falls.
    algorithm
        ``"auto"``; or ``"inlj"`` (look up at once), ``"hybridjoin"`` (wait for the partition),
        ``"meshjoin"`` (the table passes by in a circle; needs no index), with a ``c`` before the
        name also a cache.
    shed
        Which rows are spilled: those that still wait after the table was read for as many as
        possible (``"considering"``), or any, before something is done for them (``"upfront"``).
    front_share
        Part of the memory for the cache; None to begin with 15 %, or 75 % if nothing waits, and
        to choose by the cost model then.
    max_wait
        A row waits for its table row at most so long, and no longer when the stream pauses. None
        for 10 seconds with `hybridjoin` and `meshjoin`, and for not at all otherwise: then each
        row is answered in the batch that brings it.
    refresh
        How often the table is looked at for changes; None for never.
    on_failure, max_staleness
        What happens when the table cannot be reached: the query fails, or goes on (``"stale"``)
        with what is known, for so long at most.
    index_folder
        Where an index of the table's keys is kept, on every machine that runs tasks, if it is in
        Parquet files; by default in the user's folder for caches.
    shards
        Number of tasks that share the work; by default as many as there are cores.
    name
        Of the counters, in the query's progress.

    Returns
    -------
    DataFrame
        The stream's columns and the table's.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> import streamjoin as sj
    >>> spark, folder = getfixture("spark"), tempfile.mkdtemp()
    >>> people = pa.table({"id": range(1000), "name": [f"person {i}" for i in range(1000)]})
    >>> pq.write_table(people, f"{folder}/1.parquet")
    >>> customers = sj.parquet_table(folder, key="id", unique=True)
    >>> orders = spark.readStream.format("rate").load().selectExpr("value % 100 AS customer")
    >>> out = sj.table_join(orders, customers, on="customer", index_folder=tempfile.mkdtemp())
    >>> out.columns
    ['customer', 'name']

    References
    ----------
    Naeem, Dobbie, Lutteroth, Weber 2017: sections 3 (front stage), 4 (load shedding).
    """
    if not isinstance(stream, DataFrame):
        raise ConfigError.at("stream", type(stream).__name__, "a DataFrame")
    if not isinstance(table, Table):
        raise ConfigError.at(
            "table",
            type(table).__name__,
            "parquet_table(...) or sql_table(...) (Spark joins its own DataFrames)",
        )
    spark = stream.sparkSession
    join = resolve_table_join(
        arrow_schema(stream, "stream"), table, on=on, how=how, columns=columns,
        algorithm=algorithm, budget=budget, shed=shed, front_share=front_share, max_wait=max_wait,
        naming=naming_of(spark),
    )  # fmt: skip
    for position in join.keys[STREAM]:
        refuse_collation(stream, position)
    if budget is not None:
        refuse_too_much_memory(budget, spark)
    if on_failure not in ("fail", "stale"):
        raise ConfigError.at("on_failure", repr(on_failure), "fail, stale")
    check_name(name, stream)
    access = TableAccess(
        table,
        str(cache_folder() / "tables" if index_folder is None else Path(index_folder).absolute()),
        memory=join.memory,
        refresh_us=None if refresh is None else not_negative(refresh, "refresh"),
        on_failure="stale" if on_failure == "stale" else "fail",
        stale_us=not_negative(max_staleness, "max_staleness"),
    )
    division = prepare_and_divide(shards, spark, streaming=stream.isStreaming)
    asked, join = join, suited(join, access.current().table)
    # By what was asked for too: another table must not make a query's checkpoint useless.
    is_timed = asked.may_wait or join.may_wait or on_failure == "stale"
    if is_timed:
        _refuse_two_waits(stream)
    routing = ByKey(division.n_shards)
    join = join.over_shards(routing, division.n_cores)
    plan = TablePlan(
        name, join, access, routing, division.n_partitions, algorithm, is_timed, stream.isStreaming
    )
    operator = TableOperator(join, access)
    return operate(operator, [Input(stream)], plan, division, is_timed=is_timed)


def _refuse_two_waits(stream: DataFrame) -> None:
    """Refuse rows that wait after they may have waited: no batch would come to let them out."""
    before = [plan for plan in plans_of(stream) if isinstance(plan, TablePlan) and plan.is_timed]
    if before and stream.isStreaming:
        raise ConfigError.at(
            "stream",
            f"one whose rows may wait in the join {before[0].name!r} before this one",
            'max_wait="0 seconds", no cpu budget and on_failure="fail" in all joins with tables but'
            " one",
        )
