"""How values of a result are stored where Spark's own types are not known."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as t

from streamjoin._names import ANY_CASE, Naming
from streamjoin.errors import DataError
from streamjoin.joins.columns import refuse_duplicates
from streamjoin.spark.columns import named
from streamjoin.spark.sinks.staging import PART

_JSON: Final = {
    "ignoreNullFields": "false",
    "timeZone": "UTC",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
"""Nothing is left out, and no time depends on the session."""
_TYPES: Final[dict[type[t.DataType], str]] = {
    t.BooleanType: "boolean",
    t.ByteType: "smallint",
    t.ShortType: "smallint",
    t.IntegerType: "integer",
    t.LongType: "bigint",
    t.FloatType: "real",
    t.DoubleType: "double precision",
    t.StringType: "text",
    t.BinaryType: "bytea",
    t.DateType: "date",
    t.TimestampType: "timestamp with time zone",
    t.TimestampNTZType: "timestamp without time zone",
    t.ArrayType: "jsonb",
    t.MapType: "jsonb",
    t.StructType: "jsonb",
}


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


def sql_types(schema: t.StructType, naming: Naming = ANY_CASE) -> dict[str, str]:
    """PostgreSQL's type for each column.

    Raises
    ------
    DataError
        If there is none for it, or its name cannot be had.

    Examples
    --------
    >>> sql_types(t._parse_datatype_string("k LONG, price DECIMAL(9,2), words ARRAY<STRING>"))
    {'k': 'bigint', 'price': 'numeric(9,2)', 'words': 'jsonb'}
    """
    refuse_duplicates(schema.names, "frame", naming)
    for name in schema.names:
        if naming.same(name, PART):
            raise DataError.at(
                "frame", f"a column {name!r}, which the sink adds itself", "other names"
            )
    return {field.name: _sql_type(field) for field in schema}


def _sql_type(field: t.StructField) -> str:
    kind = field.dataType
    if isinstance(kind, t.DecimalType):
        return f"numeric({kind.precision},{kind.scale})"
    found = _TYPES.get(type(kind))
    if found is None:
        raise DataError(
            f"frame: column {field.name!r} is {kind.simpleString()}, which a table of PostgreSQL "
            "is not given; allowed: numbers, text, bytes, booleans, dates, timestamps, and arrays, "
            "maps and structs of them (cast it)"
        )
    return found


def storable(frame: DataFrame) -> DataFrame:
    """Values as they are sent: nested ones as JSON."""
    return frame.select(*(_sent(field).alias(field.name) for field in frame.schema))


def _sent(field: t.StructField) -> Column:
    value = named(field.name)
    if isinstance(field.dataType, t.ArrayType | t.MapType | t.StructType):
        return as_json(value)
    return value.cast("smallint") if isinstance(field.dataType, t.ByteType) else value
