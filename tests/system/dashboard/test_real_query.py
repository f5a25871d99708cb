"""The page of a query that really runs; its screenshots are those of the documents."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.system.dashboard.conftest import NewPage

if TYPE_CHECKING:
    from playwright.sync_api import Page

EXAMPLE = Path(__file__).parents[3] / "examples" / "burst.toml"
PROGRAM = "from streamjoin.cli import main; main()"
LONG = 180_000
PHONE = {"viewport": {"width": 380, "height": 780}, "device_scale_factor": 2}


def shortened(text: str) -> str:
    """The example with a burst that comes earlier; its end is not awaited."""
    for before, after in (
        (r"seconds = 80\b", "seconds = 120"),  # on a busy machine it takes long to be exact again
        (r'at = "30 seconds", lasting = "20 seconds"', 'at = "8 seconds", lasting = "8 seconds"'),
        (r'window = "10 seconds"', 'window = "6 seconds"'),
        (r'cpu = "250 ms"', 'cpu = "120 ms"'),
    ):
        text, found = re.subn(before, after, text)
        assert found
    return text


@contextmanager
def running(file: Path) -> Iterator[str]:
    """Run a file with the live page; the page's address."""
    command = [sys.executable, "-u", "-c", PROGRAM, "run", str(file), "--dashboard", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith(b"Live page: "):
                break
        yield line.decode().removeprefix("Live page: ").strip()
        process.terminate()  # it stops after the running batch
        process.communicate(timeout=120)
    assert process.returncode == 0


@pytest.mark.spark
@pytest.mark.slow
def test_shows_a_running_query_its_overload_and_its_recovery(
    tmp_path: Path, new_page: NewPage, images: Path | None
) -> None:
    text = EXAMPLE.read_text(encoding="utf-8").replace("compare = true", "compare = false")
    file = tmp_path / "burst.toml"
    file.write_text(text if images else shortened(text), encoding="utf-8")
    with running(file) as url:
        page = new_page(url)
        page.wait_for_selector(".tile", timeout=LONG)
        assert page.locator("h1").inner_text() == "burst"
        assert page.locator(".title .badge").inner_text() == "Running"
        wait_for_the_burst(page, rows=28_000 if images else 14_000)
        page.wait_for_selector(".verdict:has-text('More comes in than')", timeout=LONG)
        assert "Load " in page.inner_text(".log")
        page.wait_for_selector(".log li:first-child:has-text('Exact again')", timeout=LONG)
        page.wait_for_selector(".verdict.good", timeout=LONG)
        parts = numbers(page, "probed", "Part that is probed")
        assert min(parts) < 70
        assert 100 in parts[:4]
        assert page.locator(".strip-card .cell").count() >= 20
        if images:
            take_screenshots(page, new_page(url, **PHONE), images)
        for opened in page.context.pages:
            opened.close()


def wait_for_the_burst(page: "Page", rows: int) -> None:
    """Wait until twice as much is remembered as in calm times; Spark warms up selectively too."""
    beside = page.locator("[data-tile=memory] .beside")
    for _ in range(LONG // 200):
        if int(re.sub(r"\D", "", beside.inner_text())) > rows:
            return
        page.wait_for_timeout(200)
    pytest.fail("there was no burst")


def numbers(page: "Page", chart: str, title: str) -> list[float]:
    """The values of a chart from its table, the latest first."""
    page.click(f"text={title} as numbers")
    page.wait_for_selector(f"[data-chart={chart}] td")
    cells = page.locator(f"[data-chart={chart}] td").all_inner_texts()
    page.click(f"text={title} as numbers")
    return [float(cell.split()[0]) for cell in cells if cell[0].isdigit()]


def take_screenshots(page: "Page", phone: "Page", folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for one in (page, phone):  # the folder is a temporary one, which says nothing
        rule = ".facts li:last-child { display: none }"
        one.evaluate("rule => document.styleSheets[0].insertRule(rule)", rule)
    page.wait_for_timeout(8000)  # some calm after the burst
    page.mouse.move(0, 0)
    page.evaluate("scrollTo(0, 0)")
    page.screenshot(path=folder / "dashboard.png")
    box = page.locator("section:has(> .strips)").bounding_box()
    assert box is not None
    page.screenshot(
        path=folder / "dashboard_windows.png",
        full_page=True,
        clip={"x": 0, "y": box["y"] - 16, "width": 1280, "height": box["height"] + 32},
    )
    page.emulate_media(color_scheme="dark")
    page.screenshot(path=folder / "dashboard_dark.png")
    phone.wait_for_selector("[data-chart=recall]")
    phone.screenshot(path=folder / "dashboard_phone.png")
    phone.close()
