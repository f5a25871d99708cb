import json
import re
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from streamjoin.dashboard import Dashboard, start_dashboard, store
from streamjoin.metrics.records import BatchDone
from tests.dashboard.recordings import (
    exact,
    failed,
    of_three_streams,
    overloaded,
    with_table,
    write,
)
from tests.system.dashboard.conftest import NewPage

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

HOSTILE = "<script>alert(1)</script>"
AXE = Path(__file__).parents[3] / "page" / "node_modules" / "axe-core" / "axe.min.js"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    folder = tmp_path_factory.mktemp("queries")
    write(folder / "overloaded", overloaded(120))
    write(folder / "table", with_table())
    write(folder / "three", of_three_streams())
    write(folder / "failed", failed())
    write(folder / "hostile", overloaded(10, query=HOSTILE))
    write(folder / "exact", exact())
    others = (record for record in with_table(20) if isinstance(record, BatchDone))
    write(folder / "two", overloaded(20, query="two joins", ends=False), others)
    with start_dashboard([folder], port=0) as dashboard:
        yield dashboard


def address(dashboard: Dashboard, name: str) -> str:
    with urllib.request.urlopen(dashboard.url + "queries") as answer:
        queries = json.load(answer)["queries"]
    ids = {query["name"]: query["id"] for query in queries}
    return f"{dashboard.url}#{ids[name]}"


def tile(page: "Page", name: str) -> str:
    return page.locator(f"[data-tile={name}]").inner_text().replace("\xa0", " ")


def charts(page: "Page") -> set[str]:
    page.wait_for_selector("[data-chart]")
    return set(page.eval_on_selector_all("[data-chart]", "all => all.map(e => e.dataset.chart)"))


def test_shows_the_numbers_of_the_file(served: Dashboard, new_page: NewPage) -> None:
    page = new_page(address(served, "calls_and_trades"))
    records = [record for record in overloaded(120) if isinstance(record, BatchDone)]
    total = records[0].metrics
    for record in records[1:]:
        total += record.metrics
    last = records[-1].metrics
    assert total.recall is not None
    page.wait_for_selector(".tile")
    assert page.locator("h1").inner_text() == "calls_and_trades"
    assert page.locator(".title .badge").inner_text() == "Finished"
    assert f"{total.rows_in:,} rows came, {total.rows_out:,} went out" in page.inner_text(
        ".verdict"
    )
    assert f"about {100 * total.recall:.0f} %" in page.inner_text(".verdict")
    assert f"{round(total.rows_in / 1000)} k in all" in tile(page, "in")
    rate = float(tile(page, "in").split("\n")[1].removesuffix("/s").replace(",", ""))
    assert rate == pytest.approx(last.rows_in / (records[-1].at - records[-2].at), rel=1e-3)
    assert f"{100 * total.recall:.0f} % in all" in tile(page, "recall")
    ages = [one.metrics.behind for one in records if one.metrics.behind is not None]
    behind = page.inner_text("[data-tile=behind] .value").replace("\xa0", " ")
    assert float(behind.removesuffix(" s")) == pytest.approx(ages[-1] - min(ages), abs=0.006)
    assert f"newest row is {last.behind:g} s old" in tile(page, "behind")
    assert "of 1 s between batches" in tile(page, "batch")
    assert "of 0.3" in tile(page, "cpu")
    assert f"{last.state_bytes / 1e6:.2f} MB" in tile(page, "memory")
    assert "budget: 35 % of 1 core" in page.inner_text(".facts")
    log = page.inner_text(".log")
    assert re.search(r"12:00:3\d\s+Load [\d.]+x the budget, probing \d+ % of the left", log)
    assert re.search(r"12:01:1\d\s+Exact again", log)


