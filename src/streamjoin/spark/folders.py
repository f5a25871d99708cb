"""Folders that all machines see, by path or address, and files in them that appear whole."""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import pyarrow as pa
import pyarrow.fs as pafs

from streamjoin.core.sealed import is_sealed, seal, unseal
from streamjoin.errors import ConfigError


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


def write_sealed(system: pafs.FileSystem, path: str, attempt: int, text: str) -> None:
    """Write a text with its checksum; a reader finds all of it or nothing."""

    def write(draft: str) -> None:
        with system.open_output_stream(draft) as file:
            file.write(seal(text.encode()))

    write_whole(system, path, attempt, write)


def read_sealed(system: pafs.FileSystem, path: str) -> bytes:
    """What `write_sealed` wrote, a ValueError if it is damaged; 0.1.0 wrote the text alone."""
    with system.open_input_stream(path) as file:
        blob: bytes = file.read()
    return bytes(unseal(blob)) if is_sealed(blob) else blob
