"""A flipped bit, wherever: it is named, or what it hit is read or made again."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from streamjoin.core.index import HashIndex
from streamjoin.core.sealed import seal
from streamjoin.errors import StateError
from streamjoin.joins.channel import Channel, Run
from streamjoin.joins.routing import HotKey
from streamjoin.spark import store as spark_store
from streamjoin.spark.processor import read_agreed
from streamjoin.spark.store import SparkStore
from streamjoin.tables.parquet import parquet_table
from tests.spark.test_store import BLOB, WINDOW, FakeMapState
from tests.tables.folders import check, write

DIRECTORY = (-1, 0, 0)
ID = [pa.int64()]
ROWS = [(i, 10 * i) for i in range(9)]


def flip(path: Path, place: int) -> None:
    blob = bytearray(path.read_bytes())
    blob[place] ^= 4
    later = path.stat().st_mtime_ns + 10**9  # clocks of file systems are coarse
    path.write_bytes(blob)
    os.utime(path, ns=(later, later))


def places(blob: bytes, n: int = 40) -> list[int]:
    return sorted({*np.linspace(0, len(blob) - 1, n, dtype=int).tolist()})


def stored(folder: Path | None = None) -> tuple[SparkStore, FakeMapState]:
    state = FakeMapState()
    return SparkStore(state, folder), state


def test_a_flipped_bit_in_the_directory_is_named() -> None:
    store, state = stored()
    store.write_directory(b'{"agreed": {}}')
    whole = state.values[DIRECTORY][0]
    assert store.read_directory() == b'{"agreed": {}}'
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 1
        state.values[DIRECTORY] = (bytes(damaged),)
        with pytest.raises(StateError, match=r"^the (directory|checkpoint) .*; .* new "):
            read_agreed(store.read_directory() or b"", {})


def test_a_directory_of_the_first_version_has_no_checksum() -> None:
    store, state = stored()
    state.values[DIRECTORY] = (b'{"agreed": {}}',)
    assert store.read_directory() == b'{"agreed": {}}'


def test_a_directory_of_a_later_version_is_refused() -> None:
    store, state = stored()
    state.values[DIRECTORY] = (seal(b"{}").replace(b"sjoin1", b"sjoin7"),)
    with pytest.raises(StateError, match=r"another version .* '7' .* reads 1; go on with"):
        store.read_directory()


def test_a_flipped_bit_in_a_copy_costs_a_read_of_the_state(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store, state = stored(tmp_path)
    store.put(0, WINDOW, BLOB)
    (copy,) = tmp_path.iterdir()
    for number, place in enumerate(places(BLOB.to_pybytes()), 1):
        flip(copy, place)
        assert store.get(0, WINDOW).equals(BLOB)
        assert state.reads == number
    assert "this copy is damaged" in caplog.text


def test_a_copy_is_checked_once_by_a_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked = []
    monkeypatch.setattr(
        "streamjoin.spark.store.check", lambda window, blob: checked.append(window.slice)
    )
    store, _ = stored(tmp_path)
    store.put(0, WINDOW, BLOB)
    for _ in range(3):
        store.get(0, WINDOW)
    assert checked == [WINDOW.slice]
    monkeypatch.setattr(spark_store, "_CHECKED", {})  # as in another process
    store.get(0, WINDOW)
    assert checked == [WINDOW.slice] * 2


def test_what_is_looked_at_is_what_is_mapped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, look = tmp_path / "file", os.fstat
    path.write_bytes(b"first")

    def replaced_meanwhile(file: int) -> os.stat_result:
        found = look(file)
        (tmp_path / "draft").write_bytes(b"other")
        (tmp_path / "draft").rename(path)
        return found

    with monkeypatch.context() as patched:
        patched.setattr(os, "fstat", replaced_meanwhile)
        first = spark_store.map_file(path, lambda _: None)
    assert first is not None
    assert first.to_pybytes() == b"first"
    checked: list[bytes] = []
    spark_store.map_file(path, lambda blob: checked.append(blob.to_pybytes()))
    assert checked == [b"other"]


def test_a_file_cut_short_is_checked_again(tmp_path: Path) -> None:
    path, checked = tmp_path / "file", []
    path.write_bytes(b"whole")
    for size in (5, 5, 3):
        os.truncate(path, size)
        os.utime(path, ns=(7, 7))
        spark_store.map_file(path, lambda blob: checked.append(blob.size))
    assert checked == [5, 3]


def test_a_flipped_bit_in_an_index_or_hint_is_as_if_there_were_none(tmp_path: Path) -> None:
    store, _ = stored(tmp_path)
    keys, times = np.arange(50), np.arange(50)
    store.put_index(0, WINDOW, HashIndex.build(keys=keys, times=times))
    store.put_hint("sketch", b"counts of keys")
    found = store.get_index(0, WINDOW)
    assert found is not None
    assert store.get_hint("sketch") == b"counts of keys"
    reads: dict[str, Callable[[], Any]] = {
        "hint.sketch": lambda: store.get_hint("sketch"),
        next(p.name for p in tmp_path.iterdir() if ".index" in p.name): lambda: store.get_index(
            0, WINDOW
        ),
    }
    for name, read in reads.items():
        whole = (tmp_path / name).read_bytes()
        for place in places(whole):
            (tmp_path / name).write_bytes(whole)
            flip(tmp_path / name, place)
            assert read() is None


def test_a_flipped_bit_in_a_copied_table_makes_the_copy_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path / "t.parquet", ROWS, ID)
    table = parquet_table(tmp_path / "t.parquet", "k0", copy=True)
    table.open(tmp_path / "index", 10**6).close()
    (copy,) = tmp_path.glob("index/*/copies/*.arrow")
    whole = copy.read_bytes()
    for place in places(whole, 25):
        flip(copy, place)
        check(table.open(tmp_path / "index", 10**6), ROWS, ROWS[::2], ID)
        assert copy.read_bytes() == whole
        assert "this copy is damaged and is made again" in caplog.text
        caplog.clear()


def test_a_flipped_bit_in_a_shared_folder_is_as_if_the_file_were_lost(tmp_path: Path) -> None:
    run = Run("q", 1, 0)
    gate = Channel(str(tmp_path / "gate"), "join", (7,), has_gate=True)
    gate.at(run).tell_gate((0.25, 0.5))
    plan = Channel(str(tmp_path / "plan"), "join", (7,), n_operators=1)
    plan.at(run).tell_measured({"cost": 125})
    hot = Channel(str(tmp_path / "hot"), "join", (7,), tasks=((0,),))
    hot.at(run).tell_hot(HotKey(key=12345, since=0, batch=1, columns=1, cells=(0,)))
    reads: dict[str, tuple[Callable[[Run], Any], Any]] = {
        "gate": (lambda run: gate.at(run).decided().let_in, (1.0, 1.0)),
        "plan": (lambda run: plan.at(run).measured(), None),
        "hot": (lambda run: hot.at(run).decided().hot, {7: []}),
    }
    for name, (read, lost) in reads.items():
        assert read(Run("q", 2, 0)) != lost
        (file,) = (path for path in (tmp_path / name).rglob("*") if path.is_file())
        whole = file.read_bytes()
        for number, place in enumerate(places(whole)):
            file.write_bytes(whole)
            flip(file, place)
            os.utime(file, ns=(number, number))  # what was read of a file is remembered
            assert read(Run("q", 2, 0)) == lost
