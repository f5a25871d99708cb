"""Rows that are ahead of the clock, as one machine with a wrong clock sends them.

The newest times of the streams decide what is late, what is fresh and what is forgotten. A row of
the year 3000 in each of them would make all later ones late. Spark compares each row with the time
of its micro-batch, which it writes to the checkpoint before the batch runs: a batch that is run
again decides the same.

A literal of that time would stand in the code that Spark generates for reading rows: each batch
would have other code, compiled twice (to bytecode by Spark, to machine code by Java) and slow until
then. A fifth of a busy query's throughput was lost to that. So a bound of whole days compares with
the date of the batch, whose code is good for a day; any other one with the clock itself, which
comes to the rows as a broadcast table of one row and takes Spark a small job in each batch.
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
_NEWEST: Final = "_streamjoin_newest"
_DAY_US: Final = 86_400_000_000
_MOST_DAYS: Final = 3_000_000
"""What Spark can add to a date and have a timestamp: the year 8000 or so is far enough."""


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
    days, rest = divmod(ahead_us, _DAY_US)
    if rest == 0 and days <= _MOST_DAYS:
        first = F.date_add(F.current_date(), days + 1).cast(frame.schema[time].dataType)
        return frame.select("*", (named(time) >= first).alias(AHEAD))
    local = isinstance(frame.schema[time].dataType, TimestampNTZType)
    now = F.localtimestamp() if local else F.current_timestamp()
    newest = frame.sparkSession.range(0, 1, 1, numPartitions=1).select(
        (now + F.lit(timedelta(microseconds=ahead_us))).alias(_NEWEST)
    )
    both = frame.crossJoin(F.broadcast(newest))
    is_ahead = (named(time) > named(_NEWEST)).alias(AHEAD)
    return both.select(*map(named, frame.columns), is_ahead)
