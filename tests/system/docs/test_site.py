"""The site: built without a warning, complete, and sufficient to itself."""

import http.server
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

import streamjoin as sj
from scripts.check_docs import (
    ROOT,
    Page,
    documents,
    headings,
    problems_of_document,
    problems_of_site,
)

CHROMIUM = shutil.which("chromium")
REFERENCE = ROOT / "docs" / "reference"
NAMED = re.compile(r"^::: ([\w.]+)$", re.MULTILINE)


INPUTS = [ROOT / name for name in ("docs", "src", "scripts", "examples", "benchmarks")]
INPUTS += [ROOT / "mkdocs.yml", *ROOT.glob("*.md")]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `make docs` has built, if nothing has changed since; else it is built here."""
    made = ROOT / "site" / "index.html"
    if made.exists() and newest(*INPUTS) < made.stat().st_mtime:
        return made.parent
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def newest(*places: Path) -> float:
    """When the last of some files was written, of those that are not made from others."""
    files = (file for place in places for file in [place, *place.rglob("*")])
    return max(
        file.stat().st_mtime
        for file in files
        if file.is_file() and not {"__pycache__", "node_modules"} & set(file.parts)
    )


def test_a_file_that_was_written_last_is_noticed(tmp_path: Path) -> None:
    old, new, cache = tmp_path / "a" / "old", tmp_path / "a" / "new", tmp_path / "a/__pycache__/c"
    for number, file in enumerate((old, new, cache)):
        file.parent.mkdir(exist_ok=True)
        file.touch()
        os.utime(file, (number, number))
    assert newest(tmp_path / "a") == 1


@pytest.mark.slow
def test_every_link_leads_somewhere_and_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    assert list(problems_of_site(site)) == []


def test_the_reference_has_every_public_name() -> None:
    pages = [file.read_text(encoding="utf-8") for file in REFERENCE.glob("*.md")]
    named = [name.removeprefix("streamjoin.") for page in pages for name in NAMED.findall(page)]
    wanted = {name for name in sj.__all__ if name != "__version__"} | {"metrics"}
    assert sorted(set(named) & wanted) == sorted(wanted)
    assert len(named) == len(set(named))


def test_every_link_of_the_documents_leads_somewhere() -> None:
    assert [problem for one in documents() for problem in problems_of_document(one)] == []


def test_a_wrong_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("# One thing: `a_b`, and another\n", encoding="utf-8")
    page = tmp_path / "page.md"
    page.write_text("[a](other.md#one-thing-a_b-and-another) [b](other.md#two)\n[c](none.md)\n")
    found = list(problems_of_document(page))
    assert ["other.md#two" in found[0], "none.md" in found[1], len(found)] == [True, True, 2]


def test_headings_of_one_name_are_told_apart(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A b\n## A b\n```sh\n# no heading\n```\n", encoding="utf-8")
    assert headings(page) == {"a-b", "a-b-1"}


def test_what_a_page_fetches_from_elsewhere_is_found(tmp_path: Path) -> None:
    text = '<link rel="stylesheet" href="https://fonts.example/a.css"><a href="#gone">x</a>'
    (tmp_path / "index.html").write_text(text, encoding="utf-8")
    (tmp_path / "a.css").write_text("@import 'https://fonts.example/b.css';", encoding="utf-8")
    found = "\n".join(problems_of_site(tmp_path))
    assert all(part in found for part in ("a.css is fetched", "no such place", "b.css is fetched"))
    assert Page(text).fetched == ["https://fonts.example/a.css"]


@pytest.fixture
def address(site: Path) -> Iterator[str]:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
def test_a_browser_needs_nothing_else(address: str) -> None:
    """Pages with code, figures and the reference: no other host is asked, and search works."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    asked: list[str] = []
    errors: list[str] = []
    with playwright.sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: errors.append(str(error)))
        for name in ("index", "concepts/window_joins", "reference/joins"):
            page.goto(f"{address}/{name}.html", wait_until="networkidle")
        page.keyboard.press("/")
        page.keyboard.type("watermark", delay=20)
        page.wait_for_selector(".md-search-result__item", timeout=20_000)
        browser.close()
    assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []
    assert errors == []
