"""Damaged files, full disks, processes that die: one sentence, and nothing wrong is believed."""

import errno
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamjoin.errors import DataError, TableError
from streamjoin.tables import copies, key_segments
from streamjoin.tables.base import Changes
from streamjoin.tables.parquet import ParquetTable, parquet_table
from streamjoin.tables.parquet_files import Reader, Stamp
from tests.tables.folders import check, write

ID = [pa.int64()]
ROWS = [(i, 3 * i) for i in range(3000)]


@pytest.fixture
def table(tmp_path: Path) -> ParquetTable:
    """Two files in a folder of their own."""
    folder = tmp_path / "table"
    folder.mkdir()
    write(folder / "a.parquet", ROWS[:1000], ID, group=400)
    write(folder / "b.parquet", ROWS[1000:], ID, group=400)
    return parquet_table(folder, "k0", copy=True)


def damaged(stored: bytes, kind: str) -> bytes:
    if kind == "empty":
        return b""
    if kind == "truncated":
        return stored[: len(stored) // 2]
    if kind == "footer":
        return stored[:-200] + os.urandom(192) + stored[-8:]
    at = 200  # in a page of keys
    return stored[:at] + bytes(byte ^ 0xFF for byte in stored[at : at + 20]) + stored[at + 20 :]


@pytest.mark.parametrize("kind", ["empty", "truncated", "footer", "page"])
@pytest.mark.parametrize("copy", [False, True])
def test_a_damaged_file_is_named_and_can_be_written_again(
    tmp_path: Path, kind: str, copy: bool
) -> None:
    folder = tmp_path / "table"
    folder.mkdir()
    write(folder / "a.parquet", ROWS[:10], ID)
    described = parquet_table(folder, "k0", copy=copy)
    rows = pa.table({"k0": range(10, 1000), "v": range(30, 3000, 3)})
    pq.write_table(rows, folder / "b.parquet", write_page_checksum=True)
    good = (folder / "b.parquet").read_bytes()
    (folder / "b.parquet").write_bytes(damaged(good, kind))
    message = r"the file .*b\.parquet cannot be read: it is damaged.*; refresh .*write the file"
    for _ in range(2):
        with pytest.raises(TableError, match=message) as raised:
            described.open(tmp_path / "index", 10**6)
        assert "\n" not in str(raised.value)
    (folder / "b.parquet").write_bytes(good)
    check(described.open(tmp_path / "index", 10**6), ROWS[:1000], ROWS[::7], ID)


@pytest.mark.parametrize("copy", [False, True])
def test_a_column_that_one_file_lacks(tmp_path: Path, copy: bool) -> None:
    write(tmp_path / "a.parquet", [(1, 1)], ID)
    table = parquet_table(tmp_path, "k0", copy=copy).open(None, 10**6)
    pq.write_table(pa.table({"k0": [2]}), tmp_path / "b.parquet")
    with pytest.raises(DataError, match=r"b\.parquet has no column 'v', which other files"):
        table.refresh()
    check(table, [(1, 1)], [(1, 0), (2, 0)], ID)


def test_a_file_that_is_gone_when_it_is_read(tmp_path: Path) -> None:
    for name in "ab":
        write(tmp_path / f"{name}.parquet", [(1, 1)], ID)
    table = parquet_table(tmp_path, "k0").open(tmp_path / "index", 10**6)
    table.close()
    (tmp_path / "b.parquet").unlink()
    with pytest.raises(TableError, match=r"b\.parquet cannot be read.*\(it is no longer there\)"):
        table.look_up([pa.array([1])])
    assert table.refresh() == Changes(removed=(1,))
    assert table.look_up([pa.array([1])]).num_rows == 1


def test_a_file_that_goes_while_it_is_indexed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abc":
        write(tmp_path / f"{name}.parquet", [(1, 1)], ID)
    rows_of = Reader.rows_of

    def late(self: Reader, path: str, stamp: Stamp) -> tuple[int, ...]:
        (tmp_path / "b.parquet").unlink(missing_ok=True)
        return rows_of(self, path, stamp)

    monkeypatch.setattr(Reader, "rows_of", late)
    table = parquet_table(tmp_path, "k0").open(tmp_path / "index", 10**6)
    check(table, [(1, 1)] * 2, [(1, 0)], ID)


def test_a_disk_that_is_full_while_rows_are_copied(
    tmp_path: Path, table: ParquetTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
        path.write_bytes(b"ARROW1 half of it")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(copies, "_write", full)
        with pytest.raises(TableError, match=r"cannot be written to .*index.* \(No space left"):
            table.open(tmp_path / "index", 10**6)
    assert not [path for path in tmp_path.glob("index/*/copies/*") if path.is_file()]
    check(table.open(tmp_path / "index", 10**6), ROWS, ROWS[::7], ID)


def test_a_disk_that_is_full_while_keys_are_sorted(
    tmp_path: Path, table: ParquetTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, mode: str) -> None:
        path.write_bytes(b"half of it")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(key_segments, "_LEAST_ENTRIES", 1000)
    with monkeypatch.context() as patch:
        patch.setattr(key_segments, "open_private", full)
        with pytest.raises(TableError, match=r"cannot be written to .*index.* \(No space left"):
            table.open(tmp_path / "index", 0)
    assert {path.name for path in tmp_path.glob("index/*/*")} == {"lock", "copies"}
    check(table.open(tmp_path / "index", 0), ROWS, ROWS[::7], ID)


OPEN = """
import os, sys
from pathlib import Path
import pyarrow as pa
from streamjoin.tables.key_index import Contents
from streamjoin.tables.parquet import parquet_table
base = Path(sys.argv[1])
if sys.argv[2] == "dies":
    Contents.save = lambda *_: os._exit(9)
print("ready", flush=True)
sys.stdin.readline()
table = parquet_table(base / "table", "k0", copy=True).open(base / "index", 10**6)
print(table.version, table.look_up([pa.array([7, 2999])]).num_rows)
"""


def test_processes_at_once_and_one_that_dies(tmp_path: Path, table: ParquetTable) -> None:
    """One has written all but the list that says so: of the next two, one makes it again."""
    command, pipe = [sys.executable, "-c", OPEN, str(tmp_path)], subprocess.PIPE
    dying, living = (
        subprocess.Popen([*command, how], stdin=pipe, stdout=pipe, text=True)
        for how in ("dies", "lives")
    )
    assert dying.communicate("\n", timeout=60)[0] == "ready\n"
    assert len(list(tmp_path.glob("index/*/*.keys"))) == 1
    assert living.stdin is not None
    assert living.stdout is not None
    assert living.stdout.readline() == "ready\n"
    living.stdin.write("\n")
    living.stdin.flush()
    opened = table.open(tmp_path / "index", 10**6)
    assert living.communicate(timeout=60)[0] == f"{opened.version} 2\n"
    check(opened, ROWS, ROWS[::7], ID)
    assert len(list(tmp_path.glob("index/*/*.keys"))) == 1
    assert len(list(tmp_path.glob("index/*/copies/*"))) == 2
