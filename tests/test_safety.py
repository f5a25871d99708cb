"""Nobody else reads what is written here, no data is pickled, nothing listens beyond loopback."""

import ast
import os
import re
import socket
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pyarrow as pa
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from pyspark.sql import SparkSession

from scripts.check_docs import ROOT
from streamjoin._private import make_private, open_private
from streamjoin.dashboard.server import start_dashboard
from streamjoin.errors import TableError
from streamjoin.metrics.prometheus import start_exporter
from streamjoin.metrics.records import Ended, RecordFile
from streamjoin.spark.store import SparkStore, local_folder
from streamjoin.tables.parquet import parquet_table
from tests.spark.test_store import BLOB, WINDOW, FakeMapState
from tests.tables.folders import write

ID = [pa.int64()]
ROWS = [(i, 10 * i) for i in range(9)]
KERNEL_CACHE = "src/streamjoin/core/kernels/_cache.py"
"""Numba's compiled functions are pickles; this reads its own files only."""


@pytest.fixture(autouse=True)
def _open_to_all() -> Iterator[None]:
    """The most careless umask there is."""
    before = os.umask(0)
    yield
    os.umask(before)


def modes(folder: Path) -> set[str]:
    found = [folder, *folder.rglob("*")]
    return {
        f"{'folder' if path.is_dir() else 'file'} {path.stat().st_mode & 0o777:o}" for path in found
    }


def test_nothing_is_pickled_but_kernels() -> None:
    refused = {"pickle", "cPickle", "cloudpickle", "dill", "joblib", "marshal", "shelve"}
    for path in set((ROOT / "src").rglob("*.py")) - {ROOT / KERNEL_CACHE}:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            assert not refused & {name.split(".")[0] for name in names}, path
            assert not (isinstance(node, ast.keyword) and node.arg == "allow_pickle"), path


def test_files_on_local_disks_are_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path / "local"))
    folder = local_folder("join", 3)
    store = SparkStore(FakeMapState(), folder)
    store.put(0, WINDOW, BLOB)
    store.put_hint("sketch", b"counts")
    write(tmp_path / "t.parquet", ROWS, ID)
    parquet_table(tmp_path / "t.parquet", "k0", copy=True).open(tmp_path / "index", 10**6).close()
    RecordFile(tmp_path / "records" / "query").write(Ended(at=1.0))
    for made in ("local", "index", "records"):
        assert modes(tmp_path / made) == {"folder 700", "file 600"}


def test_a_temporary_index_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    write(tmp_path / "t.parquet", ROWS, ID)
    table = parquet_table(tmp_path / "t.parquet", "k0").open(None, 10**6)
    (folder,) = tmp_path.glob("streamjoin-*")
    assert modes(folder) == {"folder 700", "file 600"}
    table.close()
    assert not folder.exists()


def as_link(folder: Path, _: pytest.MonkeyPatch) -> None:
    (folder.parent / "elsewhere").mkdir()
    folder.symlink_to(folder.parent / "elsewhere")


def as_dangling_link(folder: Path, _: pytest.MonkeyPatch) -> None:
    folder.symlink_to(folder.parent / "not there")


def as_open_folder(folder: Path, _: pytest.MonkeyPatch) -> None:
    folder.mkdir(mode=0o777)


def as_someone_elses(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir(mode=0o700)
    monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)


def below_an_open_folder(folder: Path, _: pytest.MonkeyPatch) -> None:
    folder.mkdir(mode=0o700)
    folder.parent.chmod(0o777)


def below_a_folder_of_a_group(folder: Path, _: pytest.MonkeyPatch) -> None:
    folder.mkdir(mode=0o700)
    folder.parent.chmod(0o770)
    folder.parent.parent.chmod(0o750)


LAID = [
    as_link, as_dangling_link, as_open_folder, as_someone_elses, below_an_open_folder,
    below_a_folder_of_a_group,
]  # fmt: skip


