"""Folders that all machines see, by path or address; files in them that appear whole; late rows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from streamjoin._names import ANY_CASE, Naming
from streamjoin.core.stream import Stream
from streamjoin.errors import ConfigError
from streamjoin.joins.base import LATE_BY, Late

if TYPE_CHECKING:
    from streamjoin.joins.channel import Run


def address(folder: str) -> str:
    """A folder in Arrow's words; a path without a scheme is one on this machine.

    Examples
    --------
    >>> address("s3a://bucket/late")
    's3://bucket/late'
    """
    if ":/" not in folder:
        return str(Path(folder).resolve())
    return folder.replace("s3a://", "s3://", 1)  # Hadoop's name for it


def reachable(folder: object, argument: str, allowed: str) -> str:
    """The address of a user's folder, or an error that names the argument."""
    if not isinstance(folder, str | Path) or not str(folder):
        raise ConfigError.at(argument, repr(folder), allowed)
    found = address(str(folder))
    try:
        system_of(found)
    except (pa.ArrowInvalid, OSError) as error:
        raise ConfigError.at(
            argument, f"{found!r}, which cannot be reached ({error})", allowed
        ) from None
    return found


@lru_cache(maxsize=8)
def system_of(folder: str) -> tuple[pafs.FileSystem, str]:
    """The file system of an address, and the path in it."""
    system, root = pafs.FileSystem.from_uri(folder)
    return system, root


def files_in(system: pafs.FileSystem, folder: str) -> list[pafs.FileInfo]:
    """What is in a folder; nothing if it is not there.

    Arrow looks at a folder that it could not list whether it exists, and fails if another task has
    made it in between. What earlier batches wrote cannot be in such a folder.
    """
    try:
        return list(system.get_file_info(pafs.FileSelector(folder, allow_not_found=True)))
    except FileNotFoundError:
        return []


def write_whole(
    system: pafs.FileSystem, path: str, attempt: int, write: Callable[[str], None]
) -> None:
    """Let `write` make a draft, then put it in its place: a reader finds all of it or nothing.

    Each attempt of a task has a draft of its own. What an earlier one has put there is replaced.
    """
    folder, _, name = path.rpartition("/")
    system.create_dir(folder, recursive=True)
    draft = f"{folder}/.{name}.{attempt}"  # readers skip names that begin with a dot
    write(draft)
    if system.get_file_info(path).type != pafs.FileType.NotFound:
        system.delete_file(path)  # not every file system moves onto a file
    system.move(draft, path)


def write_bytes(system: pafs.FileSystem, path: str, attempt: int, blob: bytes) -> None:
    """Write a file; a reader finds all of it or nothing."""

    def write(draft: str) -> None:
        with system.open_output_stream(draft) as file:
            file.write(blob)

    write_whole(system, path, attempt, write)


@dataclass(frozen=True)
class LateSink:
    """Writes late rows below a folder, one sub-folder for each input.

    `name` is the join's: several joins of a query may share a folder. A file's name says which
    query, shard and batch wrote it. A batch that is run again writes the same rows to the same
    name.
    """

    folder: str
    name: str

    @classmethod
    def at(
        cls, folder: object, name: str, streams: Mapping[str, Stream], naming: Naming = ANY_CASE
    ) -> "LateSink | None":
        """Check the user's folder, if one is given; without a scheme it is one on this machine."""
        if folder is None:
            return None
        found = reachable(folder, "late_rows", "a folder, or its address (s3://, hdfs://)")
        for stream, of in streams.items():
            if naming.find(of.schema.names, LATE_BY) is not None:
                raise ConfigError(
                    f"late_rows: the {stream} stream has a column {LATE_BY!r}; "
                    "allowed: other names (rename it)"
                )
        return cls(found, name)

    def write(self, late: Late, run: "Run", shard: int) -> None:
        """Write one input's late rows of one batch."""
        if not len(late.rows):
            return
        table = late.table()
        system, root = system_of(self.folder)
        join = quote(self.name, safe="")
        path = f"{root}/{late.name}/{run.query}-{join}-{shard:04d}-{late.sequence:08d}.parquet"
        write_whole(
            system, path, run.attempt, lambda draft: pq.write_table(table, draft, filesystem=system)
        )
