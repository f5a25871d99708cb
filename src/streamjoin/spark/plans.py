"""What is known of every join that was made in this process, for those who ask later.

A DataFrame carries no notes. But the column in which a join's counters travel has the join's id in
its name, so the joins of any DataFrame that was derived from one can be found in its plan.
"""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import DataFrame

from streamjoin.budget import Budget
from streamjoin.joins.arguments import Resolved
from streamjoin.joins.multi.arguments import ResolvedPlan
from streamjoin.joins.routing import Routing
from streamjoin.spark.requirements import is_connect

if TYPE_CHECKING:
    from streamjoin.joins.table.settings import TableJoin
    from streamjoin.sql_text.query_plan import QueryPlan
    from streamjoin.tables.access import TableAccess

COUNTERS: Final = "_counters_"
_MARK: Final = re.compile(COUNTERS + r"([0-9a-f]{32})")


@dataclass(frozen=True)
class JoinPlan:
    """One join as it will run.

    Parameters
    ----------
    name
        Name of its counters.
    resolved
        Settings, and what of the predicate Spark evaluates afterwards.
    routing
        How rows are spread over shards.
    n_partitions
        Partitions, hence tasks, over which Spark spreads the shards.
    streaming
        Whether the inputs are streams.
    late_rows
        Folder for late rows, if any.
    hot_keys
        Folder for decisions about hot keys; None if they are not spread.
    budget
        What the join may use; None for an exact one.
    """

    name: str
    resolved: Resolved
    routing: Routing
    n_partitions: int
    streaming: bool
    late_rows: str | None
    hot_keys: str | None
    budget: Budget | None = None


@dataclass(frozen=True)
class MultiPlan:
    """One operator of a join of many streams as it will run.

    Parameters
    ----------
    name
        Name of its counters.
    resolved
        The whole join.
    step
        Which of its operators this is.
    n_shards, n_partitions, streaming, late_rows, budget
        As of a `JoinPlan`.
    where
        What Spark checks of the results.
    shared
        Folder through which operators tell each other what they measured; None if they do not.
    """

    name: str
    resolved: ResolvedPlan
    step: int
    n_shards: int
    n_partitions: int
    streaming: bool
    late_rows: str | None
    budget: Budget | None = None
    where: str | None = None
    shared: str | None = None


@dataclass(frozen=True)
class TablePlan:
    """A join with a table as it will run.

    Parameters
    ----------
    name
        Name of its counters.
    join
        Settings of each shard.
    access
        The table, and how it is read.
    n_shards, n_partitions
        As of a `JoinPlan`.
    asked
        The algorithm that was asked for.
    is_timed
        Whether rows may be left for later.
    """

    name: str
    join: "TableJoin"
    access: "TableAccess"
    n_shards: int
    n_partitions: int
    asked: str
    is_timed: bool


AnyPlan = JoinPlan | MultiPlan | TablePlan
_MOST: Final = 1024
_PLANS: dict[str, AnyPlan] = {}
_QUERIES: "dict[str, QueryPlan]" = {}


def remember(join_id: str, plan: AnyPlan) -> None:
    """Keep a plan under its id; the oldest of very many are forgotten."""
    _keep(_PLANS, join_id, plan)


def note(frame: DataFrame, query: "QueryPlan") -> None:
    """Keep the query that a DataFrame was made by, with its last join."""
    _keep(_QUERIES, next(iter(_ids(frame))), query)


def queries_of(frame: DataFrame | str) -> "list[QueryPlan]":
    """The queries that a DataFrame, or Spark's text of a plan, comes from, outermost first."""
    return [_QUERIES[join_id] for join_id in _ids(frame) if join_id in _QUERIES]


def _keep(kept: dict[str, Any], join_id: str, plan: object) -> None:
    kept[join_id] = plan
    while len(kept) > _MOST:
        kept.pop(next(iter(kept)))


def plans_of(frame: DataFrame | str) -> list[AnyPlan]:
    """The joins that a DataFrame, or Spark's text of a plan, comes from, outermost first."""
    return [_PLANS[join_id] for join_id in _ids(frame) if join_id in _PLANS]


def _ids(frame: DataFrame | str) -> dict[str, None]:
    """Ids of the joins that a DataFrame or a plan comes from, outermost first."""
    text = frame if isinstance(frame, str) else plan_text(frame)
    return dict.fromkeys(_MARK.findall(text))


def plan_text(frame: DataFrame) -> str:
    """Spark's own text of a plan."""
    if is_connect(frame.sparkSession):
        connected: Any = frame
        return str(connected._explain_string(extended=True))
    return str(frame._jdf.queryExecution().analyzed().toString())
