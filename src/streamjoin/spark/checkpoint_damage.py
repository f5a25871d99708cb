"""Which file of a checkpoint cannot be read, where Spark only says that it met something odd.

Spark's own words for it are such as "Input length = 1" or "assertion failed". Looked at after a
query has failed, and only on this machine's disks. A commit that was cut short is Spark's to mend.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

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
