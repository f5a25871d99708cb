"""Rows that are ahead of the clock, as one machine with a wrong clock sends them.

The newest times of the streams decide what is late, what is fresh and what is forgotten. A row of
the year 3000 in each of them would make all later ones late. Spark compares each row with the time
of its micro-batch, which it writes to the checkpoint before the batch runs: a batch that is run
again decides the same.
"""

from datetime import timedelta
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import TimestampNTZType

from streamjoin.durations import Duration
from streamjoin.joins.arguments import positive
from streamjoin.spark.columns import named

AHEAD: Final = "_ahead"
"""Column that says of a row that its time cannot be true."""


def check_ahead(ahead: Duration | None, frame: DataFrame) -> int | None:
    """Microseconds that a row of a stream may be ahead of the clock; None for any number.

    A table may be of the future as a whole, and has no watermark that one row could move.
    """
    ahead_us = None if ahead is None else positive(ahead, "ahead")
    return ahead_us if frame.isStreaming else None


def with_ahead(frame: DataFrame, time: str, ahead_us: int) -> DataFrame:
    """Add the column that says which rows are too far ahead; it is the last one.

    Examples
    --------
    >>> spark = getfixture("spark")
    >>> rows = spark.sql("SELECT explode(array(now(), timestamp '3000-01-01', null)) AS t")
    >>> [row._ahead for row in with_ahead(rows, "t", 60_000_000).collect()]
    [False, True, None]
    """
    local = isinstance(frame.schema[time].dataType, TimestampNTZType)
    now = F.localtimestamp() if local else F.current_timestamp()
    newest = now + F.lit(timedelta(microseconds=ahead_us))
    return frame.select("*", (named(time) > newest).alias(AHEAD))
