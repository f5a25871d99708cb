"""A golden file that is missing, other or left over is told, and only an update changes one."""

from pathlib import Path

import pytest

from tests.golden import files
from tests.golden.files import GoldenFiles, golden_files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "tests" / "golden"
    (made / "help").mkdir(parents=True)
    (made / "help" / "run.txt").write_text("one\ntwo\n", encoding="utf-8")
    return made


def test_what_is_alike_passes(folder: Path) -> None:
    golden = GoldenFiles(folder, rewrites=False)
    golden.check({"help/run.txt": "one\ntwo\n"})
    golden.check_no_others(["help/run.txt"])


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (
            {"help/run.txt": "one\nthree\n"},
            "--- tests/golden/help/run.txt\n+++ now\n@@ -1,2 +1,2 @@\n one\n-two\n+three",
        ),
        ({"help/run.txt": "one\ntwo"}, "tests/golden/help/run.txt: ends of lines differ"),
        ({"help/new.txt": "one\n"}, "tests/golden/help/new.txt: there is no such file"),
    ],
)
def test_a_difference_is_shown_with_the_command_that_updates(
    folder: Path, texts: dict[str, str], said: str
) -> None:
    with pytest.raises(pytest.fail.Exception) as failed:
        GoldenFiles(folder, rewrites=False).check(texts)
    assert said in str(failed.value)
    assert "make golden" in str(failed.value)
    assert [path.name for path in folder.rglob("*.txt")] == ["run.txt"]
    assert (folder / "help" / "run.txt").read_text(encoding="utf-8") == "one\ntwo\n"


def test_a_file_that_is_left_over_is_told(folder: Path) -> None:
    with pytest.raises(pytest.fail.Exception, match=r"help/run\.txt: nothing is compared with it"):
        GoldenFiles(folder, rewrites=False).check_no_others(["help/new.txt"])
    assert (folder / "help" / "run.txt").exists()


def test_an_update_writes_and_removes(folder: Path) -> None:
    golden = GoldenFiles(folder, rewrites=True)
    golden.check({"names/new.txt": "é\n"})
    golden.check_no_others(["names/new.txt"])
    assert [path.name for path in folder.rglob("*.txt")] == ["new.txt"]
    GoldenFiles(folder, rewrites=False).check({"names/new.txt": "é\n"})


def test_only_the_environment_asks_for_an_update(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(files.VARIABLE, raising=False)
    assert not golden_files(folder).rewrites
    monkeypatch.setenv(files.VARIABLE, "update")
    assert golden_files(folder).rewrites
    monkeypatch.setenv(files.VARIABLE, "yes")
    with pytest.raises(AssertionError, match="got 'yes'; allowed: 'update'"):
        golden_files(folder)
