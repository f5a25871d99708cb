"""The command as users run it: a process of its own, a file, a folder of results."""

import re
import signal
import subprocess
import sys
from functools import reduce
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from streamjoin.metrics.records import BatchDone, Decision, Ended, Started, read_records
from streamjoin.workloads import GeneratedStream

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PATIENCE = 300  # seconds; other programs may keep the machine busy
EXAMPLES = Path(__file__).parents[2] / "examples"

PIPELINE = """
[sources.calls]
type = "generator"
workload = "calls"
rate = 400
keys = 100
skew = 0.5
seconds = 6
disorder = "300 ms"
[sources.trades]
type = "generator"
workload = "trades"
rate = 250
keys = 100
seconds = 6
disorder = "300 ms"
[join]
on = "person"
time = ["called_at", "traded_at"]
window = ["3 seconds", "1 second"]
lateness = "300 ms"
[sink]
type = "parquet"
path = "out"
[spark]
master = "local[2]"
driver_memory = "1g"
"""

# Spark's own stream: that of the generator is a Python program, and starts several more.
ENDLESS = f"""
[sources.calls]
type = "rate"
options = {{ rowsPerSecond = 400 }}
select = ["value % 100 AS person", "timestamp AS called_at"]
[sources.trades]
type = "rate"
options = {{ rowsPerSecond = 250 }}
select = ["value % 100 AS person", "timestamp AS traded_at"]
{PIPELINE[PIPELINE.index("[join]") :]}
[run]
trigger = "1 second"
"""

EXPECTED = """
SELECT count(*), sum(caller), sum(price) FROM calls JOIN trades USING (person)
WHERE traded_at BETWEEN called_at - INTERVAL 1 SECOND AND called_at + INTERVAL 3 SECOND
"""


def start(file: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", "from streamjoin.cli import main; main()", "run", str(file)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def expected() -> object:
    calls = pa.Table.from_batches(
        [GeneratedStream("calls", 400, keys=100, skew=0.5, disorder_ms=300).rows(0, 2400)]
    )
    trades = pa.Table.from_batches(
        [GeneratedStream("trades", 250, keys=100, disorder_ms=300).rows(0, 1500)]
    )
    with duckdb.connect() as db:
        db.register("calls", calls)
        db.register("trades", trades)
        return db.execute(EXPECTED).fetchone()


def test_a_pipeline_gives_every_pair_and_says_where(tmp_path: Path) -> None:
    file = tmp_path / "p.toml"
    file.write_text(PIPELINE, encoding="utf-8")
    process = start(file)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    assert err == ""
    with duckdb.connect() as db:
        query = f"SELECT count(*), sum(caller), sum(price) FROM '{tmp_path}/out/*.parquet'"
        got = db.execute(query).fetchone()
    assert got == pytest.approx(expected())
    assert got is not None
    assert f"{got[0]:,} (" in out
    assert str(tmp_path / "out") in out


def test_ctrl_c_stops_cleanly_and_the_next_run_goes_on(tmp_path: Path) -> None:
    file = tmp_path / "p.toml"
    file.write_text(ENDLESS, encoding="utf-8")
    process = start(file)
    assert process.stdout is not None
    for line in process.stdout:
        if "| batch 1 |" in line:
            break
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (0, "")
    assert "Summary" in out

    file.write_text(ENDLESS + 'duration = "1 second"\n', encoding="utf-8")
    process = start(file)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (0, "")
    assert "Summary" in out
    assert "| batch 0 |" not in out


def test_a_wrong_column_is_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "p.toml"
    file.write_text(ENDLESS.replace('"person"', '"persn"'), encoding="utf-8")
    process = start(file)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    assert "persn" in err
    assert len(err.splitlines()) == 1


def shorter(text: str) -> str:
    """The demonstration in 20 seconds instead of 80, with as many comparisons a second."""
    for old, new in (
        ('at = "30 seconds", lasting = "20 seconds"', 'at = "5 seconds", lasting = "5 seconds"'),
        ("seconds = 80", "seconds = 20"),
        ("rate = 400", "rate = 800"),
        ('window = "10 seconds"', 'window = "2500 ms"'),
        ('lag = "4 seconds"', 'lag = "1 second"'),
        ('cycle = "1 minute"', 'cycle = "15 seconds"'),
        ("[spark]", '[metrics]\npath = "metrics"\n[spark]'),
    ):
        assert old in text
        text = text.replace(old, new)
    return text


def test_a_burst_is_survived_in_part_and_exact_again_afterwards(tmp_path: Path) -> None:
    file = tmp_path / "burst.toml"
    file.write_text(shorter((EXAMPLES / "burst.toml").read_text("utf-8")), encoding="utf-8")
    process = start(file)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (0, "")
    began, *records, ended = read_records(tmp_path / "metrics")
    assert isinstance(began, Started)
    assert isinstance(ended, Ended)
    assert (began.query, began.trigger) == ("burst", 1.0)
    assert began.drawing.startswith("<svg")
    batches = [one.metrics for one in records if isinstance(one, BatchDone)]
    decided = [one.text for one in records if isinstance(one, Decision)]
    busiest = max(batches, key=lambda one: one.compared + one.skipped)
    assert busiest.skipped > busiest.compared
    assert set(busiest.windows) == {"left", "right"}
    assert all(not one.skipped for one in batches[-3:])
    assert any("the budget, probing" in text for text in decided)
    assert decided[-1] == "exact again"
    assert sum(one.rows_in for one in batches) == 2 * 800 * (20 + 3 * 5)
    exact, found, dropping = (
        int(re.search(rf"{line} +│ ([0-9,]+) pairs", out)[1].replace(",", ""))  # type: ignore[index]
        for line in ("an exact join finds", "this join found", "random drop finds")
    )
    assert sum(one.pairs for one in batches) == found
    assert dropping < found < exact
    # what was estimated while it ran is about what was measured afterwards
    whole = reduce(lambda before, one: before + one, batches)
    assert whole.recall == pytest.approx(found / exact, abs=0.05)
