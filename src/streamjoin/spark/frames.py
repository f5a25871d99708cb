"""Joins on Spark DataFrames: what users call."""

import uuid

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import ArrayType, DataType, StringType, StructField, StructType

from streamjoin._typing import SIDES
from streamjoin.durations import Duration
from streamjoin.errors import ConfigError, DataError
from streamjoin.joins.arguments import Both, On, resolve
from streamjoin.joins.window_join import WindowJoin
from streamjoin.spark.labels import shard_labels
from streamjoin.spark.pack import PACKED_DDL, Packer
from streamjoin.spark.processor import WindowJoinProcessor
from streamjoin.spark.requirements import prepare
from streamjoin.spark.rows import OutputForm


def join(
    left: DataFrame,
    right: DataFrame,
    *,
    on: On,
    time: Both[str],
    window: Both[Duration],
    lateness: Duration = "0 seconds",
    suffixes: tuple[str, str] = ("_left", "_right"),
    shards: int | None = None,
    name: str = "streamjoin",
) -> DataFrame:
    """Join two streams on equal keys within time windows, exactly.

    Rows a of `left` and b of `right` join iff their keys are equal and
    ``-window_left <= a.time - b.time <= window_right``. In every argument a tuple means
    (left, right) and a list means several.

    Parameters
    ----------
    left, right
        Streaming DataFrames.
    on
        Key columns: a name, a pair of names (left, right), or a list of such. Any type that can be
        compared for equality; a null key matches nothing.
    time
        Event-time column: timestamp or timestamp_ntz.
    window
        How long a tuple is remembered, such as ``"10 minutes"``.
    lateness
        How far a row may be behind the newest row of its stream. Later rows may be left out; they
        are counted as ``late_left`` and ``late_right``.
    suffixes
        Added to names that both sides have. Key columns of the same name come out once.
    shards
        Into how many independent parts the keys are split; by default one per core, and at most
        ``spark.sql.shuffle.partitions``.
    name
        Name of the join's counters in the query's ``observedMetrics``; give each join of a query
        its own.

    Returns
    -------
    DataFrame
        A streaming DataFrame: key columns first, then the rest of left, then of right.

    Examples
    --------
    >>> import streamjoin as sj
    >>> spark = getfixture("spark")
    >>> ticks = spark.readStream.format("rate").load()
    >>> calls = ticks.selectExpr("value % 9 AS person", "timestamp AS called_at")
    >>> trades = ticks.selectExpr("value % 9 AS person", "timestamp AS traded_at", "value AS price")
    >>> out = sj.join(calls, trades, on="person", time=("called_at", "traded_at"),
    ...               window=("10 minutes", "2 minutes"), lateness="30 seconds")
    >>> out.columns
    ['person', 'called_at', 'traded_at', 'price']

    References
    ----------
    Kang, Naughton, Viglas 2003, section 1 (the moving window join); Gedik et al. 2005, section 3.
    """
    _refuse_other_frames(left, right)
    settings = resolve(
        (_arrow_schema(left, "left"), _arrow_schema(right, "right")),
        on=on, time=time, window=window, lateness=lateness, suffixes=suffixes,
    )  # fmt: skip
    _refuse_collations(settings, left, right)
    if not isinstance(name, str) or not name:
        msg = f"name: got {name!r}; allowed: a non-empty string"
        raise ConfigError(msg)
    spark = left.sparkSession
    n_partitions = prepare(spark)
    n_shards = _shards(shards, n_partitions, spark.sparkContext.defaultParallelism)
    labels = tuple(shard_labels(n_shards, n_partitions))
    packed = [
        frame.mapInArrow(Packer(settings.streams[side], side, labels), PACKED_DDL)
        for side, frame in zip(SIDES, (left, right), strict=True)
    ]
    form = OutputForm(settings.output, _output_types(settings, left, right))
    agreed = {**settings.describe(), "shards": f"{n_shards} over {n_partitions} partitions"}
    processor = WindowJoinProcessor(settings, form, agreed, uuid.uuid4().hex)
    emitted = (
        packed[0]
        .unionAll(packed[1])
        .groupBy("shard")
        .transformWithStateInPandas(processor, form.schema, "Append", "None")
    )
    return form.finish(emitted, name)


def _refuse_other_frames(left: DataFrame, right: DataFrame) -> None:
    for argument, frame in (("left", left), ("right", right)):
        if not isinstance(frame, DataFrame):
            msg = f"{argument}: got {type(frame).__name__}; allowed: a streaming DataFrame"
            raise ConfigError(msg)
        if type(frame).__module__.startswith("pyspark.sql.connect"):
            msg = f"{argument}: got a Spark Connect DataFrame; allowed: one of a classic session"
            raise ConfigError(msg)
        if not frame.isStreaming:
            msg = f"{argument}: got a batch DataFrame; allowed: a streaming one (spark.readStream)"
            raise ConfigError(msg)


def _refuse_collations(settings: WindowJoin, left: DataFrame, right: DataFrame) -> None:
    for stream, frame in zip(settings.streams, (left, right), strict=True):
        for field in (frame.schema.fields[i] for i in stream.key):
            for collation in _collations(field.dataType) - {"UTF8_BINARY"}:
                msg = (
                    f"on: {field.name!r} has collation {collation}; allowed: UTF8_BINARY (cast it)"
                )
                raise DataError(msg)


def _collations(kind: DataType) -> set[str]:
    if isinstance(kind, StringType):
        return {kind.collation}
    if isinstance(kind, ArrayType):
        return _collations(kind.elementType)
    if isinstance(kind, StructType):
        return set[str]().union(*(_collations(field.dataType) for field in kind.fields))
    return set()


def _arrow_schema(frame: DataFrame, argument: str) -> pa.Schema:
    return pa.schema([_arrow_field(field, argument) for field in frame.schema.fields])


def _arrow_field(field: StructField, argument: str) -> pa.Field:
    try:
        return pa.field(field.name, to_arrow_type(field.dataType, timezone="UTC"))
    except PySparkException:
        msg = (
            f"{argument}: column {field.name!r} has type {field.dataType.simpleString()}, which"
            " cannot be sent to Python; allowed: types that Arrow has (drop or cast it)"
        )
        raise DataError(msg) from None


def _output_types(settings: WindowJoin, left: DataFrame, right: DataFrame) -> tuple[DataType, ...]:
    fields = left.schema.fields, right.schema.fields
    return tuple(fields[c.side][c.position].dataType for c in settings.output)


def _shards(asked: int | None, n_partitions: int, n_cores: int) -> int:
    if asked is None:
        return min(n_partitions, n_cores)
    if not isinstance(asked, int) or isinstance(asked, bool) or not 1 <= asked <= n_partitions:
        msg = (
            f"shards: got {asked!r}; allowed: a whole number from 1 to {n_partitions} "
            "(spark.sql.shuffle.partitions)"
        )
        raise ConfigError(msg)
    return asked
