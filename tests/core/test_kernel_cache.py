import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

import streamjoin
from streamjoin.core.kernels import _cache
from streamjoin.core.kernels._cache import _CacheFile, folders

PROGRAM = """
import numpy as np
from streamjoin.core.kernels import _cache
from streamjoin.core.kernels.counting import pairs_by_difference as kernel
out, cells = np.zeros(3), np.array([5, 6])
kernel(cells, np.array([2, 1]), cells, np.array([10, 1]), -1, out)
assert out.tolist() == [2.0, 21.0, 10.0]
print(len(_cache.folders()), sum(kernel.stats.cache_hits.values()))
"""


def cache_file(folder: Path) -> _CacheFile:
    return _CacheFile(folder, "kernel", _cache.source_stamp())


def without_roots_rights() -> list[str]:
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("root may write everywhere, and setpriv (Debian: util-linux) is missing")
    return ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all"]


@pytest.fixture
def read_only(tmp_path: Path) -> Path:
    """A folder with the package and an empty home, neither of which can be written."""
    source = Path(streamjoin.__file__).parent
    ignored = shutil.ignore_patterns("__pycache__", "static", "repro", "bench", "spark", "cli")
    shutil.copytree(source, tmp_path / "site" / "streamjoin", ignore=ignored)
    (tmp_path / "home").mkdir()
    for folder in (tmp_path / "home", *(p for p in tmp_path.rglob("*") if p.is_dir())):
        folder.chmod(0o555)
    return tmp_path


def run(place: Path, local: Path | None) -> tuple[int, int]:
    """How many folders the kernels of a new process have, and how many it found compiled."""
    kept = {k: v for k, v in os.environ.items() if k not in ("XDG_CACHE_HOME", "SPARK_LOCAL_DIRS")}
    environment = {**kept, "HOME": str(place / "home"), "PYTHONPATH": str(place / "site")}
    if local is not None:
        environment["SPARK_LOCAL_DIRS"] = str(local)
    said = subprocess.run(
        [*without_roots_rights(), sys.executable, "-c", PROGRAM],
        env=environment,
        cwd=place,
        check=True,
        capture_output=True,
        text=True,
    )
    n_folders, n_hits = map(int, said.stdout.split())
    return n_folders, n_hits


def test_a_read_only_package_is_compiled_once_for_an_executor(
    read_only: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    local = tmp_path_factory.mktemp("blockmgr")
    assert run(read_only, local) == (1, 0)
    assert run(read_only, local) == (1, 1)
    (kept,) = local.iterdir()
    assert kept.stat().st_mode & 0o777 == 0o700


def test_with_no_folder_at_all_kernels_are_compiled_and_run(read_only: Path) -> None:
    assert run(read_only, None) == (0, 0)


def test_what_an_image_brings_is_read_though_nothing_can_be_written(read_only: Path) -> None:
    kernels = read_only / "site" / "streamjoin" / "core" / "kernels"
    kernels.chmod(0o755)
    assert run(read_only, None) == (1, 0)
    for folder in (kernels / "__pycache__", kernels):
        folder.chmod(0o555)
    assert run(read_only, None) == (1, 1)


def test_a_folder_that_others_can_write_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_cache, "_BESIDE", tmp_path / "not" / "there")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path / "spark"))
    (mine,) = folders.__wrapped__()
    assert mine.is_relative_to(tmp_path / "user")
    mine.chmod(0o770)
    (other,) = folders.__wrapped__()
    assert other.is_relative_to(tmp_path / "spark")
    other.parent.chmod(0o777)  # others could put their own in its place
    assert folders.__wrapped__() == ()


def test_a_folder_beside_the_source_is_no_more_open_than_the_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = tmp_path / "__pycache__"
    beside.mkdir()
    assert _cache._is_as_safe_as(tmp_path, beside)
    beside.chmod(0o777)
    assert not _cache._is_as_safe_as(tmp_path, beside)
    beside.chmod(0o755)
    owner = beside.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    assert _cache._is_as_safe_as(tmp_path, beside)  # the source's owner is trusted anyway


def test_two_processes_that_save_at_once_never_take_one_file_for_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = (cache_file(tmp_path) for _ in range(2))
    with monkeypatch.context() as patched:
        patched.setattr(two, "_load_index", dict)  # it looked before the other had saved
        one.replace("int64", "code for int64")
        two.replace("float64", "code for float64")
    assert one.load("float64") == "code for float64"
    assert one.load("int64") is None


