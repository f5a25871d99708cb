"""What is known of a join while it runs: nothing disappears without a number.

Reading order: `catalogue` (all counters, and the recall that follows from them), `details` (what a
shard tells besides: how old results are, what was probed where), `model` (`JoinMetrics`: one form
for all joins, of a batch or of many), `words` (the same in lines for people), `records` (what is
written, a line each), `recorder` (from batches to records, and what changes), `progress` (what
Spark reports, read as such metrics), `prometheus`. None of it knows Spark.
"""

from streamjoin.metrics.catalogue import METRIC_NAMES, JoinCounts
from streamjoin.metrics.details import Ages, BasicWindows, Details
from streamjoin.metrics.model import InputMetrics, JoinMetrics, TableMetrics

__all__ = [
    "METRIC_NAMES",
    "Ages",
    "BasicWindows",
    "Details",
    "InputMetrics",
    "JoinCounts",
    "JoinMetrics",
    "TableMetrics",
]
