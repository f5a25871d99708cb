"""Basic windows in state and their copies on disk."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from streamjoin.core.batch import Batch
from streamjoin.core.stream import Stream
from streamjoin.core.window import encode
from streamjoin.errors import StateError
from streamjoin.spark.store import SparkStore


class FakeMapState:
    """A dictionary behind the interface of Spark's MapState."""

    def __init__(self) -> None:
        self.values: dict[tuple[int, int, int], tuple[bytes]] = {}
        self.reads = 0

    def getValue(self, key: tuple[int, int, int]) -> Any:
        self.reads += 1
        return self.values.get(key)

    def updateValue(self, key: tuple[int, int, int], value: tuple[bytes]) -> None:
        self.values[key] = value

    def removeKey(self, key: tuple[int, int, int]) -> None:
        del self.values[key]


TIMES = pa.array([10, 20, 30], pa.timestamp("us"))
ROWS = pa.record_batch({"t": TIMES, "s": ["a", None, "c"]})
STREAM = Stream(ROWS.schema, key=(), time=0, window_us=5)
WINDOW, BLOB = encode(4, 7, Batch(ROWS, STREAM))


@pytest.fixture
def state() -> FakeMapState:
    return FakeMapState()


@pytest.fixture
def store(state: FakeMapState, tmp_path: Path) -> SparkStore:
    store = SparkStore(state, tmp_path)
    store.put(0, WINDOW, BLOB)
    return store


def test_a_copy_spares_the_state_store(store: SparkStore, state: FakeMapState) -> None:
    assert store.get(0, WINDOW).equals(BLOB)
    assert state.reads == 0


def test_a_lost_copy_comes_back_from_state(
    store: SparkStore, state: FakeMapState, tmp_path: Path
) -> None:
    for copy in tmp_path.iterdir():
        copy.unlink()
    assert store.get(0, WINDOW).equals(BLOB)
    assert store.get(0, WINDOW).equals(BLOB)
    assert state.reads == 1


def test_a_cut_copy_is_not_used(store: SparkStore, state: FakeMapState, tmp_path: Path) -> None:
    (copy,) = tmp_path.iterdir()
    copy.write_bytes(BLOB.to_pybytes()[:-8])
    assert store.get(0, WINDOW).equals(BLOB)
    assert state.reads == 1


def test_a_flipped_bit_in_state_is_named(
    store: SparkStore, state: FakeMapState, tmp_path: Path
) -> None:
    damaged = bytearray(BLOB.to_pybytes())
    damaged[-9] ^= 1
    state.values[0, 4, 7] = (bytes(damaged),)
    (copy,) = tmp_path.iterdir()
    copy.unlink()
    with pytest.raises(StateError, match=r"basic window 4 \(batch 7\) is damaged"):
        store.get(0, WINDOW)


def test_a_missing_window_is_named(tmp_path: Path) -> None:
    with pytest.raises(StateError, match=r"basic window 4 \(batch 7\) is missing"):
        SparkStore(FakeMapState(), tmp_path).get(0, WINDOW)


def test_removing_leaves_nothing(store: SparkStore, state: FakeMapState, tmp_path: Path) -> None:
    store.remove(0, WINDOW)
    assert not state.values
    assert not list(tmp_path.iterdir())


def test_without_a_folder_state_alone_serves(state: FakeMapState) -> None:
    store = SparkStore(state, None)
    store.put(1, WINDOW, BLOB)
    assert store.get(1, WINDOW).equals(BLOB)
    store.remove(1, WINDOW)
    assert not state.values


def test_an_unwritable_folder_is_only_slower(state: FakeMapState, tmp_path: Path) -> None:
    store = SparkStore(state, tmp_path / "not there")
    store.put(0, WINDOW, BLOB)
    assert store.get(0, WINDOW).equals(BLOB)


def test_small_blobs_are_replaced_and_removed(store: SparkStore) -> None:
    key = (2, 4, 7)
    assert store.get_blob(key) is None
    store.put_blob(key, b"one")
    store.put_blob(key, b"two")
    assert store.get_blob(key) == b"two"
    store.remove_blob(key)
    assert store.get_blob(key) is None


def test_a_damaged_small_blob_is_refused(store: SparkStore, state: FakeMapState) -> None:
    store.put_blob((2, 4, 7), b"one")
    state.values[2, 4, 7] = (state.values[2, 4, 7][0][:-1] + b"x",)
    with pytest.raises(StateError, match=r"^stored blob \(2, 4, 7\) is damaged"):
        store.get_blob((2, 4, 7))