@pytest.mark.parametrize(
    ("name", "shown", "hidden"),
    [
        ("calls_and_trades", {"recall", "probed", "comparisons", "cpu", "freshness"}, {"hits"}),
        ("calls_and_people", {"hits", "waiting", "left_out"}, {"recall", "probed", "freshness"}),
        ("shop", {"recall", "probed", "freshness", "memory", "left_out"}, {"hits", "waiting"}),
        ("exact", {"in", "out", "batch"}, {"recall", "probed", "comparisons", "hits"}),
    ],
)
def test_shows_what_applies_to_a_join(
    served: Dashboard, new_page: NewPage, name: str, shown: set[str], hidden: set[str]
) -> None:
    page = new_page(address(served, name))
    found = charts(page)
    assert found >= shown
    assert not found & hidden
    strips = page.locator(".strip-card")
    assert strips.count() == (2 if name in ("calls_and_trades", "exact") else 0)
    allowed = page.get_by_role("heading", name="What the budget allows")
    assert allowed.is_visible() == (name == "shop")
    if name == "calls_and_trades":
        assert strips.first.locator(".strip .cell").count() == 20
        assert re.search(r"most is found in rows [56]", strips.first.inner_text())
    if name == "exact":
        assert "100 % is probed; most is found in rows 5.5 s" in strips.first.inner_text()
        title = strips.first.locator(".strip .cell").nth(11).get_attribute("title") or ""
        assert re.search(r"100 % probed, \d+ % of the results", title)


def test_charts_and_maps_have_something_drawn(served: Dashboard, new_page: NewPage) -> None:
    page = new_page(address(served, "calls_and_trades"))
    charts(page)
    painted = page.eval_on_selector_all(
        "canvas",
        """all => all.map(canvas => {
          const { width, height } = canvas;
          const image = canvas.getContext("2d").getImageData(0, 0, width, height);
          return new Set(new Uint32Array(image.data.buffer)).size;
        })""",
    )
    assert len(painted) == 13
    assert min(painted) > 5


def test_a_hostile_name_is_text(served: Dashboard, new_page: NewPage) -> None:
    page = new_page(address(served, HOSTILE))
    page.wait_for_selector(".tile")
    assert page.locator("h1").inner_text() == HOSTILE
    assert HOSTILE in page.inner_text("nav")
    assert page.locator("script").count() == 1  # its own


def test_a_failed_query_says_why(served: Dashboard, new_page: NewPage) -> None:
    page = new_page(address(served, "fragile"))
    page.wait_for_selector(".tile")
    assert page.inner_text(".verdict").endswith("/data/state <b>disk</b>")
    assert page.locator(".verdict b").count() == 0
    assert "Failed: No space left" in page.inner_text(".log")
    assert page.locator(".title .badge").inner_text() == "Failed"


def test_queries_are_listed_and_chosen(served: Dashboard, new_page: NewPage) -> None:
    page = new_page(address(served, "exact"))
    page.wait_for_selector(".tile")
    assert page.locator("nav a").count() == 7
    assert page.inner_text("nav [aria-current=page] .name") == "exact"
    page.click("nav a:has-text('shop')")
    page.wait_for_selector("h1:has-text('shop')")
    assert page.inner_text("nav [aria-current=page] .name") == "shop"
    assert page.title() == "Finished: shop - streamjoin"


def test_a_query_with_several_joins_shows_one_of_them(served: Dashboard, new_page: NewPage) -> None:
    page = new_page(address(served, "two joins"))
    assert "hits" not in charts(page)
    page.get_by_label("people").check()
    page.wait_for_selector("[data-chart=hits]")
    assert "probed" not in charts(page)


def test_the_plan_is_drawn_and_said(served: Dashboard, new_page: NewPage) -> None:
    page = new_page(address(served, "calls_and_trades"))
    drawing = page.locator("figure img")
    drawing.scroll_into_view_if_needed()
    assert drawing.evaluate("image => image.complete && image.naturalWidth > 0")
    assert "in words" in (drawing.get_attribute("alt") or "")
    page.click("text=The plan in words")
    assert "window join" in page.inner_text("pre")


def test_dark_where_the_reader_wants_it(served: Dashboard, new_page: NewPage) -> None:
    page = new_page(address(served, "calls_and_trades"), color_scheme="dark")
    charts(page)
    assert lightness(page.locator("body")) < 0.2
    page.emulate_media(color_scheme="light")
    assert lightness(page.locator("body")) > 0.8
    assert len(charts(page)) == 11


