"""The page while files grow: overload and recovery, restarts, a whole day."""

import json
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from streamjoin.dashboard import start_dashboard
from streamjoin.metrics import InputMetrics, JoinMetrics, TableMetrics
from streamjoin.metrics.records import FILE, BatchDone, Ended, Record, RecordFile, Started
from tests.dashboard.recordings import overloaded, write_a_day
from tests.system.dashboard.conftest import NewPage


def in_real_time(records: Iterator[Record], file: RecordFile, seconds: float) -> None:
    """Write records as if time ran faster."""
    every = list(records)
    for record in every:
        file.write(record)
        time.sleep(seconds / len(every))


def test_an_overload_and_its_end_are_seen_as_they_happen(tmp_path: Path, new_page: NewPage) -> None:
    start = time.time() - 25
    records = list(overloaded(60, start=start))
    during, after = records[:32], records[32:]
    file = RecordFile(tmp_path)
    in_real_time(iter(during[:10]), file, 0.0)
    with start_dashboard([tmp_path], port=0) as dashboard:
        page = new_page(dashboard.url)
        page.wait_for_selector(".verdict.good")
        assert page.inner_text(".verdict") == "Within its budget: every result is found."
        page.focus("[data-chart=cpu] .plot")
        in_real_time(iter(during[10:]), file, 1.0)
        page.wait_for_selector(".verdict.short")
        assert "More comes in than the budget allows" in page.inner_text(".verdict")
        assert page.locator("[data-tile=recall].alarm").count() == 1
        assert "Load 3" in page.inner_text(".log li:first-child")
        assert "Load 3" in page.inner_text("#said")
        assert page.locator("[data-chart=comparisons]").count() == 1  # a chart more, and yet:
        assert page.locator("[data-chart=cpu] .plot:focus").count() == 1
        in_real_time(iter(after), file, 1.0)
        page.wait_for_selector(".title .badge:has-text('Finished')")
        assert page.locator("[data-tile=recall].alarm").count() == 0
        assert "Exact again" in page.inner_text(".log")
        page.close()


def test_what_is_missing_is_said_whatever_the_reason(tmp_path: Path, new_page: NewPage) -> None:
    start = time.time() - 10
    batch = JoinMetrics(pairs=9, inputs=(InputMetrics("left", rows=20),))
    put_off = TableMetrics(spilled_rows=70)
    stories = [
        (batch, "Exact: every result is found."),
        (replace(batch, missed=1.0), "missing in the windows. It finds about 90 %"),
        (replace(batch, lagging=1), "To receive rows alone takes more than the budget"),
        (replace(batch, kind="table", table=put_off), "70 rows that were put off wait"),
        (batch, "Exact: every result is found."),
    ]
    file = RecordFile(tmp_path)
    file.write(Started("q", "1", start))
    with start_dashboard([tmp_path], port=0) as dashboard:
        page = new_page(dashboard.url)
        for second, (metrics, said) in enumerate(stories):
            file.write(BatchDone(replace(metrics, at=start + 2 * second)))
            page.wait_for_selector(f".verdict:has-text('{said}')", timeout=5000)
        page.close()


def test_a_restart_is_marked_and_the_page_goes_on(tmp_path: Path, new_page: NewPage) -> None:
    start = time.time() - 100
    file = RecordFile(tmp_path)
    in_real_time(overloaded(20, start=start), file, 0.0)
    with start_dashboard([tmp_path], port=0) as dashboard:
        page = new_page(dashboard.url)
        page.wait_for_selector(".title .badge:has-text('Finished')")
        in_real_time(overloaded(20, start=start + 60, run="2", first=20, ends=False), file, 0.5)
        page.wait_for_selector(".title .badge:has-text('Running')")
        page.wait_for_selector(".facts :text('batch 39')")
        assert "started again once" in page.inner_text(".facts")
        assert page.inner_text(".log").count("Started again") == 1
        file.write(Ended(time.time(), "lost <i>connection</i>"))
        page.wait_for_selector(".verdict.bad")
        assert "lost <i>connection</i>" in page.inner_text(".verdict")
        page.close()


def test_the_server_may_come_back(tmp_path: Path, new_page: NewPage) -> None:
    in_real_time(overloaded(20, ends=False), RecordFile(tmp_path), 0.0)
    first = start_dashboard([tmp_path], port=0)
    page = new_page(first.url)
    page.wait_for_selector(".tile")
    first.close()
    page.wait_for_selector("#connection:has-text('No connection')")
    with start_dashboard([tmp_path], port=int(first.url.rsplit(":", 1)[1].strip("/"))):
        page.wait_for_selector("#connection:not(:has-text('No'))", state="attached", timeout=15_000)
        RecordFile(tmp_path).write(Ended(time.time()))
        page.wait_for_selector(".title .badge:has-text('Finished')")
        page.goto("about:blank")


@pytest.mark.slow
def test_a_day_of_seconds_opens_at_once_and_stays_quick(tmp_path: Path, new_page: NewPage) -> None:
    write_a_day(tmp_path, time.time() - 86_400)
    assert (tmp_path / FILE).stat().st_size > 86_400_000
    before = resident_bytes()
    with start_dashboard([tmp_path], port=0) as dashboard:
        began = time.monotonic()
        page = new_page(dashboard.url)
        page.wait_for_selector(".tile")
        assert time.monotonic() - began < 10
        page.wait_for_selector("text=Reading the earlier hours", state="hidden", timeout=120_000)
        began = time.monotonic()
        page.click("text=All")
        page.wait_for_selector("[data-chart=comparisons]")  # there were bursts in those hours
        page.evaluate("() => new Promise(done => requestAnimationFrame(() => done()))")
        assert time.monotonic() - began < 3
        assert resident_bytes() - before < 150e6
        with urllib.request.urlopen(f"{dashboard.url}queries") as answer:
            name = json.load(answer)["queries"][0]["id"]
        with urllib.request.urlopen(f"{dashboard.url}query?query={name}") as answer:
            text = answer.read()
        assert len(text) < 1_500_000
        assert 3000 < len(json.loads(text)["joins"][0]["at"]) < 3400
        page.close()


def resident_bytes() -> int:
    """Memory of this process, in which the server runs."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
