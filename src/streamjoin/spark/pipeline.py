"""A whole pipeline, sources, one join, one sink, as values that become a streaming query."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from streamjoin.budget import Budget
from streamjoin.errors import ConfigError
from streamjoin.spark.columns import with_pair_id
from streamjoin.spark.frames import join
from streamjoin.spark.sql import run_query
from streamjoin.spark.table_frames import table_join
from streamjoin.sql_text.query import Query
from streamjoin.tables.base import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter


def session_beside(conf: Mapping[str, str]) -> "SparkSession | None":
    """A new session in the Spark that runs in this process, or None if none does.

    Settings of the user's own session stay as they are; those of `conf` that a running Spark can
    still take are made in the new one.

    Examples
    --------
    >>> spark = getfixture("spark")
    >>> beside = session_beside({"spark.sql.shuffle.partitions": "7", "spark.driver.memory": "9g"})
    >>> [s.conf.get("spark.sql.shuffle.partitions") for s in (spark, beside)]
    ['2', '7']
    """
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is None:
        return None
    session = active.newSession()
    for key, value in conf.items():
        if session.conf.isModifiable(key):
            session.conf.set(key, value)
    return session


@dataclass(frozen=True)
class Source:
    """A stream to read, in the words of ``spark.readStream``.

    Parameters
    ----------
    format
        Name of a Spark streaming format.
    path
        Folder or address, for formats that have one.
    schema
        Columns as DDL; those of the files that are there if absent and the format is ``parquet``.
    options
        Options of the format.
    select
        SQL expressions to apply; all columns if empty.
    """

    format: str
    path: str | None = None
    schema: str | None = None
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    select: tuple[str, ...] = ()

    def open(self, spark: "SparkSession") -> "DataFrame":
        """Streaming DataFrame over the source."""
        reader = spark.readStream.format(self.format).options(**self.options)
        if self.schema is not None:
            reader = reader.schema(self.schema)
        elif self.format == "parquet":
            # Spark wants a schema before it streams files; take it from those already there.
            reader = reader.schema(
                spark.read.options(**self.options).parquet(str(self.path)).schema
            )
        frame = reader.load(self.path)
        return frame.selectExpr(*self.select) if self.select else frame


@dataclass(frozen=True)
class Sink:
    """Where results go, in the words of ``DataFrame.writeStream``.

    Parameters
    ----------
    format
        Name of a format that Spark can write.
    path
        Folder or address, for formats that have one.
    options
        Options of the format.
    pair_id
        Name of a column to add, see `streamjoin.with_pair_id`; none if absent.
    """

    format: str
    path: str | None = None
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    pair_id: str | None = None

    @property
    def place(self) -> str | None:
        """Where results are found, if anywhere."""
        return self.path

    def writer(self, frame: "DataFrame") -> "DataStreamWriter":
        """What writes a result there, once it is started."""
        try:
            made = frame if self.pair_id is None else with_pair_id(frame, self.pair_id)
        except ConfigError as error:
            raise ConfigError(f"sink.pair_id: {str(error).removeprefix('name: ')}") from None
        writer = made.writeStream.format(self.format).options(**self.options)
        return writer if self.path is None else writer.option("path", self.path)


@dataclass(frozen=True)
class BatchSink:
    """A place to which a function writes batch after batch.

    Parameters
    ----------
    write
        The function, called with a batch and its number.
    place
        What the place is called.
    """

    write: Callable[["DataFrame", int], None]
    place: str

    def writer(self, frame: "DataFrame") -> "DataStreamWriter":
        """What writes a result there, once it is started."""
        return frame.writeStream.foreachBatch(self.write)


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    """Streams, what is made of them, a sink, and when to run.

    Parameters
    ----------
    streams
        The streams by name, in the order of the join.
    sink
        Where results go.
    arguments
        Keyword arguments of `streamjoin.join`; of `streamjoin.table_join` or `streamjoin.sql`, if
        there is a table or a query.
    checkpoint
        Folder that makes a restart go on where the query stopped.
    trigger
        Time between micro-batches such as ``"2 seconds"``; None takes what is available and ends.
    table
        What the only stream is joined with.
    query
        What is asked of the streams.
    """

    streams: Mapping[str, Source]
    sink: Sink | BatchSink
    arguments: Mapping[str, Any]
    checkpoint: str
    trigger: str | None = None
    table: Table | None = None
    query: Query | None = None

    @property
    def budget(self) -> Budget | None:
        """What the join may use, as far as it is said."""
        return self.arguments.get("budget") if self.query is None else self.query.clauses.budget

    @property
    def is_many(self) -> bool:
        """Whether more than two streams are joined."""
        return self.query is not None and len(self.query.streams.sources) > 2

    def joined(self, spark: "SparkSession") -> "DataFrame":
        """The result as a streaming DataFrame that is not running."""
        if self.query is not None:
            used = {source.stream.lower() for source in self.query.streams.sources}
            opened = {n: s.open(spark) for n, s in self.streams.items() if n.lower() in used}
            return run_query(self.query, opened, **self.arguments)
        first, *others = (source.open(spark) for source in self.streams.values())
        if self.table is not None:
            return table_join(first, self.table, **self.arguments)
        return join(first, *others, **self.arguments)

    def start(self, spark: "SparkSession") -> "StreamingQuery":
        """Start the query; the caller watches and stops it."""
        writer = self.sink.writer(self.joined(spark)).outputMode("append")
        writer = writer.option("checkpointLocation", self.checkpoint)
        if self.trigger is None:
            writer = writer.trigger(availableNow=True)
        else:
            writer = writer.trigger(processingTime=self.trigger)
        return writer.start()
