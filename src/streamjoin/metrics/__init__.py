"""What is known of a join while it runs: nothing disappears without a number.

Reading order: `counts` (what one shard counts in a batch), `ages` (how old results are), `model`
(`JoinMetrics`: one form for all joins, of a batch or of many), `windows` (what was probed where),
`details` (what a shard tells besides its counts), `records` (what is written, a line each). None of
it knows Spark.
"""

from streamjoin.metrics.ages import Ages
from streamjoin.metrics.counts import METRIC_NAMES, JoinCounts
from streamjoin.metrics.details import Details
from streamjoin.metrics.model import InputMetrics, JoinMetrics, TableMetrics
from streamjoin.metrics.windows import BasicWindows

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
