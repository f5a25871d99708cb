"""Checkpoints: what one says of its batches, how to go on with other partitions, what is damaged.

Spark fixes the number of state partitions when a query first starts. Its own offline repartitioning
moves the state of a stopped query to another number of them. `rescale` does what it leaves to the
caller: to look first whether it can succeed, since a failed try blocks the query, and to keep the
log of a file sink without gaps.

Where a file is damaged, Spark's own words are such as "Input length = 1" or "assertion failed". So
the files are looked at after a query has failed, and only on this machine's disks. A commit that
was cut short is Spark's to mend.
"""

import json
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from streamjoin.errors import ConfigError, EngineError, StateError
from streamjoin.spark.failures import root_cause
from streamjoin.spark.requirements import is_connect
from streamjoin.spark.session import STATE_SETTINGS, STATE_STORE

logger = logging.getLogger(__name__)

_PROVIDER: Final = f"{STATE_STORE}providerClass"
_FORMAT: Final = f"{STATE_STORE}checkpointFormatVersion"


@dataclass(frozen=True)
class CheckpointLog:
    """What a checkpoint says of its batches.

    Parameters
    ----------
    query
        Id of the query.
    committed
        The last finished batch.
    format
        Version of the format of its state.
    partitions
        Partitions of every batch that was begun.
    """

    query: str
    committed: int
    format: str
    partitions: dict[int, int]

    @classmethod
    def read(cls, spark: SparkSession, checkpoint: str) -> "CheckpointLog":
        """Read it through Spark, which knows file systems that Python does not."""
        begun, commits, query = _log_files(spark, checkpoint)
        if not commits or query is None:
            raise ConfigError.at(
                "checkpoint",
                repr(checkpoint),
                "the checkpointLocation of a query that has finished a batch",
            )
        committed = max(commits)
        made = {batch: json.loads(begun[batch].split("\n")[1])["conf"] for batch in sorted(begun)}
        provider = made[committed][_PROVIDER]
        if provider != STATE_SETTINGS[_PROVIDER]:
            raise ConfigError(
                f"checkpoint: its state is in {provider}; allowed: {STATE_SETTINGS[_PROVIDER]}"
            )
        return cls(
            json.loads(query)["id"],
            committed,
            commits[committed].split("\n")[0].removeprefix("v"),
            {batch: int(conf["spark.sql.shuffle.partitions"]) for batch, conf in made.items()},
        )

    @property
    def moves(self) -> list[int]:
        """Batches that did nothing but change the number of partitions."""
        return [b for a, b in pairwise(self.partitions) if self.partitions[a] != self.partitions[b]]

    @property
    def last_written(self) -> set[int]:
        """Which batch the sink may have written last.

        One that was begun may be written already, and one that moved state may be missing.
        """
        data = [b for b in self.partitions if b <= self.committed and b not in self.moves]
        return {*data[-1:], self.committed, max(self.partitions)}

    def refuse_unfinished(self, partitions: int) -> None:
        """Refuse a checkpoint whose last batch is not finished, but for a rescale like this one."""
        last = max(self.partitions)
        if last == self.committed:
            return
        if last not in self.moves:
            raise StateError(
                f"checkpoint: batch {last} was begun and not finished; start the query once more"
                " and stop it after a batch"
            )
        if self.partitions[last] != partitions:
            raise StateError(
                f"partitions: got {partitions}; allowed: {self.partitions[last]}, since an earlier"
                " rescale to that number was cut short and has to be finished first"
            )


def _log_files(
    spark: SparkSession, checkpoint: str
) -> tuple[dict[int, str], dict[int, str], str | None]:
    """Text of the offset log and of the commit log by batch, and of the query's metadata."""
    paths = [f"{checkpoint}/{name}" for name in ("metadata", "offsets", "commits")]
    try:
        found = spark.read.text(paths, wholetext=True).select("_metadata.file_path", "value")
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        return {}, {}, None
    files = {tuple(row["file_path"].split("/")[-2:]): row["value"] for row in found.collect()}
    begun, commits = (
        {int(name): text for (folder, name), text in files.items() if folder == wanted}
        for wanted in ("offsets", "commits")
    )
    return begun, commits, next((t for (_, name), t in files.items() if name == "metadata"), None)


_NOTHING: Final = "-"
"""How Spark writes that a source has no offset yet."""
_LOGS: Final = ("offsets", "commits", "state/*/_metadata/*", "sources/*")


def damage(checkpoint: str) -> str | None:
    """Say what is damaged, or None if nothing is that can be seen.

    Examples
    --------
    >>> folder = getfixture("tmp_path")
    >>> damage(str(folder))
    >>> _ = (folder / "metadata").write_text('{"id":"756')
    >>> print(damage(str(folder)).replace(str(folder), "FOLDER"))
    the checkpoint 'FOLDER' is damaged: its file metadata cannot be read; restore it from a copy or
    use a new folder
    """
    folder = Path(checkpoint)
    if "://" in checkpoint or not folder.is_dir():
        return None
    what = next(_unreadable(folder), None) or _missing(folder)
    if what is None:
        return None
    return (
        f"the checkpoint {checkpoint!r} is damaged: {what}; restore it from a copy or use a new"
        " folder"
    )


def _unreadable(folder: Path) -> Iterator[str]:
    files = [path for log in _LOGS for path in sorted(folder.glob(f"{log}/*")) if path.is_file()]
    entries = [path for path in files if re.fullmatch(r"\d+(\.compact)?", path.name)]
    for path in [folder / "metadata", *entries]:
        if path.exists() and not _is_readable(path):
            yield f"its file {path.relative_to(folder)} cannot be read"


def _missing(folder: Path) -> str | None:
    """Spark writes what a batch takes before the batch, and goes on from the last of them."""
    begun, finished = (
        [int(path.name) for path in folder.glob(f"{log}/*") if path.name.isdigit()]
        for log in ("offsets", "commits")
    )
    last = max(finished, default=-1)
    return None if last < 0 or last in begun else f"its file offsets/{last} is missing"


def _is_readable(path: Path) -> bool:
    try:
        text = path.read_text(encoding="utf-8")
        if path.name == "metadata":
            return isinstance(json.loads(text)["id"], str)
        version, *lines = text.splitlines()
        if not re.fullmatch(r"v\d+", version):
            return path.parent.parent.name == "sources"  # each has a form of its own
        for line in lines:
            if line != _NOTHING:
                json.loads(line)
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return True


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
    if is_connect(spark):
        raise ConfigError.at("spark", "a Spark Connect session", "a classic one")
    log = CheckpointLog.read(spark, str(checkpoint))
    if any(query.id == log.query for query in spark.streams.active):
        raise StateError(f"checkpoint: its query {log.query} is running; stop it first")
    sink = None if output is None else _sink_log(spark, str(output), log)
    if log.partitions[log.committed] != partitions:
        log.refuse_unfinished(partitions)
        _repartition(spark, str(checkpoint), partitions, log.format)
        log = CheckpointLog.read(spark, str(checkpoint))
    if sink is not None:
        gateway: Any = spark.sparkContext._gateway
        status = gateway.jvm.org.apache.spark.sql.execution.streaming.sinks.SinkFileStatus
        for batch in log.moves:
            sink.add(batch, gateway.new_array(status, 0))  # an entry that is there stays as it is


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