@pytest.mark.parametrize("laid", LAID)
def test_a_folder_that_others_laid_out_is_refused(
    tmp_path: Path,
    laid: Callable[[Path, pytest.MonkeyPatch], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    local = tmp_path / "spark" / "local"
    local.mkdir(parents=True, mode=0o700)
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(local))
    laid(local / "streamjoin-join", monkeypatch)
    assert local_folder("join", 3) is None
    with pytest.raises(OSError, match=r"so it is not used|File exists"):
        make_private(local / "streamjoin-join")


def test_a_folder_below_someone_elses_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tmp_path / "theirs" / "mine"
    make_private(mine)
    whole = Path.stat

    def theirs(path: Path, **arguments: bool) -> os.stat_result:
        found = whole(path, **arguments)
        return os.stat_result((*found[:4], 12345, *found[5:])) if path == mine.parent else found

    monkeypatch.setattr(Path, "stat", theirs)
    with pytest.raises(PermissionError, match="the folder above it belongs to someone else"):
        make_private(mine)


def test_a_group_that_cannot_enter_cannot_put_a_folder_there(tmp_path: Path) -> None:
    local = tmp_path / "closed" / "local"
    local.mkdir(parents=True)
    local.parent.chmod(0o700)
    local.chmod(0o770)
    make_private(local / "mine")
    local.parent.chmod(0o701)
    with pytest.raises(PermissionError, match="others can write to the folder above it"):
        make_private(local / "mine")


def test_an_index_folder_that_others_laid_out_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "t.parquet", ROWS, ID)
    table = parquet_table(tmp_path / "t.parquet", "k0")
    table.open(tmp_path / "index", 10**6).close()
    (own,) = (tmp_path / "index").iterdir()
    own.chmod(0o777)
    with pytest.raises(TableError, match=r"cannot be used \(others can write to it.*nobody else"):
        table.open(tmp_path / "index", 10**6)


def test_a_folder_that_others_could_read_is_closed(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir(mode=0o755)
    make_private(tmp_path / "mine")
    assert stat.S_IMODE((tmp_path / "mine").stat().st_mode) == 0o700


def test_a_file_is_not_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("kept")
    (tmp_path / "file").symlink_to(tmp_path / "precious")
    with pytest.raises(OSError, match="symbolic link"):
        open_private(tmp_path / "file", "wb")
    assert (tmp_path / "precious").read_text() == "kept"


def below(root: int) -> set[int]:
    """A process and all that it has started, at any depth."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(entry.name)] = int(fields[1])
    found = {root}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def listening(pids: set[int]) -> set[str]:
    """Addresses, as Linux writes them, of the TCP sockets on which these processes listen."""
    inodes = set()
    for pid in pids:
        with suppress(FileNotFoundError):  # it has ended meanwhile
            for link in Path(f"/proc/{pid}/fd").iterdir():
                with suppress(FileNotFoundError):  # it was that of this very look
                    inodes.add(os.readlink(link).removeprefix("socket:[").removesuffix("]"))
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                found.add(fields[1].rpartition(":")[0])
    return found


LOOPBACK = {
    "0100007F",  # 127.0.0.1
    "0000000000000000FFFF00000100007F",  # the same, within IPv6
    "00000000000000000000000001000000",  # ::1
}


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="needs Linux's /proc")
def test_pages_and_numbers_are_served_to_this_machine_only(tmp_path: Path) -> None:
    before = listening({os.getpid()})
    with start_dashboard([tmp_path], port=0), start_exporter(0):
        assert listening({os.getpid()}) - before <= LOOPBACK
        assert listening({os.getpid()}) & LOOPBACK
    with socket.create_server(("0.0.0.0", 0)):  # what would be noticed
        assert not listening({os.getpid()}) <= LOOPBACK


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="needs Linux's /proc")
def test_a_local_spark_listens_to_this_machine_only(spark: SparkSession) -> None:
    assert spark.range(10).mapInArrow(lambda parts: parts, "id long").count() == 10
    found = listening(below(os.getpid()))
    assert found
    assert found <= LOOPBACK


def locked() -> list[Requirement]:
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    return [Requirement(line) for line in lines if line and line[0] != "#"]


def needed() -> set[str]:
    """Everything that is installed because an extra of this project asks for it."""
    found: set[str] = set()
    waiting = [("streamjoin", extra) for extra in ("", *extras())]
    seen = set()
    while waiting:
        package = waiting.pop()
        if package in seen:
            continue
        seen.add(package)
        try:
            wanted = [Requirement(text) for text in requires(package[0]) or ()]
        except PackageNotFoundError:  # for another system or Python
            continue
        if package[0] != "streamjoin":
            found.add(package[0])
        for one in wanted:
            if one.marker is None or one.marker.evaluate({"extra": package[1]}):
                name = canonicalize_name(one.name)
                waiting += [(name, extra) for extra in ("", *one.extras)]
    return found


def extras() -> list[str]:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    section = text.partition("[project.optional-dependencies]")[2].partition("\n[")[0]
    return re.findall(r"^(\w+) = \[", section, re.MULTILINE)


def test_every_dependency_is_pinned() -> None:
    assert {"spark", "dev"} <= set(extras())
    assert needed() - {canonicalize_name(one.name) for one in locked()} == set()
    for one in locked():
        (version,) = one.specifier
        assert version.operator == "==", one
        assert "*" not in version.version, one
