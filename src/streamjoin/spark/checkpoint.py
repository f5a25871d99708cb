"""What the checkpoint of a query says of its batches."""

import json
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from streamjoin.errors import ConfigError, StateError
from streamjoin.spark.session import STATE_SETTINGS, STATE_STORE

_PROVIDER: Final = f"{STATE_STORE}providerClass"


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
            msg = (
                f"checkpoint: got {checkpoint!r}; allowed: the checkpointLocation of a query that"
                " has finished a batch"
            )
            raise ConfigError(msg)
        committed = max(commits)
        made = {batch: json.loads(begun[batch].split("\n")[1])["conf"] for batch in sorted(begun)}
        provider = made[committed][_PROVIDER]
        if provider != STATE_SETTINGS[_PROVIDER]:
            msg = f"checkpoint: its state is in {provider}; allowed: {STATE_SETTINGS[_PROVIDER]}"
            raise ConfigError(msg)
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
            msg = (
                f"checkpoint: batch {last} was begun and not finished; start the query once more"
                " and stop it after a batch"
            )
            raise StateError(msg)
        if self.partitions[last] != partitions:
            msg = (
                f"partitions: got {partitions}; allowed: {self.partitions[last]}, since an earlier"
                " rescale to that number was cut short and has to be finished first"
            )
            raise StateError(msg)


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