def lightness(element: "Locator") -> float:
    color = element.evaluate("element => getComputedStyle(element).backgroundColor")
    return sum(map(int, re.findall(r"\d+", color)[:3])) / (3 * 255)


@pytest.mark.parametrize("name", ["calls_and_trades", "shop", HOSTILE])
def test_a_phone_needs_no_scrolling_sideways(
    served: Dashboard, new_page: NewPage, name: str
) -> None:
    page = new_page(address(served, name), viewport={"width": 380, "height": 740}, has_touch=True)
    charts(page)
    page.click("text=Rows in as numbers")
    assert page.evaluate("document.documentElement.scrollWidth") <= 380
    wide = "all => all.filter(e => e.getBoundingClientRect().right > 381).map(e => e.className)"
    assert page.eval_on_selector_all("main *:not(.table *, pre *)", wide) == []


def test_the_keyboard_reads_charts_and_chooses_time(served: Dashboard, new_page: NewPage) -> None:
    page = new_page(address(served, "calls_and_trades"))
    charts(page)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the query"
    plot = page.locator("[data-chart=in] .plot")
    plot.focus()
    page.keyboard.press("Home")
    first = page.inner_text("#said")
    page.keyboard.press("ArrowRight")
    second = page.inner_text("#said")
    assert re.fullmatch(r"12:00:0\d: left [\d,]+/s, right [\d,]+/s", first)
    assert first < second
    when = second[:8]
    assert page.inner_text("[data-chart=memory] .when") == when  # all charts show the same time
    page.keyboard.press("Escape")
    assert page.inner_text("[data-chart=memory] .when") == ""
    page.locator("input[name=range]").last.focus()
    page.keyboard.press("ArrowLeft")
    assert (
        page.locator("input[name=range]:checked").evaluate("e => e.parentElement.innerText")
        == "24 h"
    )


def test_hovering_reads_all_charts_at_one_time(served: Dashboard, new_page: NewPage) -> None:
    page = new_page(address(served, "calls_and_trades"))
    charts(page)
    page.locator("[data-chart=in] .u-over").hover()
    when = page.inner_text("[data-chart=in] .when")
    assert re.fullmatch(r"12:0[01]:\d\d", when)
    assert page.inner_text("[data-chart=cpu] .when") == when


def test_numbers_stand_in_a_table_too(served: Dashboard, new_page: NewPage) -> None:
    page = new_page(address(served, "shop"))
    charts(page)
    page.click("text=Rows in as numbers")
    table = page.locator("[data-chart=in] table")
    table.wait_for()
    assert table.locator("thead th").all_inner_texts() == [
        "time",
        "orders",
        "payments",
        "shipments",
    ]
    assert 10 < table.locator("tbody tr").count() <= 25


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: npm ci in page/")
@pytest.mark.parametrize(("name", "scheme"), [("calls_and_trades", "light"), ("fragile", "dark")])
def test_nothing_serious_for_those_who_do_not_see_well(
    served: Dashboard, new_page: NewPage, name: str, scheme: str
) -> None:
    page = new_page(address(served, name), color_scheme=scheme)
    charts(page)
    page.click("text=Rows in as numbers")
    page.evaluate(AXE.read_text(encoding="utf-8") + "; 0")
    found: Any = page.evaluate("axe.run()")
    serious = {
        (one["id"], node["html"])
        for one in found["violations"]
        for node in one["nodes"]
        if one["impact"] in ("serious", "critical", "moderate")
    }
    assert serious == set()


def test_without_queries_it_says_where_it_looks(
    tmp_path: Path, new_page: NewPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "SEARCH", 0.1)
    with start_dashboard([tmp_path / "later"], port=0) as dashboard:
        page = new_page(dashboard.url)
        page.wait_for_selector("h1:has-text('No query yet')")
        assert str(tmp_path / "later") in page.inner_text("main")
        write(tmp_path / "later" / "q", overloaded(20, ends=False))
        page.wait_for_selector("h1:has-text('calls_and_trades')", timeout=10_000)
        page.close()
