"""Run loads side by side, look at each every few seconds, and keep what was seen."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from math import sqrt
from pathlib import Path
from typing import Final

from streamjoin.errors import EngineError
from streamjoin.metrics import JoinMetrics
from streamjoin.metrics.records import BatchDone, read_records
from tests.system.soak.lines import Observed
from tests.system.soak.query import CORES, WINDOW_SECONDS, Load
from tests.system.soak.sampling import Sample, take

PERIOD_SECONDS: Final = 5
RATE: Final = 600.0
MEASURED_SECONDS: Final = 30
ROOM: Final = 1.5
"""The budget beside what was measured, which is never the same twice."""
MORE: Final = sqrt(4 * ROOM)
"""Rows of 4x beside 1x: comparisons grow with the square."""


@dataclass
class Running:
    """A load whose process runs."""

    name: str
    title: str
    load: Load
    process: "subprocess.Popen[str]"
    samples: list[Sample]

    def look(self, at: float) -> None:
        """Take a sample; a query that has ended is an error."""
        if self.process.poll() is not None:
            log = (Path(self.load.folder) / "log").read_text(errors="replace").splitlines()
            msg = f"{self.name}: the query has ended: {log[-1] if log else 'nothing in its log'}"
            raise EngineError(msg)
        self.samples.append(take(self.process.pid, Path(self.load.folder), at))

    def batches(self) -> list[JoinMetrics]:
        """What the query has recorded of its batches."""
        records = (one for folder in self.load.records.glob("*") for one in read_records(folder))
        return [one.metrics for one in records if isinstance(one, BatchDone)]


@contextlib.contextmanager
def running(name: str, title: str, load: Load) -> Iterator[Running]:
    """Start a load; in the end it stops, or is killed with all its processes."""
    folder = Path(load.folder)
    (folder / "temp").mkdir(parents=True)
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.system.soak.query"],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            text=True,
            env={**os.environ, "TMPDIR": str(folder / "temp")},
            start_new_session=True,
        )
    assert process.stdin is not None
    process.stdin.write(json.dumps(asdict(load)) + "\n")
    process.stdin.flush()
    try:
        yield Running(name, title, load, process, [])
        process.stdin.close()
        process.wait(timeout=60)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def soak(minutes: float, kept: Path) -> list[Observed]:
    """Measure what the load of 1x needs; then all loads for so long; samples go to `kept`."""
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="sj-soak-") as work:
        cpu = needed_cpu(Path(work) / "unlimited")
        say(f"{RATE:g} rows a second of each stream need {cpu:.3f} of {CORES} cores")
        cpu *= ROOM
        loads = {
            "1x": ("as much as the budget has room for", Load(f"{work}/1x", RATE, cpu)),
            "4x": ("four times that", Load(f"{work}/4x", MORE * RATE, cpu)),
            "table": ("a stream and a table", Load(f"{work}/table", RATE, kind="table")),
        }
        with contextlib.ExitStack() as stack:
            queries = []
            for name, (title, load) in loads.items():  # each compiles and loads code at first
                queries.append(stack.enter_context(running(name, title, load)))
                await_batches(queries[-1])
            say(f"all run; {minutes:g} minutes begin")
            return watch(queries, minutes, kept)


def needed_cpu(folder: Path) -> float:
    """Share of the cores that a join uses which may use them all, once its windows are full."""
    with running("unlimited", "", Load(str(folder), RATE, cpu=1.0)) as query:
        await_batches(query)
        time.sleep(WINDOW_SECONDS + MEASURED_SECONDS)
    batches = query.batches()
    full = [one for one in batches if one.at > batches[0].at + WINDOW_SECONDS]
    stream_seconds = sum(one.rows_in for one in full) / (2 * RATE)
    return sum(one.cpu_us for one in full) / 1e6 / CORES / stream_seconds


def await_batches(query: Running, patience: float = 900) -> None:
    """Wait until a query has done its first batch."""
    until = time.monotonic() + patience
    while not query.batches():
        if query.process.poll() is not None or time.monotonic() > until:
            query.look(0)
            msg = f"{query.name}: no batch within {patience:g} s"
            raise EngineError(msg)
        time.sleep(0.5)


def watch(queries: Sequence[Running], minutes: float, kept: Path) -> list[Observed]:
    """Sample all queries every few seconds."""
    started, begun = time.time(), time.monotonic()
    while (at := time.monotonic() - begun) < 60 * minutes:
        for query in queries:
            query.look(at)
        time.sleep(PERIOD_SECONDS - (time.monotonic() - begun) % PERIOD_SECONDS)
    found = []
    for query in queries:
        batches = [one for one in query.batches() if one.at >= started]
        observed = Observed(query.name, query.title, started, query.samples, batches)
        (kept / f"{query.name}.json").write_text(to_json(observed))
        found.append(observed)
    return found


def to_json(observed: Observed) -> str:
    """Keep what was seen, so that the page can be made again."""
    document = {**vars(observed), "samples": [asdict(one) for one in observed.samples]}
    document["batches"] = [one.to_dict() for one in observed.batches]
    return json.dumps(document)


def from_json(text: str) -> Observed:
    """Read `to_json` back."""
    document = json.loads(text)
    samples = [Sample.of(each) for each in document.pop("samples")]
    batches = [JoinMetrics.from_dict(each) for each in document.pop("batches")]
    return Observed(**document, samples=samples, batches=batches)


def say(text: str) -> None:
    """Tell who waits."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