def test_a_damaged_index_is_begun_again(tmp_path: Path) -> None:
    file = cache_file(tmp_path)
    file.replace("int64", "code")
    (tmp_path / "kernel.nbi").write_bytes(b"")
    file.replace("int64", "code again")
    assert file.load("int64") == "code again"


def test_machine_code_with_a_flipped_bit_is_not_run(tmp_path: Path) -> None:
    file = cache_file(tmp_path)
    file.replace("int64", "machine code")
    (code,) = tmp_path.glob("*.nbc*")
    whole = code.read_bytes()
    for place in range(len(whole)):
        code.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(ValueError, match=r"checksum|mark|version"):
            file.load("int64")
    code.write_bytes(whole)
    assert file.load("int64") == "machine code"
    index = tmp_path / "kernel.nbi"
    whole = index.read_bytes()
    for place in range(len(whole)):
        index.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert file.load("int64") in (None, "machine code")


def test_kernels_of_another_version_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache_file(tmp_path).replace("int64", "code")
    assert cache_file(tmp_path).load("int64") == "code"
    monkeypatch.setattr(_cache, "source_stamp", lambda: "another")
    other = cache_file(tmp_path)
    assert other.load("int64") is None
    other.replace("int64", "new code")
    assert other.load("int64") == "new code"
    assert len(list(tmp_path.iterdir())) == 2  # the old code is gone


@pytest.mark.parametrize("umask", [0, 0o077])
def test_files_have_their_modes_whatever_the_umask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, umask: int
) -> None:
    monkeypatch.setattr(_cache, "_BESIDE", tmp_path / "beside")
    before = os.umask(umask)
    try:
        for name in ("beside", "own"):
            (tmp_path / name).mkdir()
            cache_file(tmp_path / name).replace("int64", "code")
    finally:
        os.umask(before)
    modes = {
        name: {path.stat().st_mode & 0o777 for path in (tmp_path / name).iterdir()}
        for name in ("beside", "own")
    }
    assert modes == {"beside": {0o644}, "own": {0o600}}


class Unpickled:
    """Says so."""

    happened = False

    @classmethod
    def tell(cls) -> str:
        cls.happened = True
        return "code"

    def __reduce__(self) -> tuple[Callable[[], str], tuple[()]]:
        return Unpickled.tell, ()


@pytest.mark.parametrize("kind", ["*.nbi", "*.nbc.*"])
@pytest.mark.parametrize("mode", [0o664, 0o646, 0o644])
def test_a_file_that_others_can_write_is_not_unpickled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, mode: int
) -> None:
    monkeypatch.setattr(Unpickled, "happened", False)
    file = cache_file(tmp_path)
    file.replace("int64", Unpickled())
    (path,) = tmp_path.glob(kind)
    path.chmod(mode)
    is_ours = mode == 0o644
    assert file.load("int64") == ("code" if is_ours else None)
    assert Unpickled.happened == is_ours
    file.replace("int64", "code again")
    assert file.load("int64") == "code again"


def test_a_file_of_an_unknown_owner_is_not_unpickled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Unpickled, "happened", False)
    file = cache_file(tmp_path)
    file.replace("int64", Unpickled())
    mode = os.stat(tmp_path / "kernel.nbi").st_mode
    with monkeypatch.context() as patched:
        patched.setattr(os, "fstat", lambda _: SimpleNamespace(st_mode=mode, st_uid=12345))
        assert file.load("int64") is None
    assert not Unpickled.happened
    assert file.load("int64") == "code"


def test_two_processes_that_find_an_old_cache_leave_each_others_kernels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache_file(tmp_path).replace("int64", "old code")
    (old,) = tmp_path.glob("*.nbc.*")
    monkeypatch.setattr(_cache, "source_stamp", lambda: "another")
    one, two = (cache_file(tmp_path) for _ in range(2))
    one.replace("int64", "code")
    (new,) = tmp_path.glob("*.nbc.*")
    assert new != old
    monkeypatch.setattr(two, "_load_index", dict)  # it looked before the other had saved
    two.replace("int64", "code")
    assert new.exists()
