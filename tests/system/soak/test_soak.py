"""The rule of the soak: it notices what leaks, and lets noise and saw teeth pass."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from streamjoin.metrics import InputMetrics, JoinMetrics
from tests.system.soak.lines import Observed
from tests.system.soak.report import write
from tests.system.soak.runs import from_json, to_json
from tests.system.soak.sampling import (
    DRIVER,
    JVM,
    WORKER,
    Process,
    Sample,
    count_files,
    count_kinds,
    take,
)
from tests.system.soak.verdict import Line, Verdict, judge

SECONDS = np.arange(0, 1800, 5)
MINUTES = SECONDS / 60
NOISE = np.random.default_rng(1).normal(size=len(SECONDS))
LINES: dict[str, tuple[Verdict, np.ndarray]] = {
    "a constant": ("flat", np.full(len(SECONDS), 300.0)),
    "noise": ("flat", 300 + 20 * NOISE),
    "a start that takes a while": ("flat", 300 - 200 * np.exp(-MINUTES / 2)),
    "a saw": ("flat", 300 + SECONDS % 60),
    "a leak": ("grows", 300 + MINUTES),
    "a leak within noise": ("grows", 300 + 2 * MINUTES + 20 * NOISE),
    "a leak on a saw": ("grows", 300 + 2 * MINUTES + SECONDS % 30),
    "a step late": ("grows", 300 + 30 * (MINUTES > 20)),
    "what may be noise": ("unclear", 300 + 100 * np.sin(MINUTES / 2)),
    "what shrinks": ("falls", 300 - 2 * MINUTES),
    "little that grows": ("flat", 3 + MINUTES / 30),
    "too much noise to tell": ("unclear", 300 + 400 * NOISE),
    "what may shrink": ("flat", 300 + 20 * NOISE - MINUTES / 2),
}  # fmt: skip


@pytest.mark.parametrize("name", LINES)
def test_the_rule(name: str) -> None:
    verdict, values = LINES[name]
    judged = judge(Line(name, "MB", SECONDS.tolist(), values.tolist()))
    assert judged.verdict == verdict
    assert judged.is_leak == (verdict in ("grows", "unclear"))
    assert judged.low <= judged.per_hour <= judged.high


def test_a_leak_is_measured() -> None:
    judged = judge(Line("memory", "MB", SECONDS.tolist(), (300 + MINUTES + NOISE).tolist()))
    assert judged.low < 60 < judged.high
    assert judged.high - judged.low < 10


LEAKING = """
import sys, tempfile
kept, files = [], []
for line in sys.stdin:
    kept.append(bytearray(b"x" * 8_000_000))
    files += [tempfile.NamedTemporaryFile(dir=sys.argv[1], delete=False) for _ in range(5)]
    print(flush=True)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
def test_a_program_that_leaks_is_seen_from_outside(tmp_path: Path) -> None:
    (tmp_path / "temp").mkdir()
    command = [sys.executable, "-c", LEAKING, str(tmp_path / "temp")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        samples = []
        for at in range(30):
            process.stdin.write(b"\n")
            process.stdin.flush()
            process.stdout.readline()
            samples.append(take(process.pid, tmp_path, at=60.0 * at))
        process.stdin.close()
    lines = {line.name: line for line in Observed("x", "x", 0.0, samples, []).lines}
    of_driver = "Python of the driver"
    for name in (f"{of_driver}, of its own", f"open files, {of_driver}", "files, temporary"):
        assert judge(lines[name]).verdict == "grows", name
    assert judge(lines["Python workers"]).verdict == "flat"


STARTING = "import subprocess; subprocess.run(['sh', '-c', 'sleep 60; true'])"


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
def test_java_is_seen_once_though_it_is_about_to_start_something(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", STARTING], start_new_session=True) as process:
        until, roles = time.monotonic() + 30, [""]
        while roles != [DRIVER, JVM] and time.monotonic() < until:  # the shell, not what it starts
            time.sleep(0.1)
            roles = [one.role for one in take(process.pid, tmp_path, at=0.0).processes]
        time.sleep(0.2)
        assert [one.role for one in take(process.pid, tmp_path, 0.0).processes] == [DRIVER, JVM]
        os.killpg(process.pid, signal.SIGKILL)


def test_copies_of_rows_are_told_from_other_local_files(tmp_path: Path) -> None:
    for path in ("local/blocks/streamjoin-1/0/rows", "local/blocks/0c/shuffle", "temp/x"):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_bytes(b"12345")
    assert list(count_kinds(tmp_path).values()) == [(0, 0), (1, 5), (1, 5), (1, 5)]


def test_files_are_counted_at_any_depth(tmp_path: Path) -> None:
    assert count_files(tmp_path / "not there") == (0, 0)
    (tmp_path / "a" / "b").mkdir(parents=True)
    for path in ("one", "a/two", "a/b/three"):
        (tmp_path / path).write_bytes(b"12345")
    assert count_files(tmp_path) == (3, 15)


def test_the_page_says_what_was_seen(tmp_path: Path) -> None:
    samples = [
        Sample(
            5.0 * i,
            1.5,
            [
                Process(1, DRIVER, 90_000_000, 80_000_000, 20),
                Process(2, JVM, 900_000_000, 800_000_000, 300),
                Process(3, WORKER, 200_000_000 + 1_000_000 * i, 100_000_000 + 1_000_000 * i, 15),
            ],
            {"checkpoint": (50, 10_000_000)},
        )
        for i in range(200)
    ]
    batches = [
        JoinMetrics(
            batch=i,
            at=100.0 + 5 * i,
            seconds=0.5,
            inputs=(InputMetrics("left", rows=100, compared=1, skipped=3),),
            state_rows=1000,
            cpu_us=90,
            budget_us=100,
        )
        for i in range(200)
    ]
    seen = from_json(to_json(Observed("4x", "four times that", 100.0, samples, batches)))
    assert seen.facts["CPU used of the budget"] == "90%"
    assert seen.facts["comparisons made"] == "25%"
    judged = {one.line.name: one for one in write([seen], tmp_path / "soak.md")["4x"]}
    assert judged["Python workers, of their own"].verdict == "grows"
    assert judged["JVM, resident"].verdict == "flat"
    page = (tmp_path / "soak.md").read_text()
    assert re.search(r"^\| batch time \| 0\.5 s \| .* \| flat \|$", page, re.MULTILINE)
    assert "| grows |" in page
    assert (tmp_path / "figures" / "soak_4x.svg").read_text().startswith("<svg")
