"""Columns of DataFrames: by name whatever the name, by position, and as structs of streams.

And the column that says which rows are ahead of the clock, as a machine with a wrong clock sends
them. The newest times of the streams decide what is late, fresh and forgotten. A row of the year
3000 in each of them would make all later ones late. Spark compares each row with the time of its
micro-batch, which it writes to the checkpoint before the batch runs: a batch that is run again
decides the same.

A literal of that time would stand in the code that Spark generates for reading rows: each batch
would have other code, compiled twice (to bytecode by Spark, to machine code by Java) and slow until
then. A fifth of a busy query's throughput was lost to that. So a bound of whole days compares with
the date of the batch, whose code is good for a day; any other one with the clock itself, which
comes to the rows as a broadcast table of one row and takes Spark a small job in each batch.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StringType, StructType, TimestampNTZType

from streamjoin._names import Naming, backquoted
from streamjoin.durations import Duration
from streamjoin.errors import ConfigError, DataError
from streamjoin.joins.window.arguments import positive


def naming_of(spark: SparkSession) -> Naming:
    """Which names of columns are one, as a session is set."""
    return Naming(str(spark.conf.get("spark.sql.caseSensitive", "false")).lower() == "true")


def named(name: str) -> Column:
    """A column by its exact name.

    Examples
    --------
    >>> _ = getfixture("spark")
    >>> named("a.b")
    Column<'`a.b`'>
    """
    return F.col(backquoted(name))


def numbered(frame: DataFrame) -> DataFrame:
    """The same columns, named by position: PySpark reads the names of what it sends to Python.

    Examples
    --------
    >>> spark = getfixture("spark")
    >>> numbered(spark.sql("SELECT 1 AS `a.b`, 2 AS k")).columns
    ['c0', 'c1']
    """
    return frame.toDF(*(f"c{i}" for i in range(len(frame.columns))))


def as_structs(streams: Mapping[str, Mapping[str, str]]) -> list[Column]:
    """A struct for each stream: by the names of its columns, those of the result."""
    return [
        F.struct(*(named(column).alias(name) for name, column in columns.items())).alias(stream)
        for stream, columns in streams.items()
    ]


def filtered(
    result: DataFrame, streams: Mapping[str, Mapping[str, str]], condition: str
) -> DataFrame:
    """Let Spark check a condition, over structs that are called as the streams are."""
    clash = naming_of(result.sparkSession).twice([*result.columns, *streams])
    if clash:
        raise ConfigError(
            f"where: the result has a column {clash[0]!r}; allowed: other names (rename it)"
        )
    names = [named(name) for name in result.columns]
    return result.select(*names, *as_structs(streams)).filter(condition).select(*names)


def refuse_collation(frame: DataFrame, position: int, argument: str = "on") -> None:
    """Refuse to compare a column whose strings are not compared by their bytes."""
    field = frame.schema.fields[position]
    for collation in _collations(field.dataType) - {"UTF8_BINARY"}:
        raise DataError(
            f"{argument}: {field.name!r} has collation {collation}; allowed: UTF8_BINARY (cast it)"
        )


def _collations(kind: DataType) -> set[str]:
    if isinstance(kind, StringType):
        return {kind.collation}
    if isinstance(kind, ArrayType):
        return _collations(kind.elementType)
    if isinstance(kind, MapType):
        return _collations(kind.keyType) | _collations(kind.valueType)
    if isinstance(kind, StructType):
        return set[str]().union(*(_collations(field.dataType) for field in kind.fields))
    return set()


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
