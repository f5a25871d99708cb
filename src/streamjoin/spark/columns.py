"""Columns of DataFrames: by name whatever the name, by position, and as structs of streams."""

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StringType, StructType

from streamjoin._names import Naming, backquoted
from streamjoin.errors import ConfigError, DataError


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
        msg = f"where: the result has a column {clash[0]!r}; allowed: other names (rename it)"
        raise ConfigError(msg)
    names = [named(name) for name in result.columns]
    return result.select(*names, *as_structs(streams)).filter(condition).select(*names)


def refuse_collation(frame: DataFrame, position: int, argument: str = "on") -> None:
    """Refuse to compare a column whose strings are not compared by their bytes."""
    field = frame.schema.fields[position]
    for collation in _collations(field.dataType) - {"UTF8_BINARY"}:
        msg = (
            f"{argument}: {field.name!r} has collation {collation}; allowed: UTF8_BINARY (cast it)"
        )
        raise DataError(msg)


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
