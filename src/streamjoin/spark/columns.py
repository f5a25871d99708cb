"""Columns of DataFrames: by name whatever the name, by position, and as structs of streams.

And two columns that are added. One names a result by what is in it, so that a sink can tell a
repeated one (`with_pair_id`). The other says which rows are ahead of the clock, as a machine with a
wrong clock sends them. The newest times of the streams decide what is late, fresh and forgotten. A
row of the year 3000 in each of them would make all later ones late. Spark compares each row with
the time of its micro-batch, which it writes to the checkpoint before the batch runs: a batch that
is run again decides the same.

A literal of that time would stand in the code that Spark generates for reading rows: each batch
would have other code, compiled twice (to bytecode by Spark, to machine code by Java) and slow until
then. A fifth of a busy query's throughput was lost to that. So a bound of whole days compares with
the date of the batch, whose code is good for a day; any other one with the clock itself, which
comes to the rows as a broadcast table of one row and takes Spark a small job in each batch.
"""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    MapType,
    StringType,
    StructType,
    TimestampNTZType,
    VariantType,
)

from streamjoin._names import Naming, backquoted
from streamjoin.durations import Duration
from streamjoin.errors import ConfigError, DataError
from streamjoin.joins.columns import refuse_duplicates
from streamjoin.joins.window.arguments import positive

AHEAD: Final = "_ahead"
"""Column that says of a row that its time cannot be true."""
_NEWEST: Final = "_streamjoin_newest"
_DAY_US: Final = 86_400_000_000
_MOST_DAYS: Final = 3_000_000
"""What Spark can add to a date and have a timestamp: the year 8000 or so is far enough."""
PAIR_ID: Final = "pair_id"
_WEIGHT: Final = "_weight"
_CHAINS: Final = (1, 2)
"""What each half of an id begins with, so that the two are different numbers."""
_JSON: Final = {
    "ignoreNullFields": "false",
    "timeZone": "UTC",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
"""Nothing is left out, and no time depends on the session."""


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
    for kind in _leaves(field.dataType):
        if isinstance(kind, StringType) and kind.collation != "UTF8_BINARY":
            raise DataError(
                f"{argument}: {field.name!r} has collation {kind.collation}; allowed: UTF8_BINARY"
                " (cast it)"
            )


def _leaves(kind: DataType) -> Iterator[DataType]:
    """The types that a type is made of at its innermost."""
    if isinstance(kind, StructType):
        inner = [field.dataType for field in kind]
    elif isinstance(kind, MapType):
        inner = [kind.keyType, kind.valueType]
    elif isinstance(kind, ArrayType):
        inner = [kind.elementType]
    else:
        yield kind
        return
    for one in inner:
        yield from _leaves(one)


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


def with_pair_id(frame: DataFrame, name: str = PAIR_ID) -> DataFrame:
    """Add a column with 32 hexadecimal digits that depend on the row's values and nothing else.

    Equal rows have equal ids: on every machine, in every time zone, however the stream is cut into
    batches, after every restart. Different rows have different ids, but for a chance of about
    n² / 2**129 among n rows (1e-21 among a billion); the hash is no protection against somebody who
    chooses values on purpose. Values are equal as Spark compares them: 0.0 is -0.0, NaN is NaN,
    the order of a map's entries does not matter.

    Where a stream may bring rows that are equal in every column, their results are equal too, and
    have one id. Select a column that tells them apart, such as Kafka's partition and offset.

    Parameters
    ----------
    frame
        A result, streaming or not. Its column ``_weight``, if it has one, is left out: it says what
        a budget had room for.
    name
        Name of the new column, which is the last.

    Raises
    ------
    ConfigError
        If there is a column of that name.
    DataError
        If a column is there twice, or its type has no equality.

    Examples
    --------
    >>> spark = getfixture("spark")
    >>> pairs = spark.createDataFrame([(1, "a"), (1, None)], "person LONG, symbol STRING")
    >>> for row in with_pair_id(pairs).collect():
    ...     print(row.symbol, row.pair_id)
    a 610ed1d54df7b576f3114cf5911dd4b3
    None 6d5da52c570462d94f15df949a29adb7
    """
    if naming_of(frame.sparkSession).find(frame.columns, name) is not None:
        raise ConfigError.at(
            "name", f"{name!r}, which is a column", "a name that the frame does not have"
        )
    return frame.withColumn(name, pair_id_of(frame))


def pair_id_of(frame: DataFrame) -> Column:
    """The id itself."""
    refuse_duplicates(frame.columns, "frame", naming_of(frame.sparkSession))
    for field in frame.schema:
        if any(isinstance(kind, VariantType) for kind in _leaves(field.dataType)):
            raise DataError(
                f"frame: column {field.name!r} has variants, which cannot be compared; allowed: "
                "all other types, so select parts of it, or its text"
            )
    halves = [F.lpad(F.hex(hashed(frame, chain)), 16, "0") for chain in _CHAINS]
    return F.lower(F.concat(*halves))


def hashed(frame: DataFrame, chain: int) -> Column:
    """A number of 64 bits for each row, which depends on its values and on `chain` alone."""
    parts = []
    for field in frame.schema:
        if field.name != _WEIGHT:
            parts += _parts(named(field.name), field.dataType, chain)
    return F.xxhash64(F.lit(chain), *parts)


def _parts(value: Column, kind: DataType, chain: int) -> list[Column]:
    """What is hashed of a value, in an order that its type alone decides.

    Spark's hash passes over nulls and over the ends of arrays: so whether a value is null, and how
    long it is, are hashed too. (Of a null, `size` is a number or null, by Spark's settings.)
    """
    if isinstance(kind, StructType):
        fields = [_parts(value.getField(field.name), field.dataType, chain) for field in kind]
        return [value.isNull(), *(part for parts in fields for part in parts)]
    if isinstance(kind, ArrayType):
        element = kind.elementType
        elements = F.transform(value, lambda one: F.struct(*_parts(one, element, chain)))
        return [value.isNull(), _length(value), elements]
    if isinstance(kind, MapType):
        return [value.isNull(), _length(value), F.array_sort(_entries(value, kind, chain))]
    return [value.isNull(), value]


def _length(value: Column) -> Column:
    return F.when(value.isNotNull(), F.size(value))


def _entries(value: Column, kind: MapType, chain: int) -> Column:
    """A number for each entry of a map; sorted, they do not tell the order of the entries."""

    def number(entry: Column) -> Column:
        key = _parts(entry.getField("key"), kind.keyType, chain)
        return F.xxhash64(
            F.lit(chain), *key, *_parts(entry.getField("value"), kind.valueType, chain)
        )

    return F.transform(F.map_entries(value), number)


def as_json(value: Column) -> Column:
    """The JSON text of a struct, an array or a map.

    Examples
    --------
    >>> spark = getfixture("spark")
    >>> frame = spark.sql("SELECT 1 AS k, NULL AS v, TIMESTAMP '2026-01-01 10:00:00.000001' AS t")
    >>> print(frame.select(as_json(F.struct("*"))).first()[0])
    {"k":1,"v":null,"t":"2026-01-01T10:00:00.000001Z"}
    """
    return F.to_json(value, _JSON)
