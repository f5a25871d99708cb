"""Basic windows in Spark's state store, with a copy close by.

The state store is the truth. Reading a blob from it costs a trip through the JVM (about 40 MB/s),
so each blob is also written to a private file on the worker's local disk and mapped into memory;
any Python worker of the machine that meets the shard again finds it there. The file's name holds
the checksum that the directory in state holds too, and each process compares it with the bytes when
it meets the file first: one that is damaged or missing is only slower. Such files are this user's
alone.
"""

import contextlib
import logging
import os
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Protocol
from uuid import uuid4

import pyarrow as pa

from streamjoin._private import make_private, open_private
from streamjoin.core.index import HashIndex
from streamjoin.core.sealed import HEAD_BYTES, VERSION, UnknownVersionError, is_sealed, seal, unseal
from streamjoin.core.window import BasicWindow, check
from streamjoin.errors import StateError
from streamjoin.joins.base import BlobKey

logger = logging.getLogger(__name__)
_MOST_CHECKED: Final = 1 << 16
_CHECKED: dict[str, tuple[int, int, int]] = {}
"""Files whose bytes this process has checked, and what they were then."""
_DIRECTORY = (-1, 0, 0)
_INDEX = ".index"
_HINT = "hint."


class MapState(Protocol):
    """The part of Spark's MapState that is used here."""

    def getValue(self, key: BlobKey) -> Any:
        """Value of a key, or None."""

    def updateValue(self, key: BlobKey, value: tuple[bytes]) -> None:
        """Set the value of a key."""

    def removeKey(self, key: BlobKey) -> None:
        """Forget a key."""


class Talking:
    """A MapState that says what is wrong when Spark ends the conversation."""

    def __init__(self, state: MapState) -> None:
        self._state = state

    def getValue(self, key: BlobKey) -> Any:
        """Value of a key, or None."""
        with _telling():
            return self._state.getValue(key)

    def updateValue(self, key: BlobKey, value: tuple[bytes]) -> None:
        """Set the value of a key."""
        with _telling():
            self._state.updateValue(key, value)

    def removeKey(self, key: BlobKey) -> None:
        """Forget a key."""
        with _telling():
            self._state.removeKey(key)


@contextlib.contextmanager
def _telling() -> Iterator[None]:
    try:
        yield
    except (EOFError, ConnectionError) as error:
        raise StateError(
            "Spark has closed its state store in the middle of a batch, most often because the disk"
            " of the checkpoint is full; make room there and start again: nothing is lost"
        ) from error


