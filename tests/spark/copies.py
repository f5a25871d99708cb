"""Names for the local copies of shards that run in this process: those of another join would be
taken for its own."""

import atexit
import itertools
import shutil
import tempfile
import uuid
from pathlib import Path

_THIS_PROCESS = uuid.uuid4().hex
_NUMBERS = itertools.count()


def fresh_id() -> str:
    """An id that no other join has."""
    return f"{_THIS_PROCESS}-{next(_NUMBERS)}"


@atexit.register
def _remove() -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"streamjoin-{_THIS_PROCESS}-*"):
        shutil.rmtree(folder, ignore_errors=True)
