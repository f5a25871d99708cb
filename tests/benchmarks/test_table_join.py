"""What the benchmark of joins with a table makes of its runs; these need minutes of Spark."""

import json
import os
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from benchmarks import table_join
from benchmarks.table_data import KEY, ON, STREAM, Orders, customers
from benchmarks.table_join_rows import Batches, Size
from benchmarks.table_join_runs import Found
from benchmarks.table_join_systems import OURS, RIVALS
from benchmarks.table_memory import Memory, Sampler, read_workers
from streamjoin.cli.app import app
from streamjoin.errors import EngineError

QUICKEST = "spark-broadcast-stream"
BROKEN = "spark-broadcast"
IDLE = Memory(workers=2, anon=200_000_000, file=50_000_000)
PEAK = Memory(workers=3, anon=350_000_000, file=80_000_000)


def ours() -> Found:
    """Three batches that do not count, two that do, and one that answers what waits."""
    waiting = [0, 0, 4, 4, 14, 0]
    return Found(
        rows=[100, 100, 100, 100, 100, 0], seconds=[5.0, 1, 1, 0.5, 0.5, 0.1],
        results=[100, 100, 96, 100, 90, 14],
        counts=[{"waiting_rows": n, "hits": 60} for n in waiting], idle=IDLE, peak=PEAK,
    )  # fmt: skip


def rival(system: str) -> Found:
    if system == BROKEN:
        return Found(failed="Not enough memory")
    seconds = [3.0, 2.0, 2.0] if system == QUICKEST else [9.0]
    return Found(rows=[100] * len(seconds), seconds=seconds, results=[100] * len(seconds))


class Fake:
    """Runs nothing, and writes the results that are to be checked."""

    wrong = ""

    def __call__(self, _module: str, document: dict[str, Any], _name: str) -> dict[str, Any]:
        check, *streams = document["streams"]
        joined = pq.read_table(check["folder"]).join(
            pq.read_table(check["table"]), ON, KEY, "inner"
        )
        for system in document["systems"]:
            target = Path(check["results"]) / system
            target.mkdir(parents=True)
            given = joined.slice(1) if system == self.wrong else joined
            pq.write_table(given, target / "0.parquet")
        return {
            system: [asdict(Found())]
            + [asdict(ours() if system == OURS else rival(system)) for _ in streams]
            for system in document["systems"]
        }


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Fake:
    fake = Fake()
    monkeypatch.setattr(table_join, "in_process", fake)
    monkeypatch.setattr(table_join, "_CHECKED", (200, 2, 50))
    batches = (Batches("10k", 100, cold=3, warm=2),)
    monkeypatch.setattr(table_join, "SMALL", Size(1000, batches, patience=1))
    return fake


@pytest.mark.usefixtures("bench")
def test_rows_and_ratios() -> None:
    result = CliRunner().invoke(app, ["bench", "table-join", "--quick", "--json"])
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    rows = {row["system"]: row for row in found["rows"]}
    assert set(rows) == {OURS, *RIVALS}
    mine = rows[OURS]
    assert mine["rows_per_s"] == pytest.approx(190)  # of 200 that came ten more wait
    assert mine["hits"] == pytest.approx(0.6)
    assert mine["cold_rows_per_s"] == pytest.approx(300 / 7)
    assert mine["drain_s"] == pytest.approx(0.1)
    assert mine["above_idle_mb"] == pytest.approx(50)  # three idle workers would have 300
    assert mine["budget_mb"] == pytest.approx(0.012)
    assert rows[QUICKEST]["rows_per_s"] == pytest.approx(50)
    assert rows[QUICKEST]["counted"] == 2
    assert rows["spark-sort-merge"]["counted"] == 1
    assert rows[BROKEN]["failed"] == "Not enough memory"
    ratios = found["ratios"]
    assert ratios["streamjoin/spark-any-10k"] == pytest.approx(3.8)
    assert ratios["streamjoin/spark-static-10k"] == pytest.approx(17.1)
    assert ratios["streamjoin/spark-sort-merge-10k"] == pytest.approx(17.1)
    assert f"streamjoin/{BROKEN}-10k" not in ratios
    assert "17.1, wanted at least 20: NOT reached" in " ".join(result.stderr.split())


def test_a_system_that_is_wrong_is_refused(bench: Fake) -> None:
    bench.wrong = "spark-sort-merge"
    with pytest.raises(EngineError, match="spark-sort-merge gives other results"):
        table_join.run(lambda _: None, quick=True)


def test_every_customer_once_and_orders_of_them_alone(tmp_path: Path) -> None:
    tables = list(customers(2500))
    keys = [key for table in tables for key in table[KEY].to_pylist()]
    assert sorted(keys) == list(range(2500)) != keys
    Orders(2500, 1.0).record(tmp_path / "orders", files=2, rows=30)
    read = pq.read_table(tmp_path / "orders")
    assert read.schema.equals(STREAM)
    assert read["number"].to_pylist() == list(range(60))
    assert set(read[ON].to_pylist()) <= set(keys)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read as Linux has it")
def test_memory_of_workers() -> None:
    code = "import os, time; size = 0 if os.fork() else 30_000_000; b = b'x' * size; time.sleep(99)"
    assert read_workers(os.getpid()) == Memory()
    daemon = subprocess.Popen([sys.executable, "-c", code, "pyspark.daemon"], process_group=0)
    try:
        with Sampler(os.getpid()) as sampler:
            until = time.monotonic() + 60
            while sampler.peak.anon < 30_000_000 and time.monotonic() < until:
                time.sleep(0.05)
        assert sampler.peak.workers == 1
        assert 30_000_000 <= sampler.peak.anon < 100_000_000
        assert sampler.peak.file > 0
    finally:
        os.killpg(daemon.pid, 9)
        daemon.wait()