class SparkStore:
    """A `WindowStore` over one shard's MapState.

    Parameters
    ----------
    state
        Spark's map from (side, slice, sequence) to bytes.
    folder
        Where copies are kept; None for none.
    first
        Number of the left side in the map's keys, where another store has the numbers 0 and 1.
    """

    def __init__(self, state: MapState, folder: Path | None, first: int = 0) -> None:
        self._state = Talking(state)
        self._folder = folder
        self._first = first

    def put(self, side: int, window: BasicWindow, blob: pa.Buffer) -> None:
        """Keep a new basic window."""
        self._state.updateValue(self._key(side, window), (blob.to_pybytes(),))
        self._keep_copy(side, window, blob)

    def get(self, side: int, window: BasicWindow) -> pa.Buffer:
        """Bytes of a basic window: from the copy if there is one, else from state."""
        if self._folder is not None:
            copy = map_file(self._path(side, window), lambda blob: check(window, blob))
            if copy is not None:
                return copy
        found = self._state.getValue(self._key(side, window))
        if found is None:
            raise StateError(
                f"stored basic window {window.slice} (batch {window.sequence}) is missing; restore"
                " the checkpoint from a copy or start with a new one"
            )
        blob = pa.py_buffer(bytes(found[0]))
        check(window, blob)
        self._keep_copy(side, window, blob)
        return blob

    def remove(self, side: int, window: BasicWindow) -> None:
        """Forget a basic window."""
        self._state.removeKey(self._key(side, window))
        if self._folder is not None:
            # what indexes by other attributes leave goes with the next batch's other copies
            for path in (self._path(side, window), self._index_path(side, window, 0)):
                with contextlib.suppress(OSError):
                    path.unlink(missing_ok=True)

    def put_index(
        self, side: int, window: BasicWindow, index: HashIndex, attribute: int = 0
    ) -> None:
        """Keep an index beside the copy of its rows; it is not part of the state."""
        if self._folder is not None:
            write_file(self._index_path(side, window, attribute), seal(index.to_bytes()))

    def get_index(self, side: int, window: BasicWindow, attribute: int = 0) -> HashIndex | None:
        """The index of a basic window if one was kept on this machine."""
        if self._folder is None:
            return None
        found = map_file(self._index_path(side, window, attribute), unseal)
        return None if found is None else HashIndex.from_buffer(found.slice(HEAD_BYTES))

    def put_blob(self, key: BlobKey, blob: bytes) -> None:
        """Keep or replace a small blob, with its checksum before it."""
        self._state.updateValue(key, (zlib.crc32(blob).to_bytes(4, "little") + blob,))

    def get_blob(self, key: BlobKey) -> bytes | None:
        """A small blob, or None."""
        found = self._state.getValue(key)
        if found is None:
            return None
        checksum, blob = bytes(found[0][:4]), bytes(found[0][4:])
        if zlib.crc32(blob).to_bytes(4, "little") != checksum:
            raise StateError(
                f"stored blob {key} is damaged: its checksum differs; restore the checkpoint from a"
                " copy or start with a new one"
            )
        return blob

    def remove_blob(self, key: BlobKey) -> None:
        """Forget a small blob; there may be none."""
        self._state.removeKey(key)

    def put_hint(self, name: str, blob: bytes) -> None:
        """Keep or replace something on this machine; it is not part of the state."""
        if self._folder is not None:
            write_file(self._folder / f"{_HINT}{name}", seal(blob))

    def get_hint(self, name: str) -> bytes | None:
        """A hint if there is one."""
        if self._folder is None:
            return None
        found = map_file(self._folder / f"{_HINT}{name}", unseal)
        return None if found is None else found.slice(HEAD_BYTES).to_pybytes()

    def read_directory(self) -> bytes | None:
        """The directory as it was committed, or None before the first batch."""
        found = self._state.getValue(_DIRECTORY)
        return None if found is None else _opened(bytes(found[0]))

    def write_directory(self, directory: bytes) -> None:
        """Replace the directory."""
        self._state.updateValue(_DIRECTORY, (seal(directory),))

    def copies(self, windows: Sequence[Sequence[BasicWindow]]) -> set[str]:
        """Names of the copies of basic windows."""
        return {self._name(side, window) for side, of in enumerate(windows) for window in of}

    def drop_other_copies(self, known: set[str]) -> None:
        """Remove copies that the directory does not name, as a shard that moved leaves them."""
        if self._folder is None:
            return
        with contextlib.suppress(OSError):
            for path in self._folder.iterdir():
                is_copy = not path.name.startswith(_HINT)
                if is_copy and path.name.partition(_INDEX)[0] not in known:
                    path.unlink(missing_ok=True)

    def _key(self, side: int, window: BasicWindow) -> BlobKey:
        return self._first + side, window.slice, window.sequence

    def _name(self, side: int, window: BasicWindow) -> str:
        return ".".join(map(str, self._key(side, window))) + f".{window.checksum:08x}"

    def _path(self, side: int, window: BasicWindow) -> Path:
        assert self._folder is not None
        return self._folder / self._name(side, window)

    def _index_path(self, side: int, window: BasicWindow, attribute: int) -> Path:
        path = self._path(side, window)
        return path.with_name(f"{path.name}{_INDEX}{attribute or ''}")

    def _keep_copy(self, side: int, window: BasicWindow, blob: pa.Buffer) -> None:
        if self._folder is not None:
            write_file(self._path(side, window), blob)


def _opened(directory: bytes) -> bytes:
    """A directory without its seal; that of 0.1.0 has none."""
    if not is_sealed(directory):
        return directory
    try:
        return bytes(unseal(directory))
    except UnknownVersionError as error:
        raise StateError(
            f"the checkpoint was written by another version of streamjoin: the form of its state is"
            f" {error.version!r} and this version reads {VERSION}; go on with a version that reads"
            " it, or use a new checkpoint folder"
        ) from None
    except ValueError:
        raise StateError(
            "the directory of the stored windows is damaged: its checksum differs; restore the"
            " checkpoint from a copy or start with a new one"
        ) from None


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
