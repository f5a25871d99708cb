"""Private files on the disk of a worker's machine: what is there is quicker, never needed.

Any Python worker of the machine may read them, and each checks a file when it meets it first.
"""

import contextlib
import logging
import os
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Final
from uuid import uuid4

import pyarrow as pa

from streamjoin._private import make_private, open_private
from streamjoin.errors import StateError

logger = logging.getLogger(__name__)
_MOST_CHECKED: Final = 1 << 16
_CHECKED: dict[str, tuple[int, int, int]] = {}
"""Files whose bytes this process has checked, and what they were then."""


def map_file(path: Path, check: Callable[[pa.Buffer], object]) -> pa.Buffer | None:
    """A file of this machine, mapped into memory; None if there is none or it is damaged.

    Its bytes are checked when this process first meets them: a checksum takes half a millisecond a
    megabyte, which is more than probing does, and a file is probed in many batches.
    """
    name = str(path)
    try:
        # another worker may put another file in its place: what is looked at must be what is mapped
        with open_private(path, "rb") as file:
            found = os.fstat(file.fileno())
            mapped: pa.Buffer = pa.memory_map(f"/dev/fd/{file.fileno()}").read_buffer()
        stamp = found.st_ino, found.st_mtime_ns, found.st_size
        if _CHECKED.pop(name, None) != stamp:
            check(mapped)
        _CHECKED[name] = stamp  # behind those that were met longer ago
        while len(_CHECKED) > _MOST_CHECKED:
            _CHECKED.pop(next(iter(_CHECKED)))
    except OSError:
        return None
    except (ValueError, StateError):
        logger.warning("%s: this copy is damaged and is not used", path)
        return None
    return mapped


def write_file(path: Path, blob: pa.Buffer | bytes) -> None:
    """Best effort: a full disk makes the next read slower, not wrong."""
    draft = path.with_name(f"{path.name}.{uuid4().hex[:12]}")
    try:
        with open_private(draft, "wb") as file:
            file.write(blob)
        draft.rename(path)
    except OSError:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)


def local_folder(join_id: str, shard: int) -> Path | None:
    """Folder for one shard's copies, below Spark's local directory.

    Spark removes it with its own files when the application ends, not when a query does. None where
    it cannot be made, or is not this user's alone: then there are no copies.
    """
    base = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0] or tempfile.gettempdir()
    folder = Path(base) / f"streamjoin-{join_id}"
    try:
        make_private(folder)
        make_private(folder / str(shard))
    except OSError as error:
        _warn_once(f"{folder}: rows have no copies here, which is slower ({error})")
        return None
    return folder / str(shard)


@lru_cache(maxsize=64)
def _warn_once(text: str) -> None:
    logger.warning(text)
