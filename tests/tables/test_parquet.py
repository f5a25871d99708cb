"""Parquet folders: what is found in them, and what changes."""

import decimal
import errno
import logging
import os
import pickle
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamjoin.errors import ConfigError, DataError, TableError
from streamjoin.tables import copies, key_index
from streamjoin.tables.base import Changes
from streamjoin.tables.parquet import OpenParquet, parquet_table
from streamjoin.tables.parquet_files import Reader, Stamp
from tests.tables.folders import Row, check, keys, write

ID = [pa.int64()]
DECIMAL = pa.decimal128(9, 2)
KINDS: dict[str, tuple[list[pa.DataType], st.SearchStrategy[Any]]] = {
    "integer": ([pa.int32()], st.tuples(st.integers(-3, 9) | st.none())),
    "string": ([pa.string()], st.tuples(st.sampled_from(["", "a", "ab", "ä" * 20, None]))),
    "decimal": ([DECIMAL], st.tuples(st.sampled_from([decimal.Decimal(i) / 4 for i in range(9)]))),
    "two": ([pa.int64(), pa.string()], st.tuples(st.integers(0, 2), st.sampled_from("abc"))),
}


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[pa.DataType], list[dict[int, list[Row] | None]]]:
    """What is written to which file, step by step; None removes it."""
    kinds, values = KINDS[draw(st.sampled_from(sorted(KINDS)))]
    rows = st.lists(st.builds(lambda k, v: (*k, v), values, st.integers(0, 99)), max_size=8)
    steps = st.dictionaries(st.integers(0, 3), st.none() | rows, max_size=3)
    return kinds, [{0: draw(rows)}, *draw(st.lists(steps, min_size=1, max_size=4))]


