import os
from pathlib import Path

import pytest

from streamjoin.dashboard import store
from streamjoin.dashboard.store import DEEPEST, find_queries, summarise
from streamjoin.metrics.records import FILE
from tests.dashboard.recordings import NOON, failed, overloaded, write


def touch(folder: Path, at: float = 0.0) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FILE).touch()
    os.utime(folder / FILE, (at, at))
    return folder


def test_queries_are_found_below_the_folders_the_last_changed_first(tmp_path: Path) -> None:
    old, new = touch(tmp_path / "a/b/c", 100.0), touch(tmp_path / "d", 200.0)
    assert find_queries([tmp_path]) == [new, old]
    assert find_queries([tmp_path / "a", tmp_path / "a/b"]) == [old]
    assert find_queries([old]) == [old]
    assert find_queries([tmp_path / "absent"]) == []


def test_hidden_deep_and_linked_folders_are_left_alone(tmp_path: Path) -> None:
    touch(tmp_path / ".hidden/q")
    deep = tmp_path.joinpath(*"abcdefg")
    touch(deep)
    assert len(deep.relative_to(tmp_path).parts) == DEEPEST + 1
    assert find_queries([tmp_path]) == []
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/link").symlink_to(deep, target_is_directory=True)
    assert find_queries([tmp_path / "elsewhere"]) == []


def test_the_inside_of_checkpoints_is_not_searched(tmp_path: Path) -> None:
    own = touch(tmp_path / "own")
    touch(tmp_path / "own/state/0")
    for name in ("offsets", "commits"):
        (tmp_path / "other" / name).mkdir(parents=True)
    touch(tmp_path / "other/state/0")
    assert find_queries([tmp_path]) == [own]


def test_the_search_ends_in_a_large_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MOST_FOLDERS", 20)
    monkeypatch.setattr(store, "MOST_QUERIES", 5)
    near = [touch(tmp_path / f"q{n}", float(n)) for n in range(10)]
    for n in range(40):
        (tmp_path / f"many/{n}").mkdir(parents=True)
    assert find_queries([tmp_path]) == near[:4:-1]


def test_a_summary_says_what_became_of_a_query(tmp_path: Path) -> None:
    done = summarise(write(tmp_path / "done", overloaded(20)))
    assert (done.name, done.status) == ("calls_and_trades", "finished")
    assert done.last_at > NOON + 19
    assert summarise(write(tmp_path / "failed", failed())).status == "failed"
    assert summarise(write(tmp_path / "live", overloaded(200, ends=False))).status == "running"
    nothing = summarise(tmp_path / "nothing")
    assert (nothing.name, nothing.status) == ("nothing", "running")
