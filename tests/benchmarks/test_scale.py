"""What the benchmark of scale makes of its runs; the runs on a cluster need minutes."""

import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from benchmarks import scale
from benchmarks.scale_cluster import Cluster
from benchmarks.scale_model import Grid, Model
from benchmarks.scale_runs import Plan
from scripts.scaling_page import END, PAGE, START, fill

TRUE = Model(batch=0.2, task=0.001, map_task=0.03, shard=0.05, meeting=1e-4, row=2e-5)
RESULTS = 7


class FakeCluster:
    master = "spark://127.0.0.1:1"

    @classmethod
    def start(cls, folder: Path, **_: object) -> "FakeCluster":
        return cls()

    def __enter__(self) -> "FakeCluster":
        return self

    def __exit__(self, *_: object) -> None:
        pass


def as_the_model_says(_module: str, document: dict[str, Any], _name: str) -> dict[str, Any]:
    """Batches that take as long as `TRUE` says."""
    plan, timings, size = Plan.of(document), [], scale.FULL
    cores = int(plan.conf.get("spark.cores.max", scale.SHARDS))
    for task in plan.tasks:
        on_cluster = "spark.cores.max" in plan.conf
        cold, warm = (size.cold, size.warm) if on_cluster else (size.small_cold, size.small_warm)
        n_batches = cold + warm
        n_rows = 20_000 if on_cluster else 0
        map_tasks = 2 * task.files_per_batch
        if task.system == "streamjoin-plan":
            map_tasks = len(task.streams)
        assert task.shards is not None
        seconds = TRUE.seconds(cores, map_tasks, task.shards, n_rows)
        timings.append(
            {
                "rows": [n_rows] * n_batches,
                "seconds": [99.0] * cold + [seconds] * warm,
                "results": [RESULTS] * n_batches,
                "alone": [0] * n_batches,
                "cpu_us": [10**6] * n_batches,
                "state_rows": 0,
                "state_bytes": 0,
            }
        )
    return {"timings": timings, "driver_cpu": [0.5 + TRUE.task * n for n in plan.empty_tasks]}


@pytest.fixture
def result(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setattr(scale, "Cluster", FakeCluster)
    monkeypatch.setattr(scale, "in_process", as_the_model_says)
    monkeypatch.setattr(scale, "record", lambda *_, **__: None)  # nobody reads them
    return scale.run(lambda _: None)


def test_the_model_is_found_again_in_what_it_made(result: dict[str, Any]) -> None:
    found = next(row for row in result["rows"] if row["part"] == "model")
    for name in ("batch", "task", "map_task", "shard", "meeting", "row"):
        assert found[name] == pytest.approx(getattr(TRUE, name), rel=1e-6), name
    map_tasks = 2 * scale.FULL.files
    one, two = (TRUE.seconds(cores, map_tasks, 2, 20_000) for cores in (1, 2))
    assert result["ratios"] == {"two-executors/one": pytest.approx(one / two)}
    for row in result["rows"]:
        if row["part"] == "executors":
            assert row["predicted_s"] == pytest.approx(row["batch_s"])


def test_the_page_takes_the_numbers_and_can_be_filled_again(result: dict[str, Any]) -> None:
    page = PAGE.read_text(encoding="utf-8")
    filled = fill(page, result)
    assert filled == fill(filled, result)
    measured = filled.partition(START)[2].partition(END)[0]
    assert "Two executors/one: **1." in measured
    assert "| 1,000 |" in measured
    for text in (page.partition(START)[0], page.partition(END)[2]):
        assert text in filled


def test_costs_that_noise_makes_negative_are_none_and_the_others_are_fitted_again() -> None:
    grid = [Grid(m, s, 0.5 - 0.001 * s) for m in (2, 16) for s in (2, 16, 64)]
    found = Model.fit(grid, 2, task=0.0, rows=1, large=Grid(2, 2, 0.0))
    assert (found.shard, found.map_task, found.meeting, found.row) == (0.0, 0.0, 0.0, 0.0)
    assert found.batch == pytest.approx(0.5 - 0.001 * (2 + 16 + 64) / 3)


def test_the_driver_takes_half_of_a_batch_where_it_is_the_limit() -> None:
    limit = TRUE.limit(rows_per_core=100_000)
    assert limit is not None
    assert 100 < limit < 10_000
    at = TRUE.at(limit, 100_000)
    assert at["driver_share"] == pytest.approx(0.5, abs=0.01)
    assert replace(TRUE, batch=99.0, meeting=1.0).limit(rows_per_core=1) == 1


def test_the_committed_page_has_the_numbers_of_a_whole_run() -> None:
    assert "Two executors/one: **" in PAGE.read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="quick"):
        fill(PAGE.read_text(encoding="utf-8"), {"quick": True})


def test_the_masters_page_is_asked_without_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"workers": [{"state": "ALIVE"}, {"state": "DEAD"}]}')

        def log_message(self, *_: object) -> None:
            pass

    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("no_proxy", "")
    cluster = object.__new__(Cluster)
    with HTTPServer(("127.0.0.1", 0), Page) as server:
        cluster._page = f"http://127.0.0.1:{server.server_port}"
        Thread(target=server.handle_request, daemon=True).start()
        assert cluster._alive() == 1


DIES = """
import subprocess, time
from benchmarks.scale_cluster import die_with_parent
child = subprocess.Popen(["sleep", "600"], preexec_fn=die_with_parent)
print(child.pid, flush=True)
time.sleep(600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process of its parent")
def test_what_was_started_ends_with_the_one_who_is_killed() -> None:
    command = [sys.executable, "-c", DIES]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = Path("/proc", parent.stdout.readline().strip(), "stat")
        parent.kill()
    until = time.monotonic() + 60
    with suppress(FileNotFoundError, ProcessLookupError):
        while child.read_text().rpartition(")")[2].split()[0] != "Z":
            assert time.monotonic() < until
            time.sleep(0.02)
