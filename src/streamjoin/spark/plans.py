"""What is known of every join that was made in this process, for those who ask later.

A DataFrame carries no notes. But the column in which a join's counters travel has the join's id in
its name, so the joins of any DataFrame that was derived from one can be found in its plan.
"""

import re
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import DataFrame

from streamjoin.joins.plans import AnyPlan
from streamjoin.spark.requirements import is_connect
from streamjoin.spark.rows import COUNTERS

if TYPE_CHECKING:
    from streamjoin.sql_text.query_plan import QueryPlan

_MARK: Final = re.compile(COUNTERS + r"([0-9a-f]{32})")
_MAX_PLANS: Final = 1024
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
    while len(kept) > _MAX_PLANS:
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
