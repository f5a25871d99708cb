"""Files and folders of this user alone: nobody else can read them, or have put them there."""

import os
import stat
from pathlib import Path
from typing import IO, Any, Final

_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH


def make_folders(folder: Path) -> None:
    """Make a folder and those above it; the ones that were missing are for this user only."""
    for missing in reversed([each for each in (folder, *folder.parents) if not each.exists()]):
        missing.mkdir(mode=0o700, exist_ok=True)  # another process may be as fast


def make_private(folder: Path) -> None:
    """Make a folder that only this user can enter, with those above it; or take the one there is.

    One that is a link, is someone else's, or could be written by others is a PermissionError, as
    is one that others could replace because the folder above it is theirs, or open to them; one
    that others could only read is closed to them.

    Examples
    --------
    >>> folder = getfixture("tmp_path") / "above" / "mine"
    >>> make_private(folder)
    >>> oct(folder.stat().st_mode), oct(folder.parent.stat().st_mode)
    ('0o40700', '0o40700')
    >>> folder.chmod(0o777)
    >>> make_private(folder)
    Traceback (most recent call last):
        ...
    PermissionError: [Errno 1] others can write to it, so it is not used: '...mine'
    """
    make_folders(folder)
    found, above = folder.lstat(), folder.parent.stat()
    faults = {
        "it is a link or no folder": not stat.S_ISDIR(found.st_mode),
        "it belongs to someone else": found.st_uid != os.geteuid(),
        "others can write to it": found.st_mode & _OTHERS_WRITE,
        "the folder above it belongs to someone else": above.st_uid not in (os.geteuid(), 0),
        "others can write to the folder above it": _is_open(folder.parent),
    }
    for why in (fault for fault, is_so in faults.items() if is_so):
        raise PermissionError(1, f"{why}, so it is not used", str(folder))
    if found.st_mode & _OTHERS:
        folder.chmod(0o700)


def open_private(path: Path, mode: str) -> IO[Any]:
    """Open a file, not through a link; a new one can be read by this user only.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "file"
    >>> with open_private(path, "wb") as file:
    ...     file.write(b"rows")
    4
    >>> oct(path.stat().st_mode)
    '0o100600'
    """
    return open(path, mode, encoding=None if "b" in mode else "utf-8", opener=_opener)


def _opener(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def _is_open(folder: Path) -> bool:
    """Whether others could replace what is in a folder."""
    mode = folder.stat().st_mode
    if mode & stat.S_ISVTX or not mode & _OTHERS_WRITE:
        return False
    # With a umask of 002 Spark's own folders let a group write, in one that only the user can
    # enter.
    above = folder.parent.stat()
    is_closed = above.st_uid == os.geteuid() and not above.st_mode & _OTHERS
    return bool(mode & stat.S_IWOTH) or not is_closed


def cache_folder() -> Path:
    """Where this user's caches of the library are."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "streamjoin"
