"""Joins as they will run, which is what is explained."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamjoin.budget import Budget
from streamjoin.joins.arguments import Resolved
from streamjoin.joins.multi.arguments import ResolvedPlan
from streamjoin.joins.routing import Routing

if TYPE_CHECKING:
    from streamjoin.joins.table.settings import TableJoin
    from streamjoin.tables.access import TableAccess


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
