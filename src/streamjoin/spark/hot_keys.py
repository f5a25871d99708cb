"""How map tasks learn which keys are hot: through files that the keys' homes write.

Map tasks have no state, and shards come after them. So the home of a key, which decides at the end
of a batch and keeps the decision in its state, also writes it to a folder that all machines see.
Map tasks of *later* batches act on it: a batch that is run again acts on the same decisions. Each
map task tells each shard what it read, so files that are lost or foreign are noticed before any row
is joined.
"""

import json
import logging
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Final
from urllib.parse import quote

import pyarrow as pa
import pyarrow.fs as pafs
from pyspark.sql import SparkSession

from streamjoin.core.sealed import parse_json
from streamjoin.errors import StateError
from streamjoin.joins.hot_keys import HotKey
from streamjoin.spark.folders import (
    address,
    files_in,
    reachable,
    read_sealed,
    system_of,
    write_sealed,
)
from streamjoin.spark.requirements import is_connect
from streamjoin.spark.worker import Run

logger = logging.getLogger(__name__)

_CHECKPOINTS: Final = "spark.sql.streaming.checkpointLocation"
_BESIDE: Final = "streamjoin-hot-keys"
_NOTHING: Final = "[]"


def find_folder(asked: object, spark: SparkSession, wanted: bool) -> str | None:
    """The user's folder for decisions, or the one beside the session's checkpoints, or None.

    What the user asked for is checked in any case; there is a folder only if one is `wanted`.
    """
    if asked is False or (asked is None and not wanted):
        return None
    if asked is None:
        return _default_folder(spark)
    folder = reachable(asked, "hot_keys", "a folder that all machines see, or False")
    return folder if wanted else None


def _default_folder(spark: SparkSession) -> str | None:
    checkpoints = spark.conf.get(_CHECKPOINTS, None)
    if not checkpoints:
        return None
    here = not is_connect(spark) and str(spark.sparkContext.master).startswith("local")
    if ":/" not in checkpoints and not here:
        return None  # which file system it is in is known to Spark only
    folder = address(f"{checkpoints}/{_BESIDE}")
    try:
        system_of(folder)
    except (pa.ArrowInvalid, OSError) as error:
        logger.warning("hot keys are not spread: %s cannot be reached (%s)", folder, error)
        return None
    return folder


@dataclass(frozen=True)
class HotFolder:
    """The decisions of one join.

    Parameters
    ----------
    folder
        Where those of all queries are.
    name
        The join's, as there may be several in a query.
    labels
        Names of the shards, in order.
    tasks
        Numbers of the shards of each task.
    """

    folder: str
    name: str
    labels: tuple[int, ...]
    tasks: tuple[tuple[int, ...], ...]

    def read(self, run: Run) -> dict[int, list[HotKey]] | None:
        """What the shards, by label, decided before a batch; None if no batch is known."""
        if run.batch is None:
            return None
        found: dict[int, list[HotKey]] = {label: [] for label in self.labels}
        system, folder = self._place(run)
        for file in files_in(system, folder):
            label, batch = _numbers(file.base_name)
            if label in found and batch < run.batch:
                found[label] += _read(self.folder, file.path, file.mtime_ns, file.size)
        return {label: sorted(keys, key=lambda hot: hot.batch) for label, keys in found.items()}

    def write(self, run: Run, label: int, hot: HotKey) -> None:
        """Write a decision; a reader finds all of it or nothing.

        The same one, written by a run before or by a slow run afterwards, is left alone.
        """
        system, folder = self._place(run)
        path = f"{folder}/{label}-{hot.batch}.json"
        info = system.get_file_info(path)
        known = info.type != pafs.FileType.NotFound
        if known and _read(self.folder, path, info.mtime_ns, info.size) == (hot,):
            return
        write_sealed(system, path, run.attempt, json.dumps(asdict(hot)))

    def check(self, run: Run, label: int, keys: Sequence[HotKey], known: Iterable[str]) -> None:
        """Refuse a batch whose map tasks did not know what a shard decided."""
        if all((text or _NOTHING) == describe(keys) for text in known):
            return
        self._rewrite(run, label, keys)
        msg = (
            f"hot_keys: files in {self.folder!r} were lost or changed and have been written again; "
            "start the query again (the folder must be one that all machines see)"
        )
        raise StateError(msg)

    def _rewrite(self, run: Run, label: int, keys: Sequence[HotKey]) -> None:
        system, folder = self._place(run)
        for file in files_in(system, folder):
            if _numbers(file.base_name)[0] == label:
                system.delete_file(file.path)
        for hot in keys:
            self.write(run, label, hot)

    def _place(self, run: Run) -> tuple[pafs.FileSystem, str]:
        return place_of(self.folder, self.name, run)


def place_of(folder: str, name: str, run: Run) -> tuple[pafs.FileSystem, str]:
    """Where the decisions of a join in a query are."""
    system, root = system_of(folder)
    return system, f"{root}/{run.query}/{quote(name, safe='')}"


def describe(keys: Sequence[HotKey]) -> str:
    """Decisions of one shard as a text to be compared."""
    return json.dumps([asdict(hot) for hot in keys], separators=(",", ":"))


def _numbers(name: str) -> tuple[int, int]:
    """Label and batch of a file; of one that is no decision, a label that no shard has."""
    label, _, batch = name.removesuffix(".json").partition("-")
    return (int(label), int(batch)) if label.isdecimal() and batch.isdecimal() else (-1, 0)


@lru_cache(maxsize=1024)
def _read(folder: str, path: str, mtime_ns: int, size: int) -> tuple[HotKey, ...]:
    """The decision of a file as it was at some time; none of one that cannot be read."""
    system, _ = system_of(folder)
    try:
        return (HotKey.from_dict(parse_json(read_sealed(system, path))),)
    except (ValueError, TypeError, KeyError):
        return ()
