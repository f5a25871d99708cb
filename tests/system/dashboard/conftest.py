"""A browser for the tests of the page; they are skipped where there is none."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = ["--no-sandbox", "--disable-gpu"]
NewPage = Callable[..., "Page"]


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as playwright:
        program = next(filter(None, map(shutil.which, NAMES)), None)
        if program is None and not Path(playwright.chromium.executable_path).exists():
            pytest.skip("there is no Chromium")
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def new_page(browser: "Browser") -> Iterator[NewPage]:
    """Opens pages; each must have been quiet and have asked nobody but its own server."""
    pages, problems = list["Page"](), list[str]()

    def open_page(url: str, **options: Any) -> "Page":
        options = {"viewport": {"width": 1280, "height": 900}, "timezone_id": "UTC", **options}
        page = browser.new_page(**options)
        page.on("console", lambda message: _note(problems, message.type, message.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        start = url.partition("#")[0]
        page.on("request", lambda asked: _note_address(problems, asked.url, start))
        page.goto(url)
        pages.append(page)
        return page

    yield open_page
    for page in pages:
        page.close()
    assert problems == []


def _note(problems: list[str], kind: str, text: str) -> None:
    if kind in ("error", "warning"):
        problems.append(text)


def _note_address(problems: list[str], url: str, start: str) -> None:
    if not url.startswith(start):
        problems.append(f"it asked for {url}")


@pytest.fixture(scope="session")
def images() -> Path | None:
    """Where screenshots go: into the documents if that is asked for, else nowhere."""
    wanted = os.environ.get("STREAMJOIN_SCREENSHOTS")
    return Path(__file__).parents[3] / "docs" / "images" if wanted else None
