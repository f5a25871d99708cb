"""A built-in streaming source: `workloads` at the clock's pace, replayable from its offsets."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from streamjoin.errors import ConfigError
from streamjoin.spark.requirements import is_connect
from streamjoin.workloads import Burst, GeneratedStream
from streamjoin.workloads.stream import BLOCK_ROWS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

FORMAT = "streamjoin-generator"
FIRST_SECONDS = 1.0
"""How much of a stream the first batch of a run takes."""

SQL_TYPES = {
    pa.int64(): "bigint",
    pa.int32(): "int",
    pa.float64(): "double",
    pa.string(): "string",
    pa.timestamp("us", tz="UTC"): "timestamp",
    pa.list_(pa.string()): "array<string>",
    pa.map_(pa.string(), pa.float64()): "map<string, double>",
}


def register_generator(spark: "SparkSession") -> None:
    """Make ``spark.readStream.format("streamjoin-generator")`` known to a session.

    Options: those of `GeneratedStream` (``workload``, ``rate``, ``keys``, ``skew``, ``seed``,
    ``cycle_s``, ``lag_s``, ``disorder_ms``, and of a burst ``burst_at_s``, ``burst_lasting_s`` and
    ``burst_times``), ``seconds`` (the stream ends after so much event time; endless if absent),
    ``start`` (event time of the first row in seconds since 1970; by default the time of the query's
    start), ``backlog_seconds`` (a micro-batch holds at most so much, 10 by default) and
    ``partitions`` (tasks per micro-batch, 2 by default).

    Examples
    --------
    >>> spark = getfixture("spark")
    >>> register_generator(spark)
    >>> calls = spark.readStream.format("streamjoin-generator").option("rate", 5000).load()
    >>> calls.columns
    ['person', 'called_at', 'caller', 'seconds']
    """
    with as_active(spark):  # Spark asks the active session whether a source is known already
        try:
            spark.dataSource.register(GeneratorSource)
        except AnalysisException as error:
            if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
                raise


@contextmanager
def as_active(spark: "SparkSession") -> Iterator[None]:
    """Make a session the active one for a while; the one that was before is so again afterwards."""
    if is_connect(spark):
        yield
        return
    kind: Any = type(spark)
    sessions = kind._get_j_spark_session_class(spark._jvm)
    before, known = sessions.getActiveSession(), kind._activeSession
    sessions.setActiveSession(spark._jsparkSession)
    try:
        yield
    finally:
        kind._activeSession = known
        if before.isDefined():
            sessions.setActiveSession(before.get())
        else:
            sessions.clearActiveSession()


@dataclass
class RowRange(InputPartition):
    """Rows ``first`` to ``last`` (exclusive), for one task, of the stream begun at ``start_us``."""

    first: int
    last: int
    start_us: int


class GeneratorSource(DataSource):
    """The data source behind the format ``streamjoin-generator``."""

    @classmethod
    def name(cls) -> str:
        """Name of the format."""
        return FORMAT

    def schema(self) -> str:
        """Columns of the workload, in Spark's words."""
        fields = stream_of(self.options).settings.schema
        return ", ".join(f"{field.name} {SQL_TYPES[field.type]}" for field in fields)

    def streamReader(self, schema: "StructType") -> "GeneratorReader":
        """Reader over the same options."""
        return GeneratorReader(self.options)


class GeneratorReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Hands out rows as the clock makes them due.

    An offset is ``{"row", "start_us"}``: rows handed out, and the event time of row 0, which every
    offset carries along from the first. Rows depend on nothing else, so a restarted query makes the
    very same rows. While no query reads it the stream pauses: it does not pile up rows. Nor does it
    while the first batch of a run starts workers and loads code: that batch takes a second of the
    stream, and the clock begins with the next one.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self.options = options
        self.pace = stream_of(options).pace
        seconds = _number(options, "seconds", 0.0)
        self.end_row = self.pace.rows(seconds) if seconds else None
        self.backlog_s = _number(options, "backlog_seconds", 10.0)
        self.n_partitions = max(1, int(_number(options, "partitions", 2)))
        self.available_now = False
        self.begun = False
        self.resumed: tuple[int, float] | None = None

    def initialOffset(self) -> dict[str, int]:
        """Begin at row 0, now."""
        start = _number(self.options, "start", time.time())
        return {"row": 0, "start_us": round(start * 1e6)}

    def prepareForTriggerAvailableNow(self) -> None:
        """Offer all rows of a bounded stream at once; an endless one has none that are due yet."""
        self.available_now = True

    def getDefaultReadLimit(self) -> ReadLimit:
        """Keep a micro-batch small even when the query was down or slow for long.

        How many rows that is depends on where in a burst it begins: `latestOffset` knows.
        """
        times = 1.0 if self.pace.burst is None else max(1.0, self.pace.burst.times)
        return ReadMaxRows(max(1, round(times * self.backlog_s * self.pace.rate_per_second)))

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        """Rows due by now, within the limit."""
        row = self._due(start["row"])
        if isinstance(limit, ReadMaxRows):
            within = max(self.pace.after(start["row"], self.backlog_s), start["row"] + 1)
            row = min(row, start["row"] + limit.max_rows, within)
        return {**start, "row": max(row, start["row"])}

    def _due(self, row: int) -> int:
        if self.available_now:
            return row if self.end_row is None else self.end_row
        if not self.begun:
            self.begun = True
            due = max(self.pace.after(row, FIRST_SECONDS), row + 1)
        else:
            if self.resumed is None:
                self.resumed = row, time.monotonic()
            first, since = self.resumed
            due = self.pace.after(first, time.monotonic() - since)
        return due if self.end_row is None else min(due, self.end_row)

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        """Split the rows into tasks, at most one per block.

        The end offset says when the stream began: the start offset of a replayed first batch is
        made anew and may say another time.
        """
        first, last = start["row"], end["row"]
        n = min(self.n_partitions, -(-(last - first) // BLOCK_ROWS))
        cuts = [first + (last - first) * i // n for i in range(n + 1)] if n else []
        return [RowRange(low, high, end["start_us"]) for low, high in pairwise(cuts) if low < high]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Make the rows of one task."""
        assert isinstance(partition, RowRange)
        stream = stream_of(self.options, partition.start_us)
        yield from stream.batches(partition.first, partition.last)


def stream_of(options: Mapping[str, str], start_us: int = 0) -> GeneratedStream:
    """The stream that a source with these options hands out.

    Examples
    --------
    >>> stream_of({"rate": "9", "burst_at_s": "30", "burst_lasting_s": "20", "burst_times": "4"})
    GeneratedStream(..., rate_per_second=9.0, ..., burst=Burst(at_s=30.0, lasting_s=20.0, ...))
    """
    return GeneratedStream(
        workload=options.get("workload", "calls"),
        rate_per_second=_number(options, "rate", 1000.0),
        keys=int(_number(options, "keys", 10_000)),
        skew=_number(options, "skew", 0.0),
        cycle_s=_number(options, "cycle_s", 0.0),
        lag_s=_number(options, "lag_s", 0.0),
        disorder_ms=int(_number(options, "disorder_ms", 0)),
        seed=int(_number(options, "seed", 0)),
        start_us=start_us,
        burst=_burst(options),
    )


def _burst(options: Mapping[str, str]) -> Burst | None:
    if "burst_times" not in options:
        return None
    names = ("burst_at_s", "burst_lasting_s", "burst_times")
    return Burst(*(_number(options, name, 0.0) for name in names))


def _number(options: Mapping[str, str], name: str, default: float) -> float:
    value: Any = options.get(name, default)
    try:
        return float(value)
    except ValueError:
        raise ConfigError.at(name, repr(value), "a number") from None
