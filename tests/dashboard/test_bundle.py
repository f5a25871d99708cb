"""The page that is committed is the one that its sources give."""

import shutil
import subprocess
from pathlib import Path

import pytest

from streamjoin.dashboard.server import FILES

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "src" / "streamjoin" / "dashboard" / "static"
NODE = shutil.which("node")
INSTALLED = ROOT / "page" / "node_modules" / "esbuild"


def test_only_what_is_served_is_in_the_package() -> None:
    assert {file.name for file in STATIC.iterdir()} == {name for name, _ in FILES.values()}


def test_the_page_names_no_other_place() -> None:
    for name in ("index.html", "page.css", "page.js"):
        text = (STATIC / name).read_text(encoding="utf-8")
        assert "https:" not in text
        assert "http:" not in text


def test_the_licence_of_what_is_in_it_is_kept() -> None:
    text = (STATIC / "licenses.txt").read_text(encoding="utf-8")
    assert "uPlot" in text
    assert "Permission is hereby granted" in text


@pytest.mark.skipif(
    NODE is None or not INSTALLED.exists(), reason="needs Node, and npm ci in page/"
)
def test_the_committed_page_is_built_from_its_sources(tmp_path: Path) -> None:
    assert NODE is not None
    command = [NODE, "build.mjs", "--outdir", str(tmp_path)]
    subprocess.run(command, cwd=ROOT / "page", check=True)
    for file in STATIC.iterdir():
        assert (tmp_path / file.name).read_bytes() == file.read_bytes(), (
            f"run make page: {file.name}"
        )
