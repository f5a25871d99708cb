"""A column that names a result by what is in it, so that a sink can tell a repeated one."""

from collections.abc import Iterator
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType, VariantType

from streamjoin.errors import ConfigError, DataError
from streamjoin.joins.columns import refuse_duplicates
from streamjoin.spark.columns import named, naming_of

PAIR_ID: Final = "pair_id"
_WEIGHT: Final = "_weight"
_CHAINS: Final = (1, 2)
"""What each half of an id begins with, so that the two are different numbers."""


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
    _refuse(frame)
    halves = [F.lpad(F.hex(hashed(frame, chain)), 16, "0") for chain in _CHAINS]
    return F.lower(F.concat(*halves))


def hashed(frame: DataFrame, chain: int) -> Column:
    """A number of 64 bits for each row, which depends on its values and on `chain` alone."""
    parts = []
    for field in frame.schema:
        if field.name != _WEIGHT:
            parts += _parts(named(field.name), field.dataType, chain)
    return F.xxhash64(F.lit(chain), *parts)


def _refuse(frame: DataFrame) -> None:
    refuse_duplicates(frame.columns, "frame", naming_of(frame.sparkSession))
    for field in frame.schema:
        if any(isinstance(kind, VariantType) for kind in _leaves(field.dataType)):
            raise DataError(
                f"frame: column {field.name!r} has variants, which cannot be compared; allowed: "
                "all other types, so select parts of it, or its text"
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
