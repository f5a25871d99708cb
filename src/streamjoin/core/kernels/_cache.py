"""Where compiled kernels are kept, so that not every process compiles them again.

They are read from beside the source, where an image or an archive may bring them; else from a
folder of the user's own; else from one below Spark's local directory, which the Python workers of
an executor share. New ones go to the first of these that can be written. Where there is none, each
process compiles for itself.

What is damaged is noticed by its checksum, and compiled again: machine code with a flipped bit
would run.

A cache holds machine code and pickles, so one that others could have written is never read. Beside
the source it is as safe as the source; every other folder must belong to this user and be closed to
all others. In either, a file counts only if nobody but its owner can write it, and the owner is
this user, root, or whoever owns the source.
"""

import hashlib
import os
import pickle
import stat
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import IO, Any, Final

from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile

from streamjoin._private import make_private, open_private
from streamjoin.core.sealed import seal, unseal

_SOURCES: Final = Path(__file__).parent
_BESIDE: Final = _SOURCES / "__pycache__"
_NAME: Final = "kernels"
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH


class KernelCache(FunctionCache):
    """Numba's cache of one function, in our folders and for many processes at once.

    Numba itself would fail where no folder can be written or a file is cut short; would let two
    processes that compile for different types at the same time take one file for both; and would
    not notice that a kernel in another file, compiled into this one, has changed.

    Parameters
    ----------
    function
        The function, not compiled.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._py_func = function
        self._impl = _Naming(function)
        stamp, name = source_stamp(*_packages(function)), self._impl.filename_base
        self._files = [_CacheFile(folder, name, stamp) for folder in folders()]
        self._cache_path = str(folders()[0]) if folders() else None
        self.enable()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled function for these types, or None."""
        target_context.refresh()
        key = self._index_key(sig, target_context.codegen())
        for file in self._files:
            # whatever is wrong with it, the kernel can be compiled again
            with suppress(Exception):
                found = file.load(key)
                if found is not None:
                    return self._impl.rebuild(target_context, found)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled function, if some folder takes it."""
        if not self._impl.check_cachable(data):
            return
        key, reduced = self._index_key(sig, data.codegen), self._impl.reduce(data)
        for file in self._files:
            with suppress(OSError):
                file.replace(key, reduced)
                return


class _CacheFile(IndexDataCacheFile):
    """The files of one function: an index, and one for the types that it was compiled for.

    Their names say for which source and which Numba they are, so that of two processes that find an
    old cache neither removes what the other has just compiled.
    """

    def __init__(self, folder: Path, name: str, stamp: str) -> None:
        super().__init__(str(folder), name, stamp)
        self._folder, self._name = folder, name
        self._mode = 0o644 if folder == _BESIDE else 0o600
        of = f"{self._source_stamp} {self._version}".encode()
        self._mark = hashlib.sha256(of).hexdigest()[:12]

    def replace(self, key: Any, data: Any) -> None:
        """Save; instead of an index that is damaged, unsafe or of another version, begin one."""
        is_new = not self._load_index()
        self.save(key, data)
        if is_new:
            for path in self._folder.glob(f"{self._name}.*.nbc*"):
                if self._mark not in path.name:
                    path.unlink(missing_ok=True)

    def _load_index(self) -> dict[Any, str]:
        """Names of files by types; none where there is no index that can be used."""
        # of whatever kind: what unpickling makes of damage is not defined
        with suppress(Exception), _open_trusted(self._index_path) as file:
            if pickle.load(file) == self._version:
                stamp, found = pickle.loads(unseal(file.read()))
                if stamp == self._source_stamp:
                    return dict(found)
        return {}

    def _load_data(self, name: str) -> Any:
        with _open_trusted(self._data_path(name)) as file:
            return pickle.loads(unseal(file.read()))

    def _dump(self, obj: Any) -> bytes:
        return seal(super()._dump(obj))

    def _data_name(self, number: int) -> str:
        """A name that no other process takes, whatever it saves at the same time."""
        return f"{super()._data_name(number)}.{self._mark}.{uuid.uuid4().hex[:12]}"

    @contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[IO[bytes]]:
        """Write a draft, and put it in place; its mode does not depend on the umask."""
        draft = Path(f"{filepath}.{uuid.uuid4().hex[:12]}")
        try:
            with open_private(draft, "xb") as file:
                os.fchmod(file.fileno(), self._mode)
                yield file
            draft.replace(filepath)
        except BaseException:
            with suppress(OSError):
                draft.unlink()
            raise


def _open_trusted(path: str) -> IO[bytes]:
    """Open a file for reading; one that others could have written is a PermissionError."""
    file = open_private(Path(path), "rb")
    found = os.fstat(file.fileno())
    owners = {os.geteuid(), 0}
    with suppress(OSError):  # in an archive it has no owner
        owners.add(_SOURCES.stat().st_uid)
    if stat.S_ISREG(found.st_mode) and found.st_uid in owners and not found.st_mode & _OTHERS_WRITE:
        return file
    file.close()
    raise PermissionError(1, "others could have written it, so it is not read", path)


class _Naming(CompileResultCacheImpl):
    """Names a function's files; Numba's own would look for a folder too."""

    def __init__(self, function: Callable[..., Any]) -> None:
        code = function.__code__
        self._locator = self
        self._py_file, self._lineno = code.co_filename, code.co_firstlineno
        name = f"{Path(code.co_filename).stem}.{function.__qualname__}"
        self._filename_base = self.get_filename_base(name, "")

    def get_disambiguator(self) -> str:
        """Tell apart functions of one name."""
        return str(self._lineno)


@lru_cache(maxsize=1)
def folders() -> tuple[Path, ...]:
    """Folders that may be read, best first; the first that can be written takes what is new.

    Examples
    --------
    >>> all(folder.is_dir() for folder in folders())
    True
    """
    beside = (_BESIDE,) if _is_as_safe_as(_SOURCES, _BESIDE) else ()
    if beside and os.access(_BESIDE, os.W_OK):
        return beside
    own = next((folder for folder in _own() if _can_keep(folder)), None)
    return beside if own is None else (*beside, own)


def _packages(function: Callable[..., Any]) -> tuple[str, ...]:
    """Packages beside this one whose kernels may be compiled into a function: its own."""
    own = function.__module__.rpartition(".")[0]
    return () if own == __package__ else (own,)


@cache
def source_stamp(*more: str) -> str:
    """Tells kernels from those of other versions, also where the package is in an archive.

    Those of this package, and of more by their names.
    """
    digest = hashlib.sha256()
    for package in ("streamjoin.core.kernels", *more):
        for file in sorted(files(package).iterdir(), key=lambda file: file.name):
            if file.name.endswith((".py", ".pyc")):
                digest.update(file.read_bytes())
    return digest.hexdigest()


def _own() -> list[Path]:
    """Where a folder of our own may be: of the user, and of Spark's executor."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    local = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
    places = [Path(cache) / "streamjoin"] if os.path.isabs(cache) else []
    places += [Path(local)] if local else []
    return [place / f"{_NAME}-{source_stamp()[:12]}" for place in places]


def _can_keep(folder: Path) -> bool:
    """Whether a folder, made if it is not there, is private and can be written."""
    try:
        make_private(folder)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


def _is_as_safe_as(sources: Path, folder: Path) -> bool:
    """Whether who may write to this folder may write to the sources too."""
    with suppress(OSError):
        folder.mkdir(mode=0o755, exist_ok=True)
    try:
        found, beside = folder.lstat(), sources.stat()
    except OSError:
        return False
    opened = found.st_mode & ~beside.st_mode & _OTHERS_WRITE
    is_known = found.st_uid in (os.geteuid(), beside.st_uid, 0)
    return stat.S_ISDIR(found.st_mode) and is_known and not opened
