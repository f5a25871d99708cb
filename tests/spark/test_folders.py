"""Folders that tasks share."""

from pathlib import Path
from typing import Any

import pyarrow.fs as pafs

from streamjoin.joins.folders import files_in


class Raced:
    """A file system in which another task makes the folder while Arrow looks for it."""

    def get_file_info(self, selector: Any) -> Any:
        raise FileNotFoundError(selector.base_dir)


def test_a_folder_that_is_made_meanwhile_is_empty(tmp_path: Path) -> None:
    assert files_in(Raced(), str(tmp_path)) == []


def test_a_folder_that_is_not_there_is_empty(tmp_path: Path) -> None:
    system = pafs.LocalFileSystem()
    assert files_in(system, str(tmp_path / "none")) == []
    (tmp_path / "a").touch()
    assert [file.base_name for file in files_in(system, str(tmp_path))] == ["a"]
