"""Golden files: what users see, as it was when somebody last looked at it."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

import pytest

VARIABLE = "STREAMJOIN_GOLDEN"
UPDATE = "make golden"
ENDINGS = (".txt", ".json")


@dataclass(frozen=True)
class GoldenFiles:
    """The golden files of a folder.

    Parameters
    ----------
    folder
        Where they are.
    rewrites
        Whether they become what is seen now; otherwise nothing is ever written.
    """

    folder: Path
    rewrites: bool

    def check(self, texts: Mapping[str, str]) -> None:
        """Fail where a text differs from the file of its name, or there is no such file."""
        if self.rewrites:
            for name, text in texts.items():
                self._write(name, text)
            return
        found = [self._difference(name, text) for name, text in texts.items()]
        _fail([difference for difference in found if difference])

    def check_no_others(self, names: Iterable[str]) -> None:
        """Fail where there is a file of another name; a rewriting one removes it."""
        known = set(names)
        paths = sorted(path for path in self.folder.rglob("*") if path.suffix in ENDINGS)
        others = [path for path in paths if path.relative_to(self.folder).as_posix() not in known]
        if self.rewrites:
            for path in others:
                path.unlink()
            return
        _fail([f"{self._shown(path)}: nothing is compared with it" for path in others])

    def _write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")

    def _difference(self, name: str, text: str) -> str:
        path = self.folder / name
        if not path.is_file():
            return f"{self._shown(path)}: there is no such file"
        before = path.read_text(encoding="utf-8")
        if before == text:
            return ""
        lines = unified_diff(
            before.splitlines(), text.splitlines(), self._shown(path), "now", lineterm=""
        )
        return "\n".join(lines) or f"{self._shown(path)}: ends of lines differ"

    def _shown(self, path: Path) -> str:
        """A path as seen from above the folder of all tests."""
        return path.relative_to(self.folder.parents[1]).as_posix()


def golden_files(folder: Path) -> GoldenFiles:
    """The files of a folder, rewritten if the environment says so."""
    asked = os.environ.get(VARIABLE)
    assert asked in (None, "update"), f"{VARIABLE}: got {asked!r}; allowed: 'update'"
    return GoldenFiles(folder, rewrites=asked == "update")


def _fail(problems: list[str]) -> None:
    if problems:
        hint = f"If that is as it should be: {UPDATE}, and look at what git shows."
        pytest.fail("\n\n".join([*problems, hint]), pytrace=False)
