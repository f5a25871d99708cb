"""What is known of every join that was made in this process, for those who ask later.

A DataFrame carries no notes. But the column in which a join's counters travel has the join's id in
its name, so the joins of any DataFrame that was derived from one can be found in its plan.
"""

import re
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import DataFrame

from streamjoin.budget import Budget
from streamjoin.joins.arguments import Resolved
from streamjoin.spark.requirements import is_connect
from streamjoin.spark.routing import Routing

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


_MOST: Final = 1024
_PLANS: dict[str, JoinPlan] = {}


def remember(join_id: str, plan: JoinPlan) -> None:
    """Keep a plan under its id; the oldest of very many are forgotten."""
    _PLANS[join_id] = plan
    while len(_PLANS) > _MOST:
        _PLANS.pop(next(iter(_PLANS)))


def plans_of(frame: DataFrame) -> list[JoinPlan]:
    """The joins that a DataFrame comes from, outermost first."""
    if is_connect(frame.sparkSession):
        connected: Any = frame
        text = connected._explain_string(extended=True)
    else:
        text = frame._jdf.queryExecution().analyzed().toString()
    ids = dict.fromkeys(_MARK.findall(text))
    return [_PLANS[join_id] for join_id in ids if join_id in _PLANS]
