"""Go on with another number of partitions: more or fewer tasks share the same shards.

Spark fixes the number of state partitions when a query first starts. Its own offline repartitioning
moves the state of a stopped query to another number of them. Here is what it leaves to the caller:
to look first whether it can succeed, since a failed try blocks the query, and to keep the log of a
file sink without gaps.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession

from streamjoin.errors import ConfigError, EngineError, StateError
from streamjoin.spark.checkpoint import CheckpointLog
from streamjoin.spark.failures import root_cause
from streamjoin.spark.session import STATE_STORE

logger = logging.getLogger(__name__)

_FORMAT: Final = f"{STATE_STORE}checkpointFormatVersion"


def rescale(
    spark: SparkSession, checkpoint: str | Path, partitions: int, *, output: str | Path | None
) -> None:
    """Change the number of partitions of a stopped query; its shards and state stay what they are.

    The next start of the query goes on where it stopped, with that many tasks in every micro-batch.
    A call that was cut short is completed by the same call.

    Parameters
    ----------
    spark
        A classic session that sees the checkpoint; Spark Connect cannot do this.
    checkpoint
        The query's ``checkpointLocation``.
    partitions
        The new number of partitions, at most the number of shards to be of use.
    output
        Folder of the query's file sink, None if it writes elsewhere. Moving the state takes a batch
        number of its own, and a file sink does not go on over a number that its log lacks.

    Raises
    ------
    ConfigError
        If an argument is not allowed.
    StateError
        If the query runs, or has a batch or an earlier rescale to finish first.
    EngineError
        If Spark fails at it; the same call may be repeated.

    Examples
    --------
    >>> import streamjoin as sj
    >>> sj.rescale(getfixture("spark"), "no/such/folder", 4, output=None)
    Traceback (most recent call last):
    ...
    streamjoin.errors.ConfigError: checkpoint: got 'no/such/folder'; allowed: ...
    """
    if not isinstance(partitions, int) or isinstance(partitions, bool) or partitions < 1:
        raise ConfigError.at("partitions", repr(partitions), "a whole number from 1")
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        raise ConfigError.at("spark", "a Spark Connect session", "a classic one")
    log = CheckpointLog.read(spark, str(checkpoint))
    _refuse_running(spark, log)
    sink = None if output is None else _sink_log(spark, str(output), log)
    if log.partitions[log.committed] != partitions:
        log.refuse_unfinished(partitions)
        _repartition(spark, str(checkpoint), partitions, log.format)
        log = CheckpointLog.read(spark, str(checkpoint))
    if sink is not None:
        for batch in log.moves:
            sink.add(batch, _no_files(spark))  # an entry that is there stays as it is


def _refuse_running(spark: SparkSession, log: CheckpointLog) -> None:
    if any(query.id == log.query for query in spark.streams.active):
        raise StateError(f"checkpoint: its query {log.query} is running; stop it first")


def _repartition(spark: SparkSession, checkpoint: str, partitions: int, version: str) -> None:
    with _setting(spark, _FORMAT, version):
        try:
            spark._streamingCheckpointManager.repartition(checkpoint, partitions)
        except Exception as error:
            raise EngineError(
                f"rescale: Spark could not move the state: {root_cause(error)}"
            ) from error
    logger.info("the query of %s has %d partitions from now on", checkpoint, partitions)


def _sink_log(spark: SparkSession, output: str, log: CheckpointLog) -> Any:
    """Spark's own log of a file sink; it knows when to merge entries."""
    jvm: Any = spark._jvm
    path = jvm.org.apache.hadoop.fs.Path(f"{output}/_spark_metadata")
    if path.getFileSystem(spark._jsc.hadoopConfiguration()).exists(path):
        sinks = jvm.org.apache.spark.sql.execution.streaming.sinks
        version, nothing = sinks.FileStreamSinkLog.VERSION(), jvm.scala.Option.empty()
        found = sinks.FileStreamSinkLog(version, spark._jsparkSession, path.toString(), nothing)
        if found.getLatestBatchId().getOrElse(None) in log.last_written:
            return found
    raise ConfigError.at(
        "output", repr(output), "the folder that the query's file sink writes, or None"
    )


def _no_files(spark: SparkSession) -> Any:
    gateway: Any = spark.sparkContext._gateway
    sinks = gateway.jvm.org.apache.spark.sql.execution.streaming.sinks
    return gateway.new_array(sinks.SinkFileStatus, 0)


@contextmanager
def _setting(spark: SparkSession, key: str, value: str) -> Iterator[None]:
    """Make a setting for a while."""
    kept = dict(spark.conf.getAll).get(key)
    spark.conf.set(key, value)
    try:
        yield
    finally:
        if kept is None:
            spark.conf.unset(key)
        else:
            spark.conf.set(key, kept)
