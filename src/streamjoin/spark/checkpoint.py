"""What the checkpoint of a query says of its batches, and which file of it cannot be read.

Where a file is damaged, Spark's own words are such as "Input length = 1" or "assertion failed". So
the files are looked at after a query has failed, and only on this machine's disks. A commit that
was cut short is Spark's to mend.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
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
    files = [path for log in _LOGS for path in sorted(folder.glob(f"{log}/*")) if _is_entry(path)]
    for path in [folder / "metadata", *files]:
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


def _is_entry(path: Path) -> bool:
    return path.is_file() and re.fullmatch(r"\d+(\.compact)?", path.name) is not None


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