@given(histories(), st.booleans(), st.data())
def test_a_folder_is_what_its_files_are(
    history: tuple[list[pa.DataType], list[dict[int, list[Row] | None]]],
    copy: bool,
    data: st.DataObject,
) -> None:
    kinds, steps = history
    universe = [row for step in steps for rows in step.values() for row in rows or []]
    files: dict[int, list[Row]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder, index = Path(name) / "table", Path(name) / "index"
        folder.mkdir()
        table: OpenParquet | None = None
        for step in steps:
            before = dict(files)
            for file, rows in step.items():
                path = folder / f"{file}.parquet"
                if rows is not None:
                    write(path, rows, kinds)
                    files[file] = rows
                elif len(files) > 1:
                    path.unlink(missing_ok=True)
                    files.pop(file, None)
            if table is None or data.draw(st.booleans()):
                described = parquet_table(folder, [f"k{i}" for i in range(len(kinds))], copy=copy)
                table = pickle.loads(pickle.dumps(described)).open(index, memory=0)
            else:
                version, changes = table.version, table.refresh()
                _check_changes(table, changes, before, files, universe, kinds)
                assert (table.version == version) == (changes is None)
                assert changes is not None or before == files
            check(table, [row for rows in files.values() for row in rows], universe, kinds)


def _check_changes(
    table: OpenParquet,
    changes: Changes | None,
    before: dict[int, list[Row]],
    after: dict[int, list[Row]],
    wanted: list[Row],
    kinds: list[pa.DataType],
) -> None:
    """A key whose rows have changed is touched; the rows of new partitions are new."""
    n = len(kinds)
    marks = table.touched(changes or Changes(), keys(wanted, kinds)).tolist() if wanted else []
    for row, touched in zip(wanted, marks, strict=True):
        was, now = (
            sorted(r for rows in files.values() for r in rows if r[:n] == row[:n])
            for files in (before, after)
        )
        assert touched or was == now or None in row[:n]


def test_only_new_files_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "table"
    folder.mkdir()
    for i in range(3):
        write(folder / f"{i}.parquet", [(i, 0)], ID)
    table = parquet_table(folder, "k0").open(tmp_path / "index", 10**6)
    read: list[str] = []
    parts = Reader.parts

    def counted(
        self: Reader, path: str, stamp: Stamp, group: int, columns: list[str]
    ) -> Iterator[pa.Table]:
        read.append(path)
        return parts(self, path, stamp, group, columns)

    monkeypatch.setattr(Reader, "parts", counted)
    for i in range(3, 15):  # enough that segments are merged
        write(folder / f"{i}.parquet", [(i, 0), (i - 1, 1)], ID)
        changes = table.refresh()
        assert changes == Changes(added=(i,))
    assert [Path(path).stem for path in read] == [str(i) for i in range(3, 15)]
    assert table.refresh() is None
    (folder / "4.parquet").unlink()
    assert table.refresh() == Changes(removed=(4,))
    assert table.touched(Changes(removed=(4,)), [pa.array([2, 3, 4, 5])]).tolist() == [
        False, True, True, False,
    ]  # fmt: skip
    again = parquet_table(folder, "k0").open(tmp_path / "index", 10**6)
    assert len(read) == 12
    assert again.version == table.version
    assert again.look_up([pa.array([4])]).to_pylist() == [{"k0": 4, "v": 1}]
    assert len(list((tmp_path / "index").glob("*/*.keys"))) <= 8


@pytest.mark.parametrize("damage", ["truncated", "flipped", "missing", "list", "leftover"])
def test_a_damaged_index_is_made_again(
    tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    rows = [(i, i) for i in range(2000)]
    folder = tmp_path / "table"
    folder.mkdir()
    write(folder / "a.parquet", rows, ID, group=700)
    parquet_table(folder, "k0").open(tmp_path / "index", 10**6).close()
    (keys_file,) = (tmp_path / "index").glob("*/*.keys")
    stored = keys_file.read_bytes()
    if damage == "truncated":
        keys_file.write_bytes(stored[:-9])
    elif damage == "flipped":
        keys_file.write_bytes(stored[:800] + bytes([stored[800] ^ 1]) + stored[801:])
    elif damage == "missing":
        keys_file.unlink()
    elif damage == "list":
        (keys_file.parent / "index.json").write_text("00000000\n{}")
    else:
        (keys_file.parent / "run-of-a-crash.keys").write_bytes(b"x")
        write(folder / "b.parquet", [(-1, -1)], ID)
        rows.append((-1, -1))
    with caplog.at_level(logging.WARNING):
        table = parquet_table(folder, "k0").open(tmp_path / "index", 10**6)
    assert bool(caplog.records) == (damage != "leftover")
    assert not (keys_file.parent / "run-of-a-crash.keys").exists()
    check(table, rows, [(5, 0), (1999, 0), (2000, 0), (-1, 0)], ID)


def test_damaged_files_are_named(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", [(i, i) for i in range(50)], ID)
    table = parquet_table(tmp_path, "k0").open(None, 10**6)
    version = table.version
    (tmp_path / "b.parquet").write_bytes(b"PAR1 no PAR1")
    with pytest.raises(TableError, match=r"b\.parquet cannot be read.*write the file again"):
        table.refresh()
    assert table.version == version  # as if nothing had been looked at
    assert table.look_up([pa.array([7])]).num_rows == 1
    (tmp_path / "b.parquet").unlink()
    write(tmp_path / "c.parquet", [(50, 0)], ID)
    assert table.refresh() == Changes(added=(17,))
    damaged = tmp_path / "c.parquet"
    stored, stamp = damaged.read_bytes(), damaged.stat().st_mtime_ns
    damaged.write_bytes(b"PAR1" + b"\xff" * 60 + stored[64:])
    os.utime(damaged, ns=(stamp, stamp))
    table.close()
    with pytest.raises(TableError, match=r"c\.parquet cannot be read"):
        table.scan(17)
    write(tmp_path / "a.parquet", [(7, 0)], ID)
    with pytest.raises(TableError, match=r"a\.parquet cannot be read: .* another size or date"):
        table.scan(0)  # not the rows of another file


def test_other_columns_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", [(1, 1)], ID)
    described = parquet_table(tmp_path, "k0")
    pq.write_table(pa.table({"k0": [1]}), tmp_path / "b.parquet")
    with pytest.raises(DataError, match=r"b\.parquet has no column 'v'"):
        described.open(None, 10**6).scan(1)
    pq.write_table(pa.table({"k0": ["x"], "v": [1]}), tmp_path / "b.parquet")
    with pytest.raises(DataError, match=r"b\.parquet has columns of other types"):
        described.open(None, 10**6)
    with pytest.raises(DataError, match="got string for the table's key 'k0'; allowed: int64"):
        parquet_table(tmp_path / "a.parquet", "k0").open(None, 10**6).locate([pa.array(["1"])])


def test_paths_that_are_no_table(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="has no Parquet file"):
        parquet_table(tmp_path, "id")
    with pytest.raises(TableError, match="is not there"):
        parquet_table(tmp_path / "nothing", "id")
    (tmp_path / "day=1").mkdir()
    write(tmp_path / "day=1" / "a.parquet", [(1, 1)], ID)
    with pytest.raises(ConfigError, match="a column in the names of its folders"):
        parquet_table(tmp_path, "k0")
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / "_delta_log" / "0.json").write_text("{}")
    with pytest.raises(ConfigError, match="is a Delta table"):
        parquet_table(tmp_path, "k0")


def test_keys_that_are_promised_once(tmp_path: Path) -> None:
    kinds = [pa.string()]
    write(tmp_path / "a.parquet", [("a", 1), ("b", 1), (None, 1), (None, 2)], kinds)
    once = parquet_table(tmp_path, "k0", unique=True).open(tmp_path / "index", 10**6)
    write(tmp_path / "a.parquet", [("b", 2), ("c", 1)], kinds)
    once.refresh()  # another file in place of it is no duplicate
    write(tmp_path / "b.parquet", [("c", 3)], kinds)
    with pytest.raises(DataError, match="more than one row with k0='c'; allowed: one row for each"):
        once.refresh()
    with pytest.raises(DataError, match="k0='c'"):  # and the next time too
        parquet_table(tmp_path, "k0", unique=True).open(tmp_path / "index", 10**6)
    (tmp_path / "b.parquet").unlink()
    parquet_table(tmp_path, "k0", unique=True).open(tmp_path / "index", 10**6)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", [(1, 1)], ID)
    (tmp_path / "file").write_text("")
    with pytest.raises(TableError, match=r"folder: .*file.* cannot be used"):
        parquet_table(tmp_path, "k0").open(tmp_path / "file", 10**6)


@pytest.mark.parametrize("copy", [False, True])
def test_a_full_disk_changes_nothing(
    tmp_path: Path, copy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "table"
    folder.mkdir()
    write(folder / "a.parquet", [(1, 1)], ID)
    table = parquet_table(folder, "k0", copy=copy).open(tmp_path / "index", 10**6)
    write(folder / "b.parquet", [(2, 2)], ID)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(key_index, "write_segment", full)
        with pytest.raises(
            TableError, match=r"cannot be written to .* \(No space left on device\)"
        ):
            table.refresh()
    check(table, [(1, 1)], [(1, 0), (2, 0)], ID)
    assert table.refresh() == Changes(added=(1,))
    check(table, [(1, 1), (2, 2)], [(1, 0), (2, 0)], ID)


@pytest.mark.parametrize("copy", [False, True])
def test_what_another_process_has_indexed(tmp_path: Path, copy: bool) -> None:
    folder = tmp_path / "table"
    folder.mkdir()
    for name in "ab":
        write(folder / f"{name}.parquet", [(1, 1), (2, 2)], ID)
    described = parquet_table(folder, "k0", copy=copy)
    one, other = (described.open(tmp_path / "index", 0) for _ in range(2))
    for table in (one, other):
        check(table, [(1, 1), (2, 2)] * 2, [(1, 0)], ID)  # its files are open now
    write(folder / "a.parquet", [(3, 3), (1, 9)], ID)
    changes = Changes(added=(2,), removed=(0,))
    for table in (one, other):
        assert table.refresh() == changes
        check(table, [(3, 3), (1, 9), (1, 1), (2, 2)], [(1, 0), (3, 0)], ID)
        touched = table.touched(changes, [pa.array([1, 2, 3, 4])])
        assert touched.tolist() == [True, True, True, False]


def test_many_may_open_it_at_once(tmp_path: Path) -> None:
    rows = [(i, i) for i in range(3000)]
    write(tmp_path / "a.parquet", rows, ID, group=500)
    described = parquet_table(tmp_path, "k0", copy=True)
    with ThreadPoolExecutor(4) as pool:
        opened = list(pool.map(lambda _: described.open(tmp_path / "index", 0), range(4)))
    assert len(list((tmp_path / "index").glob("*/*.keys"))) == 1  # made by one of them
    for table in opened:
        check(table, rows, rows[::7], ID)


def test_dictionaries_and_chosen_columns(tmp_path: Path) -> None:
    rows = pa.table({"k": pa.array(["a", "b"]).dictionary_encode(), "v": [1, 2], "w": [3, 4]})
    pq.write_table(rows, tmp_path / "a.parquet")
    table = parquet_table(tmp_path, "k", columns=["w"]).open(None, 10**6)
    assert table.look_up([pa.array(["b", None])]).to_pylist() == [{"k": "b", "w": 4}]
    assert table.look_up([pa.array(["b"])], ["w"]).to_pylist() == [{"w": 4}]
    assert table.bytes_per_row > 8
    with pytest.raises(DataError, match="columns: the table has no column 'v'"):
        table.scan(0, ["v"])


def test_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Row groups of any size become small parts, and a part is found by its row."""
    monkeypatch.setattr(copies, "_PART_ROWS", (2, 4))
    rows = [(i % 300 or None, i) for i in range(500)]
    folder = tmp_path / "table"
    folder.mkdir()
    write(folder / "a.parquet", rows[:280], ID, group=200)
    write(folder / "b.parquet", rows[280:], ID, group=3)
    described = parquet_table(folder, "k0", copy=True)
    one, other = (described.open(tmp_path / "index", 10**6) for _ in range(2))
    assert one.partition_rows.tolist() == [4] * 125
    wanted = [(i, 0) for i in (7, 299, 0, 1, 290, 444, 7)]
    check(one, rows, wanted, ID)
    write(folder / "b.parquet", rows[300:], ID)
    assert one.refresh() == Changes(False, tuple(range(125, 175)), tuple(range(70, 125)))
    check(one, rows[:280] + rows[300:], wanted, ID)
    check(other, rows, wanted, ID)  # it holds what it began with
    other.close()
    with pytest.raises(
        TableError, match=r"the copy of .*b\.parquet was removed.*refresh the table"
    ):
        other.scan(70)
    other.refresh()
    check(other, rows[:280] + rows[300:], wanted, ID)
    made = sorted((tmp_path / "index").glob("*/copies/*"))
    assert len(made) == 2
    made[0].write_bytes(made[0].read_bytes()[:-9])
    check(described.open(tmp_path / "index", 10**6), rows[:280] + rows[300:], wanted, ID)


def test_other_numbers_of_partitions_are_another_version(tmp_path: Path) -> None:
    """An index that grew numbers files as they came, a new one by name."""
    files = tmp_path / "table"
    files.mkdir()
    pq.write_table(pa.table({"id": [1, 2]}), files / "b.parquet")
    table = parquet_table(files, key="id")
    grown = table.open(tmp_path / "first", 10**6)
    pq.write_table(pa.table({"id": [3, 4, 5]}), files / "a.parquet")
    grown.refresh()
    new, again = (table.open(tmp_path / name, 10**6) for name in ("second", "third"))
    assert grown.partition_rows.tolist() == [2, 3]
    assert new.partition_rows.tolist() == [3, 2]
    assert grown.version != new.version == again.version
